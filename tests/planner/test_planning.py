"""What one pass collects: parts that are computed once, names that are used once."""

from fractions import Fraction
from itertools import product

import pytest
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import PREPARED, Input, KeySet, Part, PreparedTable
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.pricing import Draft, Price
from dpproxy.values.pgtypes import INT4
from tests.golden.world import World
from tests.planner.passes import planning_of
from udfs.privacy import Loss

PART = Part(nodes.Select(), truncated=False, release="", keys=(), measures=1, box="", noise="", loss=Loss(0))


def draft(part: Part, drawn: str = "b") -> Draft:
    return Draft(part, (drawn,), lambda priced, _: Price(priced))


@pytest.fixture
def planning(clinic: World) -> Planning:
    return planning_of(clinic)


def test_names_are_told_apart_in_any_case(planning: Planning):
    found = [planning.reserve(n) for n in ("unit", "Unit", "UNIT", "unit_1", "other")]
    assert found == ["unit", "Unit_1", "UNIT_2", "unit_1_1", "other"]
    assert len({n.lower() for n in found}) == len(found)


def test_parts_are_one_where_they_are_computed_and_released_alike(planning: Planning):
    keys: list[tuple[KeySet, ...]] = [(), (KeySet((INT4,), ((1,),)),)]
    variants = [
        draft(replace(PART, query=q, keys=k, inputs=i, vacuous=v), b)
        for q, b, k, i, v in product(
            [nodes.Select((nodes.Number(n),)) for n in "12"],
            ("b", "c"),
            keys,
            ((), (Input(2, nodes.Select()),)),
            (True, False),
        )
    ]
    numbers = [planning.add(v) for v in variants]
    assert numbers == list(range(len(variants)))
    others = [
        replace(v, part=replace(v.part, portion=Fraction(1, 2), believed=True)) for v in reversed(variants)
    ]
    assert [planning.add(v) for v in others] == numbers[::-1]
    assert len(planning.drafts) == len(variants)
    assert all(each.part.believed for each in planning.drafts)


def test_a_part_has_the_prepared_tables_that_it_reads(planning: Planning):
    tables = [PreparedTable(n, "t", nodes.Select(), truncated=False) for n in ("p_ab", "p_cd")]
    planning.prepares = {t.name: t for t in tables}
    named = [nodes.Table("p_cd", path=(PREPARED, "main")), nodes.Table("p_ab")]
    planning.add(draft(replace(PART, query=nodes.Select(source=named[0], joins=(nodes.Join(named[1]),)))))
    assert planning.drafts[0].part.prepares == (tables[1],)


def test_a_released_value_has_one_parameter_after_the_secret(planning: Planning):
    first, second = (nodes.Select((nodes.Number(n),)) for n in "12")
    assert [planning.take(q) for q in (first, second, first)] == [2, 3, 2]
    assert planning.inputs_of({2, 3, 9}) == (Input(2, first), Input(3, second))


def test_each_value_of_the_rows_of_a_query_has_a_parameter(planning: Planning):
    rows = nodes.Select((nodes.Number("1"), nodes.Number("2")))
    places = [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [planning.take(rows, *place) for place in places] == [2, 3, 4, 5]
    assert planning.take(rows, 1, 0) == 4
    assert planning.inputs_of({3, 5}) == (Input(3, rows, 0, 1), Input(5, rows, 1, 1))


def test_what_noise_follows_from_is_alike_where_drafts_are_drawn_alike(planning: Planning):
    queries = [nodes.Select((nodes.Number(n),)) for n in "123"]
    drafts = [draft(replace(PART, query=q), d) for q, d in zip(queries, "bbc", strict=True)]
    one, alike, other = (planning.source(planning.add(each)) for each in drafts)
    assert one == alike != other
    planning.context = replace(planning.context, losses=())  # each may have a loss of its own
    assert planning.source(0) != planning.source(1)


def test_what_is_said_is_said_once(planning: Planning):
    planning.describe("count", "people")
    planning.describe("sum", "people")
    planning.describe("count", "people")
    assert (planning.labels, planning.units) == (["count", "sum"], ["people"])
