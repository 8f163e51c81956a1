"""Order statistics of views whose rows stay inside: what they are noised by, and what is refused."""

from datetime import date
from fractions import Fraction

import numpy as np
import pytest
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.order import OrderStatistic
from dpproxy.aggregates.table import AGGREGATES
from dpproxy.algebra.plan import Caller, Plan
from dpproxy.analysis import duck
from dpproxy.analysis.scopes import Parameters
from dpproxy.anonymize import insensitive
from dpproxy.anonymize.model import Attribute, LatticeDomain, silent
from dpproxy.anonymize.space import centroids
from dpproxy.config.settings import DEFAULTS
from dpproxy.planner.accept import parse
from dpproxy.planner.access import Context
from dpproxy.planner.query import plan_view
from dpproxy.planner.release.inside import InsideStatistic
from dpproxy.planner.routing import plan_routed
from dpproxy.policy.model import Grant
from dpproxy.values.errors import BoundsMissing, Refusal, TypeMismatch, UndefinedTable, UnitLost
from dpproxy.values.pgtypes import DATE, INT4, TEXT
from dpproxy.views.columns import MomentColumn, NumberColumn, ShownColumn
from dpproxy.views.materialized import Materialized
from tests.empty import empty
from tests.golden.world import World
from tests.planner.open import test_protected_views as test_materialized

ONE = Fraction(1)
COLUMNS = (
    ShownColumn("age", INT4, Fraction(0), ONE * 100, steps=NumberColumn(0, 100, ONE)),
    ShownColumn("born", DATE, first=date(2000, 1, 1), steps=MomentColumn(0, 366, ONE, 1, date(2000, 1, 1))),
    ShownColumn("city", TEXT, longest=4),
)
VIEW = Materialized("v", "v", "w1", COLUMNS, 10, True, True, 7, "", "people", "people", "")  # noqa: FBT003


def built(world: World) -> Materialized:
    """The view, of tables that are declared as they were."""
    query = "SELECT age FROM people"
    context = Context(world.policy, world.schema, Caller("", frozenset(), ""), DEFAULTS)
    return replace(VIEW, query=query, digest=plan_view("v", query, context).digest)


def planned(world: World, sql: str, monkeypatch: pytest.MonkeyPatch, digest: str | None = None) -> Plan:
    view = built(world)
    monkeypatch.setattr(
        test_materialized, "VIEWS", {"v": view if digest is None else replace(view, digest=digest)}
    )
    monkeypatch.setattr(test_materialized, "V_BUDGET", "b")
    found = test_materialized.plan(world, sql)
    assert isinstance(found, Plan)
    return found


