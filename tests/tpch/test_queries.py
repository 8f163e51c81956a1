"""The 22 queries as written: answered as the data has it, or refused with a rewrite that is answered.

At epsilon 1,000,000 the noise of a sum of lines stays within 5e-5 of one line's most, but for a chance below 1e-13.
"""

import duckdb
import pytest

from dpproxy.algebra.plan import Answer
from dpproxy.engine.engine import Engine
from tests.bench.results import read
from tests.tpch.page import NAME, table, title
from tests.tpch.questions import QUERIES, Outcome, ask, plain, rewrite_of

KEYS = {"q01": 2, "q04": 1, "q05": 1, "q07": 3, "q08": 1, "q09": 2, "q12": 1, "q13": 1, "q21": 1, "q22": 1}
"""How many columns of an answer are group keys: groups that nobody is in are shown too."""
EMPTY = {"q20": ("0.5 * sum(l_quantity)", "coalesce(0.5 * sum(l_quantity), 0)")}
"""A released sum of no rows is about 0, as that of rows which add up to 0; without noise it is NULL."""
NEAR = 1e-3
Row = tuple[object, ...]


@pytest.fixture(scope="module")
def outcomes(tpch_engine: Engine) -> dict[str, Outcome]:
    return {name: ask(tpch_engine, sql) for name, sql in QUERIES.items()}


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_a_query_is_answered_or_its_hint_is(outcomes: dict[str, Outcome], name: str):
    outcome = outcomes[name]
    if outcome.refusal is None:
        return
    assert outcome.refusal.sqlstate != "XX000"
    assert outcome.refusal.position is not None
    assert outcome.rewritten is not None, f"{outcome.refusal.message}: {outcome.refusal.hint}"
    assert outcome.rewritten.answer is not None, outcome.rewritten.refusal


def is_near(ours: object, theirs: object) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float):
        return abs(ours - theirs) <= NEAR * max(1.0, abs(theirs))
    return ours == theirs


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_an_answer_is_that_of_the_data(
    outcomes: dict[str, Outcome], tpch_bare: duckdb.DuckDBPyConnection, name: str
):
    check(name, outcomes[name].answer, tpch_bare)


@pytest.mark.parametrize("name", sorted(QUERIES))
def test_where_a_line_is_the_unit_all_are_answered_but_one(
    tpch_by_line: Engine, tpch_bare: duckdb.DuckDBPyConnection, name: str
):
    """Q21 asks for other lines of the same order, which are other units."""
    outcome = ask(tpch_by_line, QUERIES[name])
    assert (outcome.answer is None) == (name == "q21")
    assert outcome.answer is not None or (
        outcome.rewritten is not None and outcome.rewritten.answer is not None
    )
    check(name, outcome.answer, tpch_bare)


def check(name: str, answer: Answer | None, tpch_bare: duckdb.DuckDBPyConnection) -> None:
    """The answer, if there is one, is that of the data."""
    if answer is None:
        return
    size = KEYS.get(name, 0)
    ours = [tuple(map(plain, row)) for row in answer.rows]
    theirs = [
        tuple(map(plain, row))
        for row in tpch_bare.execute(QUERIES[name].replace(*EMPTY.get(name, ("\0", "")))).fetchall()
    ]
    if size:
        present = {row[:size] for row in theirs}
        assert present <= {row[:size] for row in ours}
        ours = [row for row in ours if row[:size] in present]
    assert len(ours) == len(theirs)
    for left, right in zip(sorted(ours, key=repr), sorted(theirs, key=repr), strict=True):
        assert all(is_near(a, b) for a, b in zip(left, right, strict=True)), (left, right)


def test_the_stored_table_says_what_becomes_of_them(outcomes: dict[str, Outcome]):
    """Otherwise: python -m tests.tpch."""
    assert read(NAME) == table(outcomes)


def test_there_are_22():
    assert list(QUERIES) == [f"q{n:02d}" for n in range(1, 23)]
    assert title("q21") == "Q21 suppliers who kept orders waiting"


class Hint:
    """Stands for a refusal."""

    def __init__(self, hint: str | None) -> None:
        self.hint = hint


@pytest.mark.parametrize(
    ("hint", "rewrite"),
    [
        ("SELECT count(*) FROM t;", "SELECT count(*) FROM t"),
        ("So: WITH a AS (SELECT 1)\nSELECT x FROM a WHERE x < 2;", "WITH a AS (SELECT 1)\nSELECT x FROM a WHERE x < 2"),
        ("SELECT <columns> FROM t;", None),
        ("SELECT keys FROM t WHERE ...;", None),
        ("Ask an administrator.", None),
        (None, None),
    ],
)  # fmt: skip
def test_a_hint_may_hold_a_rewrite(hint: str | None, rewrite: str | None):
    assert rewrite_of(Hint(hint)) == rewrite  # type: ignore[arg-type]
