"""Who pays what for a plan, and which plans are the same question."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from dpproxy.accounting.model import NANO, Cost
from dpproxy.algebra.plan import Plan, PriorCheck
from dpproxy.analysis.scopes import Parameters
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine import payment
from dpproxy.engine.engine import Engine
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.access import Context
from dpproxy.planner.query import plan_query
from dpproxy.values.errors import BudgetExceeded
from tests.engine.test_answers import DDL as WIDE
from tests.engine.test_answers import POLICY as GENEROUS
from tests.engine.test_answers import ROLLUP
from tests.engine.test_answers import ask as pay
from tests.engine.test_engine import ANN, BOB, DDL, POLICY, ask
from tests.proxies import started, write_home

pytestmark = pytest.mark.usefixtures("in_process")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("payment")
    with started(write_home(folder, DDL, POLICY)) as found:
        yield found


def plan(engine: Engine, sql: str, **settings: str) -> Plan:
    given = {**DEFAULTS, **{f"dp.{name}": value for name, value in settings.items()}}
    context = Context(engine.policy, engine._schema, ANN, given, facts=engine._facts)
    found = plan_query(accept(parse(sql)), context, Parameters({}))
    assert isinstance(found, Plan)
    return found


def release_key(plan: Plan) -> bytes:
    [part] = plan.parts
    return payment.release_key(part, (), plan.data_version)


def test_four_accounts_are_debited(engine: Engine):
    debits = payment.debits(plan(engine, "SELECT count(*) FROM t").payer, ANN)
    assert [(d.account.kind.value, d.limit and d.limit / NANO) for d in debits] == [
        ("session", 1), ("user", 1.5), ("budget", 2), ("ceiling", 3),
    ]  # fmt: skip


SAME = (
    "SELECT k, count(*) AS n FROM t GROUP BY k",
    "SELECT count(*), k FROM t GROUP BY 2 HAVING count(*) > 5 ORDER BY 1 DESC LIMIT 1",
    "SELECT u.k, 2 * count(*) FROM public.t AS u GROUP BY u.k",
)
OTHER = (
    "SELECT count(*) FROM t",
    "SELECT k, count(*) FROM t WHERE x > 1 GROUP BY k",
    "SELECT k, sum(x) FROM t GROUP BY k",
    "SELECT k, count(*), sum(x) FROM t GROUP BY k",
)


def test_the_same_question_has_one_key_and_another_has_another(engine: Engine):
    assert len({release_key(plan(engine, sql)) for sql in SAME}) == 1
    assert len({release_key(plan(engine, sql)) for sql in (SAME[0], *OTHER)}) == 1 + len(OTHER)
    one = plan(engine, SAME[0])
    assert release_key(one) == release_key(plan(engine, SAME[0], epsilon="0.7"))
    assert release_key(one) != release_key(replace(one, data_version=2))


def test_a_part_has_the_same_key_in_every_statement_and_another_for_other_values(engine: Engine):
    two = plan(engine, "SELECT count(*) FROM t WHERE x > (SELECT avg(x) FROM t)")
    first, second = two.parts
    assert payment.release_key(first, (), 1) == release_key(plan(engine, "SELECT avg(x) FROM t"))
    assert second.inputs
    assert payment.release_key(second, (1.5,), 1) != payment.release_key(second, (2.5,), 1)


def test_conditions_in_another_order_are_the_same_question(engine: Engine):
    keys = {
        release_key(plan(engine, f"SELECT count(*) FROM t WHERE {where}"))
        for where in ("x > 3 AND k = 'a'", "k = 'a' AND x > 3", "x > 3 AND k = 'a' AND x > 3")
    }
    assert len(keys) == 1


def test_a_charge_names_who_what_and_how(engine: Engine):
    asked = plan(engine, "SELECT k, count(*) FROM t GROUP BY k", epsilon="0.25")
    charge = payment.charge(ANN, asked, asked.parts[0], release_key(asked))
    assert (charge.who, charge.nano, charge.policy_version, charge.data_version) == ("ann", NANO // 4, 1, 1)
    assert charge.mechanism.startswith("staircase widths=(1,) radii=")
    assert charge.label == "count(*) by k on t"
    assert charge.release == release_key(asked)


def test_the_notice_tells_cost_and_what_is_left(engine: Engine):
    asked = plan(engine, "SELECT k, count(*) FROM t GROUP BY k", epsilon="0.25")
    told = payment.notice(
        Cost(asked.loss.nano), asked, engine._ledger.standings(*payment.accounts(asked, ANN))
    )
    assert told.message == "cost 0.25 epsilon, 1 left in budget b"
    assert told.detail == "count(*) by k on t; 2 keys answered; unit: one row of t."
    assert "4 more" in str(told.hint)
    used_up = [
        replace(s, spent=Cost(s.debit.limit or 0))
        for s in engine._ledger.standings(*payment.accounts(asked, ANN))
    ]
    told = payment.notice(Cost(asked.loss.nano), asked, used_up)
    assert told.hint == "Nothing more is answered but what follows from what was released."
    free = payment.notice(Cost(), asked, engine._ledger.standings(*payment.accounts(asked, ANN)))
    assert (free.message, free.hint) == ("cost 0, 1 left in budget b", None)


def test_parts_about_different_blocks_need_not_fit_one_ceiling(tmp_path: Path):
    blocks = POLICY.replace("CEILING EPSILON 3", "CEILING EPSILON 0.5").replace(
        "CREATE", "ALTER TABLE t SET PRIVACY BLOCKS BY (k);\nCREATE", 1
    )
    both = "SELECT (SELECT count(*) FROM t WHERE k = 'a'), (SELECT count(*) FROM t WHERE k = '{}' AND x > 1)"
    with started(write_home(tmp_path, DDL, blocks)) as engine:
        with pytest.raises(BudgetExceeded, match="the statement asks for 1"):
            ask(engine, both.format("a"), epsilon="1")
        assert engine._ledger.entries() == []  # before its first part was paid for
        ask(engine, both.format("b"), epsilon="1")
        assert [entry.nano for entry in engine._ledger.entries()] == [NANO // 2] * 2
        with pytest.raises(BudgetExceeded, match='ceiling of "t" has 0 epsilon left'):
            ask(engine, "SELECT sum(x) FROM t WHERE k IN ('a', 'b')", BOB)


def test_what_is_told_of_draws_that_contradict_a_prior():
    one = payment.contradiction_notice(PriorCheck("SELECT", "normal(44, 6)", 1), 1)
    assert one.message == "the draw contradicts the prior normal(44, 6)"
    assert one.sqlstate == "01000"
    several = payment.contradiction_notice(PriorCheck("SELECT", "normal(44, 6)", 7), 2)
    assert several.message == "2 of 7 draws contradict the prior normal(44, 6)"


@pytest.mark.parametrize("sql", ["SELECT count(*) FROM t", ROLLUP])
def test_the_budget_of_all_is_told_as_it_was_when_the_statement_was_charged(
    tmp_path: Path, sql: str, monkeypatch: pytest.MonkeyPatch
):
    """Who pays in small change while another's rows are read could count the change in what is left to that one."""
    policy = GENEROUS.replace("USER LIMIT EPSILON 10 ", "")
    with started(write_home(tmp_path, WIDE, policy)) as engine:
        engine.open(ANN)
        engine.open(BOB)
        backend = engine._answers._backend
        original = backend.run

        def run(*given: Any, **more: Any) -> Any:  # noqa: ANN401 - as the backend is called
            monkeypatch.setattr(backend, "run", original)
            pay(engine, "SELECT sum(y) FROM t", BOB, "5")
            return original(*given, **more)

        monkeypatch.setattr(backend, "run", run)
        answer = pay(engine, sql)
        assert "46 left" in answer.notices[0].message
        assert "41 left" in pay(engine, sql).notices[0].message
