from dataclasses import replace

from dpproxy.pgcatalog.pg_matviews import TABLE
from dpproxy.pgcatalog.view import CatalogueView, Relation


def test_protected_views_are_listed_without_what_they_are_made_of(view: CatalogueView):
    assert list(TABLE.rows(view)) == []
    built = replace(view, relations=(*view.relations, Relation("safe", (), "m", "words")))
    [row] = TABLE.rows(built)
    assert (row["matviewname"], row["ispopulated"], row.get("definition")) == ("safe", True, None)
