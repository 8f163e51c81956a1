"""LIKE with escapes, against Python's reading of the pattern and DuckDB's of what is made of it."""

import re

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlglot import exp

from dpproxy.analysis import likes
from dpproxy.values.errors import InvalidEscape

CONNECTION = duckdb.connect()
PATTERNS = st.text("ab%_!", max_size=6)


def matches(text: str, found: list[tuple[str, bool]]) -> bool:
    wild = {"%": ".*", "_": "."}
    pattern = "".join(wild[c] if is_wild else re.escape(c) for c, is_wild in found)
    return re.fullmatch(pattern, text, re.DOTALL) is not None


@given(st.text("ab%_!", max_size=6), PATTERNS)
@example("a%", "a!%")
@example("", "!%%")
def test_what_is_made_of_a_pattern_finds_what_the_pattern_finds(text: str, pattern: str):
    try:
        found = likes.characters(pattern, "!")
    except InvalidEscape:
        assert (len(pattern) - len(pattern.rstrip("!"))) % 2 == 1
        return
    plain = likes.unescaped(found)
    node = exp.Like(this=exp.Literal.string(text), expression=exp.Literal.string(pattern))
    made = likes.as_text_search(node, found) if plain is None else None
    sql = made.sql("duckdb") if made is not None else f"'{text}' LIKE '{plain}'"
    if plain is None and made is None:
        assert any(is_wild for _, is_wild in found[1:-1]) or ("_", True) in found
        return
    assert CONNECTION.execute(f"SELECT {sql}").fetchone() == (matches(text, found),)


def test_a_pattern_does_not_end_with_its_escape():
    with pytest.raises(InvalidEscape):
        likes.characters("a\\", likes.ESCAPE)
