from fractions import Fraction

import pyarrow as pa
import pytest

from dpproxy.algebra.plan import Part
from dpproxy.backends.release import ReleaseStage
from dpproxy.values.errors import BoundsMissing, Unsupported
from tests.golden.world import World, build, plan_of
from udfs.mechanisms import Gaussian, Laplace, Shortest, Staircase
from udfs.privacy import Exact

COUNT = "SELECT ward, count(*), avg(hours) FROM visits GROUP BY ward"


def part_of(world: World, sql: str, **options: str) -> Part:
    [part] = plan_of(world, sql, {name.replace("dp_", "dp."): value for name, value in options.items()}).parts
    return part


def test_the_mechanism_asked_for_draws(world: World):
    for name, kind, function in (
        ("auto", Staircase, "dp_release"),
        ("staircase", Staircase, "dp_release"),
        ("shortest", Shortest, "dp_shortest"),
        ("laplace", Laplace, "dp_laplace"),
        ("gaussian", Gaussian, "dp_gaussian"),
    ):
        part = part_of(world, COUNT, dp_mechanism=name, dp_delta="1e-6", dp_epsilon="1")
        assert isinstance(part.mechanism, kind)
        assert f"{function}([" in part.release
        assert part.box.startswith(f"{kind.__name__.lower()} (")
        assert part.noise.startswith(f"{kind.__name__.lower()} widths=(")
        assert part.delta == (Fraction(1, 10**6) if kind is Gaussian else 0)
        assert part.loss.nano == 10**9


def test_each_draws_in_the_engine_that_releases(world: World):
    """At epsilon 1,000,000 the Gaussian has a deviation of 1e-9, the others any noise with less than 1e-13."""
    exact = pa.table({"k0": ["A", "B", "C"], "m0": [5, 6, 7], "m1": [30, -20, 0], "m2": [5, 6, 7]})
    release = ReleaseStage()
    for name in ("staircase", "shortest", "laplace", "gaussian"):
        part = part_of(world, COUNT, dp_mechanism=name, dp_delta="1e-6", dp_epsilon="1000000")
        release.prepare(part)
        drawn = release.draw(part, Exact(exact)).value["v"].to_pylist()
        wanted = exact.drop_columns(["k0"]).to_pylist()
        for row, truth in zip(drawn, wanted, strict=True):
            assert all(abs(v - m) <= 5 for v, m in zip(row, truth.values(), strict=False))
    release.close()


def test_two_gaussian_parts_share_the_delta(world: World):
    sql = f"{COUNT} HAVING count(*) > (SELECT avg(age) FROM people)"
    plan = plan_of(world, sql, {"dp.mechanism": "gaussian", "dp.delta": "1e-6", "dp.epsilon": "1"})
    assert [p.delta for p in plan.parts] == [Fraction(1, 2 * 10**6)] * 2
    assert plan.delta == Fraction(1, 10**6)


def test_no_delta_is_spent_on_noise_unasked(world: World):
    assert part_of(world, COUNT).delta == 0


def test_without_a_delta_there_is_no_gaussian(world: World):
    with pytest.raises(BoundsMissing, match="costs delta, and there is none") as refused:
        part_of(world, COUNT, dp_mechanism="gaussian")
    assert refused.value.hint is not None
    assert refused.value.hint.startswith("SET dp.mechanism = 'auto';")


def test_no_gaussian_beside_discovered_keys():
    world = build(
        (
            "CREATE TABLE t (id INTEGER, town VARCHAR)",
            "ALTER TABLE t SET PRIVACY KEY (id)",
            "ALTER TABLE t ALTER COLUMN town SET PRIVACY DOMAIN DISCOVERED",
        )
    )
    sql = "SELECT town, count(*) FROM t GROUP BY town"
    with pytest.raises(Unsupported, match="beside keys that are not public"):
        part_of(world, sql, dp_mechanism="gaussian", dp_delta="1e-6", dp_epsilon="1")
    assert isinstance(part_of(world, sql, dp_delta="1e-6", dp_epsilon="1").mechanism, Staircase)


ZCDP = (
    "CREATE TABLE people (id INTEGER, age INTEGER, sex VARCHAR, town VARCHAR)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people SET PRIVACY CEILING EPSILON 8 DELTA 1e-5 ACCOUNTANT ZCDP",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm')",
    "ALTER TABLE people ALTER COLUMN town SET PRIVACY DOMAIN DISCOVERED",
    "CREATE PRIVACY BUDGET lab LIMIT EPSILON 4 DELTA 1e-6",
    "GRANT SELECT ON people TO analyst WITH PRIVACY BUDGET lab",
)


@pytest.fixture(scope="module")
def concentrated() -> World:
    return build(ZCDP)


def test_under_zcdp_a_gaussian_is_drawn_where_it_is_better_and_costs_no_delta(concentrated: World):
    sql = "SELECT sex, count(*), avg(age), stddev(age) FROM people GROUP BY sex"
    part = part_of(concentrated, sql)
    assert isinstance(part.mechanism, Gaussian)
    assert (part.delta, part.loss.nano) == (0, 10**8)
    assert part.mechanism.nano * part.factor == 10**9 // 200
    assert part_of(concentrated, sql, dp_mechanism="gaussian").delta == 0
    assert isinstance(part_of(concentrated, sql, dp_mechanism="laplace").mechanism, Laplace)


def test_under_zcdp_keys_that_are_discovered_still_cost_their_delta_and_no_more(concentrated: World):
    part = part_of(concentrated, "SELECT town, count(*) FROM people GROUP BY town", dp_epsilon="1")
    assert part.delta == Fraction(1, 10**8)
    assert isinstance(part.mechanism, Staircase)


def test_under_zcdp_a_budget_needs_a_delta():
    world = build([s.replace(" DELTA 1e-6", "") for s in ZCDP])
    with pytest.raises(
        BoundsMissing, match='budget "lab" has no DELTA, which the accountant ZCDP'
    ) as refused:
        plan_of(world, "SELECT count(*) FROM people")
    assert refused.value.hint == "CREATE PRIVACY BUDGET lab LIMIT EPSILON 4 DELTA 0.000001;"
