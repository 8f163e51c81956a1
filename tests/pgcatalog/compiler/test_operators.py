"""What is answered is compared with PostgreSQL in test_expressions."""

import pytest

from dpproxy.pgcatalog.compiler import operators
from dpproxy.sql import grammar
from dpproxy.values.errors import Refusal, UndefinedFunction, Unsupported
from tests.pgcatalog.conftest import Ask

PLAIN = (
    "~", "!~", "~*", "!~*", "~~", "~~*", "=", "<>", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%",
    "||", "@>", "<@", "&&",
)  # fmt: skip


@pytest.mark.parametrize("symbol", PLAIN)
def test_it_is_the_plain_operator(symbol: str):
    (written,), (plain,) = (
        grammar.parse(f"SELECT (a {form} b)") for form in (f"OPERATOR(pg_catalog.{symbol})", symbol)
    )
    operators.replace_operators(written)
    assert _bare(written.sql("duckdb")) == _bare(plain.sql("duckdb"))


def _bare(sql: str) -> str:
    return sql.replace("(", "").replace(")", "")


@pytest.mark.parametrize(
    ("sql", "place"),
    [
        ("SELECT 'ab' OPERATOR(pg_catalog.=) 'a' || 'b'", 35),
        ("SELECT relname LIKE 'a' OPERATOR(pg_catalog.||) 'b' FROM pg_class", 7),
        ("SELECT relname IN ('a') OPERATOR(pg_catalog.=) true FROM pg_class", 7),
        ("SELECT oid BETWEEN 1 AND 2 OPERATOR(pg_catalog.+) 1 FROM pg_class", 7),
        ("SELECT relname SIMILAR TO 'a' OPERATOR(pg_catalog.||) 'b' FROM pg_class", 7),
    ],
)
def test_what_binds_otherwise_is_refused(ask: Ask, sql: str, place: int):
    with pytest.raises(Unsupported, match="beside this operator") as caught:
        ask(sql)
    assert caught.value.hint == "write brackets around what is to be taken together"
    assert caught.value.position in (place, None)


def test_others_are_refused(ask: Ask):
    with pytest.raises(Unsupported, match=r"operator \^ is not supported here") as caught:
        ask("SELECT oid OPERATOR(pg_catalog.^) 2 FROM pg_class")
    assert caught.value.position == 7
    with pytest.raises(UndefinedFunction, match=r"operator does not exist: public\.\+"):
        ask("SELECT 1 OPERATOR(public.+) 2")


def test_pygresql_asks_for_the_attributes(ask: Ask):
    found = ask(
        "SELECT a.attname, t.typname::pg_catalog.regtype FROM pg_catalog.pg_attribute AS a "
        "JOIN pg_catalog.pg_type AS t ON t.oid OPERATOR(pg_catalog.=) a.atttypid "
        "WHERE a.attrelid OPERATOR(pg_catalog.=) 'patients'::regclass "
        "AND (a.attnum OPERATOR(pg_catalog.>) 0 OR a.attname OPERATOR(pg_catalog.=) 'oid') "
        "AND NOT a.attisdropped ORDER BY a.attnum"
    )
    assert [name for name, _ in found] == ["id", "name", "paid", "born", "score"]


def test_parameters_take_the_type_of_the_other_side(ask: Ask):
    sql = "SELECT relname FROM pg_class WHERE relname OPERATOR(pg_catalog.=) $1"
    assert ask(sql, "patients") == [("patients",)]
    with pytest.raises(Refusal):
        ask("SELECT relname FROM pg_class WHERE relname SIMILAR TO $1", "patients")
