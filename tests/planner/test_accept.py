import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from dpproxy.planner.accept import DEEPEST, LONGEST_STATEMENT, NODES, accept, parse
from dpproxy.values.errors import Refusal, SyntaxRefused, TooComplex, UndefinedFunction, Unsupported


def test_unquoted_names_are_folded_and_quoted_ones_kept():
    tree = parse('SELECT COUNT(Age), "Age" FROM People')
    names = [i.name for i in tree.find_all(exp.Identifier)]
    assert sorted(names) == ["Age", "age", "people"]


@pytest.mark.parametrize(
    ("sql", "position"),
    [
        ("SELECT count(* FROM t", 15),
        ("SELECT\n  count(*)\nFRM t x", None),
        ("SELEC count(*) FROM t", 11),
        ("SELECT 1 FROM t WHERE", None),
    ],
)
def test_a_syntax_error_says_where(sql: str, position: int | None):
    with pytest.raises(SyntaxRefused) as error:
        parse(sql)
    if position is not None:
        assert error.value.position == position
    assert error.value.position is None or 0 <= error.value.position <= len(sql)


def test_text_that_splits_into_no_tokens_is_not_quoted_in_the_message():
    with pytest.raises(SyntaxRefused) as error:
        parse("SELECT 'secret")
    assert "secret" not in error.value.message


@pytest.mark.parametrize("sql", ["SELECT <= cast ?", "SELECT 1 FROM t WHERE <= cast ?", "SELECT <= 1"])
def test_an_operator_without_an_operand_is_a_syntax_error(sql: str):
    """The parser has more than one way to say so."""
    with pytest.raises(SyntaxRefused):
        parse(sql)


@pytest.mark.parametrize("sql", ["", ";", "-- nothing", "SELECT 1; SELECT 2"])
def test_there_is_exactly_one_statement(sql: str):
    with pytest.raises(SyntaxRefused, match="exactly one statement"):
        parse(sql)


def test_limits_of_size():
    with pytest.raises(TooComplex, match="longer than"):
        parse("SELECT " + "1" * LONGEST_STATEMENT)
    with pytest.raises(TooComplex):
        parse("SELECT " + " + ".join("1" for _ in range(DEEPEST * 2)) + " FROM t")
    with pytest.raises(TooComplex):
        parse("SELECT " + "(" * 2000 + "1" + ")" * 2000)
    with pytest.raises(TooComplex, match="too many parts"):
        parse("SELECT count(*) FROM t WHERE a IN (" + ", ".join("1" for _ in range(20000)) + ")")


def test_only_exact_classes_are_listed():
    assert exp.Expr not in NODES
    assert exp.Func not in NODES
    assert exp.AggFunc not in NODES


def test_a_listed_node_with_an_unlisted_argument_is_refused():
    with pytest.raises(Unsupported):
        accept(parse("SELECT count(*) FROM t FOR UPDATE"))


def test_an_accepted_tree_comes_back_as_it_is():
    tree = parse(
        "SELECT city, count(*) FROM t WHERE a = $1 GROUP BY 1 HAVING count(*) > 2 ORDER BY 2 LIMIT 3"
    )
    assert accept(tree) is tree


WORDS = st.sampled_from(
    [
        "SELECT",
        "FROM",
        "WHERE",
        "GROUP",
        "BY",
        "HAVING",
        "ORDER",
        "LIMIT",
        "count",
        "(",
        "*",
        ")",
        "sum",
        "avg",
        "age",
        "city",
        "t",
        ",",
        "=",
        "<",
        "+",
        "-",
        "/",
        "1",
        "2.5",
        "'x'",
        '"Q"',
        "AND",
        "OR",
        "NOT",
        "NULL",
        "IS",
        "IN",
        "CASE",
        "WHEN",
        "THEN",
        "ELSE",
        "END",
        "CAST",
        "AS",
        "int",
        "::",
        "$1",
        "OVER",
        "DISTINCT",
        "UNION",
        "ALL",
        "JOIN",
        "ON",
        "WITH",
        ";",
        ".",
        "dp.ci_low",
        "BETWEEN",
        "LIKE",
        "~",
        "[",
        "]",
        "{",
        "}",
        "=>",
        "->",
        "INTERVAL",
        "EXISTS",
        "LATERAL",
        "VALUES",
        "--",
        "/*",
        "*/",
        "E'\\n'",
        "U&",
        "$$",
        "@",
        "#",
        "COLLATE",
        "FILTER",
    ]
)


