import pytest

from dpproxy.pgcatalog import CatalogueView
from dpproxy.pgcatalog.table import PROCEDURE, CatalogueTable, no_rows, relations, table
from dpproxy.values.pgtypes import INT2VECTOR, NAME, REGTYPE, TEXT, TIMESTAMPTZ, array_of


@pytest.mark.parametrize(
    ("kind", "stored", "seen"),
    [
        ("name", "VARCHAR", NAME),
        ("_name", "VARCHAR[]", array_of(NAME)),
        ("int2vector", "SMALLINT[]", INT2VECTOR),
        ("timestamptz", "TIMESTAMP", TIMESTAMPTZ),
        ("regtype", "UINTEGER", REGTYPE),
        ("regproc", "VARCHAR", PROCEDURE),
        ("pg_node_tree", "VARCHAR", TEXT),
        ("_aclitem", "VARCHAR[]", array_of(TEXT)),
    ],
)
def test_a_type_of_postgresqls_is_stored_and_shown(kind: str, stored: str, seen: object):
    made = CatalogueTable("pg_catalog", "a", 0, {"b": kind}, no_rows)
    assert (made.columns, made.types) == ({"b": stored}, {"b": seen})


def test_every_type_of_a_column_is_stored_as_one_that_its_values_fit():
    for schema, name in relations():
        made = table(schema, name)
        for column, kind in made.kinds.items():
            is_list = kind.startswith("_") or kind.endswith("vector")
            assert made.columns[column].endswith("[]") == is_list


def test_a_relation_that_postgresql_has_not_is_an_error():
    with pytest.raises(KeyError):
        table("pg_catalog", "nosuch")


def test_without_a_source_there_are_no_rows(view: CatalogueView):
    made = table("pg_catalog", "pg_enum")
    assert list(made.columns) == ["oid", "enumtypid", "enumsortorder", "enumlabel"]
    assert list(made.rows(view)) == []
