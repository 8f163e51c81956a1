"""Windows and constants that tell rows apart, in a SELECT list as it is written."""

import pytest

from dpproxy.planner.accept import parse
from dpproxy.planner.open.row_numbers import numbered
from dpproxy.planner.select_list import items


@pytest.mark.parametrize(
    ("window", "unique", "places"),
    [
        ("row_number() OVER (PARTITION BY a, b ORDER BY c)", "", {0, 1, 2}),
        ("row_number() OVER (ORDER BY c)", "", {2}),
        ("row_number() OVER (PARTITION BY c ORDER BY a)", "", None),
        ("rank() OVER (PARTITION BY a ORDER BY b DESC)", "ab", {0, 2}),
        ("dense_rank() OVER (PARTITION BY a ORDER BY b, c)", "bc", {0, 2}),
        ("rank() OVER (PARTITION BY a ORDER BY b)", "abc", None),
        ("rank() OVER (PARTITION BY a)", "b", None),
        ("ntile(3) OVER (PARTITION BY a ORDER BY b)", "ab", None),
        ("sum(a) OVER (PARTITION BY a ORDER BY b)", "ab", None),
        ("row_number() OVER (PARTITION BY a ORDER BY b) + 1", "ab", None),
    ],
)
def test_a_window_numbers_rows(window: str, unique: str, places: set[int] | None):
    written = [i.node.unnest() for i in items(parse(f"SELECT a, b, {window} FROM t"))]
    found = numbered(
        written,
        lambda part: written.index(part) if part in written else None,
        lambda told: bool(unique) and set(unique) <= {column.name for column in told},
    )
    assert found == (None if places is None else frozenset(places))
