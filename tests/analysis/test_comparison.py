"""Comparisons: one form for both sides, no silent mixing of types."""

import duckdb
import pytest
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.comparison import compare
from dpproxy.analysis.domains import LONGEST_READ, read_column
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.literals import LONGEST_LITERAL
from dpproxy.analysis.scopes import ExpressionLevel, Parameters, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.policy.model import Discovered
from dpproxy.values.errors import TypeMismatch, UndefinedFunction
from dpproxy.values.pgtypes import FLOAT8, INT8, NUMERIC, TEXT, TIMESTAMP, Column, SqlType
from tests.analysis.rows import compiled, node_of


@pytest.mark.parametrize(
    "text", ["age = name", "age > born", "flag = 1", "name < 5", "born = flag", "flag IN (1)"]
)
def test_types_that_do_not_compare_have_no_operator(text: str):
    with pytest.raises(UndefinedFunction) as refused:
        compiled(text)
    assert refused.value.position is not None


@pytest.mark.parametrize(
    "text", ["odd = '5'", "born > '2000-01-01'", "seen > born", "flag = 't'", "price = 1", "real8 < huge"]
)
def test_literals_and_numbers_take_the_type_beside_them(text: str):
    assert compiled(text).nullable


@pytest.mark.parametrize("text", ["odd IS NULL", "odd IS DISTINCT FROM 3", "age < 5", "flag IS NOT TRUE"])
def test_what_cannot_be_null_is_not_nullable(text: str):
    assert not compiled(text).nullable


@pytest.mark.parametrize(
    ("text", "kind"),
    [("coalesce(age, big)", INT8), ("coalesce(age, price)", NUMERIC), ("coalesce(price, real4)", FLOAT8),
     ("coalesce(born, seen)", TIMESTAMP), ("coalesce('a', NULL)", TEXT)],
)  # fmt: skip
def test_several_values_have_one_type(text: str, kind: SqlType):
    assert compiled(text).type == kind


def test_types_that_do_not_match_are_refused():
    with pytest.raises(TypeMismatch):
        compiled("coalesce(age, name)")


@pytest.mark.parametrize(
    "text", ["CASE WHEN flag THEN age ELSE NULL END", "coalesce(age, NULL)", "least(age, NULL)"]
)
def test_null_beside_a_number_keeps_its_bounds(text: str):
    typed = compiled(text)
    assert (typed.low, typed.high) == (0, 110)


def test_a_decimal_is_compared_exactly():
    """As a DOUBLE, 9999.99 would be another number."""
    assert "DOUBLE" not in duck.text(compiled("price = 9999.99").sql)


WORD = read_column(Column("word", TEXT, not_null=False), Discovered())
OF_WORDS = Scope(ExpressionLevel.ROW, lambda node: WORD if type(node) is exp.Column else None, Parameters())


def of_words(text: str) -> str:
    return duck.text(compile_expression(node_of(text), OF_WORDS).sql)


@pytest.mark.parametrize(
    "test",
    [
        "{} = {}",
        "{} <> {}",
        "{} IS DISTINCT FROM {}",
        "{} IN ({}, 'b')",
        "CASE {} WHEN {} THEN true ELSE false END",
    ],
)
def test_a_text_is_compared_with_a_constant_as_it_is_and_the_same_comes_out(test: str):
    """As it would be of the characters that are read of it."""
    words = ["a" * size for size in (0, 1, LONGEST_LITERAL, LONGEST_READ, LONGEST_READ + 1)]
    with duckdb.connect() as engine:
        engine.execute("CREATE TABLE t (word text)")
        engine.executemany("INSERT INTO t VALUES (?)", [[word] for word in (*words, None, "a\0b")])
        for constant in (*words[:3], "a\u00e9"):
            where = test.format("word", f"'{constant}'")
            made = of_words(where)
            assert "left(" not in made.lower()
            read = where.replace("word", f"left(word, {LONGEST_READ})")
            assert engine.execute(
                f"SELECT count(*) FROM t WHERE ({made}) IS DISTINCT FROM ({read})"
            ).fetchall() == [(0,)]


def test_a_text_is_compared_with_an_unseen_constant_as_it_is():
    hole = nodes.Hole(0, "TEXT")
    typed = compare(exp.EQ(), exp.EQ, WORD, Typed(hole, TEXT, is_constant=True), OF_WORDS)
    assert typed.sql.has(nodes.Hole)
    assert not typed.sql.has(nodes.Call)
    assert LONGEST_LITERAL < LONGEST_READ


@pytest.mark.parametrize("test", ["word < 'a'", "upper(word) = 'A'", "word = word", "word LIKE 'a%'"])
def test_a_text_is_otherwise_read_as_far_as_its_cost_is_bounded(test: str):
    assert "left(" in of_words(test).lower()