@settings(deadline=None)
@given(st.lists(WORDS, max_size=25).map(" ".join))
def test_any_words_are_accepted_or_refused(sql: str):
    for text in (sql, f"SELECT {sql} FROM t", f"SELECT count(*) FROM t WHERE {sql}"):
        try:
            tree = accept(parse(text))
        except Refusal as refusal:
            assert refusal.sqlstate in {"0A000", "42601", "42883", "54001"}  # noqa: PT017 - which one it is
        else:
            assert all(type(node) in NODES for node in tree.walk())


@pytest.mark.parametrize(
    "sql",
    ["SELECT LATERAL . LATERAL FROM t", "SELECT count(*) FROM t LATERAL . LATERAL", "SELECT LATERAL . f(x) FROM t",
     "SELECT . f(x) FROM t"],
)  # fmt: skip
def test_a_dot_between_nothing_is_refused(sql: str):
    with pytest.raises(Refusal) as refused:
        accept(parse(sql))
    assert refused.value.sqlstate in {"0A000", "42601"}


@pytest.mark.parametrize("kind", ["SEMI", "ANTI"])
def test_joins_that_postgresql_does_not_know(kind: str):
    with pytest.raises(Unsupported, match=f"{kind} JOIN is not supported"):
        accept(parse(f"SELECT count(*) FROM a {kind} JOIN b ON a.x = b.x"))


def test_an_order_inside_an_aggregate_is_for_what_puts_rows_together():
    for call in ("string_agg(x, ',' ORDER BY y)", "array_agg(x ORDER BY y)", "json_agg(x ORDER BY y)"):
        accept(parse(f"SELECT {call} FROM t"))
    with pytest.raises(Unsupported, match="ORDER BY inside an aggregate"):
        accept(parse("SELECT sum(x ORDER BY y) FROM t"))


def test_the_name_of_the_database_may_stand_before_a_schema():
    tree = parse('SELECT "main"."public"."t"."x" FROM "main"."public"."t", other.public.t', "main")
    assert tree.sql("postgres") == 'SELECT "public"."t"."x" FROM "public"."t", other.public.t'


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ("public.min(x)", "public.min"),
        ("public.min(x) OVER ()", "public.min"),
        ("public.min(x) FILTER (WHERE x > 1)", "public.min"),
        ("public.min(x) FILTER (WHERE x > 1) OVER ()", "public.min"),
        ("public.percentile_cont(0.5) WITHIN GROUP (ORDER BY x)", "public.percentile_cont"),
        ("pg_catalog.version()", "pg_catalog.version"),
        ("other.pg_catalog.min(x)", "other.pg_catalog.min"),
    ],
)
def test_a_function_of_another_schema_is_told_with_its_place(call: str, shown: str):
    with pytest.raises(UndefinedFunction, match=re.escape(f"function {shown}() does not exist")) as error:
        accept(parse(f"SELECT 1, {call} FROM t"))
    assert error.value.position == 10
    assert error.value.hint


def test_a_call_inside_of_another_has_no_schema():
    with pytest.raises(UndefinedFunction, match=re.escape("function nope() does not exist")):
        accept(parse("SELECT pg_catalog.count(nope(x)) FILTER (WHERE true) FROM t"))


def test_a_select_of_nothing_is_refused_in_words():
    with pytest.raises(Unsupported, match="without columns"):
        accept(parse("SELECT"))
