"""Plans are kept for what they were made of, and for nothing else."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Caller, PublicPlan
from dpproxy.algebra.request import Prepared, Request, SelectStatement
from dpproxy.analysis.scopes import Parameters
from dpproxy.config.settings import DEFAULTS, PLANNED_BY, SETTINGS, UNPLANNED
from dpproxy.engine.engine import Engine
from dpproxy.engine.plans import LARGEST_KEPT, Plans
from dpproxy.values.errors import CatalogueUnavailable, NotGranted
from tests.engine.test_answers import ANN, DDL, POLICY
from tests.engine.test_replays import COUNT, ROOT
from tests.proxies import started, write_home
from tests.stores import change_all

pytestmark = pytest.mark.usefixtures("in_process")

TYPED = "SELECT count(*) FROM t WHERE x > $1"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with started(write_home(tmp_path, DDL, POLICY)) as found:
        found.open(ANN)
        found.open(ROOT)
        yield found


@pytest.fixture
def plans(engine: Engine) -> Plans:
    return engine._plans


def request(engine: Engine, sql: str, *values: object, caller: Caller = ANN) -> Request:
    return Request(caller, engine.prepare(caller, sql, (), DEFAULTS), values, DEFAULTS)


def test_a_statement_is_known_by_its_text_its_types_and_its_state(engine: Engine, plans: Plans):
    prepared = engine.prepare(ANN, COUNT, (), DEFAULTS)
    state = plans.state(ANN, DEFAULTS)
    assert plans.find_statement(COUNT, (), state) is prepared
    assert plans.find_statement(COUNT + " ", (), state) is None
    assert plans.find_statement(COUNT, (23,), state) is None
    other = plans.state(ANN, {**DEFAULTS, "dp.epsilon": "0.2"})
    assert plans.find_statement(COUNT, (), other) is None
    assert plans.find_statement(COUNT, (), plans.state(ROOT, DEFAULTS)) is None


def test_a_plan_is_kept_by_the_values_of_its_parameters_and_their_types(engine: Engine, plans: Plans):
    made = plans.plan(request(engine, TYPED, 1))
    assert plans.plan(request(engine, TYPED, 1)) is made
    for values in ((2,), (True,), (None,)):
        assert plans.find_plan(request(engine, TYPED, *values)) is None


def test_a_statement_without_parameters_is_planned_once(engine: Engine, plans: Plans):
    kept = plans.find_plan(request(engine, COUNT))
    assert kept is not None
    assert plans.plan(request(engine, COUNT)) is kept


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
    "dp.empty_groups": ("show", "hide"),
    "dp.impossible": ("show", "null"),
    "dp.preview": ("off", "view"),
    "dp.reuse": ("always", "never"),
    "dp.round": ("off", "significant"),
    "dp.prior": ("normal(3, 1)", "normal(4, 1)"),
    "dp.session_epsilon": ("", "0.05"),
    "dp.session_settings": ("session", "transaction"),
}
"""Two values of each setting of ours that a session can change."""
SETTABLE = sorted(key for key, setting in SETTINGS.items() if key.startswith("dp.") and setting.check)


def test_every_setting_of_ours_is_part_of_the_key_of_a_plan_but_a_named_few():
    assert sorted(VALUES) == SETTABLE
    assert set(PLANNED_BY) == {*SETTABLE, "search_path", "timezone"} - UNPLANNED


@pytest.mark.parametrize("name", sorted(VALUES))
def test_a_kept_plan_is_that_of_the_settings_it_is_asked_under(engine: Engine, plans: Plans, name: str):
    """Whatever was planned before: the plan of each value is the plan made afresh with it."""
    asked, made = request(engine, COUNT), []
    tree = asked.prepared.statement.tree
    for value in (*VALUES[name], *VALUES[name]):
        settings = {**DEFAULTS, name: value}
        fresh = plans.route(tree.copy(), ANN, COUNT, Parameters({}, ()), settings)
        assert repr(plans.plan(replace(asked, settings=settings))) == repr(fresh)
        made.append(plans.find_plan(replace(asked, settings=settings)))
    assert made[:2] == made[2:]
    assert (name in PLANNED_BY) or made[0] == made[1]


def test_clamping_switched_off_and_on_again_is_on(engine: Engine, plans: Plans):
    asked = request(engine, COUNT)
    floors = []
    for value in ("on", "off", "on"):
        plan = plans.plan(replace(asked, settings={**DEFAULTS, "dp.clamp": value}))
        floors.append([output.floor for output in plan.outputs])
    assert floors == [[0], [None], [0]]


def test_a_long_text_is_not_kept(engine: Engine, plans: Plans):
    sql = COUNT + " /*" + "x" * LARGEST_KEPT + "*/"
    engine.prepare(ANN, sql, (), DEFAULTS)
    assert plans.find_statement(sql, (), plans.state(ANN, DEFAULTS)) is None


def test_another_policy_is_seen_and_nothing_of_the_last_one_is_kept(engine: Engine, plans: Plans):
    engine.prepare(ANN, COUNT, (), DEFAULTS)
    before = plans.state(ANN, DEFAULTS)
    assert plans.is_current
    narrower = "ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 9"
    change_all(engine._store, [narrower], engine._schema, "root")  # as another process does
    assert not plans.is_current
    after = plans.state(ANN, DEFAULTS)
    assert plans.is_current
    assert after != before
    assert plans.find_statement(COUNT, (), after) is None


def test_rows_may_be_shown_as_long_as_they_would_be_planned_so(engine: Engine, plans: Plans):
    sql = "SELECT x FROM t"
    refused = "may no longer be read"

    def say(sql: str) -> None:
        engine.run(Request(ROOT, engine.prepare(ROOT, sql, (), DEFAULTS), (), DEFAULTS))

    say("GRANT EXACT SELECT ON t TO auditor")
    dpo = Caller("dpo", frozenset({"auditor"}), "session-of-dpo")
    engine.open(dpo)
    asked = request(engine, sql, caller=dpo)
    plan = plans.plan(asked)
    assert isinstance(plan, PublicPlan)
    check = partial(plans.check_readable, plan, asked)
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


def test_what_is_out_of_order_takes_nobodys_rights(plans: Plans, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: object) -> NoReturn:
        raise CatalogueUnavailable("the policy catalogue cannot be read")

    monkeypatch.setattr(plans, "plan", broken)
    with pytest.raises(CatalogueUnavailable):
        plans.check_readable(
            PublicPlan(nodes.Select(), ()),
            Request(ANN, Prepared(COUNT, (), None, SelectStatement()), (), DEFAULTS),
        )
