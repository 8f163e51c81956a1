import re
from fractions import Fraction
from pathlib import Path

import pytest

from dpproxy.algebra.plan import Part
from dpproxy.planner.explain import explain_text
from dpproxy.values.errors import InvalidParameter, Refusal, Unsupported
from tests.golden.world import World, build, plan_of
from udfs.mechanisms.refinement import Refinement
from udfs.prior_notation import parse


def parts(world: World, sql: str, **options: str) -> tuple[Part, ...]:
    return plan_of(world, sql, {name.replace("dp_", "dp."): value for name, value in options.items()}).parts


@pytest.mark.parametrize(
    ("sql", "factor"),
    [
        ("SELECT dp.with_prior(sum(hours), 'ordinal([0, 50, 99], [1, 1, 1])') FROM visits", 1),
        (
            "SELECT ward, dp.with_prior(sum(hours), 'ordinal([0, 50, 99], [1, 1, 1])') FROM visits GROUP BY ward",
            2,
        ),
        (
            "SELECT city, dp.with_prior(avg(age), 'ordinal([0, 50, 99], [1, 1, 1])') FROM people GROUP BY city",
            1,
        ),
    ],
)
def test_a_unit_pays_for_each_group_it_can_touch_whatever_its_rows(world: World, sql: str, factor: int):
    """MAX ROWS 6 MAX GROUPS 2."""
    [part] = parts(world, sql, dp_epsilon="0.3")
    assert part.factor == factor
    assert part.loss.nano == 300_000_000
    assert f"CAST({0.3 / factor:.9f} AS DECIMAL(18, 9))" in part.release
    assert ("DENSE_RANK" in part.exact) == (factor > 1)
    assert part.mechanism is None
    assert part.refined


def test_priors_and_noise_share_the_loss(world: World):
    found = parts(
        world,
        "SELECT count(*), dp.with_prior(avg(hours), 'ordinal([9, 2], [1, 1])') FROM visits",
        dp_epsilon="0.4",
    )
    assert [(p.refined, p.loss.nano) for p in found] == [(False, 200_000_000), (True, 200_000_000)]


def test_the_same_aggregate_with_and_without_a_prior_are_two_questions(world: World):
    with_noise, refined = parts(
        world, "SELECT avg(hours), dp.with_prior(avg(hours), 'ordinal([9, 2], [1, 1])') FROM visits"
    )
    assert (with_noise.refined, refined.refined) == (False, True)
    assert "ordinal([9, 2], [1, 1])" in refined.box
    other = parts(world, "SELECT dp.with_prior(avg(hours), 'ordinal([9, 3], [1, 1])') FROM visits")
    assert other[0].box != refined.box
    assert other[0].exact == refined.exact


def test_one_call_is_one_draw_wherever_it_is_written(world: World):
    call = "dp.with_prior(count(*), 'uniform(0, 9)')"
    assert (
        len(
            parts(
                world,
                f"SELECT ward, {call}, {call} + 1 FROM visits GROUP BY 1 HAVING {call} > 1 ORDER BY {call}",
            )
        )
        == 1
    )


def test_explain_tells_the_expected_distance(world: World):
    prior = "ordinal([40, 44, 50], [1, 2, 1])"
    sql = f"SELECT dp.with_prior(avg(age), '{prior}') AS a FROM people"
    said = " ".join(
        map(str.strip, explain_text(plan_of(world, sql, {"dp.epsilon": "0.5"}), Fraction(95, 100)))
    )
    expected = Refinement.statistical(parse(prior), 500_000_000).expected_distance
    shown = re.escape(prior)
    assert re.search(rf"Mechanism: refinement statistical {shown} nano=500000000, at epsilon 0", said)
    told = f"one draw, expected distance {expected:.6g} where the prior is right"
    assert f"a: dp.with_prior(avg(age), '{prior}'), {told}" in said


