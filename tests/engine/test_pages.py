"""dp.ledger, answered a page at a time, beside the same rows all at once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpproxy.accounting import listing
from dpproxy.accounting.model import Account, Charge, Debit
from dpproxy.algebra.plan import Answer, Caller
from dpproxy.engine.engine import Engine
from dpproxy.engine.pages import Paging, listed
from dpproxy.values.errors import TooComplex
from tests.engine.test_engine import ANN, DDL, POLICY, ROOT, ask
from tests.proxies import started, write_home

pytestmark = pytest.mark.usefixtures("in_process")


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Thirty charges by ann and bob."""
    monkeypatch.setattr(listing, "FIRST", 4)
    monkeypatch.setattr(listing, "LARGEST", 8)
    with started(write_home(tmp_path, DDL, POLICY)) as engine:
        for number in range(30):
            who = "bob" if number % 3 else "ann"
            debit = Debit(Account.user("b", who))
            charge = Charge(
                who, bytes(32), 1, 1, "staircase", 10**6 * (number + 1), (debit,), bytes(32), f"of {number}"
            )
            engine._ledger.reserve(charge)
        yield engine


def rows(answer: Answer) -> list[tuple[object, ...]]:
    if answer.stream is None:
        assert answer.tag == f"SELECT {len(answer.rows)}"
        return list(answer.rows)
    found: list[tuple[object, ...]] = []
    while portion := answer.stream.take(3):
        found += portion
    assert not answer.stream.is_open
    return found


@pytest.mark.parametrize("caller", [ANN, ROOT])
@pytest.mark.parametrize(
    "tail",
    [
        "",
        "ORDER BY sequence DESC",
        "ORDER BY at",
        "LIMIT 7",
        "LIMIT 0",
        "LIMIT 5 OFFSET 3",
        "ORDER BY sequence DESC LIMIT 5 OFFSET 6",
        "WHERE sequence > 4 AND sequence <= 9",
        "WHERE who = 'bob'",
        "WHERE what = 'of 3' OR epsilon > 0.028",
        "WHERE at >= '2020-01-01' AND at < '2999-01-01' AND sequence < 20 LIMIT 6",
        "WHERE sequence > 1000",
    ],
)
def test_the_rows_are_those_of_the_whole(engine: Engine, caller: Caller, tail: str):
    streamed = ask(engine, f"SELECT sequence, at, who, what, epsilon, budget FROM dp.ledger {tail}", caller)
    whole = ask(
        engine,
        f"SELECT sequence, at, who, what, epsilon, budget FROM (SELECT * FROM dp.ledger) AS l {tail}",
        caller,
    )
    found = rows(streamed)
    assert sorted(found, key=str) == sorted(rows(whole), key=str)
    if "at" not in tail:
        assert found == rows(whole)
    assert streamed.columns == whole.columns


def test_few_rows_are_whole_and_many_a_stream(engine: Engine):
    assert ask(engine, "SELECT * FROM dp.ledger LIMIT 3", ROOT).stream is None
    assert ask(engine, "SELECT * FROM dp.ledger", ROOT).stream is not None
    assert rows(ask(engine, "SELECT count(*) FROM dp.ledger", ROOT)) == [(30,)]


def of(*portions: list[tuple[object, ...]]) -> Answer:
    return listed(iter(portions), lambda found: Answer(f"SELECT {len(found)}", (), found), None, 0)


def test_a_stream_can_be_held_or_closed():
    one: tuple[object, ...] = (1,)
    stream = of([one] * 2, [one] * 3, [one]).stream
    assert isinstance(stream, Paging)
    assert stream.take(4) == [one] * 2  # those of one portion
    assert stream.whole() == [one] * 4
    assert not stream.is_open
    closed = of([one] * 2, [one] * 3, [one]).stream
    assert closed is not None
    closed.close()
    assert (closed.take(5), closed.is_open) == ([], False)


def test_too_many_rows_are_not_held(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dpproxy.engine.pages.MOST_WHOLE", 5)
    one: tuple[object, ...] = (1,)
    stream = of([one] * 2, [one] * 3, [one]).stream
    assert isinstance(stream, Paging)
    with pytest.raises(TooComplex):
        stream.whole()
