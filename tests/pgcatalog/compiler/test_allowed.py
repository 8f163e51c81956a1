import pytest
from sqlglot import exp, parse_one

from dpproxy.pgcatalog.compiler import allowed
from dpproxy.values.errors import Refusal, TooComplex, Unsupported
from tests.pgcatalog.conftest import Ask

LONG = "a" * 1000


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM pg_class FOR UPDATE",
        "SELECT * FROM pg_class TABLESAMPLE SYSTEM (10)",
        "SELECT random()",
        "SELECT repeat('a', 10)",
        "SELECT lpad('a', 10)",
        "SELECT * FROM read_csv('x')",
        "SELECT list_transform(a, x -> x) FROM t",
        "SELECT columns('a') FROM pg_class",
        "DELETE FROM pg_class",
        "COPY pg_class TO 'x'",
        "CREATE TABLE x (a int)",
        "SET a = 1",
    ],
)
def test_what_is_not_listed_is_refused(sql: str):
    with pytest.raises(Unsupported):
        allowed.check(parse_one(sql, read="postgres"))


def test_a_refusal_says_where():
    with pytest.raises(Refusal) as caught:
        allowed.check(parse_one("SELECT 1, repeat('a', 2)", read="postgres"))
    assert caught.value.position == 10
    assert "repeat" in caught.value.message


def test_a_huge_statement_is_refused():
    long = exp.Tuple(expressions=[exp.Literal.number(1) for _ in range(allowed.MAX_NODES + 1)])
    with pytest.raises(TooComplex):
        allowed.check(long)


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT length({'replace(' * 4}'{'a' * 100}'{(chr(44) + repr('a') + chr(44) + repr('a' * 100) + ')') * 4})",
        f"SELECT regexp_replace(regexp_replace('{LONG}', 'a', '{LONG}', 'g'), 'a', '{LONG}', 'g')",
        f"SELECT replace(x, 'a', x) FROM (SELECT replace(x, 'a', x) AS x FROM (SELECT '{LONG}' AS x) a) b",
        f"SELECT pg_catalog.replace(pg_catalog.replace('{LONG}', 'a', '{LONG}'), 'a', '{LONG}')",
        f"SELECT length(concat_ws('{LONG * 10}'{', 1' * 2000}))",
    ],
)
def test_texts_do_not_grow_without_end(ask: Ask, sql: str):
    with pytest.raises(TooComplex, match="replacements make a text too long"):
        ask(sql)


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("SELECT replace(replace('a''b', '''', ''''''), 'b', 'c')", "a''c"),
        ("SELECT regexp_replace('abc', 'b', 'xyz')", "axyzc"),
        ("SELECT concat_ws(', ', 'a', 'b')", "a, b"),
        ("SELECT replace(replace(replace('aXbYcZ', 'X', '--'), 'Y', '__'), 'Z', '')", "a--b__c"),
    ],
)
def test_what_catalogue_queries_do_is_done(ask: Ask, sql: str, found: str):
    assert ask(sql) == [(found,)]
