"""Prices as they are read from EXPLAIN."""

import json

import pytest

from dpproxy.web.prices import EXPLAIN, Measure, Price, first_word, is_question, placed, price
from dpproxy.web.wire import Column, Refused, Rows

DOCUMENT = {
    "epsilon": 0.1, "delta": 0.0, "free": False, "stored": [], "unit": "one row of t", "budget": "b",
    "ceiling": "t", "keys": 2, "confidence": 0.95, "parts": [], "notices": [{"message": "m", "detail": None}],
    "columns": [
        {"name": "k", "type": "text"},
        {"name": "n", "aggregate": "count(*)", "half_width": 52.0, "half_width_formula": None},
        {"name": "s", "aggregate": "sum(x)", "half_width": 51350.2, "half_width_formula": None},
        {"name": "a", "aggregate": "avg(x)", "half_width": None, "half_width_formula": "about 4519 / count"},
        {"name": "q", "aggregate": "q(x)", "half_width": None, "half_width_formula": None},
        {"name": "b", "aggregate": "avg(y)", "half_width": None, "half_width_formula": "about 4.91608e+06 / count"},
    ],
}  # fmt: skip


def rows(**more: object) -> Rows:
    return Rows((Column("QUERY PLAN", "text"),), ((json.dumps(DOCUMENT | more, indent=1),),))


def test_a_price_has_the_error_of_each_noisy_column():
    found = price(rows())
    assert found.measures == (
        Measure("n", "count(*)", "± 52"),
        Measure("s", "sum(x)", "± 51,350"),
        Measure("a", "avg(x)", "± 4519 / count"),
        Measure("q", "q(x)", "unknown before it is asked"),
        Measure("b", "avg(y)", "± 4,916,080 / count"),
    )
    assert (found.epsilon, found.budget, found.keys, found.why, found.notices) == (0.1, "b", 2, None, ("m.",))


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"free": True, "epsilon": 0.0, "stored": [0]}, "it follows from what was released before"),
        ({"free": True, "epsilon": 0.0}, "it follows from the policy"),
        ({"stored": [1]}, "a part of it was released before"),
    ],
)
def test_it_says_why_an_answer_is_free(more: dict[str, object], why: str):
    assert price(rows(**more)).why == why


def test_exact_answers_are_free():
    public = {"epsilon": 0.0, "free": True, "exact": "SELECT 1", "recorded": []}
    assert price(Rows((), ((json.dumps(public),),))) == Price(0.0, why="public tables, exact")
    found = price(Rows((), ((json.dumps({**public, "recorded": ["t"]}),),)))
    assert found.why == "exact rows of t, on record"


def test_questions():
    assert [is_question(s) for s in ("select 1", " WITH a", "(SELECT 1)", "SET a = b", "SHOW x", "")] == [
        True, True, True, False, False, False,
    ]  # fmt: skip


def test_places_are_those_of_the_question():
    assert placed(Refused("42601", "m", position=len(EXPLAIN) + 7)).position == 7
    assert placed(Refused("42601", "m")).position is None


def test_comments_before_a_question():
    assert is_question("-- people\n/* all\n of them */ SELECT 1")
    assert [first_word(s) for s in ("", "-- only", "/* open", "COPY t", "  set a")] == [
        "",
        "",
        "",
        "copy",
        "set",
    ]


def test_several_questions_have_one_price():
    several = Rows((), ((json.dumps({"statements": [{}, {}], "epsilon": 0.2, "left": {}, "budget": None}),),))
    assert price(several) == Price(0.2, why="2 questions together")
