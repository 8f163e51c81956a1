import pytest
from sqlglot import parse_one

from dpproxy.engine.relations import OWN
from dpproxy.pgcatalog.compiler import kinds
from dpproxy.pgcatalog.compiler.column_types import fits, of_column, result_types
from dpproxy.pgcatalog.relations import TABLES
from dpproxy.values.pgtypes import FLOAT8, INT4, INT8, NUMERIC, TIMESTAMP, TIMESTAMPTZ, SqlType, array_of


@pytest.mark.parametrize(
    ("name", "stored", "kind"),
    [
        ("relname", "VARCHAR", "name"),
        ("relkind", "VARCHAR", "char"),
        ("indkey", "SMALLINT[]", "int2vector"),
        ("conkey", "SMALLINT[]", "_int2"),
        ("indclass", "UINTEGER[]", "oidvector"),
        ("relfrozenxid", "UINTEGER", "xid"),
        ("data_type", "VARCHAR", "varchar"),
        ("roles", "VARCHAR[]", "_name"),
        ("relname", "BIGINT", "int8"),
        ("application_name", "VARCHAR", "text"),
        ("backend_start", "TIMESTAMP", "timestamptz"),
        ("at", "TIMESTAMP", "timestamp"),
    ],
)
def test_columns(name: str, stored: str, kind: str):
    assert of_column(name, stored).name == kind


@pytest.mark.parametrize(
    ("sql", "stored", "kind"),
    [
        ("current_user", "VARCHAR", "name"),
        ("current_schemas(true)", "VARCHAR[]", "_name"),
        ("c.relname", "VARCHAR", "name"),
        ("(relname)", "VARCHAR", "name"),
        ("x::name", "VARCHAR", "name"),
        ('x::"char"', "VARCHAR", "char"),
        ("x::char(3)", "VARCHAR", "bpchar"),
        ("x::jsonb", "VARCHAR", "jsonb"),
        ("x::name[]", "VARCHAR[]", "_name"),
        ("pg_get_userbyid(1)", "VARCHAR", "name"),
        ("lower(relname)", "VARCHAR", "text"),
        ("x::int", "INTEGER", "int4"),
        ("x::name", "INTEGER", "int4"),
    ],
)
def test_projections(sql: str, stored: str, kind: str):
    tree = parse_one(f"SELECT {sql} FROM pg_class c", read="postgres")
    found = result_types(tree, kinds.infer(tree, {}))
    assert found is not None
    assert found[0](stored).name == kind


def test_a_star_over_what_is_not_known_is_described_by_the_engine():
    tree = parse_one("SELECT *, 1 FROM pg_class JOIN pg_type USING (oid)", read="postgres")
    assert result_types(tree, kinds.infer(tree, {})) is None


@pytest.mark.parametrize(
    ("stored", "kind", "is_held"),
    [
        ("HUGEINT", INT8, True),
        ("BIGINT[]", array_of(INT4), True),
        ("DOUBLE", NUMERIC, False),
        ("DECIMAL(38,20)", NUMERIC, True),
        ("VARCHAR", INT4, False),
        ("INTEGER", FLOAT8, True),
    ],
)
def test_what_the_engine_holds_a_type_in(stored: str, kind: SqlType, *, is_held: bool):
    assert fits(stored, kind) is is_held


def test_every_moment_of_the_catalogue_has_a_zone():
    found = {name: kind for table in TABLES.values() for name, kind in table.types.items()}
    moments = {name for t in TABLES.values() for name, stored in t.columns.items() if stored == "TIMESTAMP"}
    assert moments
    assert {found[name] for name in moments} == {TIMESTAMPTZ}
    assert TIMESTAMP not in found.values()


def test_columns_of_our_own_relations_are_what_they_are_declared():
    stored = {"text": "VARCHAR", "int8": "BIGINT", "timestamp": "TIMESTAMP", "bool": "BOOLEAN"}
    for columns in OWN.values():
        for column in columns:
            if column.type.oid != NUMERIC.oid:
                assert of_column(column.name, stored[column.type.name]) == column.type
