"""What is at hand: answers that were paid for, to whom, and until what changes; what follows from several."""

# ruff: noqa: E501 - statements written out

import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

import pytest

from dpproxy.algebra.plan import Answer, Caller, Summed
from dpproxy.algebra.request import Request
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.engine import Engine
from dpproxy.engine.means import PartAnswer, taken_alone
from dpproxy.engine.replays import Execution, Replays
from dpproxy.planner.reuse.descriptor import described
from tests.engine.test_answers import ANN, BOB, DDL, POLICY
from tests.engine.test_answers import ask as asked
from tests.proxies import started, write_home
from udfs.mechanisms import Staircase
from udfs.mechanisms.averaged import USUAL, Draw
from udfs.mechanisms.linear import Linear

pytestmark = pytest.mark.usefixtures("in_process")

ROOT = Caller("root", frozenset({"admin"}), "session of root")
COUNT = "SELECT count(*) FROM t WHERE x > 50"
GROUPS = "SELECT k, avg(x) FROM t GROUP BY k ORDER BY k"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with started(write_home(tmp_path, DDL, POLICY)) as found:
        for caller in (ANN, BOB, ROOT):
            found.open(caller)
        yield found


def ask(engine: Engine, sql: str, caller: Caller = ANN, epsilon: str = "1") -> Answer:
    return asked(engine, sql, caller, epsilon)


def at_hand(engine: Engine, sql: str, caller: Caller = ANN, epsilon: str = "1") -> Answer | None:
    settings = {**DEFAULTS, "dp.epsilon": epsilon}
    known = engine.prepare(caller, sql, (), settings, only_at_hand=True)
    return None if known is None else engine.run(Request(caller, known, (), settings), only_at_hand=True)


BITS = ("CREATE TABLE t AS SELECT i % 2 AS a, i // 2 % 5 // 3 AS b, i % 3 AS x FROM range(100) AS r(i)",)
OF_BITS = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 1000000;
ALTER TABLE t ALTER COLUMN a SET PRIVACY DOMAIN IN (0, 1);
ALTER TABLE t ALTER COLUMN b SET PRIVACY DOMAIN IN (0, 1);
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 2;
CREATE PRIVACY BUDGET b LIMIT EPSILON 1000000;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""
BITS_OF_A_AND_B = [(0, 0, 30), (0, 1, 20), (1, 0, 30), (1, 1, 20)]


@pytest.mark.parametrize("dearer", ["1000", "1001"])
@pytest.mark.parametrize("more", ["", ", sum(x), avg(x)"])
def test_keys_of_the_same_values_keep_their_places(tmp_path: Path, more: str, dearer: str):
    """Whether the answer is replayed, or averaged with a draw of the other order."""
    with started(write_home(tmp_path, BITS, OF_BITS)) as engine:
        engine.open(ANN)
        for keys, epsilon in (("a, b", "1000"), ("b, a", dearer), ("a, b", dearer), ("b, a", "1000")):
            listed = f"SELECT a, b, count(*){more} FROM t GROUP BY {keys} ORDER BY 1, 2"
            turned = f"SELECT b, a, count(*){more} FROM t GROUP BY 1, 2 ORDER BY 2, 1"
            assert [row[:3] for row in ask(engine, listed, epsilon=epsilon).rows] == BITS_OF_A_AND_B
            rows = ask(engine, turned, epsilon=epsilon).rows
            assert [(a, b, n) for b, a, n, *_ in rows] == BITS_OF_A_AND_B


def given_twice(engine: Engine, sql: str, caller: Caller = ANN) -> Answer:
    """Charged, and replayed once: from then on its answer is at hand."""
    ask(engine, sql, caller)
    return ask(engine, sql, caller)


@pytest.mark.parametrize("sql", [COUNT, GROUPS, "SELECT 2 * sum(x) + 1 AS s, count(*) FROM t"])
def test_what_is_at_hand_is_what_a_replay_answers(engine: Engine, sql: str):
    replayed = given_twice(engine, sql)
    left = engine.show(ANN, "dp.budget_remaining", DEFAULTS)
    assert at_hand(engine, sql) == replayed
    assert engine.show(ANN, "dp.budget_remaining", DEFAULTS) == left
    assert engine.show(ANN, "dp.last_cost", DEFAULTS) == "0"


