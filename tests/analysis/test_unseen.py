"""Nobody can look at an unseen constant, and what is written of it is what is written of a value."""

import copy
import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.algebra import nodes
from dpproxy.algebra.nodes import Looked
from dpproxy.analysis import duck
from dpproxy.analysis.unseen import LARGEST, Unseen, constant

ONE = Unseen(0, 2)
OTHER: Any = Unseen(1, 2)
TWO_SIDED = (
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, divmod,
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
)  # fmt: skip
ALONE: tuple[Callable[[Any], object], ...] = (
    hash, bool, int, float, complex, str, repr, abs, round, len, list, set, sorted, bytes, math.floor, math.ceil,
    math.trunc, math.sqrt, operator.neg, operator.pos, operator.index, operator.not_, Fraction, format, "{}".format,
    lambda unseen: {unseen: 1}, lambda unseen: unseen in (1, 2), lambda unseen: min(unseen, 1),
    lambda unseen: f"{unseen}",
    lambda unseen: unseen or None, lambda unseen: [1, 2][unseen], lambda unseen: max((1, unseen)),
)  # fmt: skip


@pytest.mark.parametrize("apply", TWO_SIDED)
@pytest.mark.parametrize("other", [1, 0.5, Fraction(1, 2), "a", None, OTHER, ONE])
def test_it_is_compared_and_computed_with_by_nobody(apply: Callable[..., object], other: object):
    for sides in ((ONE, other), (other, ONE)):
        with pytest.raises((Looked, TypeError)):
            apply(*sides)


@pytest.mark.parametrize("apply", ALONE)
def test_nothing_is_made_of_it(apply: Callable[[Any], object]):
    with pytest.raises((Looked, TypeError)):
        apply(ONE)


def test_whatever_an_object_can_do_is_closed():
    """Every special method by which a value could be told, but those that are the same for all objects."""
    same = {
        "__class__", "__delattr__", "__dir__", "__doc__", "__getattribute__", "__getstate__", "__init__",
        "__init_subclass__", "__module__", "__new__", "__reduce__", "__reduce_ex__", "__setattr__", "__sizeof__",
        "__slots__", "__subclasshook__", "__weakref__",
    }  # fmt: skip
    closed = {name for name in dir(Unseen) if getattr(Unseen, name) is Unseen.__eq__}
    assert {name for name in dir(Unseen) if name.startswith("__")} - same == closed
    assert {name for name in dir(int) if name.startswith("__")} - same - {"__getnewargs__", "__rand__", "__rlshift__",
        "__ror__", "__rrshift__", "__rxor__", "__and__", "__lshift__", "__or__", "__rshift__", "__xor__",
        "__invert__"} <= closed  # fmt: skip


@given(st.integers(0, LARGEST * 100 - 1), st.integers(0, 20))
def test_a_hole_becomes_what_the_planner_writes(number: int, scale: int):
    value = Fraction(number, 100)
    made = [duck.double(float(value)), duck.integer(int(value * 10 ** (scale + 2)))]
    assert [constant(hole, [value]) for hole in (ONE.double(), ONE.scaled(scale + 2))] == made


def test_a_copy_is_no_way_around():
    with pytest.raises(Looked):
        assert copy.copy(ONE) == ONE


@pytest.mark.parametrize("hole", [ONE.double(), ONE.scaled(4)])
def test_a_statement_with_a_hole_has_no_text(hole: nodes.Expr):
    """Whoever would run it for the plan looks: a refusal of the engine would be taken for one of the statement."""
    with pytest.raises(Looked):
        duck.text(nodes.Binary(">", duck.column("b0"), hole))
