from collections.abc import Callable

import pytest

from dpproxy.errors import TooComplex, UndefinedFunction, UndefinedObject, Unsupported


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
        ("current_schemas(true)", "{pg_catalog,public}"),
        ("current_schemas(false)", "{public}"),
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


def test_an_unknown_setting(ask: Callable[..., list[tuple[object, ...]]]):
    with pytest.raises(UndefinedObject):
        ask("SELECT current_setting('nosuch')")


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
