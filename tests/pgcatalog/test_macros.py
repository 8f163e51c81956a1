from collections.abc import Callable

import pytest

from dpproxy.pgcatalog.macros import MACROS, READS, statements


def test_what_a_macro_reads_is_known():
    assert set(READS) <= set(MACROS)
    for name, (_, body) in MACROS.items():
        assert (" FROM " in body) == (name in READS), name


def test_one_statement_each():
    assert statements().count("CREATE MACRO c_") == len(MACROS)


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("quote_ident('a')", "a"),
        ("quote_ident('A\"b')", '"A""b"'),
        ("quote_literal('it''s')", "'it''s'"),
        ("quote_nullable(NULL)", "NULL"),
        ("array_to_string(ARRAY['a', NULL, 'b'], ',')", "a,b"),
        ("array_to_string(ARRAY['a', NULL], ',', '*')", "a,*"),
        ("array_upper(ARRAY[5, 6], 1)", 2),
        ("format_type(1700, 786438)", "numeric(12,2)"),
        ("format_type(23, NULL)", "integer"),
        ("format_type(1, -1)", "???"),
        ("pg_get_userbyid(10)", "admin"),
        ("pg_get_userbyid(1)", "unknown (OID=1)"),
        ("pg_encoding_to_char(6)", "UTF8"),
        ("pg_type_is_visible(23)", True),
    ],
)
def test_answers(ask: Callable[..., list[tuple[object, ...]]], sql: str, value: object):
    assert ask(f"SELECT {sql}") == [(value,)]


def test_format_type_keeps_the_order_of_rows(ask: Callable[..., list[tuple[object, ...]]]):
    """As psql's \\gdesc asks: without ORDER BY."""
    rows = "('town', 25::oid, -1), ('count', 20::oid, -1), "
    rows += "('sum', 701::oid, -1), ('n', 1::oid, -1), ('avg', 1700::oid, -1)"
    told = ask(f"SELECT name, pg_catalog.format_type(tp, tpm) FROM (VALUES {rows}) AS s(name, tp, tpm)")
    assert [name for name, _ in told] == ["town", "count", "sum", "n", "avg"]
    assert [kind for _, kind in told] == ["text", "bigint", "double precision", "???", "numeric"]
