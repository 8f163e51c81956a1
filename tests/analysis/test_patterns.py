"""What matches is compared with PostgreSQL in tests/planner/test_with_and_without_from.py."""

import pytest

from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.scopes import ExpressionLevel, Parameters, Scope
from dpproxy.values.errors import InvalidText, UndefinedFunction, Unsupported
from tests.analysis.rows import node_of

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
