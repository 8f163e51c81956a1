"""Order statistics as parts: which are released together, what each pays, and the bounds that are released beside."""

import re
from contextlib import closing
from fractions import Fraction

import pyarrow as pa
import pytest
from msgspec.structs import replace

from dpproxy.algebra.plan import Plan
from dpproxy.backends.release import ReleaseStage
from dpproxy.policy.model import Ceiling, Composition
from dpproxy.values.errors import InvalidParameter
from tests.empty import empty
from tests.golden.world import World, plan_of
from udfs.privacy import Exact

THREE = (
    "percentile_cont(0.25) WITHIN GROUP (ORDER BY age), median(age), "
    "percentile_disc(0.9) WITHIN GROUP (ORDER BY age)"
)
LIST = "percentile_disc(ARRAY[0.9, 0.25, 0.5]) WITHIN GROUP (ORDER BY age)"
COLUMNS = {"dp.intervals": "columns"}


def noises(plan: Plan) -> list[str]:
    return [part.noise.split(" cells=")[0].removeprefix("exponential ") for part in plan.parts]


@pytest.mark.parametrize(
    ("listed", "noise"),
    [
        (THREE, ["quantiles=5,10,18/20"]),
        (f"max(age), {THREE}, min(age)", ["quantile=1/1", "quantiles=5,10,18/20", "quantile=0/1"]),
        (f"{THREE}, percentile_cont(0.5) WITHIN GROUP (ORDER BY age)", ["quantiles=5,10,18/20"]),
        ("median(age), percentile_cont(0.9) WITHIN GROUP (ORDER BY age)", ["quantile=1/2", "quantile=9/10"]),
        (
            THREE.replace("(ORDER BY age)", "(ORDER BY pay)"),
            ["quantile=1/4", "quantile=9/10", "quantile=1/2"],
        ),
        (
            ", ".join(
                f"percentile_cont({q}) WITHIN GROUP (ORDER BY age)" for q in ("0.001953125", "0.0016", "0.5")
            ),
            ["quantile=1/512", "quantile=1/625", "quantile=1/2"],
        ),
    ],
)
def test_several_quantiles_of_one_argument_are_one_part(world: World, listed: str, noise: list[str]):
    plan = plan_of(world, f"SELECT {listed} FROM people")
    assert sorted(noises(plan)) == sorted(noise)
    assert sum(p.loss.nano for p in plan.parts) <= 10**9


def test_quantiles_under_conditions_of_their_own_are_apart(world: World):
    where = "percentile_cont({}) WITHIN GROUP (ORDER BY age) FILTER (WHERE pay > {})"
    listed = ", ".join(where.format(q, pay) for q, pay in ((0.25, 1), (0.5, 1), (0.75, 2)))
    assert noises(plan_of(world, f"SELECT {listed} FROM people")) == [
        "quantile=1/4",
        "quantile=1/2",
        "quantile=3/4",
    ]


def test_each_column_is_its_own_quantile(world: World):
    """Columns are those of the part in rising order, whatever order they are asked in."""
    plan = plan_of(world, "SELECT " + ", ".join(reversed(THREE.split(", "))) + " FROM people")
    assert plan.answer.index('"m2"') < plan.answer.index('"m1"') < plan.answer.index('"m0"')
    [part] = plan.parts
    assert part.measures == 3


def test_errors_are_those_of_the_joint_draw(world: World):
    plan = plan_of(world, f"SELECT {THREE} FROM people")
    errors = [o.error.rows for o in plan.outputs if o.error is not None]
    assert len(errors) == 3
    assert errors[1] is not None
    assert all(other is not None and other > errors[1] for other in (errors[0], errors[2]))


