import pytest
from sqlglot import parse_one

from dpproxy.pgcatalog.column_types import of_column, of_projection, of_projections


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
    assert of_projection(parse_one(f"SELECT {sql}", read="postgres").selects[0])(stored).name == kind


def test_a_star_is_described_by_the_engine():
    assert of_projections(parse_one("SELECT *, 1 FROM pg_class", read="postgres")) is None
