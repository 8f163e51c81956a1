"""What may be seen from when on, and what is not run again."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from dpproxy.accounting.model import NANO, Account
from dpproxy.algebra.plan import Answer, Caller, Payer, Plan
from dpproxy.algebra.request import Request
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine import deadlines as module
from dpproxy.engine.deadlines import Deadlines
from dpproxy.engine.engine import Engine
from dpproxy.values.errors import TooComplex
from tests.proxies import started, write_home

PADDING = 0.4
DDL = ("CREATE TABLE t AS SELECT CAST(i AS INTEGER) AS x FROM range(1000) AS r(i)",)
POLICY = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 1000;
ALTER TABLE t SET PRIVACY EXPECTED ROWS 1000;
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 1000;
CREATE PRIVACY BUDGET b LIMIT EPSILON 900 MAX EPSILON 1 DEFAULT EPSILON 0.1;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""
CALLERS = [Caller(f"user{n}", frozenset({"analyst"}), f"session {n}") for n in range(6)]
PLAN = Plan((), "", "", (), Payer("t", 1, "b", 1, None, None), "count(*) on t", 1, 1)  # type: ignore[arg-type]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with started(write_home(tmp_path, DDL, POLICY, padding=f"{int(PADDING * 1000)}ms")) as found:
        for caller in CALLERS:
            found.open(caller)
        ask(found, "SELECT count(*) FROM t", CALLERS[0])
        yield found


def ask(engine: Engine, sql: str, caller: Caller, epsilon: str = "0.1") -> Answer:
    settings = {**DEFAULTS, "dp.epsilon": epsilon}
    return engine.run(Request(caller, engine.prepare(caller, sql, (), settings), (), settings))


def slow(engine: Engine, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """The exact stage takes so long, as it would with some person's rows."""
    run: Callable[..., object] = engine._answers._backend.run

    def late(*given: object, **more: object) -> object:
        time.sleep(seconds)
        return run(*given, **more)

    monkeypatch.setattr(engine._answers._backend, "run", late)


@pytest.mark.parametrize("work", [0.02, 0.15, 0.3])
def test_sessions_at_shifted_times_see_one_instant(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, work: float
):
    """Six ask one question, 50 ms apart; the first one's exact stage takes ``work``. Nobody else learns which.

    They all see the first one's next instant: those who come while it runs, and those who come when it has ended.
    """
    slow(engine, monkeypatch, work)
    sql = f"SELECT count(*) FROM t WHERE x > {int(work * 1000)}"
    start = time.monotonic()

    def one(number: int) -> float:
        time.sleep(0.05 * number)
        ask(engine, sql, CALLERS[number])
        return time.monotonic() - start

    with ThreadPoolExecutor(len(CALLERS)) as pool:
        seen = sorted(pool.map(one, range(len(CALLERS))))
    assert all(
        moment >= PADDING for moment in seen[1:]
    )  # the one whose work it was is held by its client's grid


def test_what_was_paid_before_is_shown_while_others_ask_for_more(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    sql = "SELECT count(*) FROM t WHERE x > 3"
    shown = ask(engine, sql, CALLERS[0]).rows
    time.sleep(PADDING)
    run: Callable[..., object] = engine._answers._backend.run
    running, go_on = threading.Event(), threading.Event()

    def held(*given: object, **more: object) -> object:
        running.set()
        assert go_on.wait(60)
        return run(*given, **more)

    monkeypatch.setattr(engine._answers._backend, "run", held)
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(ask, engine, sql, CALLERS[1], "0.9")
        assert running.wait(30)
        try:
            assert ask(engine, sql, CALLERS[0]).rows == shown
            assert not other.done()
        finally:
            go_on.set()
        assert other.result().rows != []


def test_a_release_is_hidden_until_its_instant():
    """What follows from it is free, so that it is there must not show sooner in what a question costs."""
    deadlines = Deadlines(0.1)
    until = deadlines.seen_from(PLAN, time.monotonic())
    deadlines.hide(7, until)
    assert not deadlines.is_seen(7)
    assert deadlines.unseen() == {7}
    assert deadlines.is_seen(8)
    time.sleep(max(0.0, until - time.monotonic()))
    assert deadlines.is_seen(7)
    deadlines.hide(9, until)
    assert set(deadlines._unseen) == {9}


def test_the_deadline_is_the_padding_at_least_and_0_hides_nothing():
    assert Deadlines(0.01).of(replace(PLAN, deadline=0.5)) == 0.5
    assert Deadlines(0.01).of(PLAN) == 0.01
    assert Deadlines(0.0).of(replace(PLAN, deadline=0.5)) == 0.0
    began = time.monotonic() - 0.03
    assert Deadlines(0.02).seen_from(PLAN, began) == pytest.approx(began + 0.04, abs=0.001)
    assert Deadlines(0.0).seen_from(PLAN, began) == pytest.approx(time.monotonic(), abs=0.5)


def test_what_took_far_too_long_is_logged_and_not_run_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(module, "LATE_FACTOR", 0)
    monkeypatch.setattr(module, "LEAST", 0.2)
    sql = "SELECT count(*) FROM t WHERE x > 11"
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        slow(engine, patch, 0.3)
        ask(engine, sql, CALLERS[0])
    assert [r.message for r in caplog.records if r.name == module.__name__] == [
        "an exact stage took more than 0.2 s and is refused from now on: count(*) on t"
    ]
    before = engine._ledger.spent(Account.ceiling("t"))
    time.sleep(PADDING)
    ask(engine, sql, CALLERS[0])  # the stored answer is as free as before
    with pytest.raises(TooComplex, match="not run again"):
        ask(engine, sql, CALLERS[0], epsilon="0.9")
    assert engine._ledger.spent(Account.ceiling("t")) == before
    ask(engine, "SELECT count(*) FROM t WHERE x > 12", CALLERS[0])
    assert engine._ledger.spent(Account.ceiling("t")) - before == NANO // 10


def test_without_declared_sizes_nothing_is_refused():
    deadlines = Deadlines(0.01)
    deadlines.note(b"stage", PLAN, 1e6)
    deadlines.check(b"stage")
    sized = replace(PLAN, rows=1)
    deadlines.note(b"stage", sized, module.LEAST)
    deadlines.note(b"other", replace(sized, deadline=10.0), 10.0 * module.LATE_FACTOR)
    deadlines.check(b"stage")
    deadlines.check(b"other")
    deadlines.note(b"stage", sized, module.LEAST + 1)
    with pytest.raises(TooComplex):
        deadlines.check(b"stage")
