"""Words that clients quote."""

import pytest

from dpproxy.pgcatalog.keywords import is_reserved


@pytest.mark.parametrize(
    ("word", "expected"),
    [("select", True), ("abort", False), ("left", True), ("between", True), ("age", False)],
)
def test_a_word_that_is_not_free_for_all_is_quoted(word: str, *, expected: bool):
    assert is_reserved(word) is expected
