"""The bounds by brute force: every way in which one unit's rows can refer to each other, joined in Python."""

from collections.abc import Iterator, Sequence
from itertools import product

import pytest

from dpproxy.analysis import duck
from dpproxy.planner.rows.multiplicity import beside, preserved, together
from dpproxy.planner.rows.relation import Scan

Refers = dict[str, str]
"""By item, the item that its rows refer to."""


def scan(name: str, most: int, *, referred: bool = False) -> Scan:
    column = duck.column(name)
    return Scan(name, column, (), name, column, "people", most, most, content=(column,), referred=referred)


def ways(items: Sequence[Scan], refers: Refers) -> Iterator[dict[str, list[tuple[int, int | None]]]]:
    """Rows (own number, number referred to) of every item, as many as it may have; -1 refers to nothing."""
    most = {s.name: s.most for s in items}
    choices = [
        list(product([*range(most[refers[s.name]]), -1], repeat=s.most))
        if s.name in refers
        else [(None,) * s.most]
        for s in items
    ]
    for chosen in product(*choices):
        yield {s.name: list(enumerate(c)) for s, c in zip(items, chosen, strict=True)}


def inner(items: Sequence[Scan], refers: Refers, rows: dict[str, list[tuple[int, int | None]]]) -> int:
    """How many combinations of rows meet."""
    names = [s.name for s in items]
    found = 0
    for combined in product(*(rows[name] for name in names)):
        by = dict(zip(names, combined, strict=True))
        found += all(by[child][1] == by[parent][0] for child, parent in refers.items())
    return found


A, B, C = "a", "b", "c"
SHAPES: list[tuple[dict[str, int], Refers]] = [
    ({A: 1}, {}),
    ({A: 2, B: 3}, {}),
    ({A: 2, B: 1, C: 2}, {}),
    ({A: 2, B: 3}, {B: A}),
    ({A: 3, B: 2}, {B: A}),
    ({A: 2, B: 3}, {A: B}),
    ({A: 2, B: 2, C: 2}, {B: A, C: B}),
    ({A: 2, B: 2, C: 3}, {B: A, C: A}),
    ({A: 2, B: 2, C: 2}, {B: A}),
]


@pytest.mark.parametrize(("sizes", "refers"), SHAPES, ids=str)
def test_inner_joins_have_as_many_rows_as_is_said_and_no_more(sizes: dict[str, int], refers: Refers):
    parents = set(refers.values())
    items = [scan(name, most, referred=name in parents) for name, most in sizes.items()]
    most, groups = together(items, set(refers.items()))
    assert most == groups
    assert most == max(inner(items, refers, rows) for rows in ways(items, refers))


def test_the_order_of_items_is_no_matter():
    parent, child, other = scan(A, 4, referred=True), scan(B, 3), scan(C, 5)
    for items in ([parent, child, other], [other, parent, child], [child, other, parent]):
        assert together(items, {(B, A)}) == (15, 15)


def test_what_nobody_refers_to_here_multiplies_though_it_could_be_referred_to():
    assert together([scan(A, 4, referred=True), scan(B, 3)], set()) == (12, 12)


@pytest.mark.parametrize(("first", "second"), [(1, 1), (2, 3), (3, 1)])
def test_a_left_join_multiplies_by_the_most_of_the_other_side(first: int, second: int):
    before, item = scan(A, first), scan(B, second)
    assert beside(item, [before], set()) == (second, second)
    parent = scan(B, second, referred=True)
    assert beside(parent, [before], {(A, B)}) == (1, 1)
    # of the rows that may refer, each meets one row or none, and is kept without one
    worst = max(
        sum(max(1, sum(ref == number for number, _ in rows[B])) for _, ref in rows[A])
        for rows in ways([before, parent], {A: B})
    )
    assert worst == first * beside(parent, [before], {(A, B)})[0]


@pytest.mark.parametrize(("first", "second"), [(1, 1), (2, 3), (3, 2)])
def test_rows_kept_by_a_left_join_that_others_refer_to(first: int, second: int):
    parent, child = scan(A, first, referred=True), scan(B, second)
    bound = preserved(parent, child, {(B, A)})
    worst = max(
        sum(max(1, sum(ref == number for _, ref in rows[B])) for number, _ in rows[A])
        for rows in ways([parent, child], {B: A})
    )
    assert bound is not None
    assert bound - 1 <= worst <= bound
    assert preserved(parent, child, set()) is None
    assert preserved(scan(A, first), child, {(B, A)}) is None
