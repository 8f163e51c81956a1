"""Walks over ranges: whatever a row is, what is added and taken away of it is what the question counts of it."""

from collections.abc import Sequence
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.planner.reuse import ranges
from dpproxy.planner.reuse.known import Unknown, value_of
from dpproxy.planner.reuse.ranges import ConditionIndex, Step, either, remainders
from dpproxy.planner.reuse.terms import NULL, Term

X: Term = ("column", 0, 1)
WARD: Term = ("eq", ("column", 0, 2), ("literal", True, "a"))


def walk(
    asked: Sequence[Term], released: Sequence[Sequence[Term]], costs: Sequence[float]
) -> list[Step] | None:
    """Of releases that are numbered as they come, each beside one that was taken out again."""
    index = ConditionIndex()
    for place, conditions in enumerate(released):
        index.add(place, conditions)
        index.add(-1, conditions)
        index.remove(-1)
    return index.walk(asked, lambda n: costs[n])


def number(n: int) -> Term:
    return ("neg", number(-n)) if n < 0 else ("literal", False, str(n))


def day(n: int, to: str = "DATE") -> Term:
    return ("cast", to, False, ("literal", True, f"2024-02-0{n}"))


def below(n: int) -> Term:
    return ("lt", X, number(n))


def least(n: int) -> Term:
    return ("le", number(n), X)


CONDITIONS = st.one_of(
    st.just([]),
    st.builds(lambda n: [below(n)], st.integers(-2, 3)),
    st.builds(lambda n: [least(n)], st.integers(-2, 3)),
    st.builds(lambda a, b: [least(min(a, b)), below(max(a, b))], st.integers(-2, 3), st.integers(-2, 3)),
    st.just([("not", ("is null", X))]),
    st.just([("is null", X)]),
    st.builds(lambda n: [("eq", X, number(n))], st.integers(-2, 3)),
    st.builds(lambda a, b: [("or", below(a), ("eq", X, number(b)))], st.integers(-2, 3), st.integers(-2, 3)),
    st.builds(lambda a, b: [("in", X, number(a), number(b))], st.integers(-2, 3), st.integers(-2, 3)),
    st.builds(lambda a, b: [("not in", X, number(a), number(b))], st.integers(-2, 3), st.integers(-2, 3)),
    st.builds(lambda a: [("in", X, X, number(a))], st.integers(-2, 3)),
    st.builds(lambda a: [("not", ("or", ("ne", X, number(a)), ("lt", X, X)))], st.integers(-2, 3)),
    st.builds(
        lambda a, b: [("or", ("lt", number(a), number(b)), below(a))], st.integers(-2, 3), st.integers(-2, 3)
    ),
)


def holds(conditions: Sequence[Term], value: int | None) -> bool:
    return all(value_of(c, {X: value}) is True for c in conditions)


@given(asked=CONDITIONS, released=st.lists(CONDITIONS, max_size=7))
def test_every_row_is_counted_as_often_as_the_question_does(asked: list[Term], released: list[list[Term]]):
    found = walk(asked, released, [1.0] * len(released))
    if found is None:
        return
    assert len({number for number, _ in found}) == len(found)
    for value in (None, *range(-3, 6)):
        counted = sum(sign * holds(released[number], value) for number, sign in found)
        assert counted == holds(asked, value)


@pytest.mark.parametrize(
    ("asked", "released", "steps"),
    [
        ([least(2), below(5)], [[below(5)], [below(2)]], [(1, -1), (0, 1)]),
        ([below(5)], [[below(2)], [least(2), below(5)]], [(0, 1), (1, 1)]),
        ([least(1), below(3)], [[least(1), below(2)], [least(2), below(3)]], [(0, 1), (1, 1)]),
        ([WARD, least(2), below(5)], [[below(5), WARD], [WARD, below(2)]], [(1, -1), (0, 1)]),
        ([least(-5), below(-2)], [[below(-2)], [below(-5)]], [(1, -1), (0, 1)]),
        (
            [("le", day(2), X), ("lt", X, day(5))],
            [
                [("lt", X, day(5))],
                [("lt", X, day(2))],
                [("lt", X, day(3, "TIMESTAMP"))],
                [("eq", X, ("literal", True, "a"))],
            ],
            [(1, -1), (0, 1)],
        ),
    ],
)
def test_totals_without_a_part_and_parts_of_a_total(
    asked: list[Term], released: list[list[Term]], steps: list[tuple[int, int]]
):
    assert sorted(walk(asked, released, [1.0] * len(released)) or []) == sorted(steps)


@pytest.mark.parametrize(
    ("asked", "released"),
    [
        ([least(2)], [[], [below(2)]]),  # rows of NULL are in all, and in neither
        ([least(2), below(5)], [[below(5), WARD], [below(2)]]),
        ([least(2), below(5)], [[("le", X, number(5))], [below(2)]]),
        ([least(2), below(5)], [[("lt", X, ("literal", False, "4.5"))], [below(2)]]),
        ([least(2), below(5)], [[below(5)], [("lt", X, day(2))]]),
        ([("lt", X, ("column", 0, 3))], [[], [("le", ("column", 0, 3), X)]]),
        ([("lt", ("literal", True, "b"), X)], [[("lt", ("literal", True, "a"), X)]]),
    ],
)
def test_what_does_not_add_up_is_no_walk(asked: list[Term], released: list[list[Term]]):
    assert walk(asked, released, [1.0] * len(released)) is None


