"""Texts that a short statement would make very long are refused before they are made."""

import pytest

from dpproxy.values.errors import TooComplex
from tests.pgcatalog.conftest import Ask

LONG = "a" * 1000


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
