"""Sums as so many of what is known: the same whole numbers as would be computed, and none where that is not certain."""

# ruff: noqa: E501 - statements written out

from fractions import Fraction

import pytest
from msgspec.structs import replace

from dpproxy.engine.payloads import wanted_of
from dpproxy.planner.reuse.multiples import coefficients
from tests.golden.world import Tables, World, build
from tests.planner.reuse.test_rollup import derived, follows, part_of
from tests.planner.wordings import HEADER


@pytest.fixture(scope="module")
def world() -> World:
    return replace(build(HEADER), prepared=True)


SPREAD = "SELECT y, b, avg(x), count(*), avg(y) FROM t GROUP BY y, b"


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("SELECT avg(x) FROM t", "SELECT sum(x) FROM t"),
        ("SELECT sum(x), avg(x) FROM t", "SELECT sum(x), count(x) FROM t"),
        ("SELECT avg(y) FROM t", "SELECT sum(y) FROM t"),
        ("SELECT stddev(x) FROM t", "SELECT sum(x) FROM t"),
        (SPREAD, "SELECT b, sum(x), sum(y), count(*) FROM t GROUP BY b"),
        (SPREAD, "SELECT y, sum(x), sum(y) FILTER (WHERE b), count(*) FROM t WHERE y > 1 GROUP BY y"),
        ("SELECT sum(x), count(x) FROM t", "SELECT avg(x) FROM t"),
        (
            "SELECT k, b, count(*), sum(y) FROM t GROUP BY k, b",
            "SELECT k, avg(y) FILTER (WHERE b) FROM t GROUP BY k",
        ),
        (SPREAD, "SELECT sum(CASE WHEN b THEN x END), sum(3 * x) FROM t"),
        (
            SPREAD,
            "SELECT b, sum(-x), sum(x + 1), sum(10 - 3 * x), avg(x - 2), count(x + 1) FROM t GROUP BY b",
        ),
        (SPREAD, "SELECT sum(y + 1), sum(2 * (y - 3)), sum(x + 0.5), sum(-(x + 1)) FROM t WHERE b"),
        ("SELECT sum(y), count(*) FROM t", "SELECT sum(5 - y), avg(y + 1), avg(-y) FROM t"),
        ("SELECT avg(x + 1) FROM t", "SELECT sum(x), count(x), avg(x) FROM t"),
        ("SELECT sum(y), count(*) FROM t", "SELECT sum(y - w) FROM (SELECT y, y * 2 + 1 AS w FROM t) AS s"),
    ],
)
def test_a_sum_follows_from_the_figures_of_an_average(world: World, stored: str, asked: str):
    tables = Tables(world)
    for step in (1, 3, 7):
        values = [None if n % 5 == 0 else n * step % 13 - 1 for n in range(40)]
        rows = [(n, "abz"[n % 3], x, n % 7 - 1, n % 2 == 0, None) for n, x in enumerate(values)]
        tables.fill({"t": rows[step:], "w": []})
        made, exact = derived(world, tables, stored, asked), tables.exact(part_of(world, asked))
        assert made == [exact[row] for row in wanted_of(part_of(world, asked))]
    tables.close()


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("SELECT avg(x) FROM t", "SELECT sum(y) FROM t"),
        ("SELECT avg(x) FROM t", "SELECT count(*) FROM t"),
        ("SELECT avg(x) FROM t", "SELECT sum(DISTINCT x) FROM t"),
        ("SELECT avg(DISTINCT x) FROM t", "SELECT sum(x) FROM t"),
        ("SELECT sum(x) FROM t", "SELECT avg(x) FROM t"),
        ("SELECT sum(x), count(*) FROM t", "SELECT avg(x) FROM t"),  # x may be NULL
        ("SELECT avg(x) FILTER (WHERE k = 'a') FROM t", "SELECT sum(x) FROM t"),
        ("SELECT sum(x), sum(y) FROM t", "SELECT sum(x + y) FROM t"),
        ("SELECT sum(y), count(*) FROM t", "SELECT sum(y - y) FROM t"),
        ("SELECT sum(x), count(*) FROM t", "SELECT sum(x + 1) FROM t"),
        ("SELECT sum(y), count(*) FROM t", "SELECT sum(y * y) FROM t"),
        ("SELECT sum(d), count(d) FROM t", "SELECT sum(d + 1) FROM t"),  # in steps of its own
        ("SELECT sum(y), count(*) FROM t", "SELECT sum(least(y + 1, 3)) FROM t"),
        (
            "SELECT sum(y), count(*) FROM t",
            "SELECT sum(CASE WHEN y + 1 < 2 THEN 2 WHEN y + 1 > 4 THEN 4 ELSE y + 1 END) FROM t",
        ),
        (
            "SELECT sum(y), count(*) FROM t",
            "SELECT sum(z) FROM (SELECT CASE WHEN y + 1 < 2 THEN 2 WHEN y + 1 > 4 THEN 4 ELSE y + 1 END AS z FROM t) AS s",
        ),
    ],
)
def test_other_sums_do_not(world: World, stored: str, asked: str):
    assert follows(world, stored, asked) is None


def test_figures_are_taken_as_often_as_they_give_a_sum():
    count, total = (Fraction(1), Fraction(0)), (Fraction(4), Fraction(2))
    assert coefficients([count, total], (Fraction(0), Fraction(1))) == (-2, Fraction(1, 2))
    assert coefficients([total], (Fraction(2), Fraction(1))) == (Fraction(1, 2),)
    assert coefficients([total], (Fraction(0), Fraction(1))) is None
    assert coefficients([count, count], (Fraction(3), Fraction(0))) == (3, 0)