@pytest.mark.parametrize(
    ("listed", "settings", "drawn"),
    [
        ("median(age)", COLUMNS, ["quantile", "bounds"]),
        ("dp.ci_low(median(age))", {}, ["quantile", "bounds"]),
        ("median(age)", {}, ["quantile"]),
        ("median(age) + 1", COLUMNS, ["quantile"]),
        ("min(age)", COLUMNS, ["quantile", "bounds"]),
        ("max(age)", COLUMNS, ["quantile", "bounds"]),
        (THREE, COLUMNS, ["quantiles", "bounds bounds bounds"]),
        (LIST, COLUMNS, ["quantiles", "bounds bounds bounds"]),
        (LIST, {}, ["quantiles"]),
        (f"dp.ci_high(median(age)), {THREE}", {}, ["quantiles", "bounds"]),
        ("median(age), max(pay)", COLUMNS, ["quantile", "bounds"] * 2),
    ],
)
def test_bounds_are_drawn_with_what_they_bound(
    world: World, listed: str, settings: dict[str, str], drawn: list[str]
):
    plan = plan_of(world, f"SELECT {listed} FROM people", settings)
    assert [" ".join(re.findall(r"(\w+)=\d[^ ]* (?:at|cells)", part.noise)) for part in plan.parts] == drawn
    assert [part.points for part in plan.parts] == [n - 1 if n % 2 else None for n in range(len(drawn))]
    assert all(_paid(part.noise) <= part.loss.nano < _paid(part.noise) + 10 for part in plan.parts)
    assert plan.loss.nano <= 10**9


def _paid(noise: str) -> int:
    return sum(int(drawn.rsplit("nano=", 1)[1]) for drawn in noise.split(", "))


def test_bounds_of_one_make_no_other_worse(world: World):
    """A count beside a median is as accurate with its bounds as without; so are two medians."""
    for listed in ("count(*), median(age)", "median(age), median(pay)", f"count(*), {THREE}"):
        plans = [plan_of(world, f"SELECT {listed} FROM people", more) for more in ({}, COLUMNS)]
        assert 0 <= plans[0].loss.nano - plans[1].loss.nano < 10
        assert plans[0].parts[0].loss == plans[1].parts[0].loss or "count" not in listed
        assert plans[0].outputs[0].error == plans[1].outputs[0].error or "count" not in listed


def test_bounds_share_the_square_of_the_loss_where_losses_add_up_as_rho(world: World):
    ceiling = Ceiling(Fraction(8), Fraction(1, 10**5), Composition.ZCDP)
    tables = {name: replace(t, ceiling=t.ceiling and ceiling) for name, t in world.policy.tables.items()}
    budgets = {name: replace(b, delta=Fraction(1, 10**5)) for name, b in world.policy.budgets.items()}
    zcdp = replace(world, policy=replace(world.policy, tables=tables, budgets=budgets))
    [part] = plan_of(zcdp, "SELECT median(age) FROM people", COLUMNS).parts
    draws = [int(drawn.rsplit("nano=", 1)[1]) for drawn in part.noise.split(", ")]
    assert part.concentrated
    assert 0 <= part.loss.nano**2 - sum(n**2 for n in draws) < 10 * part.loss.nano
    [single] = plan_of(zcdp, "SELECT median(age) FROM people").parts
    assert not single.concentrated
    with closing(ReleaseStage()) as release:  # around the value of the same draw, whatever that was
        exact = Exact(pa.table({"m0": [2, 50, 99], "m1": [1, 1, 1]}))
        drawn = [release.draw(part, exact).value["v"].to_pylist()[0] for _ in range(50)]
    assert all(low <= value <= high for value, low, high in drawn)
    assert len({value for value, *_ in drawn}) > 1