@given(
    asked=st.lists(CONDITIONS, max_size=3).map(lambda several: list(chain(*several))),
    released=st.lists(CONDITIONS, max_size=9),
    gone=st.sets(st.integers(0, 8)),
)
def test_releases_of_more_rows_are_found_by_their_conditions(
    asked: list[Term], released: list[list[Term]], gone: set[int]
):
    index = ConditionIndex()
    for place, conditions in enumerate(released):
        index.add(place, conditions)
    left = [n for n in range(len(released)) if n not in gone]
    for place in set(range(len(released))) - set(left):
        index.remove(place)
    assert index.within(asked) == [n for n in left if set(released[n]) <= set(asked)]


def test_the_least_noise_is_taken():
    months = [[least(n), below(n + 1)] for n in range(1, 5)]
    wide = [[least(1), below(9)], [least(5), below(9)]]
    released = [*months, *wide]
    assert walk([least(1), below(5)], released, [1.0] * 6) == [(4, 1), (5, -1)]
    assert walk([least(1), below(5)], released, [1.0] * 4 + [9.0] * 2) == [(n, 1) for n in range(4)]


def test_a_question_looks_at_no_other_release_for_each_release(monkeypatch: pytest.MonkeyPatch):
    """The work grows with the number of releases, and what was found of one serves the next question."""
    looks = 0

    def counted(*arguments: object) -> bool | None:
        nonlocal looks
        looks += 1
        return holds_at(*arguments)

    holds_at = ranges._holds
    monkeypatch.setattr(ranges, "_holds", counted)
    released = [[("ne", X, number(n))] for n in range(1000, 1300)]
    assert walk([("ne", X, number(1300))], released, [1.0] * 300) is None
    assert looks <= 301 * 4
    looks = 0
    assert walk([("ne", X, number(1301))], released, [1.0] * 300) is None
    assert looks <= 4


def test_each_value_of_a_list_is_looked_at_once(monkeypatch: pytest.MonkeyPatch):
    """And not once for each place that the term can have among them."""
    looks = 0

    def counted(*arguments: object) -> object:
        nonlocal looks
        looks += 1
        return rank(*arguments)

    rank = ranges._rank
    monkeypatch.setattr(ranges, "_rank", counted)
    listed: Term = ("in", X, *(number(n) for n in range(2000, 3000)))
    assert walk([listed, below(2500)], [[listed]], [1.0]) is None
    assert looks <= 2 * 1001


@given(asked=st.lists(CONDITIONS, max_size=2).map(lambda several: list(chain(*several))))
def test_more_rows_without_those_that_are_left_out_are_the_question_s(asked: list[Term]):
    for parts in remainders(asked):
        for value in (None, *range(-3, 6)):
            assert sum(sign * holds(found, value) for found, sign in parts) == holds(asked, value)


@pytest.mark.parametrize(
    ("asked", "out"),
    [
        (("differs", number(3), X), ("eq", number(3), X)),
        (("or", ("is null", X), ("ne", X, number(3))), ("eq", X, number(3))),
        (("or", ("is null", X), ("not in", X, number(3), number(4))), ("in", X, number(3), number(4))),
        (("is null", X), ("not", ("is null", X))),
        (("not", ("is null", X)), ("is null", X)),
    ],
)
def test_what_is_left_out_as_it_may_have_been_asked(asked: Term, out: Term):
    assert (((WARD,), 1), ((WARD, out), -1)) in list(remainders([asked, WARD]))


def test_of_an_or_those_of_both_sides_are_taken_away():
    one, other, third = (("eq", number(n), ("column", 0, n)) for n in (1, 2, 3))
    [both] = either([("or", one, other), WARD])
    assert {(frozenset(found), sign) for found, sign in both} == {
        (frozenset((WARD, *several)), sign)
        for several, sign in (((one,), 1), ((other,), 1), ((one, other), -1))
    }
    [of_three] = either([("or", one, other, third)])
    assert [sign for _, sign in of_three] == [1, 1, 1, -1, -1, -1, 1]
    assert not list(either([("or", one, other, third, WARD)]))
    assert both in list(remainders([("or", one, other), WARD]))


@pytest.mark.parametrize(
    "asked", [("lt", X, ("column", 0, 3)), ("eq", X, NULL), ("eq", number(1), number(1)), WARD]
)
def test_null_is_left_out_of_more_rows_only_for_constants(asked: Term):
    found = list(remainders([asked]))
    assert (len(found) == 2) == (asked == WARD)


def test_unknown_terms_are_not_compared():
    with pytest.raises(Unknown):
        value_of(("lt", X, ("column", 0, 3)), {X: 1})
