"""Released relations as bytes, and what is made of them."""

import pyarrow as pa
import pytest

from dpproxy.algebra.plan import Part
from dpproxy.backends.columns import WHOLE
from dpproxy.backends.release import key_table
from dpproxy.engine import payloads
from dpproxy.planner.reuse.descriptor import Descriptor, described
from dpproxy.planner.reuse.rollup import Derivation
from tests.golden.world import World, build, plan_of
from tests.planner.wordings import HEADER


@pytest.fixture(scope="module")
def world() -> World:
    return build(HEADER)


def part_of(world: World, sql: str) -> Part:
    [part] = plan_of(world, sql).parts
    return part


def released(part: Part, lists: list[list[int]]) -> pa.Table:
    return key_table(part.keys).append_column("v", pa.array(lists, pa.list_(WHOLE)))


def test_a_relation_is_kept_with_what_it_is_of(world: World):
    part = part_of(world, "SELECT b, count(*) FROM t GROUP BY b")
    table, of = released(part, [[3], [4]]), described(part, (), 1)
    assert isinstance(of, Descriptor)
    kept = payloads.pack(table, of)
    assert payloads.unpack(kept).equals(table)
    assert payloads.descriptor_of(kept) == of
    assert payloads.descriptor_of(payloads.pack(table, None)) is None


def test_groups_are_read_in_the_order_of_rows(world: World):
    part = part_of(world, "SELECT b, y, count(*) FROM t WHERE y > 3 GROUP BY b, y")
    assert payloads.wanted_of(part) == [(True, 4), (False, 4)]
    assert payloads.groups_of(released(part, [[1], [2]])) == [(True, 4), (False, 4)]
    assert payloads.wanted_of(part_of(world, "SELECT count(*) FROM t")) == [()]


def test_sums_are_added_up_and_saturate(world: World):
    part = part_of(world, "SELECT b, count(*) FROM t GROUP BY b")
    most = 10**38 - 1
    table = released(
        part_of(world, "SELECT y, count(*) FROM t GROUP BY y"), [[1, 5], [2, 6], [3, most], [4, most], [0, 0]]
    )
    made = payloads.derive(table, Derivation((((1, 1),),), (0,), (((0, 1), (2, 3)),)), part)
    assert made["v"].to_pylist() == [[11], [most]]
    several = Derivation((((0, 1), (1, -2)),), (0,), (((0, 1), (4,)),))
    assert payloads.derive(table, several, part)["v"].to_pylist() == [[3 - 22], [0]]
    assert made.column_names == ["o", "k0", "v"]
