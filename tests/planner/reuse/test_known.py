"""Terms of which some columns are known: what is not known for sure is not known."""

from datetime import datetime

import pytest

from dpproxy.planner.reuse.known import OTHER, Known, Unknown, constants, value_of
from dpproxy.planner.reuse.spans import Span
from dpproxy.planner.reuse.terms import NULL, Term

AGE: Term = ("column", 0, "age")
SEEN: Term = ("column", 0, "seen")
MONTH = Span(datetime(2024, 2, 1), datetime(2024, 2, 29, 23, 59, 59, 999999))  # noqa: DTZ001 - of a type without zone


def number(value: int) -> Term:
    return ("neg", number(-value)) if value < 0 else ("literal", False, str(value))


def moment(text: str) -> Term:
    return ("cast", "TIMESTAMP", False, ("literal", True, text))


@pytest.mark.parametrize(
    ("term", "known", "value"),
    [
        (("//", AGE, number(10)), {AGE: 47}, 4),
        (("%", AGE, number(10)), {AGE: 47}, 7),
        (("mul", ("//", AGE, number(10)), number(10)), {AGE: 47}, 40),
        (("-", AGE, number(50)), {AGE: 47}, -3),
        (("neg", ("add", AGE, number(1))), {AGE: 47}, -48),
        (("add", AGE, number(1)), {AGE: None}, None),
        (("neg", AGE), {AGE: None}, None),
        (("call", "nullif", False, (("cast", "BIGINT", False, number(10)), number(0)), ()), {}, 10),
        (("call", "nullif", False, (AGE, number(0)), ()), {AGE: 0}, None),
        (("le", AGE, number(47)), {AGE: 47}, True),
        (("is null", AGE), {AGE: OTHER}, False),
        (("eq", AGE, number(3)), {AGE: OTHER}, False),
        (("lt", SEEN, moment("2024-03-01")), {SEEN: MONTH}, True),
        (("case", ((("eq", AGE, number(3)), number(1)),), NULL), {AGE: 4}, None),
    ],
)
def test_a_value_follows(term: Term, known: Known, value: object):
    assert value_of(term, known) == value


@pytest.mark.parametrize(
    ("term", "known"),
    [
        (AGE, {}),
        (("//", AGE, number(10)), {AGE: -1}),  # engines differ
        (("%", AGE, number(0)), {AGE: 3}),
        (("add", AGE, number(1)), {AGE: OTHER}),
        (("neg", AGE), {AGE: "x"}),
        (("lt", SEEN, moment("2024-02-03")), {SEEN: MONTH}),
        (("lt", AGE, number(3)), {AGE: OTHER}),
        (("call", "random", False, (), ()), {}),
    ],
)
def test_what_is_not_told_is_not_known(term: Term, known: Known):
    with pytest.raises(Unknown):
        value_of(term, known)


def test_constants_are_found_wherever_they_stand():
    assert set(
        constants(("or", ("eq", AGE, number(3)), ("in", AGE, number(-4), ("literal", True, "x"))))
    ) >= {3, -4, "x"}
