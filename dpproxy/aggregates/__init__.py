"""One file per aggregate; the table names them."""