def test_ends_are_of_the_type_of_the_column_and_hold_what_is_shown(world: World):
    plan = plan_of(world, "SELECT max(pay) AS m, median(age) AS d FROM people", COLUMNS)
    assert [o.column.type.shown for o in plan.outputs if o.column.name.startswith("m_")] == ["numeric"] * 2
    rows = {
        "r0": (7,),
        "r1": (9, 62500),
        "r2": (50,),
        "r3": (20, 40),
    }  # a maximum, its lower bound, a median, and both
    relations = ", ".join(
        f"{name} AS (SELECT 0 AS o, {', '.join(f'{v}::HUGEINT AS m{i}' for i, v in enumerate(values))})"
        for name, values in rows.items()
    )
    with empty() as connection:
        found = connection.execute(f"WITH {relations} {plan.answer}").fetchall()
    [(top, middle, top_low, top_high, low, high)] = found
    assert top_low <= top <= top_high == 500000
    assert (low, middle, high) == (20.0, 50.0, 50.0)


def test_a_list_of_percentiles_has_lists_of_the_same_bounds(world: World):
    """Also where all that could be shown hold together: each element is one more that may miss."""
    for more in ("", " HAVING count(*) > 2"):
        apart = ", ".join(LIST.replace("ARRAY[0.9, 0.25, 0.5]", q) for q in ("0.9", "0.25", "0.5"))
        plans = [plan_of(world, f"SELECT {listed} FROM people{more}", COLUMNS) for listed in (LIST, apart)]
        assert plans[0].parts == plans[1].parts
    assert [o.column.type.shown for o in plans[0].outputs[1:]] == ["integer[]"] * 2
    rows = {"r0": (30, 50, 90), "r1": (20, 40, 45, 60, 70, 110)}  # in rising order; both bounds of each
    relations = ", ".join(
        f"{name} AS (SELECT 0 AS o, {', '.join(f'{v}::HUGEINT AS m{i}' for i, v in enumerate(values))})"
        for name, values in rows.items()
    )
    with empty() as connection:
        plan = plan_of(world, f"SELECT {LIST} FROM people", COLUMNS)
        found = connection.execute(f"WITH {relations} {plan.answer}").fetchall()
    assert [row[:3] for row in found] == [([90, 30, 50], [70, 20, 45], [100, 40, 60])]


def test_a_list_has_bounds_where_each_element_has(world: World):
    listed = "ARRAY[count(*), 100 * count(*), 7] AS a, ARRAY[count(*), ln(1 + count(*))] AS b"
    plan = plan_of(world, f"SELECT {listed} FROM people", COLUMNS)
    with empty() as connection:
        [row] = connection.execute(f"WITH r0 AS (SELECT 0 AS o, 50::HUGEINT AS m0) {plan.answer}").fetchall()
    values, _, low, high, *rest = row
    assert rest == [None, None]
    assert low[1] == 100 * low[0] < values[1] < high[1] == 100 * high[0]
    assert low[2] == values[2] == high[2] == 7


def test_what_a_unit_pays_is_shared_among_its_rows(world: World):
    [part] = plan_of(world, "SELECT median(hours) FROM visits").parts
    assert (part.factor, part.noise.rsplit("nano=", 1)[1]) == (6, str(part.loss.nano // 6))
    with pytest.raises(InvalidParameter, match="too small"):
        plan_of(world, "SELECT median(hours) FROM visits", {"dp.epsilon": "0.005"})
    three = THREE.replace("age", "hours")
    assert plan_of(world, f"SELECT {three} FROM visits", {"dp.epsilon": "0.012"}).loss.nano == 12 * 10**6
    with pytest.raises(InvalidParameter, match="too small"):
        plan_of(world, f"SELECT {three} FROM visits", {"dp.epsilon": "0.0119"})


def test_the_bounds_of_chosen_groups_hold_for_all_of_them(world: World):
    """As far out as for the confidence that is shared among three groups and two columns, and both sides."""
    grouped = "SELECT ward, count(*) AS n, median(hours) FROM visits GROUP BY ward"
    alone = {**COLUMNS, "dp.confidence": str(float(1 - Fraction(1, 20) / 6))}
    assert noises(plan_of(world, f"{grouped} ORDER BY n LIMIT 1", COLUMNS)) == noises(
        plan_of(world, grouped, alone)
    )