def test_the_setting_stands_where_no_prior_is_written(world: World):
    prior = "ordinal([40, 44], [1, 2])"
    [part] = parts(world, "SELECT dp.with_prior(avg(age)) FROM people", dp_prior=prior)
    assert part.box.startswith(f"refinement statistical {prior} of ")
    plan = plan_of(world, "SELECT dp.with_prior(avg(age)) FROM people", {"dp.prior": "normal(40, 3)"})
    assert "_DP_POSTERIOR('normal(40, 3)'" in plan.answer
    with pytest.raises(InvalidParameter, match="needs a prior"):
        parts(world, "SELECT dp.with_prior(avg(age)) FROM people")


def test_rows_of_a_public_table_are_a_prior(world: World):
    sql = "SELECT dp.with_prior(avg(age), prior => (SELECT size, size * 2 FROM cities)) FROM people"
    assert "_DP_POSTERIOR('table([3, 7], [6, 14])'" in plan_of(world, sql).answer
    [part] = parts(
        world, "SELECT dp.with_prior(city, (SELECT city, size FROM cities ORDER BY city DESC), family => 'ordinal') "
        "FROM people WHERE id = 3"
    )  # fmt: skip
    assert part.box.startswith('refinement individual ordinal(["Rome", "Oslo"], [7, 3]) of ')


@pytest.mark.parametrize(
    ("sql", "kind", "message"),
    [
        (
            "SELECT dp.with_prior(avg(age), (SELECT age, 1 FROM people)) FROM people",
            Refusal,
            "public|not shown",
        ),
        (
            "SELECT dp.with_prior(avg(age), (SELECT avg(age), 1 FROM people)) FROM people",
            Unsupported,
            "a prior is public",
        ),
        (
            "SELECT dp.with_prior(avg(age), (SELECT size FROM cities)) FROM people",
            InvalidParameter,
            "two columns",
        ),
        (
            "SELECT dp.with_prior(avg(age), (SELECT NULL, size FROM cities)) FROM people",
            InvalidParameter,
            "takes numbers",
        ),
        (
            "SELECT dp.with_prior(avg(age), (SELECT size, 1 FROM cities WHERE size > 9)) FROM people",
            InvalidParameter,
            "masses must be",
        ),
        (
            "SELECT dp.with_prior(stddev(age), 'normal(4, 1)') FROM people",
            Unsupported,
            "takes count, sum or avg",
        ),
        (
            "SELECT dp.with_prior(dp.with_prior(avg(age), 'point(1)'), 'point(1)') FROM people",
            Refusal,
            "with_prior",
        ),
        ("SELECT dp.with_prior(avg(size), 'normal(4, 1)') FROM cities", Unsupported, "not answered"),
    ],
)
def test_what_is_refused(world: World, sql: str, kind: type[Refusal], message: str):
    with pytest.raises(kind, match=message):
        plan_of(world, sql)


def test_too_little_to_share_among_groups(world: World):
    with pytest.raises(InvalidParameter, match="too small to share"):
        parts(
            world,
            "SELECT ward, dp.with_prior(count(*), 'point(1)') FROM visits GROUP BY ward",
            dp_epsilon="0.001",
        )


def test_the_documented_statements_are_answered():
    world = build(
        (
            "CREATE TABLE patients (patient_id INTEGER, age INTEGER, sex VARCHAR)",
            "CREATE TABLE visits (patient_id INTEGER, ward VARCHAR, cost DECIMAL(9,2))",
            "CREATE TABLE census (age INTEGER, people BIGINT)",
            "INSERT INTO census VALUES (10, 700), (50, 900), (90, 100)",
            "ALTER TABLE patients SET PRIVACY KEY (patient_id)",
            "ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110",
            "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm')",
            "ALTER TABLE visits SET PRIVACY KEY (patient_id) REFERENCES patients (patient_id) MAX ROWS 20 MAX GROUPS 5",
            "ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('A', 'B')",
            "ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 5000",
            "ALTER TABLE census SET PRIVACY PUBLIC",
        )
    )
    text = (Path(__file__).parents[3] / "docs/sql.md").read_text(encoding="utf-8")
    section = text.split("### Mechanisms and priors")[1].split("###")[0]
    statements = [s for s in section.split("```sql")[1].split("```")[0].split(";") if s.strip()]
    assert len(statements) == 5
    for statement in statements:
        plan = plan_of(world, statement)
        assert all(part.refined for part in plan.parts) != ("_DP_POSTERIOR" in plan.answer)
