"""The rows of pg_aggregate."""

from dpproxy.pgcatalog.fact_files import facts
from dpproxy.pgcatalog.pg_aggregate import TABLE
from dpproxy.pgcatalog.pg_proc import functions
from dpproxy.pgcatalog.view import CatalogueView


def test_each_aggregate_has_a_row_and_nothing_else_has(view: CatalogueView):
    rows = {row["aggfnoid"]: row for row in TABLE.rows(view)}
    assert rows.keys() == {of.oid for of in functions() if of.prokind == "a"}
    assert all(row.keys() <= TABLE.kinds.keys() for row in rows.values())
    assert {row["aggfnoid"] for row in facts("pg_aggregate")} < rows.keys()
    median = next(rows[of.oid] for of in functions() if of.proname == "median")
    assert median == {"aggfnoid": median["aggfnoid"], "aggkind": "n", "aggnumdirectargs": 0}
    assert {rows[of.oid]["aggkind"] for of in functions() if of.proname == "percentile_disc"} == {"o"}
