"""pg_aggregate: the aggregates that statements here may call. ``aggfnoid`` is shown as a number, not as a name."""

from collections.abc import Iterator

from dpproxy.pgcatalog.fact_files import facts
from dpproxy.pgcatalog.pg_proc import functions
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView


def _rows(_view: CatalogueView) -> Iterator[Row]:
    """PostgreSQL's rows; of the proxy's own aggregates, the kind."""
    known = {row["aggfnoid"]: {**row} for row in facts("pg_aggregate")}
    for row in known.values():
        del row["signature"]  # the key of the file
    own = {"aggkind": "n", "aggnumdirectargs": 0}
    for of in functions():
        if of.prokind == "a":
            yield known.get(of.oid, {**own, "aggfnoid": of.oid})


TABLE = table("pg_catalog", "pg_aggregate", _rows)
