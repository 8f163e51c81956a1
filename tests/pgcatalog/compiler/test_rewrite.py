from collections.abc import Callable

import pytest

from dpproxy.values.errors import Refusal, UndefinedColumn, UndefinedFunction, UndefinedTable, Unsupported


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM pg_catalog.duckdb_settings()",
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT read_text('/etc/passwd')",
        "SELECT system.main.read_text('/etc/passwd')",
        "SELECT \"read_text\"('/etc/passwd')",
        "SELECT * FROM query('SELECT 1')",
        "SELECT * FROM query_table('x')",
        "SELECT * FROM pragma_version()",
        "SELECT * FROM sniff_csv('x')",
        "SELECT getenv('HOME')",
        "SELECT getvariable('x')",
        "SELECT pg_sleep(10)",
        "SELECT pg_read_file('x')",
        "SELECT nextval('x')",
        "SELECT setseed(1)",
        "SELECT stats(1)",
        "SELECT json_execute_serialized_sql('x')",
        "SELECT error('x')",
        "SELECT c_to_class('x')",
        "SELECT 1 WHERE EXISTS (SELECT getenv('HOME'))",
    ],
)
def test_functions_that_are_not_listed(ask: Callable[..., list[tuple[object, ...]]], sql: str):
    with pytest.raises((UndefinedFunction, Unsupported)) as caught:
        ask(sql)
    assert caught.value.sqlstate in ("42883", "0A000")
    assert caught.value.position is not None


@pytest.mark.parametrize(
    "sql", ["SELECT * FROM pg_nosuch", "SELECT * FROM dp.nosuch", "SELECT * FROM pg_catalog.t"]
)
def test_relations_that_do_not_exist(ask: Callable[..., list[tuple[object, ...]]], sql: str):
    with pytest.raises(UndefinedTable) as caught:
        ask(sql)
    assert caught.value.position == 14


def test_another_database_is_refused(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT count(*) > 0 FROM main.pg_catalog.pg_class") == [(True,)]
    with pytest.raises(Unsupported):
        ask("SELECT * FROM system.pg_catalog.pg_class")


def test_a_column_that_does_not_exist(ask: Callable[..., list[tuple[object, ...]]]):
    with pytest.raises(UndefinedColumn) as caught:
        ask("SELECT relname, nosuch FROM pg_class")
    assert (caught.value.message, caught.value.position) == ('column "nosuch" does not exist', 16)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT relname FROM pg_class WHERE relname OPERATOR(pg_catalog.~) '^(pat.*)$' COLLATE pg_catalog.default",
         [("patients",)]),
        ("SELECT pg_catalog.pg_class.relname FROM pg_catalog.pg_class WHERE oid = 'patients'::regclass",
         [("patients",)]),
        ("SELECT x FROM pg_catalog.unnest(ARRAY['a', 'b']) x", [("a",), ("b",)]),
        ("SELECT x FROM unnest(ARRAY[1, 2]) x", [(1,), (2,)]),
        ("SELECT x, n FROM unnest(ARRAY['a', 'b']) WITH ORDINALITY AS t(x, n)", [("a", 1), ("b", 2)]),
        ("SELECT E'a\\nb'", [("a\nb",)]),
        ("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'pg/_%' ESCAPE '/'", [("pg_catalog",)]),
        ("SELECT xmin, tableoid FROM pg_class LIMIT 1", [(1, 0)]),
        ("SELECT (SELECT coalesce(array_agg(rolname), '{}') FROM pg_roles WHERE false)", [([],)]),
        ("SELECT i FROM (VALUES (1), (2)) AS v(i) ORDER BY i DESC", [(2,), (1,)]),
        ("SELECT 1 AS a UNION SELECT 2 ORDER BY a", [(1,), (2,)]),
        ("SELECT CASE WHEN relkind = 'r' THEN 'table' END FROM pg_class WHERE relname = 'patients'", [("table",)]),
    ],
)  # fmt: skip
def test_postgresql_forms(ask: Callable[..., list[tuple[object, ...]]], sql: str, rows: object):
    assert ask(sql) == rows


def test_a_refusal_never_shows_the_engines_names(ask: Callable[..., list[tuple[object, ...]]]):
    for sql in (
        "SELECT abs('a')",
        "SELECT relname + 1 FROM pg_class",
        "SELECT a.b.c FROM pg_class a",
        "SELECT 'a'::int",
    ):
        with pytest.raises(Refusal) as caught:
            ask(sql)
        assert "pg_catalogue" not in caught.value.message
        assert "LINE" not in caught.value.message


def test_arrays_of_types_are_shown_by_name(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask(
        "SELECT coalesce(proallargtypes::_regtype, proargtypes::_regtype)::text[] FROM pg_proc "
        "WHERE proname = 'concat_ws' OR oid IN (870, 1299) ORDER BY 1"
    ) == [([],), (["text"],), (["text", '"any"'],)]
