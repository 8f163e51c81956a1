"""Order statistics as parts: which are released together, what each pays, and the bounds that are released beside."""

from fractions import Fraction

import duckdb
import pytest

from dpproxy.algebra.plan import Plan
from dpproxy.values.errors import InvalidParameter
from tests.golden.world import World, plan_of

THREE = (
    "percentile_cont(0.25) WITHIN GROUP (ORDER BY age), median(age), "
    "percentile_disc(0.9) WITHIN GROUP (ORDER BY age)"
)
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
    ("listed", "settings", "beside"),
    [
        ("median(age)", COLUMNS, ["", "-", "+"]),
        ("dp.ci_low(median(age))", {}, ["", "-", "+"]),
        ("median(age)", {}, [""]),
        ("median(age) + 1", COLUMNS, [""]),
        ("min(age)", COLUMNS, ["", "+"]),
        ("max(age)", COLUMNS, ["", "-"]),
        (THREE, COLUMNS, ["", "-", "+"] * 3),
        (f"dp.ci_high(median(age)), {THREE}", {}, ["", "-", "+", "", ""]),
        ("median(age), max(pay)", COLUMNS, ["", "-", "+", "", "-"]),
    ],
)
def test_bounds_are_parts_where_they_are_asked_for(
    world: World, listed: str, settings: dict[str, str], beside: list[str]
):
    plan = plan_of(world, f"SELECT {listed} FROM people", settings)
    moved = [n.split(" moved=")[-1].split("moved ")[-1] if "moved" in n else "" for n in noises(plan)]
    assert ["-" if m.startswith("-") else "+" if m else "" for m in moved] == beside
    assert len({p.loss.nano for p in plan.parts}) == 1
    assert plan.loss.nano <= 10**9


def test_ends_are_of_the_type_of_the_column_and_hold_what_is_shown(world: World):
    plan = plan_of(world, "SELECT max(pay) AS m, median(age) AS d FROM people", COLUMNS)
    assert [o.column.type.shown for o in plan.outputs if o.column.name.startswith("m_")] == ["numeric"] * 2
    rows = {
        "r0": 7,
        "r1": 9,
        "r2": 50,
        "r3": 20,
        "r4": 40,
    }  # of the maximum, its lower bound, and the median's three
    relations = ", ".join(f"{n} AS (SELECT 0 AS o, {v}::HUGEINT AS m0)" for n, v in rows.items())
    with duckdb.connect() as connection:
        found = connection.execute(f"WITH {relations} {plan.answer}").fetchall()
    [(top, middle, top_low, top_high, low, high)] = found
    assert top_low <= top <= top_high == 500000
    assert (low, middle, high) == (20.0, 50.0, 50.0)


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