def test_what_is_large_is_never_at_hand_and_not_even_looked_for(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    """To unpack it takes its time, in which nobody else would be served."""
    sql = "SELECT x, y, b, count(*) FROM t GROUP BY x, y, b"
    given_twice(engine, sql)

    def unpacked(*_: object) -> NoReturn:
        raise AssertionError("unpacked")

    monkeypatch.setattr(Replays, "single_release", unpacked)
    assert at_hand(engine, sql) is None


def test_nothing_is_at_hand_that_was_not_asked(engine: Engine):
    assert at_hand(engine, COUNT) is None
    settings = {**DEFAULTS, "dp.epsilon": "1"}
    prepared = engine.prepare(ANN, COUNT, (), settings)
    assert engine.run(Request(ANN, prepared, (), settings), only_at_hand=True) is None
    assert engine.show(ANN, "dp.budget_remaining", DEFAULTS) == "10"


def test_what_somebody_else_has_paid_for_is_not_at_hand(engine: Engine):
    given_twice(engine, COUNT)
    assert at_hand(engine, COUNT, BOB) is None
    ask(engine, COUNT, BOB)
    assert at_hand(engine, COUNT, BOB) is not None
    assert engine.show(BOB, "dp.budget_remaining", DEFAULTS) == "9"


def test_a_dearer_answer_is_not_at_hand(engine: Engine):
    given_twice(engine, COUNT)
    assert at_hand(engine, COUNT, epsilon="2") is None


def test_what_is_told_beside_it_is_as_accounts_stand_now(engine: Engine):
    given_twice(engine, COUNT)
    first = at_hand(engine, COUNT)
    assert first is not None
    assert at_hand(engine, COUNT) is first  # nothing was charged since
    assert "9 left" in first.notices[0].message
    ask(engine, "SELECT sum(x) FROM t")
    after = at_hand(engine, COUNT)
    assert after is not None
    assert after.rows == first.rows
    assert "8 left" in after.notices[0].message
    quiet = {**DEFAULTS, "dp.epsilon": "1", "dp.notices": "off"}
    known = engine.prepare(ANN, COUNT, (), quiet, only_at_hand=True)
    silent = engine.run(
        Request(ANN, known or engine.prepare(ANN, COUNT, (), quiet), (), quiet), only_at_hand=True
    )
    assert silent is not None
    assert (silent.rows, silent.notices) == (first.rows, ())


def test_nothing_is_at_hand_after_a_revoke(engine: Engine):
    given_twice(engine, COUNT)
    statement = engine.prepare(ROOT, "REVOKE SELECT ON t FROM analyst", (), DEFAULTS)
    engine.run(Request(ROOT, statement, (), DEFAULTS))
    assert at_hand(engine, COUNT) is None


def test_a_kept_statement_is_not_at_hand_for_another_policy(engine: Engine):
    """Prepared before, run afterwards: what a session holds is looked at again."""
    given_twice(engine, COUNT)
    settings = {**DEFAULTS, "dp.epsilon": "1"}
    held = engine.prepare(ANN, COUNT, (), settings, only_at_hand=True)
    assert held is not None
    statement = engine.prepare(ROOT, "REVOKE SELECT ON t FROM analyst", (), DEFAULTS)
    engine.run(Request(ROOT, statement, (), DEFAULTS))
    assert engine.run(Request(ANN, held, (), settings), only_at_hand=True) is None


def test_what_others_tell_of_is_never_at_hand(engine: Engine):
    for sql in (
        "EXPLAIN SELECT count(*) FROM t",
        "SELECT epsilon FROM dp.ledger",
        "SELECT budget FROM dp.budgets",
    ):
        ask(engine, sql)
        prepared = engine.prepare(ANN, sql, (), DEFAULTS)
        assert engine.run(Request(ANN, prepared, (), DEFAULTS), only_at_hand=True) is None


def test_the_store_is_read_as_one_who_paid(engine: Engine):
    """What follows from a release is found for its payer, the same question first."""
    ask(engine, GROUPS)
    settings = {**DEFAULTS, "dp.epsilon": "1"}
    plan = engine._plans.find_plan(Request(ANN, engine.prepare(ANN, GROUPS, (), settings), (), settings))
    replays = engine._answers.replays
    [part] = plan.parts  # type: ignore[union-attr]
    for caller, found in ((ANN, True), (BOB, False)):
        asking = Execution(caller, plan, lambda: False)  # type: ignore[arg-type]
        question = replays.question(asking, part)
        assert isinstance(replays.same_release(asking, question), PartAnswer) is found
        assert isinstance(replays.free_answer(asking, question), PartAnswer) is found
        assert (replays.free_draw(asking, part) is not None) is found
        assert replays.stored_release(asking, question) is not None
    assert described(part, (), plan.data_version) is not None


def test_what_may_not_be_seen_yet_is_not_worked_on(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    """EXPLAIN is free and not padded: the time to unpack a release would tell when its exact stage had ended."""
    ask(engine, GROUPS)
    sql, settings = "SELECT k, count(x) FROM t GROUP BY k", {**DEFAULTS, "dp.epsilon": "1"}
    plan = engine._plans.find_plan(Request(ANN, engine.prepare(ANN, sql, (), settings), (), settings))
    replays, worked = engine._answers.replays, list[int]()
    follows = replays._follows

    def counted(origin: int, *rest: Any) -> PartAnswer | None:  # noqa: ANN401 - as it is called
        worked.append(origin)
        return follows(origin, *rest)

    monkeypatch.setattr(replays, "_follows", counted)
    asking, [part] = Execution(ANN, plan, lambda: False), plan.parts  # type: ignore[arg-type, union-attr]
    assert replays.free_draw(asking, part) is not None
    [origin] = worked
    engine._answers._deadlines.hide(origin, time.monotonic() + 60)
    assert replays.free_draw(asking, part) is None
    assert worked == [origin]


def test_a_question_never_asked_is_looked_for_once(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    releases = engine._answers._releases
    find, looked = releases.find, list[bytes]()

    def counted(release: bytes, *rest: Any) -> Any:  # noqa: ANN401 - as it is called
        looked.append(release)
        return find(release, *rest)

    monkeypatch.setattr(releases, "find", counted)
    ask(engine, COUNT)
    assert len(looked) == 1


def test_what_was_answered_between_a_look_and_the_claim_is_not_charged_again(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    answers = engine._answers
    replay, looks = answers._replay, list[bool]()

    def late(*given: Any, is_second: bool = False) -> Any:  # noqa: ANN401 - as it is called
        looks.append(is_second)
        found = replay(*given, is_second=is_second)
        if len(looks) == 1:
            ask(engine, COUNT)
        return found

    monkeypatch.setattr(answers, "_replay", late)
    left = engine.show(ANN, "dp.budget_remaining", DEFAULTS)
    ask(engine, COUNT)
    assert looks == [False, False, True]
    assert Decimal(left) - Decimal(engine.show(ANN, "dp.budget_remaining", DEFAULTS)) == 1


@pytest.mark.parametrize("share", [30, 50, 70, 80, 90, 100, 150, 300])
def test_two_draws_of_several_figures_tell_no_less_than_the_better_of_them(share: int):
    """What is computed of a mean is within what the better draw would be within, whatever the weights."""
    draws = [Staircase.best((500, 1), nano * 10**6) for nano in (100, share)]
    summed = Summed(draws[0], (0, 1), (1, 1), (0, 0), (Summed(draws[1], (0, 1), (1, 1), (0, 0)),))
    better = max((0, 1), key=lambda n: draws[n].nano)
    one = Linear.joint([Draw(draws[better], c) for c in (0, 1)], USUAL)
    mean = Linear.joint(summed.means, USUAL)
    assert one is not None
    assert mean is not None
    alone = taken_alone(summed)
    assert alone in (None, better)
    assert (alone is None) is (40 < share < 250)
    for weights in ((1.0, 0.0), (0.0, 1.0), (1.0, 300.0), (1.0, 500.0), (1.0, 5000.0)):
        assert alone is not None or mean.reach(weights) <= one.reach(weights)


def test_figures_that_are_alone_are_averaged_whatever_their_weights():
    assert (
        taken_alone(
            Summed(
                Staircase.best((1,), 10**8),
                (0,),
                (1,),
                (0,),
                (Summed(Staircase.best((1,), 10**7), (0,), (1,), (0,)),),
            )
        )
        is None
    )


def left(engine: Engine) -> str:
    return engine.show(ANN, "dp.budget_remaining", DEFAULTS)


def test_an_average_follows_from_a_sum_and_a_count_that_were_asked_apart(engine: Engine):
    """With the standard deviation of both draws: of the distances from the middle, it has the count's in common."""
    [(total,)] = ask(engine, "SELECT sum(y) FROM t").rows
    [(number,)] = ask(engine, "SELECT count(*) FROM t").rows
    answer = ask(engine, "SELECT avg(y), sum(y + 1), dp.noise_sd(avg(y)), dp.noise_sd(sum(y + 1)) FROM t")
    assert left(engine) == "8"
    [(mean, shifted, of_mean, of_shifted)] = answer.rows
    assert mean == pytest.approx(Decimal(total) / number)
    assert shifted == total + number
    [of_total], [of_number] = (Staircase.best((n,), 10**9).noise_sd() for n in (4, 1))
    assert of_shifted == pytest.approx((of_total**2 + of_number**2) ** 0.5)
    assert of_mean == pytest.approx((of_total**2 + (float(mean) * of_number) ** 2) ** 0.5 / number)
    said = "follows from 2 draws that you have paid for, added up or taken away"
    assert said in [str(n.message) for n in answer.notices]


def test_figures_of_groups_follow_from_releases_of_several_kinds(engine: Engine):
    """Of finer groups, of averages, and of as many groups as are asked for, row by row with an error of its own."""
    ask(engine, "SELECT y, count(*) FROM t GROUP BY y")
    ask(engine, "SELECT b, y, avg(y), count(x) FROM t GROUP BY b, y")
    shown = "SELECT CASE WHEN y < 1 THEN 'few' ELSE 'many' END AS z, sum(y), sum(x), dp.noise_sd(sum(y)) FROM t GROUP BY z"
    ask(engine, "SELECT y, sum(x) FROM t GROUP BY y")
    rows = {row[0]: row for row in ask(engine, f"{shown} ORDER BY z").rows}
    assert left(engine) == "7"
    assert rows["many"][3] == pytest.approx(2 * rows["few"][3])


def test_a_release_whose_groups_are_of_no_use_is_passed_by(engine: Engine):
    """It has the rows of none of the declared keys nowhere; another one of the same range has them."""
    ask(engine, "SELECT k, count(*) FROM t WHERE x < 10 GROUP BY k")
    [(few,)] = ask(engine, "SELECT count(*) FROM t WHERE x < 10").rows
    [(many,)] = ask(engine, "SELECT count(*) FROM t WHERE x < 30").rows
    assert ask(engine, "SELECT count(*) FROM t WHERE x >= 10 AND x < 30").rows == [(many - few,)]
    assert left(engine) == "7"


def test_rows_of_either_condition_are_those_of_each_without_those_of_both(engine: Engine):
    one, other, both = (
        ask(engine, f"SELECT count(*), sum(y) FROM t WHERE {where}").rows[0]
        for where in ("x < 9", "k = 'a'", "x < 9 AND k = 'a'")
    )
    found = ask(engine, "SELECT count(*), sum(y) FROM t WHERE k = 'a' OR x < 9")
    assert found.rows == [tuple(a + b - c for a, b, c in zip(one, other, both, strict=True))]
    assert left(engine) == "7"
    ask(engine, "SELECT count(*) FROM t WHERE k = 'b' OR x < 9")
    assert left(engine) == "6"


ROOMY = POLICY.replace("LIMIT EPSILON 50 USER LIMIT EPSILON 10", "LIMIT EPSILON 5000").replace(
    "CEILING EPSILON 100", "CEILING EPSILON 5000"
)


@pytest.mark.statistical
def test_averages_of_two_releases_are_off_no_more_often_than_is_said(tmp_path: Path):
    """Of 400 groups more than 44 are outside of what 95 % are in with a chance below 1e-6."""
    outside = 0
    with started(write_home(tmp_path, DDL, ROOMY)) as engine:
        engine.open(ANN)
        for n in range(20, 100):
            where = f"FROM t WHERE x < {n} GROUP BY y ORDER BY y"
            for figure in ("sum(x)", "count(x)"):
                ask(engine, f"SELECT y, {figure} {where}")
            before = left(engine)
            found = ask(engine, f"SELECT dp.ci_low(avg(x)), dp.ci_high(avg(x)) {where}").rows
            assert left(engine) == before
            exact = [sum(range(y, n, 5)) / len(range(y, n, 5)) for y in range(5)]
            outside += sum(not low <= mean <= high for mean, (low, high) in zip(exact, found, strict=True))
    assert outside <= 44
