"""Statements that differ in numbers alone are planned once, and are in nothing else treated alike."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra.plan import Answer, Caller
from dpproxy.algebra.request import Prepared, Request, SelectStatement
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.engine import Engine
from dpproxy.engine.plans import TRIES, ShapeCache
from dpproxy.planner import routing
from dpproxy.values.errors import Refusal
from tests.engine.test_answers import ANN, BOB, DDL, POLICY, ask, spent
from tests.proxies import started, write_home

pytestmark = pytest.mark.usefixtures("in_process")

ROOT = Caller("root", frozenset({"admin"}), "session of root")
SETTINGS = {**DEFAULTS, "dp.epsilon": "1"}
COUNT = "SELECT count(*) FROM t WHERE x > {}"
SHAPES = (
    COUNT,
    "SELECT k, count(*) FROM t WHERE {} <= x AND x <> {}.5 GROUP BY k ORDER BY k LIMIT 7",
    "SELECT k, avg(y) FROM t WHERE x < {}.25 AND b GROUP BY 1",
)


@contextmanager
def opened(home: Path) -> Iterator[Engine]:
    """The engine with three sessions."""
    with started(home) as engine:
        for caller in (ANN, BOB, ROOT):
            engine.open(caller)
        yield engine


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_home(tmp_path, DDL, POLICY)


@pytest.fixture
def engine(home: Path) -> Iterator[Engine]:
    with opened(home) as found:
        yield found


def teach(engine: Engine, shape: str, caller: Caller = ANN, settings: dict[str, str] = SETTINGS) -> None:
    """Two statements of a shape."""
    for number in (3, 4):
        engine.prepare(caller, shape.format(number, number), (), settings)


def plan(engine: Engine, sql: str) -> object:
    """The plan that is kept of a statement."""
    return engine._plans.find_plan(Request(ANN, Prepared(sql, (), None, SelectStatement()), (), SETTINGS))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_third_of_a_shape_is_known_as_it_would_have_been_planned(engine: Engine, shape: str):
    sql = shape.format(61, 2)
    assert engine.prepare(ANN, sql, (), SETTINGS, only_at_hand=True) is None
    teach(engine, shape)
    found = engine.prepare(ANN, sql, (), SETTINGS, only_at_hand=True)
    made = plan(engine, sql)
    plans = engine._plans
    plans._shaped = ShapeCache()
    plans._plans.put((sql, (), (), None, plans.state(ANN, SETTINGS)), None)  # type: ignore[arg-type]
    plans._statements.put((sql, (), plans.state(ANN, SETTINGS)), None)  # type: ignore[arg-type]
    prepared = engine.prepare(ANN, sql, (), SETTINGS)
    assert found is not None
    assert made is not None
    assert replace(found, statement=SelectStatement()) == replace(prepared, statement=SelectStatement())
    assert made == plan(engine, sql)


def test_a_constant_that_no_value_passes_is_told_of_whatever_the_shape_is(engine: Engine):
    teach(engine, COUNT)
    told = 'column "x" is compared with a value outside of its declared ones'
    for number, is_told in ((61, False), (150, True), (62, False)):
        notices = ask(engine, COUNT.format(number), epsilon="1").notices
        assert any(n.message == told for n in notices) is is_told


def test_an_answer_of_a_shape_is_charged_recorded_and_replayed_as_any_other(engine: Engine, home: Path):
    teach(engine, COUNT)
    first = ask(engine, COUNT.format(61), epsilon="1")
    assert spent(engine) == 1
    for again in (COUNT.format(61), COUNT.format("61.0"), "SELECT count(*) FROM t WHERE 61 < x"):
        assert ask(engine, again, epsilon="1").rows == first.rows
    assert spent(engine) == 1
    ask(engine, COUNT.format(62), epsilon="1")
    assert spent(engine) == 2
    engine.shut_down()
    with opened(home) as other:  # which has seen no statement of the shape
        assert ask(other, COUNT.format(61), epsilon="1").rows == first.rows
        assert spent(other) == 2


def test_an_answer_of_another_time_is_replayed_to_a_shape(engine: Engine):
    first = ask(engine, COUNT.format(61), epsilon="1")
    for number in (3, 4):
        engine.prepare(ANN, f"SELECT  count(*) FROM t WHERE x > {number}", (), SETTINGS)
    sql = "SELECT  count(*) FROM t WHERE x > 61"
    assert engine.prepare(ANN, sql, (), SETTINGS, only_at_hand=True) is not None
    assert ask(engine, sql, epsilon="1").rows == first.rows
    assert spent(engine) == 1


@pytest.mark.parametrize(
    "other",
    [
        "SELECT count(*) FROM t WHERE x > 7.5",
        "SELECT count(*) FROM t WHERE x > 7.0",
        "SELECT count(*) FROM t WHERE x > -7",
        "SELECT count(*) FROM t WHERE x > 7 ",
        "SELECT count(*) FROM t WHERE x > 7 -- that is all",
        "/*+ dp(epsilon=2) */ SELECT count(*) FROM t WHERE x > 7",
        "SELECT count(*) FROM t WHERE x > 1000000000",
        "SELECT count(*) FROM t WHERE x > '7'",
        "SELECT count(*) FROM t WHERE y > 7",
        "select count(*) FROM t WHERE x > 7",
    ],
)
def test_what_is_written_in_another_way_has_another_shape(engine: Engine, other: str):
    teach(engine, COUNT)
    assert engine.prepare(ANN, other, (), SETTINGS, only_at_hand=True) is None


def test_the_other_numbers_of_a_shape_are_part_of_it(engine: Engine):
    shape = "SELECT k, count(*) FROM t WHERE x > {0} GROUP BY k LIMIT 7"
    teach(engine, shape)
    assert engine.prepare(ANN, shape.format(9), (), SETTINGS, only_at_hand=True) is not None
    assert engine.prepare(ANN, shape.format(9).replace("7", "8"), (), SETTINGS, only_at_hand=True) is None


def test_a_number_that_planning_looks_at_is_part_of_the_shape_from_then_on(engine: Engine):
    shape = "SELECT x, count(*) FROM t WHERE x > {} AND y < {} GROUP BY x"
    for number in (1, 2):
        engine.prepare(ANN, shape.format(60, number), (), SETTINGS)
    assert engine.prepare(ANN, shape.format(60, 3), (), SETTINGS, only_at_hand=True) is not None
    assert engine.prepare(ANN, shape.format(61, 3), (), SETTINGS, only_at_hand=True) is None
    for number in (1, 2):
        engine.prepare(ANN, shape.format(61, number), (), SETTINGS)
    assert engine.prepare(ANN, shape.format(61, 3), (), SETTINGS, only_at_hand=True) is not None


def test_a_shape_is_tried_a_few_times_beside_a_statement(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    looked = " AND ".join(f"x > {n}" for n in range(10, 22))
    shape = f"SELECT k, count(*) FROM t WHERE {looked} AND y < {{}} GROUP BY k"
    engine.prepare(ANN, shape.format(1), (), SETTINGS)
    for number, plans in ((2, 1 + TRIES), (3, 1), (4, 1 + TRIES)):
        found = planned(monkeypatch)
        engine.prepare(ANN, shape.format(number), (), SETTINGS)
        assert len(found) == plans
        monkeypatch.undo()


def test_a_shape_is_for_the_settings_the_roles_and_the_policy_it_was_planned_under(engine: Engine):
    teach(engine, COUNT)
    sql = COUNT.format(61)
    assert engine.prepare(ANN, sql, (23,), SETTINGS, only_at_hand=True) is None
    assert engine.prepare(ANN, sql, (), {**SETTINGS, "dp.epsilon": "2"}, only_at_hand=True) is None
    assert engine.prepare(ROOT, sql, (), SETTINGS, only_at_hand=True) is None
    assert engine.prepare(BOB, sql, (), SETTINGS, only_at_hand=True) is not None  # who has the same rights
    revoke = "REVOKE SELECT ON t FROM analyst"
    engine.run(Request(ROOT, engine.prepare(ROOT, revoke, (), DEFAULTS), (), DEFAULTS))
    assert engine.prepare(ANN, COUNT.format(62), (), SETTINGS, only_at_hand=True) is None
    with pytest.raises(Refusal, match="does not exist"):
        engine.prepare(ANN, COUNT.format(62), (), SETTINGS)


def test_a_target_is_met_anew_each_time(engine: Engine):
    aimed = {**DEFAULTS, "dp.target_error": "40"}
    teach(engine, COUNT, settings=aimed)
    assert engine.prepare(ANN, COUNT.format(61), (), aimed, only_at_hand=True) is None


def test_a_shape_whose_plan_depends_on_its_numbers_is_planned_each_time(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    tried = []

    def template(*_: object) -> None:
        tried.append(1)
        raise ZeroDivisionError

    monkeypatch.setattr("dpproxy.engine.plans.template", template)
    for number in range(5):
        engine.prepare(ANN, COUNT.format(number), (), SETTINGS)
    assert tried == [1]
    assert engine.prepare(ANN, COUNT.format(61), (), SETTINGS, only_at_hand=True) is None


def test_a_charged_answer_that_follows_from_another_one_is_planned_with_its_error(engine: Engine):
    """``replan`` has no tree at hand, and reads the statement again."""
    teach(engine, COUNT)
    settings = {**SETTINGS, "dp.intervals": "columns"}
    grouped = "SELECT b, count(*) FROM t WHERE x > 61 GROUP BY b"
    engine.run(Request(ANN, engine.prepare(ANN, grouped, (), settings), (), settings))
    teach(engine, COUNT, settings=settings)
    found = engine.prepare(ANN, COUNT.format(61), (), settings, only_at_hand=True)
    assert found is not None
    [row] = engine.run(Request(ANN, found, (), settings)).rows
    assert engine.show(ANN, "dp.last_cost", DEFAULTS) == "0"
    assert row[1] < row[0] < row[2]


BOUND = "SELECT count(*) FROM t WHERE x > $1 AND k = $2"


def bound(engine: Engine, number: object, key: str = "a", types: tuple[int, ...] = (23, 25)) -> Answer:
    prepared = engine.prepare(ANN, BOUND, types, SETTINGS)
    return engine.run(Request(ANN, prepared, (number, key), SETTINGS))


def planned(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The statements that are planned from now on."""
    found: list[object] = []

    def plan_routed(tree: exp.Expr, *given: object) -> object:
        found.append(tree.sql())
        return routing.plan_routed(tree, *given)  # type: ignore[arg-type]

    monkeypatch.setattr("dpproxy.engine.plans.plan_routed", plan_routed)
    return found


