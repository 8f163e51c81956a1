"""Intervals of what is written over released values, and of rows that released values choose."""

import math
from collections.abc import Sequence
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from dpproxy.algebra.plan import Plan
from tests.golden.world import World, build, plan_of
from udfs.mechanisms.averaged import Draw
from udfs.mechanisms.linear import Linear

DRAWS = 3000
STATEMENTS = 400
GROUPS = 30
ENGINE = duckdb.connect(":memory:", config={"threads": "1"})
HEADER = (
    "CREATE TABLE people (id INTEGER, g INTEGER, age INTEGER, pay DECIMAL(8,2), height DOUBLE)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    f"ALTER TABLE people ALTER COLUMN g SET PRIVACY DOMAIN BETWEEN 0 AND {GROUPS - 1}",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "ALTER TABLE people ALTER COLUMN pay SET PRIVACY DOMAIN BETWEEN 10 AND 5000",
    "ALTER TABLE people ALTER COLUMN height SET PRIVACY DOMAIN BETWEEN -40 AND 250",
)
WRITTEN = (
    "sum(pay) / count(*)",
    "100.0 * count_if(age > 3) / count(*)",
    "avg(pay) - avg(age)",
    "-(sum(age) * 2) + count(*)",
    "round(avg(pay), 1)",
    "round(avg(pay), -2)",
    "CAST(sum(pay) / nullif(count(*), 0) AS numeric(10,1))",
    "count(*) / 7",
    "CAST(avg(pay) AS integer)",
    "avg(age) * avg(height)",
    "(coalesce(sum(age), 0) - 5000) * 0.5",
    "sum(height) / (0 - count(*))",
    "abs(count(*) - 50)",
    "greatest(count(*), sum(age) * 0.01)",
    "least(sum(age), 40 * count(*), 9000)",
)


@pytest.fixture(scope="module")
def world() -> World:
    return build(HEADER)


def shown(plan: Plan, *released: Sequence[Sequence[int]]) -> list[tuple[object, ...]]:
    """The answer stage over parts with these released measures, group by group."""
    relations = []
    with ENGINE.cursor() as connection:
        for number, (part, rows) in enumerate(zip(plan.parts, released, strict=True)):
            columns = {f"m{i}": pa.array([row[i] for row in rows], pa.int64()) for i in range(part.measures)}
            keys = (
                {"k0": pa.array([row[0] for k in part.keys for row in k.rows], pa.int32())}
                if part.keys
                else {}
            )
            table = pa.table({"o": pa.array(range(len(rows))), **keys, **columns})
            wide = "".join(f", {name}::HUGEINT AS {name}" for name in columns)
            kept = "".join(f", {name}" for name in keys)
            connection.register(f"released{number}", table)
            relations.append(f"r{number} AS (SELECT o{kept}{wide} FROM released{number})")
        return connection.execute(f"WITH {', '.join(relations)} {plan.answer}").fetchall()


