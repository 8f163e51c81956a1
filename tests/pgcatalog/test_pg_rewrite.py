from collections.abc import Callable
from dataclasses import replace

from dpproxy.pgcatalog.pg_rewrite import TABLE
from dpproxy.pgcatalog.view import CatalogueView, Relation


def test_every_view_has_the_rule_that_makes_it_one(view: CatalogueView):
    built = replace(view, relations=(*view.relations, Relation("safe", (), "v")))
    rows = list(TABLE.rows(built))
    assert [(row["rulename"], row["ev_type"], row.get("ev_action")) for row in rows] == [
        ("_RETURN", "1", None)
    ] * 2
    assert len({row["oid"] for row in rows}) == len({row["ev_class"] for row in rows}) == 2


def test_it_is_found_from_the_view(ask: Callable[..., list[tuple[object, ...]]]):
    found = ask(
        "SELECT relname, relkind FROM pg_class c WHERE relhasrules AND EXISTS "
        "(SELECT 1 FROM pg_rewrite r WHERE r.ev_class = c.oid AND bpchar(r.ev_type) = '1'::bpchar)"
    )
    assert found == [("Odd visits", "v")]
