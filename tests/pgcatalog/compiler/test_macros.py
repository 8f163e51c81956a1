from collections.abc import Callable

import pytest
from sqlglot import parse_one

from dpproxy.pgcatalog.compiler.macros import MACROS, READS, expanded_words, statements
from dpproxy.values.errors import Refusal


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
        ("oidvectortypes(proargtypes) FROM pg_proc WHERE oid = 1215", "oid, name"),
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


def test_an_argument_counts_wherever_the_body_names_it():
    nested = parse_one("c_quote_literal(c_quote_literal(c_quote_literal(1)))", read="duckdb")
    alone = parse_one("c_quote_literal(1)", read="duckdb")
    plain = parse_one("lower(lower(lower(1)))", read="duckdb")
    assert expanded_words(alone) < expanded_words(nested)
    assert expanded_words(plain) == 4
    named = parse_one("c_pg_get_constraintdef(1, 2)", read="duckdb")
    assert expanded_words(named) > expanded_words(parse_one("c_pg_get_constraintdef(1)", read="duckdb"))


@pytest.mark.parametrize("function", ["quote_ident", "to_regclass", "pg_get_userbyid", "array_to_string"])
def test_what_would_grow_without_bound_is_refused_before_it_runs(
    ask: Callable[..., list[tuple[object, ...]]], function: str
):
    further = ", ','" if function == "array_to_string" else ""
    inner = "ARRAY['a']" if further else "'1'"
    for _ in range(13 if further else 60):
        inner = f"ARRAY[{function}({inner}{further})]" if further else f"{function}({inner})"
    with pytest.raises(Refusal) as caught:
        ask(f"SELECT {function}({inner}{further})")
    assert caught.value.sqlstate in ("54001", "42883")
