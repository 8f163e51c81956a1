"""Statements of several releases, and what follows from stored ones: what is paid, stored and shown, part by part."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dpproxy.accounting import batch
from dpproxy.accounting.batch import PATIENCE
from dpproxy.accounting.model import NANO, Account
from dpproxy.algebra.plan import Answer, Caller
from dpproxy.algebra.request import Request, complete
from dpproxy.backends.process.remote import Remote
from dpproxy.config.settings import DEFAULTS, PRESENT, moments
from dpproxy.engine.deadlines import Deadlines
from dpproxy.engine.engine import Engine
from dpproxy.values.errors import BudgetExceeded, Cancelled, InvalidParameter
from tests.proxies import started, write_home
from udfs.mechanisms import Staircase

pytestmark = pytest.mark.usefixtures("in_process")

DDL = (
    "CREATE TABLE t (k VARCHAR, x INTEGER, y INTEGER NOT NULL, b BOOLEAN NOT NULL)",
    "INSERT INTO t SELECT CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END, i % 100, i % 5, i % 3 = 0 FROM range(1000) r (i)",
)
POLICY = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 100;
ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN IN ('a', 'b');
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 99;
ALTER TABLE t ALTER COLUMN y SET PRIVACY DOMAIN BETWEEN 0 AND 4;
ALTER TABLE t ALTER COLUMN b SET PRIVACY DOMAIN IN (true, false);
CREATE PRIVACY BUDGET b LIMIT EPSILON 50 USER LIMIT EPSILON 10 MAX EPSILON 5;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""
ANN = Caller("ann", frozenset({"analyst"}), "session of ann")
BOB = Caller("bob", frozenset({"analyst"}), "session of bob")
ROLLUP = "SELECT k, count(*) FROM t GROUP BY ROLLUP (k)"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with started(write_home(tmp_path, DDL, POLICY)) as found:
        found.open(ANN)
        found.open(BOB)
        yield found


def ask(engine: Engine, sql: str, caller: Caller = ANN, epsilon: str = "4") -> Answer:
    settings = {**DEFAULTS, "dp.epsilon": epsilon}
    return engine.run(Request(caller, engine.prepare(caller, sql, (), settings), (), settings))


HALVES = """SELECT CASE WHEN y < 2 THEN 'low' ELSE 'high' END AS half, count(*), dp.noise_sd(count(*)),
                   dp.ci_high(count(*)) - count(*) FROM t GROUP BY half"""


def test_each_row_says_how_many_groups_it_adds_up(engine: Engine):
    ask(engine, "SELECT y, count(*) FROM t GROUP BY y", epsilon="1")
    [[_, _, alone, _]] = ask(engine, HALVES.replace("GROUP", "WHERE y = 0 GROUP"), epsilon="1").rows
    found = {half: (sd, reach) for half, _, sd, reach in ask(engine, HALVES, epsilon="1").rows}
    assert {half: sd for half, (sd, _) in found.items()} == {
        "low": pytest.approx(alone * 2**0.5),
        "high": pytest.approx(alone * 3**0.5),
    }
    assert found["low"][1] < found["high"][1]
    assert spent(engine) == 1


def test_a_sum_after_an_average_is_free_and_says_its_own_error(engine: Engine):
    ask(engine, "SELECT y, b, avg(x) FROM t GROUP BY y, b", epsilon="1")
    [[mean, number, _, number_sd]] = ask(
        engine, "SELECT avg(x), count(x), NULL, dp.noise_sd(count(x)) FROM t", epsilon="1"
    ).rows
    [[total, sd, low, high]] = ask(
        engine,
        "SELECT sum(x), dp.noise_sd(sum(x)), dp.ci_low(sum(x)), dp.ci_high(sum(x)) FROM t",
        epsilon="1",
    ).rows
    assert (spent(engine), total) == (1, pytest.approx(float(mean) * number))
    [[own]] = ask(engine, "SELECT dp.noise_sd(sum(x)) FROM t", epsilon="2").rows
    assert 49 * number_sd < sd < 10 * 2 * own  # of ten groups each; 49 is the middle
    assert 1.9 * sd < total - low == high - total < 3 * sd
    assert total - low >= 1.9 * 49 * number_sd


def test_an_average_after_a_sum_and_a_number_says_what_both_have_in_common(engine: Engine):
    """The noise of S - 49 n and of n, of which it is made, is not independent."""
    ask(engine, "SELECT y, b, sum(x), count(x) FROM t GROUP BY y, b", epsilon="1")
    [[mean, sd, low, high]] = ask(
        engine,
        "SELECT avg(x), dp.noise_sd(avg(x)), dp.ci_low(avg(x)), dp.ci_high(avg(x)) FROM t",
        epsilon="1",
    ).rows
    [[total, number, total_sd, number_sd]] = ask(
        engine, "SELECT sum(x), count(x), dp.noise_sd(sum(x)), dp.noise_sd(count(x)) FROM t", epsilon="1"
    ).rows
    assert (spent(engine), float(mean)) == (1, pytest.approx(total / number))
    assert sd == pytest.approx(math.hypot(total_sd, float(mean) * number_sd) / number)
    assert low <= float(mean) - 1.9 * sd or low == 0
    assert high >= float(mean) + 1.9 * sd or high == 99
    [[again, own, _]] = ask(engine, "SELECT sum(x), dp.noise_sd(sum(x)), avg(x) FROM t", epsilon="1").rows
    assert (again, own) == (total, pytest.approx(total_sd))


def test_ranges_and_totals_follow_where_a_column_may_be_null(engine: Engine):
    # Ten rows each: at epsilon 3 one of 100 is shown as 0, which the sum is not, with less than 1e-12.
    number = dict(ask(engine, "SELECT x, count(*) FROM t GROUP BY x", epsilon="3").rows)
    [[some]] = ask(engine, "SELECT count(*) FROM t WHERE x BETWEEN 20 AND 39", epsilon="1").rows
    [[known]] = ask(engine, "SELECT count(*) FROM t WHERE x IS NOT NULL", epsilon="1").rows
    twenties = ask(engine, "SELECT x / 20 AS c, count(*) FROM t GROUP BY c", epsilon="1").rows
    assert (some, known) == (sum(n for x, n in number.items() if 20 <= x < 40), sum(number.values()))
    assert (spent(engine), dict(twenties)[1], sum(n for _, n in twenties)) == (3, some, known)
    [[total]] = ask(engine, "SELECT count(*) FROM t", epsilon="1").rows
    [[missing]] = ask(engine, "SELECT count(*) FROM t WHERE x IS NULL", epsilon="1").rows
    assert (spent(engine), missing) == (4, max(0, total - known))


FILTERS = """SELECT k, count(*) AS n, count(*) FILTER (WHERE y < 2) AS low, avg(x) FILTER (WHERE b) AS mean,
                    sum(CASE WHEN y >= 2 AND b THEN y ELSE 0 END) AS total,
                    sum(CASE WHEN y >= 2 THEN 1 END)::numeric / count(*) AS share FROM t GROUP BY k"""


def test_each_column_with_a_filter_takes_its_own_groups(engine: Engine):
    """For nothing, as they add up, each with the error of as many groups; of the same draws no joint law is taken."""
    groups = ask(
        engine, "SELECT k, y, b, count(*), sum(y), avg(x), count(x) FROM t GROUP BY k, y, b", epsilon="4"
    ).rows  # an average leaves its bounds, which the whole does not, with less than 1e-12
    before = spent(engine)
    found = ask(engine, FILTERS, epsilon="1").rows
    assert spent(engine) == before
    for k, n, low, mean, total, share in found:
        own = [row[1:] for row in groups if row[0] == k]
        assert n == sum(count for _, _, count, *_ in own)
        assert low == sum(count for y, _, count, *_ in own if y < 2)
        assert total == sum(of_y for y, b, _, of_y, *_ in own if y >= 2 and b)
        assert float(share) == pytest.approx((n - low) / n)
        each = [(float(average), number) for _, b, _, _, average, number in own if b]
        assert float(mean) == pytest.approx(sum(a * m for a, m in each) / sum(m for _, m in each))
    calls = "count(*)", "count(*) FILTER (WHERE y < 2)", "count(*) FILTER (WHERE y = 0 AND b)"
    noise = ask(
        engine, f"SELECT k, {', '.join(f'dp.noise_sd({c})' for c in calls)} FROM t GROUP BY k", epsilon="1"
    )
    one = noise.rows[0][3]
    assert [sd / one for sd in noise.rows[0][1:]] == [pytest.approx(n**0.5) for n in (10, 4, 1)]
    assert spent(engine) == before
    part = "SELECT k, count(*) FILTER (WHERE y < 4) - count(*) FILTER (WHERE y > 0) AS n FROM t GROUP BY k"
    [said] = [str(n.message) for n in ask(engine, part, epsilon="1").notices if "half-width" in n.message]
    half = float(said.split("±")[1].split()[0].rstrip(";"))
    assert half > 1.9 * one * 16**0.5  # 8 groups each, of which 6 are in both: not looked at
    ask(engine, "SELECT k, count(*) FILTER (WHERE x < 9) FROM t GROUP BY k", epsilon="1")
    assert spent(engine) == before + 1


def test_what_follows_from_several_releases_is_their_mean(engine: Engine):
    """Of finer groups and of others: each weighs as much as it is accurate, row by row."""
    draws = ask(engine, "SELECT y, count(*) FROM t GROUP BY y", epsilon="1").rows
    finer = ask(engine, "SELECT y, b, count(*) FROM t GROUP BY y, b", epsilon="2").rows
    found = {half: (n, sd) for half, n, sd, _ in ask(engine, HALVES, epsilon="1").rows}
    assert spent(engine) == 3
    one = Staircase.best((1,), NANO).noise_sd()[0] ** 2
    other = Staircase.best((1,), 2 * NANO).noise_sd()[0] ** 2
    for half, terms, own in (("low", 2, (0, 1)), ("high", 3, (2, 3, 4))):
        sums = [sum(n for y, *_, n in of if y in own) for of in (draws, finer)]
        precise = [1 / (terms * one), 1 / (2 * terms * other)]
        mean = sum(s * p for s, p in zip(sums, precise, strict=True)) / sum(precise)
        n, sd = found[half]
        assert abs(n - mean) <= 0.5001
        assert sd**2 == pytest.approx(1 / sum(precise) + 1 / 12, rel=1e-4)


def test_what_several_releases_answer_only_together_is_free(engine: Engine):
    """A total without a part, by groups, with the error of both draws; and parts of a total."""
    below = {
        n: dict(ask(engine, f"SELECT k, count(*) FROM t WHERE x < {n} GROUP BY k", epsilon="1").rows)
        for n in (30, 60)
    }
    shown = "k, count(*), dp.noise_sd(count(*)), dp.ci_high(count(*))"
    between = f"SELECT {shown} FROM t WHERE x >= 30 AND x < 60 GROUP BY k"
    answer = ask(engine, between, epsilon="1")
    assert spent(engine) == 2
    sd = Staircase.best((1,), NANO).noise_sd()[0]
    for k, n, noise, high in answer.rows:
        assert n == below[60][k] - below[30][k]
        assert noise == pytest.approx(sd * 2**0.5)
        assert 2 * sd < high - n < 5 * sd
    said = "follows from 2 draws that you have paid for, added up or taken away"
    assert said in [notice.message for notice in answer.notices]
    explained = "\n".join(
        str(line) for [line] in ask(engine, f"EXPLAIN (PRIVACY) {between}", epsilon="1").rows
    )
    assert "follows from 2 stored releases together, free" in explained
    whole = "SELECT k, count(*) FROM t WHERE x < 70 GROUP BY k"
    ask(engine, "SELECT k, count(*) FROM t WHERE x >= 60 AND x < 70 GROUP BY k", epsilon="1")
    ask(engine, whole, epsilon="1")
    assert spent(engine) == 3
    ask(engine, whole, BOB, epsilon="1")
    assert spent(engine, BOB) == 1
    for other in (
        "count(DISTINCT y)",
        "count(*)",
    ):  # the first does not add up; of the second NULL is not known
        before = spent(engine)
        ask(engine, f"SELECT {other} FROM t WHERE x >= 60", epsilon="0.5")
        assert spent(engine) == before + 0.5


def test_all_rows_without_groups_that_were_released_are_free(engine: Engine):
    """Of each other group, with the error of all draws that are in it."""
    groups = {
        (k, y): n for k, y, n in ask(engine, "SELECT k, y, count(*) FROM t GROUP BY k, y", epsilon="1").rows
    }
    ask(engine, "SELECT y, count(*) FROM t WHERE b GROUP BY y", epsilon="1")
    shown = "y, count(*), dp.noise_sd(count(*))"
    rest = f"SELECT {shown} FROM t WHERE k IS DISTINCT FROM 'a' GROUP BY y"
    ask(engine, rest, epsilon="1")
    assert spent(engine) == 3  # those of k are not among rows with b
    whole = dict(ask(engine, "SELECT y, count(*) FROM t GROUP BY y", epsilon="2").rows)
    sd = [Staircase.best((1,), loss * NANO).noise_sd()[0] for loss in (1, 2)]
    rest = rest.replace("IS DISTINCT FROM 'a'", "NOT IN ('a', 'b') OR k IS NULL")
    for y, n, noise in ask(engine, rest, epsilon="1").rows:
        assert n == max(whole[y] - groups["a", y] - groups["b", y], 0)
        assert noise == pytest.approx((2 * sd[0] ** 2 + sd[1] ** 2) ** 0.5)
    assert spent(engine) == 5
    ask(engine, rest, BOB, epsilon="1")
    assert spent(engine, BOB) == 1


def spent(engine: Engine, caller: Caller = ANN) -> float:
    return engine._ledger.spent(Account.user("b", caller.user)) / NANO


def test_parts_share_what_the_statement_costs(engine: Engine):
    rows = ask(engine, ROLLUP).rows
    assert [k for k, _ in rows] == ["a", "b", None]
    assert spent(engine) == 4
    assert engine.show(ANN, "dp.last_cost", DEFAULTS) == "4"


def test_a_part_that_was_paid_for_is_free_elsewhere(engine: Engine):
    total = ask(engine, "SELECT count(*) FROM t", epsilon="2").rows[0][0]
    shown = dict(ask(engine, ROLLUP).rows)
    assert shown[None] == total
    assert spent(engine) == 4  # the groups cost the other half
    ask(engine, ROLLUP, BOB)
    assert spent(engine, BOB) == 4
    assert engine._ledger.spent(Account.ceiling("t")) / NANO == 4


def test_what_does_not_fit_is_refused_before_the_first_part_is_paid(engine: Engine):
    ask(engine, "SELECT sum(x) FROM t", epsilon="5")
    ask(engine, "SELECT avg(x) FROM t", epsilon="2")
    with pytest.raises(BudgetExceeded):
        ask(engine, ROLLUP)
    assert spent(engine) == 7


def test_a_value_is_released_once_and_then_a_constant(engine: Engine):
    sql = "SELECT count(*) FROM t WHERE x > (SELECT avg(x) FROM t)"
    first = ask(engine, sql).rows
    assert ask(engine, sql).rows == first
    assert spent(engine) == 4
    assert abs(int(str(first[0][0])) - 500) < 60  # false alarm below 1e-9: the noise has sd 0.7


def test_one_subquery_in_two_places_is_one_release(engine: Engine):
    shares = "WITH n AS (SELECT k, count(*) AS c FROM t GROUP BY k) SELECT n.k, n.c - m.c FROM n JOIN n AS m USING (k)"
    assert {difference for _, difference in ask(engine, shares).rows} == {0}
    assert spent(engine) == 4


def test_what_two_callers_ask_at_once_is_drawn_once(engine: Engine):
    barrier = threading.Barrier(2)

    def one(caller: Caller) -> Answer:
        barrier.wait()
        return ask(engine, ROLLUP, caller)

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(one, (ANN, BOB))
    assert first.rows == second.rows
    assert [entry.kind for entry in engine._ledger.entries()].count("charge") == 2


def test_who_cannot_pay_does_not_wait_for_what_another_draws(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    """Or they would learn that it is asked for."""
    for sql in ("SELECT max(x) FROM t", "SELECT min(x) FROM t"):
        ask(engine, sql, BOB)  # of 10, 2 are left
    run, refused = engine._answers._backend.run, list[float]()

    def meanwhile(*given: Any, **more: Any) -> Any:  # noqa: ANN401 - as the backend is called
        began = time.monotonic()
        with pytest.raises(BudgetExceeded):
            ask(engine, "SELECT count(*) FROM t", BOB)
        refused.append(time.monotonic() - began)
        return run(*given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(engine._answers._backend, "run", meanwhile)
        ask(engine, "SELECT count(*) FROM t")
    assert len(refused) == 1
    assert [entry.who for entry in engine._ledger.entries()] == ["bob", "bob", "ann"]


def test_who_has_paid_for_several_waits_for_nobody(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    """Somebody asks for the second part alone while the first one is drawn, and waits for the answer."""
    run: Callable[..., object] = engine._answers._backend.run
    is_asked = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        others: list[Future[Answer]] = []

        def slow(*given: object, **more: object) -> object:
            if not is_asked.is_set():
                is_asked.set()
                others.append(pool.submit(ask, engine, "SELECT count(*) FROM t", BOB, epsilon="2"))
                time.sleep(0.5)
            return run(*given, **more)

        monkeypatch.setattr(engine._answers._backend, "run", slow)
        began = time.monotonic()
        ask(engine, ROLLUP)
        assert others[0].result().rows
    assert time.monotonic() - began < PATIENCE / 2
    assert [entry.kind for entry in engine._ledger.entries()].count("charge") == 2


def test_nobody_waits_for_a_charge_whose_statement_failed(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    def failing(*_given: object, **_more: object) -> None:
        raise Cancelled("canceling statement due to user request")

    with monkeypatch.context() as patched:
        patched.setattr(engine._answers._backend, "run", failing)
        with pytest.raises(Cancelled):
            ask(engine, ROLLUP)
    began = time.monotonic()
    ask(engine, ROLLUP)
    assert time.monotonic() - began < PATIENCE / 2
    assert [entry.kind for entry in engine._ledger.entries()] == ["charge"] * 4


def test_a_charge_whose_process_ended_is_made_anew_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Both proxies wait for its answer."""
    monkeypatch.setattr("dpproxy.backends.opening.Remote", Remote)  # one process cannot open a file twice
    home = write_home(tmp_path, DDL, POLICY)
    with started(home) as one, started(home) as other:
        for engine in (one, other):
            engine.open(ANN)
            engine.open(BOB)
        with monkeypatch.context() as patched:
            patched.setattr(one._answers._releases, "give_up", lambda *_: None)
            patched.setattr(one._answers._backend, "run", lambda *_given, **_more: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                ask(one, "SELECT count(*) FROM t")
        told: list[object] = []

        def seen(reserve: Callable[..., object], *given: object, **more: object) -> object:
            told.append(reserve(*given, **more))
            if len(told) == 2:  # for the new draw there is time
                monkeypatch.setattr(batch, "PATIENCE", PATIENCE)
            return told[-1]

        monkeypatch.setattr(batch, "PATIENCE", 1)
        for engine in (one, other):
            monkeypatch.setattr(engine._ledger, "reserve_once", partial(seen, engine._ledger.reserve_once))
        with ThreadPoolExecutor(2) as pool:
            found = [
                pool.submit(ask, engine, "SELECT count(*) FROM t", caller)
                for engine, caller in ((one, ANN), (other, BOB))
            ]
            assert found[0].result().rows == found[1].result().rows
        kinds = [entry.kind for entry in one._ledger.entries()]
        assert kinds == ["charge", "charge", "adopt"]


def test_every_part_is_debited_before_the_first_is_run(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    """Or whoever watches the accounts would see how long the first one took."""
    answers, seen = engine._answers, list[int]()

    def run(*given: Any, **more: Any) -> Any:  # noqa: ANN401 - as the backend is called
        seen.append(len(engine._ledger.entries()))
        return original(*given, **more)

    original = answers._backend.run
    monkeypatch.setattr(answers._backend, "run", run)
    ask(engine, ROLLUP)
    assert seen == [2, 2]
    ask(engine, "SELECT median(x), count(*), (SELECT max(y) FROM t WHERE b) FROM t WHERE NOT b")
    assert seen == [2, 2, 5, 5, 5]


def test_what_takes_a_released_value_is_debited_at_an_instant_of_the_grid(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(engine._answers, "_deadlines", Deadlines(0.4))
    began = time.time()
    ask(engine, "SELECT count(*) FROM t WHERE x > (SELECT avg(x) FROM t) AND x < (SELECT max(x) FROM t)")
    *inner, outer = [entry.at / 1e6 for entry in engine._ledger.entries()]
    assert len(inner) == 2
    assert outer >= began + 0.4


ROOT = Caller("root", frozenset({"admin"}), "session of root")


@dataclass(frozen=True)
class Desk:
    """Two analysts who have paid for nothing yet, over data that nobody has asked about."""

    engine: Engine
    ann: Caller
    bob: Caller

    def ask(self, sql: str, caller: Caller | None = None, epsilon: str = "4") -> Answer:
        return ask(self.engine, sql, caller or self.ann, epsilon)

    def spent(self, caller: Caller | None = None) -> float:
        return spent(self.engine, caller or self.ann)

    def ceiling(self) -> float:
        return self.engine._ledger.spent(Account.ceiling("t")) / NANO


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    policy = POLICY.replace("CEILING EPSILON 100", "CEILING EPSILON 9999").replace(
        "LIMIT EPSILON 50 ", "LIMIT EPSILON 9999 "
    )
    with started(write_home(tmp_path_factory.mktemp("shared"), DDL, policy)) as found:
        yield found


@pytest.fixture
def desk(shared: Engine, request: pytest.FixtureRequest) -> Desk:
    ask(shared, "ADVANCE PRIVACY DATA VERSION", ROOT)
    name = request.node.name[-40:]
    callers = [
        Caller(f"{who} {name}", frozenset({"analyst"}), f"session of {who} {name}") for who in ("ann", "bob")
    ]
    for caller in callers:
        shared.open(caller)
    return Desk(shared, *callers)


FINE = "SELECT y, b, count(*) AS n, sum(x) AS s FROM t GROUP BY y, b"


def column(answer: Answer, place: int = 0) -> list[int]:
    return [int(str(row[place])) for row in answer.rows]


def test_the_same_groups_and_sums_in_another_order_are_the_same_release(desk: Desk):
    first = {(y, b): (n, s) for y, b, n, s in desk.ask(FINE).rows}
    other = desk.ask(
        "SELECT p.b, sum(p.x), p.y, count(*) FROM public.t AS p GROUP BY 1, 3 ORDER BY 3 DESC"
    ).rows
    assert {(y, b): (n, s) for b, s, y, n in other} == first
    assert desk.spent() == 4


def test_variants_over_a_release_are_free(desk: Desk):
    desk.ask(FINE)
    for tail in (
        " HAVING count(*) > 50",
        " ORDER BY sum(x) DESC LIMIT 2",
        " HAVING sum(x) > 0 ORDER BY n DESC, y LIMIT 1",
    ):
        desk.ask(FINE + tail)
    desk.ask(FINE, epsilon="0.5")
    desk.ask("SELECT count(*) FROM t WHERE y = 3", epsilon="1")
    assert desk.spent() == 4


def test_children_add_up_to_their_parents_and_cost_nothing(desk: Desk):
    counts = {(y, b): n for y, b, n, _ in desk.ask(FINE).rows}
    by_y = dict(desk.ask("SELECT y, count(*) FROM t GROUP BY y").rows)
    [(total,)] = desk.ask("SELECT count(*) FROM t").rows
    [(some,)] = desk.ask("SELECT count(*) FROM t WHERE y IN (1, 3) AND NOT b").rows
    assert by_y == {y: sum(n for (z, _), n in counts.items() if z == y) for y in range(5)}
    assert total == sum(by_y.values())
    assert some == counts[1, False] + counts[3, False]
    assert desk.ask("SELECT count(*) FROM t").rows == [(total,)]
    assert desk.spent() == 4


def test_an_average_of_the_whole_follows_from_those_of_its_groups(desk: Desk):
    desk.ask("SELECT y, avg(x) FROM t GROUP BY y")
    [(mean,)] = desk.ask("SELECT avg(x) FROM t").rows
    assert desk.spent() == 4
    assert (
        abs(float(str(mean)) - 49.5) < 3
    )  # false alarm below 1e-9: the noise of the sum has sd 30 or so over 1000 rows


def test_the_error_of_a_roll_up_is_that_of_its_sum(desk: Desk):
    one = desk.ask("SELECT b, dp.noise_sd(count(*)) FROM t GROUP BY b").rows[0][1]
    answer = desk.ask("SELECT count(*), dp.noise_sd(count(*)), dp.ci_low(count(*)) FROM t").rows[0]
    assert answer[1] == pytest.approx(float(str(one)) * 2**0.5)
    assert float(str(answer[2])) < int(str(answer[0]))
    assert desk.spent() == 4


def test_a_larger_epsilon_has_a_draw_of_its_own(desk: Desk):
    desk.ask(FINE, epsilon="1")
    desk.ask("SELECT count(*) FROM t", epsilon="1")
    assert desk.spent() == 1
    desk.ask("SELECT count(*) FROM t", epsilon="2")
    assert desk.spent() == 3


def test_what_a_group_leaves_out_is_asked_anew(desk: Desk):
    """Rows without a declared k would be missing from the sum."""
    desk.ask("SELECT k, count(*) FROM t GROUP BY k", epsilon="1")
    desk.ask("SELECT count(*) FROM t", epsilon="1")
    assert desk.spent() == 2
    desk.ask("SELECT count(*) FROM t WHERE k IN ('b', 'a')", epsilon="1")
    assert desk.spent() == 2


def test_a_sum_of_many_groups_is_asked_anew(desk: Desk):
    """Of 101 groups and more it has over ten times the noise."""
    desk.ask("SELECT y, b, x % 50 AS r, count(*) FROM t WHERE x IS NOT NULL GROUP BY y, b, r", epsilon="1")
    desk.ask("SELECT count(*) FROM t WHERE x IS NOT NULL", epsilon="1")
    assert desk.spent() == 2


def test_a_roll_up_is_free_for_who_has_paid_and_for_nobody_else(desk: Desk):
    before = desk.ceiling()
    desk.ask(FINE)
    desk.ask("SELECT count(*) FROM t", desk.bob)
    assert (desk.spent(), desk.spent(desk.bob)) == (4, 4)
    ceiling = desk.ceiling()
    assert ceiling == before + 8  # another draw
    desk.ask(FINE, desk.bob)
    assert desk.spent(desk.bob) == 8
    assert desk.ceiling() == ceiling


def test_a_mechanism_that_is_asked_for_is_drawn_from(desk: Desk):
    desk.ask(FINE)
    given = {**DEFAULTS, "dp.epsilon": "1"}
    for mechanism, paid in (("laplace", 5), ("laplace", 5), ("staircase", 5), ("auto", 5)):
        settings = {**given, "dp.mechanism": mechanism}
        sql = "SELECT y, b, count(*), sum(x) FROM t GROUP BY y, b"
        desk.engine.run(Request(desk.ann, desk.engine.prepare(desk.ann, sql, (), settings), (), settings))
        assert desk.spent() == paid, mechanism


def test_grouping_sets_follow_from_what_was_paid_for(desk: Desk):
    counts = {(y, b): n for y, b, n, _ in desk.ask(FINE).rows}
    rows = desk.ask("SELECT y, b, count(*) FROM t GROUP BY CUBE (y, b)", epsilon="2").rows
    shown = {(y, b): n for y, b, n in rows}
    assert shown[None, None] == sum(counts.values())
    assert all(shown[None, b] == sum(shown[y, b] for y in range(5)) for b in (True, False))
    assert desk.spent() == 4


def test_another_data_version_is_another_question(desk: Desk):
    desk.ask(FINE, epsilon="1")
    desk.ask("ADVANCE PRIVACY DATA VERSION", ROOT)
    desk.ask("SELECT count(*) FROM t", epsilon="1")
    assert desk.spent() == 2


def test_the_store_outlives_the_process(tmp_path: Path):
    file = write_home(tmp_path, DDL, POLICY)
    with started(file) as engine:
        before = ask(engine, FINE).rows
    with started(file) as engine:
        assert ask(engine, FINE).rows == before
        assert column(ask(engine, "SELECT count(*) FROM t")) == [sum(int(str(n)) for _, _, n, _ in before)]
        assert spent(engine) == 4


def test_a_prior_is_free_over_a_draw_that_was_paid_for_and_a_contradiction_is_told(engine: Engine):
    """1,000 rows, epsilon 4, so that a draw is within 50 of them: a miss has a chance below e**-200."""
    near = ask(engine, "SELECT dp.with_prior(count(*), 'normal(1000, 100)') FROM t")
    assert spent(engine) == 4
    assert not any("contradict" in n.message for n in near.notices)
    [[plain]] = ask(engine, "SELECT count(*) FROM t").rows
    far = ask(engine, "SELECT dp.with_prior(count(*), 'normal(100, 9)'), dp.ci_low(count(*)) FROM t")
    assert spent(engine) == 4
    assert any(n.message == "the draw contradicts the prior normal(100, 9)" for n in far.notices)
    again = ask(engine, "SELECT dp.with_prior(count(*), 'normal(100, 9)'), dp.ci_low(count(*)) FROM t")
    assert (again.rows, again.notices[1:]) == (far.rows, far.notices[1:])
    [[found]] = near.rows
    assert abs(int(str(found)) - int(str(plain))) <= 1
    assert int(str(far.rows[0][0])) < 200


def ask_with(engine: Engine, sql: str, caller: Caller = ANN, **settings: str) -> Answer:
    given = {**DEFAULTS, **{f"dp.{name}": value for name, value in settings.items()}}
    return engine.run(Request(caller, engine.prepare(caller, sql, (), given), (), given))


def bought_twice(engine: Engine, sql: str, caller: Caller = ANN) -> tuple[Answer, Answer]:
    """Two draws of the same, each as it is."""
    first = ask_with(engine, sql, caller, epsilon="0.2")
    return first, ask_with(engine, sql, caller, epsilon="0.2", reuse="never")


def half_width_of(answer: Answer) -> int:
    [said] = [n.message for n in answer.notices if "half-width" in n.message]
    return int(said.rpartition("±")[2])


def test_two_draws_of_the_same_are_averaged(engine: Engine):
    sql = "SELECT k, count(*) AS n FROM t GROUP BY k ORDER BY k"
    first, second = bought_twice(engine, sql)
    both = ask_with(engine, sql, epsilon="0.2")
    assert (first.nano, second.nano, both.nano) == (NANO // 5, NANO // 5, 0)
    for one, other, mean in zip(first.rows, second.rows, both.rows, strict=True):
        assert abs(2 * int(str(mean[1])) - int(str(one[1])) - int(str(other[1]))) <= 1
    assert half_width_of(both) < 0.8 * half_width_of(first) == 0.8 * half_width_of(second)
    assert "mean of 2 draws" in both.notices[-1].message
    assert ask_with(engine, sql, epsilon="0.2") == both
    said = [str(row[0]) for row in ask_with(engine, f"EXPLAIN {sql}", epsilon="0.2").rows]
    assert any(line.startswith("Answered: from the mean of 2 stored releases") for line in said)
    assert any(f"half-width {half_width_of(both)}" in line for line in said)


def test_a_draw_of_more_epsilon_is_averaged_with_the_one_before(engine: Engine):
    sql = "SELECT count(*) AS n FROM t WHERE x > 3"
    ask_with(engine, sql, epsilon="0.2")
    better = ask_with(engine, sql, epsilon="0.3")
    assert better.nano == NANO * 3 // 10
    assert "mean of 2 draws" in better.notices[-1].message
    alone = ask_with(engine, sql, BOB, epsilon="0.3")
    assert "mean of" not in alone.notices[-1].message, (
        "who did not pay for the first draw learns nothing of it"
    )
    assert half_width_of(better) < half_width_of(alone)
    again = ask_with(engine, sql, epsilon="0.3")
    assert (again.nano, again.rows) == (0, better.rows)


def test_totals_follow_from_all_draws_of_the_groups(engine: Engine):
    groups = "SELECT b, count(*) AS n FROM t GROUP BY b"
    first, second = bought_twice(engine, groups)
    total = ask_with(engine, "SELECT count(*) AS n FROM t", epsilon="0.2")
    assert total.nano == 0
    summed = sum(int(str(row[1])) for answer in (first, second) for row in answer.rows)
    assert abs(2 * int(str(total.rows[0][0])) - summed) <= 1


def test_order_statistics_and_answers_under_a_prior_are_never_averaged(engine: Engine):
    sql = "SELECT median(x) FROM t"
    first, _ = bought_twice(engine, sql)
    assert ask_with(engine, sql, epsilon="0.2").rows == first.rows
    counted, believed = "SELECT count(*) FROM t", "SELECT dp.with_prior(count(*), 'normal(1000, 50)') FROM t"
    bought_twice(engine, counted)
    answer = ask_with(engine, believed, epsilon="0.2")
    assert answer.nano == 0
    assert not any("mean of 2 draws" in n.message for n in answer.notices)
    assert any("mean of 2 draws" in n.message for n in ask_with(engine, counted, epsilon="0.2").notices)


def test_averaged_answers_are_as_near_as_they_say(engine: Engine):
    """18 of 60 half-widths of 95 % miss the truth with a probability below 1e-9."""
    within = 0
    for i in range(60):
        sql = f"SELECT count(*) AS n FROM t WHERE x > {i}"
        ask_with(engine, sql, BOB, epsilon="0.05")
        ask_with(engine, sql, BOB, epsilon="0.05", reuse="never")
        answer = ask_with(engine, sql, BOB, epsilon="0.05")
        assert answer.nano == 0
        within += abs(int(str(answer.rows[0][0])) - 10 * (99 - i)) <= half_width_of(answer)
    assert within > 42


@pytest.mark.parametrize(
    "item", ["sum(x)", "avg(x)", "variance(x)", "sum(x) * 1.0 / sum(y)", "count(*) FILTER (WHERE b) + 7"]
)
def test_a_share_of_a_value_is_met_around_what_was_released(engine: Engine, item: str):
    sql = f"SELECT {item} AS v FROM t"
    with pytest.raises(InvalidParameter, match="cannot be met"):
        ask_with(engine, sql, target_error="1 %")
    with pytest.raises(InvalidParameter, match="cannot be met"):
        ask_with(engine, f"EXPLAIN {sql}", target_error="1 %")
    ask_with(engine, sql, epsilon="0.3")
    explained = ask_with(engine, f"EXPLAIN {sql}", target_error="1 %")
    solved = " ".join(str(row[0]).strip() for row in explained.rows)
    assert "as estimated from earlier releases for v" in solved
    answer = ask_with(engine, sql, target_error="1 %", intervals="columns")
    [[value, low, high]] = answer.rows
    reach = max(float(str(high)) - float(str(value)), float(str(value)) - float(str(low)))
    # It is solved around a noisy value, whose noise has an sd below 2.5 %: 1.5 % is 20 of them away, below 1e-11.
    assert 0.005 * float(str(value)) <= reach <= 0.015 * float(str(value))
    with pytest.raises(InvalidParameter, match="cannot be met"):
        ask_with(engine, sql, BOB, target_error="1 %")  # it is not his release


AT_HAND = (
    "SELECT now()",
    "SELECT current_timestamp, current_date, localtimestamp AS clock",
    "SELECT transaction_timestamp(), statement_timestamp(), clock_timestamp(), timeofday()",
    "SELECT 1, 'x' AS y, NULL, 1.50, true",
    "SELECT version()",
    "SELECT current_database(), current_user",
)
OTHERS = (
    "SELECT now() + interval '1 day'", "SELECT now() LIMIT 0", "SELECT DISTINCT now()", "SELECT count(*) FROM t",
    "SELECT relname FROM pg_class", "SELECT current_timestamp(3)",
)  # fmt: skip


def test_a_sign_of_life_is_at_hand_as_it_is_answered(engine: Engine):
    began, arrived = (datetime(2026, 3, 29, 0, 59, 59, n, tzinfo=UTC) for n in (0, 120))
    for zone in ("UTC", "Europe/Berlin", "-03:30"):
        settings = {**DEFAULTS, "dp.epsilon": "1", "timezone": zone, PRESENT: moments(began, arrived)}
        for sql in (*AT_HAND, *OTHERS):
            request = Request(ANN, complete(engine.prepare(ANN, sql, (), settings)), (), settings)
            whole = complete(engine.run(request))
            found = engine.run(request, only_at_hand=True)
            if sql in AT_HAND:
                assert found is not None
                assert (list(found.rows), found.tag) == (list(whole.rows), whole.tag)
                assert found.columns in (whole.columns, request.prepared.columns)
            else:
                assert found is None or request.prepared.charged
