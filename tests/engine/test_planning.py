"""Plans are kept for what they were made of, and for nothing else."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from dpproxy.algebra.plan import Caller, PublicPlan
from dpproxy.analysis.scopes import Parameters
from dpproxy.config.settings import DEFAULTS, PLANNED_BY, SETTINGS, UNPLANNED
from dpproxy.engine.body import Body
from dpproxy.engine.engine import Engine
from dpproxy.engine.planning import LARGEST_KEPT, Planning
from dpproxy.values.errors import CatalogueUnavailable, NotGranted
from tests.engine.test_answers import ANN, DDL, POLICY
from tests.engine.test_replays import COUNT, ROOT
from tests.proxies import started, write_home

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


VALUES = {
    "dp.budget": ("", "b"),
    "dp.epsilon": ("0.1", "0.2"),
    "dp.delta": ("", "1e-9"),
    "dp.target_error": ("", "50"),
    "dp.confidence": ("0.95", "0.5"),
    "dp.mechanism": ("staircase", "laplace"),
    "dp.intervals": ("off", "columns"),
    "dp.notices": ("on", "off"),
    "dp.clamp": ("on", "off"),
    "dp.preview": ("off", "view"),
    "dp.prior": ("normal(3, 1)", "normal(4, 1)"),
    "dp.session_epsilon": ("", "0.05"),
    "dp.session_settings": ("session", "transaction"),
}
"""Two values of each setting of ours that a session can change."""
SETTABLE = sorted(key for key, setting in SETTINGS.items() if key.startswith("dp.") and setting.check)


def test_every_setting_of_ours_is_part_of_the_key_of_a_plan_but_a_named_few():
    assert sorted(VALUES) == SETTABLE
    assert set(PLANNED_BY) == {*SETTABLE, "timezone"} - UNPLANNED


@pytest.mark.parametrize("name", sorted(VALUES))
def test_a_kept_plan_is_that_of_the_settings_it_is_asked_under(engine: Engine, planning: Planning, name: str):
    """Whatever was planned before: the plan of each value is the plan made afresh with it."""
    found = body(engine, COUNT)
    assert found.tree is not None
    plans = []
    for value in (*VALUES[name], *VALUES[name]):
        settings = {**DEFAULTS, name: value}
        fresh = planning.routed(found.tree.copy(), ANN, COUNT, Parameters({}, ()), settings)
        assert repr(planning.plan(ANN, COUNT, found, (), settings, None)) == repr(fresh)
        plans.append(planning.kept(ANN, COUNT, found, (), settings, None))
    assert plans[:2] == plans[2:]
    assert (name in PLANNED_BY) or plans[0] == plans[1]


def test_clamping_switched_off_and_on_again_is_on(engine: Engine, planning: Planning):
    found = body(engine, COUNT)
    floors = []
    for value in ("on", "off", "on"):
        plan = planning.plan(ANN, COUNT, found, (), {**DEFAULTS, "dp.clamp": value}, None)
        floors.append([output.floor for output in plan.outputs])
    assert floors == [[0], [None], [0]]


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
