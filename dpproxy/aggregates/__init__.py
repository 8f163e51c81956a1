"""One file per aggregate; ``table.AGGREGATES`` names them."""
