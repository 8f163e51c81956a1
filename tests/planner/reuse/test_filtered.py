"""Counts and sums with FILTER as others under further conditions."""

import pytest
from msgspec.structs import replace

from dpproxy.planner.reuse.filtered import wordings
from dpproxy.planner.reuse.normal_form import stage
from tests.golden.world import World, build, plan_of
from tests.planner.wordings import HEADER


@pytest.fixture(scope="module")
def world() -> World:
    return replace(build(HEADER), prepared=True)


def measures(world: World, call: str) -> tuple[tuple[object, ...], ...]:
    [part] = plan_of(world, f"SELECT {call} FROM t").parts
    return stage(part.query).measures


def conditions(world: World, where: str) -> set[tuple[object, ...]]:
    [part] = plan_of(world, f"SELECT count(*) FROM t WHERE {where}").parts
    return set(stage(part.query).conditions)


@pytest.mark.parametrize(
    ("call", "bare", "where"),
    [
        ("count(*) FILTER (WHERE y > 1 AND b)", "count(*)", "y > 1 AND b"),
        ("sum(x) FILTER (WHERE b)", "sum(x)", "b"),
        ("avg(y) FILTER (WHERE y > 1 OR b)", "avg(y)", "y > 1 OR b"),
        ("count(x) FILTER (WHERE b)", "count(x)", "b"),
        ("count(x) FILTER (WHERE b)", "count(*)", "b AND x IS NOT NULL"),
        ("count(x)", "count(*)", "x IS NOT NULL"),
    ],
)
def test_a_filter_is_a_condition(world: World, call: str, bare: str, where: str):
    """Of each measure; its first wording is itself."""
    more = conditions(world, where)
    for own, other in zip(measures(world, call), measures(world, bare), strict=True):
        found = wordings(own)
        assert found[0] == (own, ())
        assert (other, more) in [(measure, set(listed)) for measure, listed in found[1:]]


def test_what_has_no_filter_is_itself(world: World):
    for call in ("sum(x)", "count(*)", "sum(CASE WHEN b THEN x ELSE 1 END)", "count(DISTINCT x)"):
        [measure] = measures(world, call)
        assert wordings(measure) == ((measure, ()),)
