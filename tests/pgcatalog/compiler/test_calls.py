from collections.abc import Callable

import pytest

from dpproxy.algebra.plan import Answer
from dpproxy.values.errors import Refusal, TooComplex, UndefinedFunction, UndefinedObject, Unsupported


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("version()", "PostgreSQL 15.0 (dpproxy) on DuckDB, 64-bit"),
        ("pg_catalog.version()", "PostgreSQL 15.0 (dpproxy) on DuckDB, 64-bit"),
        ("current_database()", "main"),
        ("current_catalog", "main"),
        ("current_schema()", "public"),
        ("current_user", "ana"),
        ("user", "ana"),
        ("current_schemas(true)", ["pg_catalog", "public"]),
        ("current_schemas(false)", ["public"]),
        ("current_setting('JIT')", "off"),
        ("current_setting('nosuch', true)", None),
        ("current_setting('max_index_keys')", "32"),
        ("set_config('jit', 'on', false)", "on"),
        ("has_table_privilege('patients', 'SELECT')", True),
        ("has_table_privilege('ana', 'patients', 'INSERT')", False),
        ("has_schema_privilege('public', 'USAGE')", True),
        ("pg_get_viewdef(1)", None),
        ("pg_is_in_recovery()", False),
        ("7 / 2", 3),
    ],
)
def test_answers(ask: Callable[..., list[tuple[object, ...]]], sql: str, value: object):
    assert ask(f"SELECT {sql}") == [(value,)]


def test_set_config_sets_nothing(ask: Callable[..., list[tuple[object, ...]]]):
    ask("SELECT set_config('jit', 'on', false)")
    assert ask("SELECT current_setting('jit')") == [("off",)]


def test_set_config_of_privacy_is_refused_with_what_does_it(ask: Callable[..., list[tuple[object, ...]]]):
    with pytest.raises(Unsupported) as refused:
        ask("SELECT set_config('DP.epsilon', '0.07', false)")
    assert refused.value.hint == "SET dp.epsilon = '0.07';"


def test_an_unknown_setting(ask: Callable[..., list[tuple[object, ...]]]):
    with pytest.raises(UndefinedObject):
        ask("SELECT current_setting('nosuch')")


def test_settings_of_rows(ask: Callable[..., list[tuple[object, ...]]]):
    """As psql asks for dconfig."""
    found = ask(
        "SELECT s.name, pg_catalog.current_setting(s.name) FROM pg_catalog.pg_settings s WHERE s.name = 'jit'"
    )
    assert found == [("jit", "off")]


def test_a_computed_setting_name_is_refused(ask: Callable[..., list[tuple[object, ...]]]):
    with pytest.raises(Unsupported):
        ask("SELECT current_setting('a' || 'b')")


def test_series(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT s FROM generate_series(1, 5, 2) s") == [(1,), (3,), (5,)]
    assert ask("SELECT count(*) FROM generate_series(1, 100000)") == [(100000,)]


@pytest.mark.parametrize(
    "sql",
    ["SELECT count(*) FROM generate_series(1, 100001)", "SELECT generate_series(1, 10000000000)"],
)
def test_a_long_series_is_refused_not_cut(ask: Callable[..., list[tuple[object, ...]]], sql: str):
    with pytest.raises(TooComplex):
        ask(sql)


def test_a_wrong_count_of_arguments(ask: Callable[..., list[tuple[object, ...]]]):
    with pytest.raises(UndefinedFunction):
        ask("SELECT set_config('jit')")


@pytest.mark.parametrize(
    "sql",
    [
        (
            "SELECT (d).grantee, (d).privilege_type, (d).is_grantable FROM "
            "(SELECT aclexplode(relacl) AS d FROM pg_class WHERE relname = 'patients') AS entries"
        ),
        (
            "SELECT d.grantee, d.privilege_type, d.is_grantable "
            "FROM pg_class, pg_catalog.aclexplode(relacl) AS d WHERE relname = 'patients'"
        ),
    ],
)
def test_an_access_list_is_taken_apart(ask: Callable[..., list[tuple[object, ...]]], sql: str):
    [[me]] = ask("SELECT oid FROM pg_roles WHERE rolname = 'ana'")
    assert ask(sql) == [(10, "SELECT", False), (me, "SELECT", False)]


def test_what_rights_there_would_be_is_not_told(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT acldefault(defaclobjtype, defaclrole) FROM pg_default_acl") == []
    with pytest.raises(Refusal):
        ask("SELECT acldefault('r', 10)")


def test_rows_as_json_are_json(answer: Callable[..., Answer]):
    got = answer('SELECT row_to_json(t) FROM (SELECT 1 AS "Total", NULL AS x) AS t')
    assert ([c.type.name for c in got.columns], list(got.rows)) == (["json"], [('{"Total":1,"x":null}',)])


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT setting FROM pg_show_all_settings() WHERE name = 'jit'", [("off",)]),
        ("SELECT s.setting FROM pg_catalog.pg_show_all_settings() AS s WHERE s.name = 'jit'", [("off",)]),
        ("SELECT e.name FROM pg_catalog.pg_available_extensions() e", []),
        ("SELECT pg_catalog.generate_series(1, 2)", [(1,), (2,)]),
        ("SELECT pg_blocking_pids(1)::text", [("{}",)]),
    ],
)
def test_functions_that_give_rows(
    ask: Callable[..., list[tuple[object, ...]]], sql: str, rows: list[tuple[object, ...]]
):
    assert ask(sql) == rows
