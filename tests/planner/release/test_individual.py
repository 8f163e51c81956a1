import pytest

from dpproxy.values.errors import NotGranted, Refusal, Unsupported
from tests.golden.world import World, build, plan_of
from tests.planner.answers import answered, shape

HOURS = "dp.with_prior(hours, 'uniform(0, 24)')"


def test_one_row_of_the_columns_type(world: World):
    assert shape(
        world,
        f"SELECT {HOURS}, dp.with_prior(ward, 'nominal([\"A\"], [1])') AS w FROM visits WHERE patient = 3",
    ) == [
        ("with_prior", "int4"),
        ("w", "text"),
    ]
    [[hours, ward]] = answered(
        world, f"SELECT {HOURS}, dp.with_prior(ward, 'nominal([\"A\"], [1])') FROM visits WHERE patient = 3"
    )
    assert isinstance(hours, int)
    assert 0 <= hours <= 24
    assert ward == "A"


def test_the_unit_decides_whose_row_is_read_and_one_row_is(world: World):
    plan = plan_of(world, f"SELECT {HOURS} FROM visits AS v WHERE v.patient = 3 AND ward = 'A'")
    [part] = plan.parts
    assert '("patient" = 3)' in part.exact
    assert part.exact.count("<= 1)") == 1
    assert (part.factor, part.keys) == (1, ())
    assert part.box.startswith("refinement individual uniform(0, 24) of ")
    assert plan.groups == 1
    assert plan.label == "a prior and hours of one patient on visits"


def test_several_values_share_the_loss(world: World):
    plan = plan_of(
        world, f"SELECT {HOURS} + {HOURS}, dp.with_prior(hours, 'point(1)') FROM visits WHERE patient = 3"
    )
    assert [p.loss.nano for p in plan.parts] == [50_000_000] * 2


def test_no_rows_are_asked_for_free(world: World):
    assert plan_of(world, f"SELECT {HOURS} FROM visits WHERE patient = 3 LIMIT 0").free


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT {HOURS} FROM visits",
        f"SELECT {HOURS} FROM visits WHERE ward = 'A'",
        f"SELECT {HOURS} FROM visits WHERE patient > 3",
        f"SELECT {HOURS} FROM visits WHERE patient = 3 AND patient = 3",
        f"SELECT {HOURS} FROM visits WHERE patient = hours",
    ],
)
def test_without_the_key_and_a_constant_rows_are_not_shown(world: World, sql: str):
    with pytest.raises(NotGranted, match="one person's value needs their privacy key, once"):
        plan_of(world, sql)


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT {HOURS} FROM visits WHERE patient = 3 GROUP BY ward",
        f"SELECT {HOURS}, count(*) FROM visits WHERE patient = 3",
        f"SELECT {HOURS}, hours FROM visits WHERE patient = 3",
        f"SELECT {HOURS} FROM visits JOIN people ON patient = id WHERE patient = 3",
        f"SELECT {HOURS} FROM (SELECT * FROM visits) AS t WHERE patient = 3",
        f"SELECT {HOURS} FROM visits AS v (ward, patient, hours) WHERE patient = 3",
        f"SELECT {HOURS} FROM visits WHERE patient = '3x'",
        f"SELECT {HOURS} FROM visits WHERE patient = TRUE",
        "SELECT dp.with_prior(hours > 3, 'point(1)') FROM visits WHERE patient = 3",
    ],
)
def test_what_is_refused(world: World, sql: str):
    with pytest.raises(Refusal):
        plan_of(world, sql)


def test_rows_and_keys_that_name_nobody():
    world = build(
        (
            "CREATE TABLE t (a INTEGER, x INTEGER)",
            "CREATE TABLE u (k DOUBLE, x INTEGER)",
            "CREATE TABLE orders (o INTEGER, c INTEGER)",
            "CREATE TABLE lines (o INTEGER, x INTEGER)",
            "CREATE TABLE customers (c INTEGER)",
            "ALTER TABLE t SET PRIVACY KEY ROW",
            "ALTER TABLE u SET PRIVACY KEY (k)",
            "ALTER TABLE customers SET PRIVACY KEY (c)",
            "ALTER TABLE orders SET PRIVACY KEY (c) REFERENCES customers (c)",
            "ALTER TABLE lines SET PRIVACY KEY (o) REFERENCES orders (o)",
            *(
                f"ALTER TABLE {t} ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 9"
                for t in ("t", "u", "lines")
            ),
        )
    )
    for table, key in (("t", "a"), ("u", "k"), ("lines", "o")):
        with pytest.raises(Unsupported):
            plan_of(world, f"SELECT dp.with_prior(x, 'point(1)') FROM {table} WHERE {key} = 3")
