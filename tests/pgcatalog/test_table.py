import pytest

from dpproxy.pgcatalog import CatalogueView
from dpproxy.pgcatalog.relations import TABLES
from dpproxy.pgcatalog.table import PROCEDURE, CatalogueTable, defaults, no_rows, relations, table
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


def test_a_row_says_what_differs_from_the_defaults_of_its_relation(view: CatalogueView):
    made = table("pg_catalog", "pg_namespace", lambda _: [{"nspname": "a"}, {"nspname": "b", "nspowner": 7}])
    assert [row["nspowner"] for row in made.rows(view)] == [10, 7]


def test_every_default_is_held_by_a_row(view: CatalogueView):
    for key, same in defaults().items():
        rows = list(TABLES[key].rows(view))
        for column, value in same.items() if rows else ():
            assert value in [row[column] for row in rows], (key, column)
