import pytest

from dpproxy.pgcatalog import CatalogueView
from dpproxy.pgcatalog.table import columns, table


def test_columns_are_text_unless_a_type_stands():
    assert columns("a b:oid[] c:bool") == {"a": "VARCHAR", "b": "UINTEGER[]", "c": "BOOLEAN"}


def test_an_unknown_type_is_an_error():
    with pytest.raises(KeyError):
        columns("a:nosuch")


def test_without_a_source_there_are_no_rows(view: CatalogueView):
    assert list(table("pg_catalog", "x", 1, "a").rows(view)) == []
