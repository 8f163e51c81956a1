import pytest

from dpproxy.pgcatalog.compiler import kinds
from dpproxy.pgcatalog.compiler.column_types import fits, result_types
from dpproxy.pgcatalog.relations import TABLES
from dpproxy.pgcatalog.table import PROCEDURE
from dpproxy.sql.grammar import parse
from dpproxy.values.pgtypes import FLOAT8, INT4, INT8, NUMERIC, TIMESTAMP, TIMESTAMPTZ, SqlType, array_of


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
        ("relkind", "VARCHAR", "char"),
        ("relfrozenxid", "UINTEGER", "xid"),
        ("relname", "BIGINT", "int8"),
        ("x", "VARCHAR", "text"),
    ],
)
def test_projections(sql: str, stored: str, kind: str):
    found = result_types(kinds.infer(parse(f"SELECT {sql} FROM pg_class c")[0], {}), [("a", stored)])
    assert [one.name for one in found] == [kind]


@pytest.mark.parametrize(
    ("sql", "stored", "kind"),
    [
        ("SELECT indkey FROM pg_index", "SMALLINT[]", "int2vector"),
        ("SELECT indclass FROM pg_index", "UINTEGER[]", "oidvector"),
        ("SELECT conkey FROM pg_constraint", "SMALLINT[]", "_int2"),
        ("SELECT typinput FROM pg_type", "VARCHAR", "regproc"),
        ("SELECT aggfnoid FROM pg_aggregate", "UINTEGER", "oid"),
        ("SELECT data_type FROM information_schema.columns", "VARCHAR", "varchar"),
        ("SELECT polroles FROM pg_policy", "UINTEGER[]", "_oid"),
        ("SELECT backend_start FROM pg_stat_activity", "TIMESTAMP", "timestamptz"),
    ],
)
def test_columns(sql: str, stored: str, kind: str):
    assert [one.name for one in result_types(kinds.infer(parse(sql)[0], {}), [("a", stored)])] == [kind]


def test_what_is_not_known_is_described_by_the_engine():
    described = [("a", "VARCHAR"), ("b", "BIGINT[]")]
    assert [one.name for one in result_types(None, described)] == ["text", "_int8"]


@pytest.mark.parametrize(
    ("stored", "kind", "is_held"),
    [
        ("HUGEINT", INT8, True),
        ("BIGINT[]", array_of(INT4), True),
        ("DOUBLE", NUMERIC, False),
        ("DECIMAL(38,20)", NUMERIC, True),
        ("VARCHAR", INT4, False),
        ("INTEGER", FLOAT8, True),
        ('"NULL"', array_of(INT4), True),
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


def test_every_column_of_functions_is_held_by_name_or_by_number():
    kinds_of = {t.types[name].name for t in TABLES.values() for name, k in t.kinds.items() if k == "regproc"}
    assert kinds_of == {PROCEDURE.name, "oid"}


def test_the_engine_holds_every_column_as_its_type_says():
    for table in TABLES.values():
        for name, kind in table.types.items():
            assert fits(table.columns[name], kind)