def test_the_values_of_parameters_are_put_in_as_well(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    for number in (3, 4):
        bound(engine, number)
    found = planned(monkeypatch)
    rows = bound(engine, 61).rows
    assert found == []
    assert spent(engine) == 3
    assert bound(engine, 61, "b").rows != rows or spent(engine) == 4
    assert found == []
    assert bound(engine, 61).rows == rows
    assert ask(engine, "SELECT count(*) FROM t WHERE x > 61 AND k = 'a'", epsilon="1").rows == rows
    assert spent(engine) == 4


@pytest.mark.parametrize("other", [(61, "b\x7f"), (-3, "a"), (10**9, "a")])
def test_other_values_are_planned(engine: Engine, monkeypatch: pytest.MonkeyPatch, other: tuple[int, str]):
    for number in (3, 4):
        bound(engine, number)
    found = planned(monkeypatch)
    bound(engine, *other)
    assert found
    assert spent(engine) == 3


def test_another_type_is_another_shape(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    for number in (3, 4):
        bound(engine, number)
    found = planned(monkeypatch)
    bound(engine, 61.0, types=(701, 25))
    assert found


def test_a_value_that_planning_looks_at_is_planned_again(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    sql = "SELECT x, count(*) FROM t WHERE x > $1 AND y < $2 GROUP BY x"

    def asked(*values: object) -> int:
        return len(
            engine.run(Request(ANN, engine.prepare(ANN, sql, (23, 23), SETTINGS), values, SETTINGS)).rows
        )

    for number in (1, 2):
        asked(60, number)
    found = planned(monkeypatch)
    assert asked(60, 3) == 39
    assert found == []
    assert asked(70, 3) == 29
    assert found