@pytest.mark.parametrize(
    ("written", "truth"),
    [("regr_slope", 0.0), ("regr_intercept", 2505.0), ("corr", 0.0), ("regr_r2", 0.0)],
)
def test_quotients_of_moments_are_in_their_intervals_where_noise_makes_these_larger_than_any_can_be(
    world: World, written: str, truth: float
):
    """Rows at all four corners; their products have as much noise as 95 % have at most, their squares some more."""
    plan = plan_of(world, f"SELECT {written}(pay, age) FROM people", {"dp.intervals": "columns"})
    [part] = plan.parts
    mechanism, rows = part.mechanism, 10_000
    assert mechanism is not None
    linear = Linear.joint([Draw(mechanism, n) for n in range(part.measures)], Fraction(19, 20))
    assert linear is not None
    exact = {1: rows, 1250: 1250 * rows, 249_500**2 // 2: 249_500**2 // 2 * rows}
    released = []
    for share in range(0, 200, 5):
        product = int(linear.reach([float(width == 50 * 249_500) for width in mechanism.widths]))
        larger = {width: n + n * share // 1000 * (width > 1) for width, n in exact.items()}
        released += [
            [larger.get(width, sign * product if width == 50 * 249_500 else 0) for width in mechanism.widths]
            for sign in (-1, 1)
        ]
    for value, low, high, *_ in shown(plan, released):
        assert float(str(low)) <= min(truth, float(str(value))) + 1e-9
        assert float(str(high)) >= max(truth, float(str(value))) - 1e-9


@pytest.mark.statistical
@pytest.mark.parametrize("rows", [3, 400])
@pytest.mark.parametrize("written", WRITTEN)
def test_the_interval_of_an_expression_holds_its_value_as_often_as_it_says(
    world: World, written: str, rows: int
):
    """False-alarm rate under 1e-6 a case: 4.9 standard deviations below the stated probability."""
    options = {"dp.epsilon": "0.5", "dp.intervals": "columns"}
    plan = plan_of(world, f"SELECT CAST({written} AS float8) AS x FROM people", options)
    (part,) = plan.parts
    assert part.mechanism is not None
    exact = [rows if w == 1 else w * rows // 3 for w in part.mechanism.widths]
    noise = part.mechanism.draw(DRAWS).tolist()
    (truth, *_), *drawn = shown(
        plan, [exact, *([e + n for e, n in zip(exact, row, strict=True)] for row in noise)]
    )
    bounded = [(float(str(low)), float(str(high))) for _, low, high, *_ in drawn if low is not None]
    held = sum(low - 1e-6 <= float(str(truth)) <= high + 1e-6 for low, high in bounded)
    missed = len(bounded) - held
    assert missed <= DRAWS * 0.05 + 4.9 * math.sqrt(DRAWS * 0.05 * 0.95)
    assert len(bounded) == DRAWS or "/" in written


@pytest.mark.statistical
@pytest.mark.parametrize(
    "choice",
    [
        "HAVING count(*) > 30",
        "ORDER BY 2 DESC LIMIT 1",
        "ORDER BY count(*) DESC LIMIT 3",
        "ORDER BY n LIMIT 3 OFFSET 2",
        "HAVING avg(age) > 50",
    ],
)
def test_statements_that_select_by_released_values_show_no_interval_that_misses(world: World, choice: str):
    """At least 95 % of statements; false-alarm rate under 1e-6 a case, as above. A statement is one event."""
    options = {"dp.epsilon": "0.5", "dp.intervals": "columns"}
    plan = plan_of(world, f"SELECT g, count(*) AS n, avg(age) FROM people GROUP BY g {choice}", options)
    (part,) = plan.parts
    assert part.mechanism is not None
    exact = [[30 if width == 1 else 0 for width in part.mechanism.widths]] * GROUPS
    true = {g: (float(str(n)), float(str(mean))) for g, n, mean, *_ in shown(plan_of(
        world, "SELECT g, count(*) AS n, avg(age) FROM people GROUP BY g", options), exact)}  # fmt: skip
    whole = 0
    for _ in range(STATEMENTS):
        noise = part.mechanism.draw(GROUPS).tolist()
        drawn = [
            [e + n for e, n in zip(row, more, strict=True)] for row, more in zip(exact, noise, strict=True)
        ]
        rows = [[float(str(value)) for value in row] for row in shown(plan, drawn)]
        whole += all(
            low <= true[int(g)][0] <= high and first <= true[int(g)][1] <= last
            for g, _, _, low, high, first, last, *_ in rows
        )
    assert whole >= STATEMENTS * 0.95 - 4.9 * math.sqrt(STATEMENTS * 0.95 * 0.05)


WINDOWS = (
    "sum(count(*)) OVER ()",
    "sum(sum(age)) OVER (ORDER BY g)",
    "avg(count(*)) OVER (ORDER BY g ROWS 2 PRECEDING)",
    "sum(count(*)) OVER (ORDER BY g ROWS BETWEEN CURRENT ROW AND CURRENT ROW)",
    "count(*) - lag(count(*)) OVER (ORDER BY g)",
    "2 * (lead(sum(age)) OVER (ORDER BY g) - sum(age))",
    "1.0 * (count(*) - lag(count(*), 2, 9) OVER (PARTITION BY g % 2 ORDER BY g)) / count(*)",
    "first_value(count(*)) OVER (ORDER BY g DESC) + 2 * sum(age)",
    "count(*) * 100.0 / sum(count(*)) OVER ()",
    "sum(avg(age)) OVER (ORDER BY g)",
    "avg(avg(age)) OVER (ORDER BY g ROWS 2 PRECEDING)",
    "max(avg(age)) OVER ()",
    "avg(sum(age) * 1.0 / count(*)) OVER (ORDER BY g)",
    "sum(count(*) - sum(age)) OVER (PARTITION BY g % 2)",
)


@pytest.mark.statistical
@pytest.mark.parametrize("written", WINDOWS)
def test_the_interval_of_a_window_function_holds_its_value_as_often_as_it_says(world: World, written: str):
    """In one row of each of 400 statements; false-alarm rate under 1e-6 a case: 4.9 standard deviations."""
    options = {"dp.epsilon": "0.5", "dp.intervals": "columns"}
    plan = plan_of(world, f"SELECT g, {written} AS x FROM people GROUP BY g ORDER BY g", options)
    (part,) = plan.parts
    assert part.mechanism is not None
    exact = [[90 + g if width == 1 else 40 * width for width in part.mechanism.widths] for g in range(GROUPS)]
    truth = [row[1] for row in shown(plan, exact)]
    place, missed, widest = 17, 0, 0.0
    for _ in range(STATEMENTS):
        noise = part.mechanism.draw(GROUPS).tolist()
        drawn = [
            [e + n for e, n in zip(row, more, strict=True)] for row, more in zip(exact, noise, strict=True)
        ]
        _, _, low, high, *_ = shown(plan, drawn)[place]
        missed += not float(str(low)) <= float(str(truth[place])) <= float(str(high))
        widest = max(widest, float(str(high)) - float(str(low)))
    assert missed <= STATEMENTS * 0.05 + 4.9 * math.sqrt(STATEMENTS * 0.05 * 0.95)
    assert 0 < widest < math.inf


@pytest.mark.statistical
@pytest.mark.parametrize("call", ["count(*)", "sum(age)"])
def test_a_change_from_one_group_to_another_is_as_near_as_two_draws(world: World, call: str):
    """Its half-width is at most 1.1 times what 95 % of 40,000 such differences are within, and no less than that."""
    sql = f"SELECT g, {call} - lag({call}) OVER (ORDER BY g) AS x FROM people GROUP BY g"
    plan = plan_of(world, sql, {"dp.epsilon": "0.5"})
    [part], accuracy = plan.parts, plan.outputs[1].accuracy
    assert part.mechanism is not None
    assert accuracy is not None
    assert accuracy.half is not None
    noise = np.array(part.mechanism.draw(80_000).tolist(), dtype=np.float64)[:, 0].reshape(-1, 2)
    off = np.quantile(abs(noise[:, 0] - noise[:, 1]), 0.95)
    assert 0.97 * off <= accuracy.half <= 1.1 * off + 1


def test_a_change_of_what_has_no_noise_is_off_by_nothing(world: World):
    shown = "sum(0 * age) - lag(sum(0 * age)) OVER (ORDER BY g)"
    sql = f"SELECT g, {shown}, ({shown}) / count(*) FROM people GROUP BY g"
    [_, change, share] = plan_of(world, sql, {"dp.epsilon": "0.5"}).outputs
    assert change.accuracy is not None
    assert change.accuracy.half == 0
    assert share.accuracy is not None
    assert share.accuracy.place is not None


@pytest.mark.parametrize(
    "listed",
    [
        "rank() OVER (ORDER BY count(*))",
        "lag(count(*)) OVER (ORDER BY count(*))",
        "sum(count(*)) OVER (PARTITION BY count(*) > 5)",
        "sum(nullif(count(*), 0)) OVER ()",
        "max(nullif(count(*), 0)) OVER ()",
        "avg(stddev(age)) OVER ()",
        "lag(count(*), 1, sum(age)) OVER (ORDER BY g)",
        "max(count(*)) OVER (ORDER BY count(*))",
        "min(sum(age)) FILTER (WHERE g > 3) OVER ()",
    ],
)
def test_of_other_window_functions_no_interval_is_proved(world: World, listed: str):
    found = plan_of(world, f"SELECT g, {listed} FROM people GROUP BY g", {"dp.epsilon": "0.5"}).outputs[1]
    assert found.accuracy is not None
    assert found.accuracy.words == "no interval is proved for it"


def test_a_branch_that_keys_choose_is_as_far_off_as_the_farthest_of_them(world: World):
    listed = "g, count(*), CASE WHEN g < 3 THEN count(*) ELSE 0 END, CASE g WHEN 1 THEN 2 * count(*) ELSE count(*) END"
    found = plan_of(world, f"SELECT {listed} FROM people GROUP BY g", {"dp.epsilon": "0.5"}).outputs
    halves = [0 if o.accuracy is None else o.accuracy.half for o in found]
    assert halves[2] == halves[1]
    assert halves[3] == 2 * (halves[1] or 0)


def test_of_totals_over_chosen_groups_no_interval_is_proved(world: World):
    """Groups that pass by their noise add up to more than they are."""
    for chosen, known in (("", True), ("HAVING g > 3", True), ("HAVING count(*) > 3", False)):
        sql = f"SELECT g, sum(count(*)) OVER () AS x FROM people GROUP BY g {chosen}"
        found = plan_of(world, sql, {"dp.epsilon": "0.5"}).outputs[1].accuracy
        assert found is not None
        assert (found.words == "") is known


def test_what_counts_keys_has_no_error(world: World):
    found = plan_of(
        world, "SELECT g, row_number() OVER (ORDER BY g), count(*) FROM people GROUP BY g"
    ).outputs
    assert [o.accuracy is None for o in found] == [True, True, False]


def accuracies(world: World, listed: str) -> list[str]:
    found = plan_of(world, f"SELECT {listed} FROM people", {"dp.epsilon": "0.5"}).outputs
    return ["" if o.accuracy is None else o.accuracy.words or "known" for o in found]


def test_what_has_no_rule_says_so(world: World):
    unknown = "no interval is proved for it"
    assert accuracies(world, "ln(1 + count(*)), CASE WHEN count(*) > 3 THEN 1 ELSE 2 END") == [unknown] * 2
    assert accuracies(world, "coalesce(sum(age) / count(*), 0)") == [unknown]
    assert (
        accuracies(world, "coalesce(nullif(count(*), 0), 9), greatest(nullif(count(*), 0), 9)")
        == [unknown] * 2
    )
    assert accuracies(world, "2 * 2 * 2 * 2 * 2 * 2 * 2 * 2 * 2 * count(*)") == [unknown]


def test_order_statistics_say_their_error_in_ranks(world: World):
    [words] = accuracies(world, "median(age)")
    assert words.endswith(" rows of rank")
    listed = "percentile_cont(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY age)"
    apart = ", ".join(listed.replace("ARRAY[0.25, 0.5, 0.75]", part) for part in ("0.25", "0.5", "0.75"))
    [words] = accuracies(world, listed)
    assert words in accuracies(world, apart)
    rows = [int(each.partition(" ")[0]) for each in accuracies(world, apart)]
    assert max(rows) == int(words.partition(" ")[0])


def test_of_ranks_and_formulas_nothing_is_said_around_them(world: World):
    inner = "(SELECT g, median(age) AS m, stddev(age) AS s FROM people GROUP BY g) t"
    found = plan_of(world, f"SELECT m, s FROM {inner} WHERE true").outputs
    words = ["" if o.accuracy is None else o.accuracy.words for o in found]
    assert words[0].endswith(" rows of rank")
    assert words[1] == "no interval is proved for it"
    most = plan_of(world, f"SELECT max(m), max(s) FROM {inner}").outputs
    assert {o.accuracy.words for o in most if o.accuracy is not None} == {"no interval is proved for it"}


def test_constants_have_no_error(world: World):
    assert accuracies(world, "1, count(*)") == ["", "known"]


def test_all_rows_that_could_be_shown_are_covered_together(world: World):
    """The union bound over 30 groups and one noisy column."""
    alone, chosen = (
        plan_of(world, f"SELECT g, count(*) FROM people GROUP BY g{more}", {"dp.confidence": c})
        for more, c in (("", str(float(1 - Fraction(1, 20) / 30))), (" HAVING count(*) > 5", "0.95"))
    )
    assert [o.accuracy for o in alone.outputs] == [o.accuracy for o in chosen.outputs]
    assert alone.accuracy is not None
    assert chosen.accuracy is not None
    assert (alone.accuracy.together, chosen.accuracy.together) == (False, True)


@pytest.mark.parametrize("choice", ["ORDER BY g LIMIT 3", "HAVING g > 3", "ORDER BY 2", ""])
def test_keys_that_decide_which_rows_are_shown_cost_no_width(world: World, choice: str):
    plan = plan_of(world, f"SELECT g, count(*) FROM people GROUP BY g {choice}", {"dp.epsilon": "0.5"})
    assert plan.accuracy is not None
    assert not plan.accuracy.together
