"""Which parts of a statement are asked together; what follows from what is tested through answers and prices."""

from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Input, Part
from dpproxy.engine.questions import independent
from udfs.privacy import Loss

PART = Part(nodes.Select(), False, "", (), 1, "", "", Loss(1))  # noqa: FBT003


def reading(*numbers: int) -> Part:
    values = [nodes.Select((nodes.ColumnRef("m0"),), nodes.Release(n)) for n in numbers]
    return replace(PART, inputs=tuple(Input(n, value) for n, value in enumerate(values, 2)))


def test_parts_are_together_until_one_takes_a_value_of_another():
    parts = [PART, PART, reading(0), reading(1, 0), reading(2)]
    assert independent(parts, 0) == parts[:2]
    assert independent(parts[2:], 2) == parts[2:4]
    assert independent(parts[4:], 4) == parts[4:]


def test_one_part_at_least_is_next():
    lone = reading(9)
    assert independent([lone, PART], 1) == [lone, PART]
    assert independent([PART, lone], 1) == [PART]
