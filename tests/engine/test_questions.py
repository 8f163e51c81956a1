"""Which parts of a statement are asked together; what follows from what is tested through answers and prices."""

from dataclasses import replace

from dpproxy.algebra.plan import Part
from dpproxy.engine.questions import independent
from udfs.privacy import Loss

PART = Part("", False, "", (), 1, "", "", Loss(1))  # noqa: FBT003


def reading(*numbers: int) -> Part:
    return replace(PART, inputs=tuple((2 + i, f"SELECT m0 FROM r{n}") for i, n in enumerate(numbers)))


def test_parts_are_together_until_one_takes_a_value_of_another():
    parts = [PART, PART, reading(0), reading(1, 0), reading(2)]
    assert independent(parts, 0) == parts[:2]
    assert independent(parts[2:], 2) == parts[2:4]
    assert independent(parts[4:], 4) == parts[4:]


def test_one_part_at_least_is_next_whatever_its_texts_look_like():
    lone = replace(PART, inputs=((2, "SELECT 'r9' FROM r0"),))
    assert independent([lone, PART], 1) == [lone, PART]
    assert independent([PART, lone], 1) == [PART]