def test_noise_is_for_the_width_over_k_and_the_row_is_told_by_the_public_number(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    found = planned(world, "SELECT min(age), max(age), median(age) FROM v", monkeypatch)
    assert len(found.charged) == 3
    assert {p.box.split(" ")[-1] for p in found.parts} == {"(15,)"}  # 100 / 7, rounded up
    assert [p.exact.rpartition("OFFSET ")[2] for p in found.parts] == ["0) AS o", "9) AS o", "4) AS o"]
    assert sum(p.loss.nano for p in found.parts) <= found.loss.nano
    assert [o.column.type.name for o in found.outputs] == ["int4", "int4", "float8"]


def test_what_is_made_of_released_values_is_free_as_ever(world: World, monkeypatch: pytest.MonkeyPatch):
    sql = "SELECT high - low FROM (SELECT min(age) AS low, max(age) AS high FROM v) AS x WHERE high > 3"
    assert len(planned(world, sql, monkeypatch).charged) == 2
    assert len(planned(world, "SELECT max(born), max(born) FROM v", monkeypatch).charged) == 1


def test_answers_say_how_far_off_they_are(world: World, monkeypatch: pytest.MonkeyPatch):
    found = planned(world, "SELECT min(age), max(age) - min(age) AS span, max(born) FROM v", monkeypatch)
    least, span, born = [o.accuracy for o in found.outputs]
    assert least is not None
    assert span is not None
    assert born is not None
    assert least.half == found.outputs[0].error.half_width  # type: ignore[union-attr]
    assert span.half is not None
    assert span.half > 2 * (least.half or 0)  # both, and together
    assert born.half is None
    assert born.words.endswith(" days")
    assert found.cuts == ("each row of v is the middle of at least 7",)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT min(age) FROM v WHERE age > 3",
        "SELECT min(age) FILTER (WHERE age > 3) FROM v",
        "SELECT min(age + 1) FROM v",
        "SELECT min(city) FROM v",
        "SELECT age, min(age) FROM v GROUP BY age",
        "SELECT DISTINCT min(age) FROM v",
        "SELECT min(a.age) FROM v AS a JOIN v AS b ON a.age = b.age",
        "SELECT min(age) FROM v HAVING min(age) > 3",
        "SELECT min(age) FROM (SELECT age FROM v) AS x",
        "SELECT count(*) FROM v",
        "SELECT * FROM v",
        "SELECT min(age) FROM v, people",
        "SELECT min(age) FROM v AS x (born, age)",
        "SELECT count(*) FROM people WHERE age IN (SELECT age FROM v)",
    ],
)
def test_anything_but_bare_columns_is_refused_with_the_fix(
    world: World, sql: str, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(UnitLost) as caught:
        planned(world, sql, monkeypatch)
    assert caught.value.hint


def test_an_average_beside_them_and_a_median_of_days_are_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(TypeMismatch):
        planned(world, "SELECT median(born) FROM v", monkeypatch)
    with pytest.raises(Refusal):
        planned(world, "SELECT min(age), avg(age) FROM v", monkeypatch)


def test_names_of_no_entry_of_from_are_told_as_missing(world: World, monkeypatch: pytest.MonkeyPatch):
    assert planned(world, "SELECT min(x.age) FROM v AS x", monkeypatch).parts
    with pytest.raises(UndefinedTable):
        planned(world, "SELECT min(y.age) FROM v AS x", monkeypatch)


def test_rows_of_people_who_are_declared_otherwise_now_are_not_asked(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    """One of today's units may have had many rows of it: an answer charged once would cost that many times as much."""
    with pytest.raises(UnitLost, match="declared otherwise") as caught:
        planned(world, "SELECT min(age) FROM v", monkeypatch, "otherwise")
    assert "REFRESH" in (caught.value.hint or "")
    with pytest.raises(UnitLost, match="declared otherwise"):
        planned(world, "SELECT min(age) FROM v", monkeypatch, "")


def test_places_become_what_they_stand_for():
    def shown(column: ShownColumn, place: int) -> object:
        assert column.steps is not None
        found = InsideStatistic("min", column, column.steps, 1, is_double=False)
        sql = duck.text(found.value([duck.integer(place)]).sql)
        with empty() as connection:
            [[value]] = connection.execute(f"SELECT {sql}").fetchall()
        return value

    assert [shown(COLUMNS[0], p) for p in (-5, 7, 200)] == [0, 7, 100]
    assert shown(COLUMNS[1], 31) == date(2000, 2, 1)


def test_no_person_moves_an_order_statistic_by_more_than_claimed():
    """Every table of 6 rows over 0..4, every replacement of one of them, k = 2 and 3: brute force."""
    attributes = (Attribute("x", LatticeDomain(0, 4)),)
    worst: dict[int, int] = {}
    sorted_tables = {}
    for k in (2, 3):
        sizes = insensitive.sizes(6, k)
        labels = np.repeat(np.arange(sizes.size), sizes)
        for code in range(5**6):
            rows = np.array([[code // 5**i % 5] for i in range(6)], np.int64)
            if (np.diff(rows[:, 0]) < 0).any():
                continue
            arranged = insensitive.arranged(rows, attributes, insensitive.point(attributes), k, silent)
            middles = centroids(rows[arranged], attributes, labels, sizes.size)
            sorted_tables[k, tuple(rows[:, 0])] = np.sort(middles[labels][:, 0])
        claimed = -(-4 // k)
        keys = [t for kk, t in sorted_tables if kk == k]
        for table in keys:
            for place in range(6):
                for value in range(5):
                    other = tuple(sorted((*table[:place], value, *table[place + 1 :])))
                    moved = int(np.abs(sorted_tables[k, table] - sorted_tables[k, other]).max())
                    worst[k] = max(worst.get(k, 0), moved)
                    assert moved <= claimed
        assert worst[k] > 0


def test_another_view_of_the_same_rows_is_another_question(world: World, monkeypatch: pytest.MonkeyPatch):
    first = planned(world, "SELECT min(age) FROM v", monkeypatch).parts[0]
    monkeypatch.setattr("tests.planner.release.test_inside.VIEW", replace(VIEW, table="w2"))
    assert planned(world, "SELECT min(age) FROM v", monkeypatch).parts[0].exact != first.exact


def _read(world: World, sql: str, preview: str = "view") -> Plan:
    policy = test_materialized.granted(world, Grant("v", "analyst", "b"))
    settings = {**DEFAULTS, "dp.preview": preview}
    caller, views = Caller("ann", frozenset({"analyst"}), "s"), {"v": built(world)}
    context = Context(policy, world.schema, caller, settings, None, lambda _: ((3,),), views=views)
    found = plan_routed(parse(sql), context, Parameters(), lambda _: None)
    assert isinstance(found, Plan)
    return found


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT min(age), max(age) FROM people",
        "SELECT median(age) FROM people",
        "SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY age) AS p FROM people",
        "SELECT m FROM (SELECT median(age) AS m FROM people) AS q",
        "SELECT min(age) FROM people WHERE age > 3",
        "SELECT city, max(age) FROM people GROUP BY city",
    ],
)
def test_order_statistics_that_the_table_answers_are_the_table_s(world: World, sql: str):
    """Whatever dp.preview says: the view's are hundreds of times farther off."""
    found = _read(world, sql)
    assert not any(VIEW.table in part.exact for part in found.parts)
    assert found.notices == ()
    assert found == _read(world, sql, "off")


def test_with_preview_the_view_answers_what_the_table_does_not_and_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    direct = AGGREGATES[exp.Min]

    def none(*_: object) -> OrderStatistic:
        raise BoundsMissing("the argument of the aggregate has no bounds")

    monkeypatch.setitem(AGGREGATES, exp.Min, replace(direct, private=none))
    found = _read(world, "SELECT min(age) FROM people")
    assert all(VIEW.table in part.exact for part in found.parts)
    assert 'answered from protected view "v"' in found.notices[0].message
    with pytest.raises(BoundsMissing) as error:
        _read(world, "SELECT min(age) FROM people", "off")
    assert str(error.value.hint).startswith(
        "Protected view v answers it: ask FROM v, or SET dp.preview = view."
    )
    monkeypatch.setitem(AGGREGATES, exp.Min, direct)
    assert _read(world, "SELECT min(age) FROM people").notices == ()
