"""Constants that nobody may look at: what is planned with them holds for every value that they can have.

Whatever a planner takes from a constant, it takes by an operation on it. An unseen one has none: it can be put into a
statement as a ``Hole``, in the two forms that numbers are written in, and everything else raises ``Looked``. A plan
made without that is the same for all values of the same class: whole numbers, or numbers with so many decimals.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NoReturn

from dpproxy.algebra import nodes
from dpproxy.analysis import duck

LARGEST = 10**9
"""Unseen constants are below it, and not negative."""


def _look(unseen: "Unseen", *_: object, **__: object) -> NoReturn:
    raise nodes.Looked(unseen.place)


class Unseen:
    """The constant of a place, a number with ``scale`` decimals; a DOUBLE where that is None."""

    __slots__ = ("place", "scale")

    def __init__(self, place: int, scale: int | None) -> None:
        self.place = place
        self.scale = scale

    def double(self) -> nodes.Hole:
        """Where it is written as a DOUBLE."""
        return nodes.Hole(self.place, None)

    def scaled(self, scale: int) -> nodes.Hole:
        """Where it is written as a whole number of ``10**-scale``."""
        return nodes.Hole(self.place, scale)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = __bool__ = _look
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _look
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __divmod__ = __rdivmod__ = _look
    __neg__ = __pos__ = __abs__ = __int__ = __float__ = __index__ = __complex__ = __round__ = _look
    __trunc__ = __floor__ = __ceil__ = __str__ = __repr__ = __format__ = __len__ = __iter__ = _look


def constant(hole: nodes.Hole, values: Sequence[Fraction]) -> nodes.Expr:
    """What the planner writes for the value that a hole is of."""
    value = values[hole.place]
    return duck.double(float(value)) if hole.scale is None else duck.integer(int(value * 10**hole.scale))
