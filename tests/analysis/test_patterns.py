"""What matches is compared with PostgreSQL in tests/planner/test_with_and_without_from.py."""

import pytest

from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.scopes import ExpressionLevel, Parameters, Scope
from dpproxy.values.errors import InvalidText, TooComplex, UndefinedFunction, Unsupported
from tests.analysis.rows import compiled, connect, node_of, row_scope, values_of

ROWS = row_scope()
OPEN = Scope(ExpressionLevel.RELEASED, lambda _: None, Parameters())


@pytest.mark.parametrize("pattern", ["^a", "a.c$", "[a-z]+", "(foo|bar)*x{2,3}", r"a\.\d", ""])
def test_patterns_that_both_read_alike(pattern: str):
    found = compile_expression(node_of(f"'abc' ~ '{pattern}'"), OPEN)
    assert "REGEXP_MATCHES" in duck.text(found.sql)


@pytest.mark.parametrize(
    "pattern", ["a*?", r"\mword", "[[:alpha:]]", "(?i)a", "a**", "[a", r"\w", "a{1000}", "x" * 101]
)
def test_patterns_that_they_might_not(pattern: str):
    with pytest.raises(Unsupported, match="regular expression"):
        compile_expression(node_of(f"'abc' ~ '{pattern}'"), OPEN)


@pytest.mark.parametrize("pattern", ["(a", "a)", "[z-a]"])
def test_what_is_no_pattern(pattern: str):
    with pytest.raises(InvalidText):
        compile_expression(node_of(f"'abc' ~ '{pattern}'"), OPEN)


def test_only_texts_are_matched():
    with pytest.raises(UndefinedFunction):
        compile_expression(node_of("1 ~ 'a'"), OPEN)


@pytest.mark.parametrize("rest", ["'a|b', 'x'", "'a', '[\\1]'", "'a', 'x', 'n'"])
def test_what_is_not_replaced(rest: str):
    with pytest.raises(Unsupported, match="regexp_replace"):
        compile_expression(node_of(f"regexp_replace('abc', {rest})"), OPEN)


def test_nothing_matches_null():
    assert compile_expression(node_of("'a' ~ NULL"), OPEN).nullable
    assert compile_expression(node_of("regexp_replace('a', NULL, 'b')"), OPEN).is_null


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("name ~ '^A'", {None, False}),
        ("name ~* '^a'", {None, False, True}),
        ("regexp_replace(name, '^(x)?(a)(.*)$', '[\\2]\\3')", {None, "[a]da", "Ådå%_'", "", " x\t"}),
        ("(regexp_match(name, '(a)(d)'))[2]", {None, "d"}),
        ("(regexp_match(name, '(a)(d)'))[3]", {None}),
        ("substring(name from '[a-z]+')", {None, "ada", "d", "x"}),
        ("regexp_substr(name, 'd.')", {None, "da", "då"}),
        ("initcap(name)", {None, "Ada", "Ådå%_'", "", " X\t"}),
        ("lpad(name, 4, '*')", {None, "*ada", "Ådå%", "****", "* x\t"}),
        ("concat_ws('-', name, 'z')", {"ada-z", "Ådå%_'-z", "-z", " x\t-z", "z"}),
        ("ascii(name)", {None, 97, 197, 0, 32}),
    ],
)
def test_they_are_computed_of_rows(text: str, answers: set[object]):
    value = compiled(text)
    with connect() as connection:
        found = set(values_of(connection, value.sql))
    assert found == answers
    assert value.longest is None or all(len(str(v)) <= value.longest for v in found - {None})


@pytest.mark.parametrize("pattern", ["((a{9}){9}){9}", "((){99}){99}", "((^|$){31}){31}"])
def test_what_a_pattern_repeats_counts_as_often(pattern: str):
    """The engine fails on a group, an empty one too, that is repeated more than 1,000 times."""
    with pytest.raises(TooComplex, match="500"):
        compiled(f"name ~ '{pattern}'")


def test_groups_that_the_engine_does_not_number_are_not_taken():
    pattern = "(" * 10 + "a" + ")" * 10
    with connect() as connection:
        assert "a" in values_of(connection, compiled(f"(regexp_match(name, '{pattern}'))[9]").sql)
    with pytest.raises(Unsupported, match="the first 9 groups"):
        compiled(f"(regexp_match(name, '{pattern}'))[10]")


def test_nothing_is_put_together_without_values():
    with pytest.raises(UndefinedFunction, match="concat_ws"):
        compiled("concat_ws(name)")


@pytest.mark.parametrize(
    ("text", "longest"),
    [
        ("regexp_replace(name, 'a', '', 'g')", 6),
        ("regexp_replace(name, '(a)', '\\1\\1')", 12),
        ("regexp_replace(name, 'a', 'xy')", 8),
        ("regexp_replace(name, 'a', 'xy', 'g')", 20),
    ],
)
def test_what_is_replaced_is_as_long_at_most(text: str, longest: int):
    assert compiled(text).longest == longest


def test_a_text_that_could_be_too_long_is_not_made():
    with pytest.raises(TooComplex, match="longer"):
        compile_expression(node_of(f"regexp_replace(name, 'a', '{'x' * 400}', 'g')"), ROWS)
