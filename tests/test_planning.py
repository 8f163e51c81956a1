"""Plans are kept for what they were made of, and for nothing else."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from dpproxy.body import Body
from dpproxy.engine import Engine
from dpproxy.errors import CatalogueUnavailable, NotGranted
from dpproxy.plan import Caller, PublicPlan
from dpproxy.planning import LARGEST_KEPT, Planning
from dpproxy.settings import DEFAULTS
from tests.proxies import started, write_home
from tests.test_answers import ANN, DDL, POLICY
from tests.test_replays import COUNT, ROOT

TYPED = "SELECT count(*) FROM t WHERE x > $1"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with started(write_home(tmp_path, DDL, POLICY)) as found:
        found.open(ANN)
        found.open(ROOT)
        yield found


@pytest.fixture
def planning(engine: Engine) -> Planning:
    return engine._planning


def body(engine: Engine, sql: str) -> Body:
    found = engine.prepare(ANN, sql, (), DEFAULTS).body
    assert isinstance(found, Body)
    return found


def test_a_statement_is_known_by_its_text_its_types_and_its_state(engine: Engine, planning: Planning):
    prepared = engine.prepare(ANN, COUNT, (), DEFAULTS)
    state = planning.state(ANN, DEFAULTS)
    assert planning.known(COUNT, (), state) is prepared
    assert planning.known(COUNT + " ", (), state) is None
    assert planning.known(COUNT, (23,), state) is None
    other = planning.state(ANN, {**DEFAULTS, "dp.epsilon": "0.2"})
    assert planning.known(COUNT, (), other) is None
    assert planning.known(COUNT, (), planning.state(ROOT, DEFAULTS)) is None


def test_a_plan_is_kept_by_the_values_of_its_parameters_and_their_types(engine: Engine, planning: Planning):
    made = planning.plan(ANN, TYPED, body(engine, TYPED), (1,), DEFAULTS, None)
    assert planning.plan(ANN, TYPED, body(engine, TYPED), (1,), DEFAULTS, None) is made
    for values in ((2,), (True,), (None,)):
        assert planning.kept(ANN, TYPED, body(engine, TYPED), values, DEFAULTS, None) is None


def test_a_statement_without_parameters_is_planned_once(engine: Engine, planning: Planning):
    found = body(engine, COUNT)
    kept = planning.kept(ANN, COUNT, found, (), DEFAULTS, None)
    assert kept is not None
    assert planning.plan(ANN, COUNT, found, (), DEFAULTS, None) is kept


def test_a_long_text_is_not_kept(engine: Engine, planning: Planning):
    sql = COUNT + " /*" + "x" * LARGEST_KEPT + "*/"
    engine.prepare(ANN, sql, (), DEFAULTS)
    assert planning.known(sql, (), planning.state(ANN, DEFAULTS)) is None


def test_another_policy_is_seen_and_nothing_of_the_last_one_is_kept(engine: Engine, planning: Planning):
    engine.prepare(ANN, COUNT, (), DEFAULTS)
    before = planning.state(ANN, DEFAULTS)
    assert planning.is_current
    narrower = "ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 9"
    engine._store.change([narrower], engine._schema, "root")  # as another process does
    assert not planning.is_current
    after = planning.state(ANN, DEFAULTS)
    assert planning.is_current
    assert after != before
    assert planning.known(COUNT, (), after) is None


def test_rows_may_be_shown_as_long_as_they_would_be_planned_so(engine: Engine, planning: Planning):
    sql = "SELECT x FROM t"
    refused = "may no longer be read"

    def say(sql: str) -> None:
        engine.run(ROOT, engine.prepare(ROOT, sql, (), DEFAULTS), (), DEFAULTS)

    say("GRANT EXACT SELECT ON t TO auditor")
    dpo = Caller("dpo", frozenset({"auditor"}), "session-of-dpo")
    engine.open(dpo)
    found = engine.prepare(dpo, sql, (), DEFAULTS).body
    assert isinstance(found, Body)
    plan = planning.plan(dpo, sql, found, (), DEFAULTS, None)
    assert isinstance(plan, PublicPlan)
    check = partial(planning.check_still, plan, dpo, sql, found, (), DEFAULTS)
    check()
    say("GRANT SELECT ON t TO auditor WITH PRIVACY BUDGET b")
    check()
    say("REVOKE EXACT SELECT ON t FROM auditor")
    with pytest.raises(NotGranted, match=refused):  # a question about people now
        check()
    say("GRANT EXACT SELECT ON t TO auditor")
    check()
    say("ALTER TABLE t SET PRIVACY PUBLIC")
    with pytest.raises(NotGranted, match=refused):  # read by another right
        check()


def test_what_is_out_of_order_takes_nobodys_rights(planning: Planning, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> NoReturn:
        raise CatalogueUnavailable("the policy catalogue cannot be read")

    monkeypatch.setattr(planning, "plan", broken)
    with pytest.raises(CatalogueUnavailable):
        planning.check_still(PublicPlan("", ()), ANN, COUNT, Body("ask"), (), DEFAULTS)
