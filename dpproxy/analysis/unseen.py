"""Constants that nobody may look at: what is planned with them holds for every value that they can have.

Whatever a planner takes from a constant, it takes by an operation on it. An unseen one has none: it can be put into a
statement as a ``Hole``, in the forms that constants are written in, and everything else raises ``Looked``. A plan made
without that is the same for all values of the same class: whole numbers, numbers with so many decimals, texts, and
texts that are a day or a moment.
"""

from collections.abc import Container, Sequence
from datetime import datetime
from fractions import Fraction
from typing import Final, NoReturn

from dpproxy.algebra import nodes
from dpproxy.analysis import duck

LARGEST = 10**9
"""Unseen numbers are below it, and not negative."""
TEXT, DAY, MOMENT = "text", "day", "moment"
"""The classes of texts: any, those of a day, and those of a day and a time."""
Class = int | str | None
"""The decimals of a number, None for a DOUBLE; or the class of a text."""
Value = Fraction | str
"""A number, or a text; of a day or a moment as ISO 8601 writes it."""
_FORMS: Final = {"TEXT": (TEXT, DAY, MOMENT), "DATE": (DAY,), "TIMESTAMP": (DAY, MOMENT)}
"""What may be written as what."""


def _look(unseen: "Unseen", *_: object, **__: object) -> NoReturn:
    raise nodes.Looked(unseen.place)


class Unseen:
    """The constant of a place, of a class."""

    __slots__ = ("kind", "place", "within")

    def __init__(self, place: int, kind: Class) -> None:
        self.place = place
        self.kind = kind
        self.within: tuple[Container[object], ...] = ()

    def double(self) -> nodes.Hole:
        """Where it is written as a DOUBLE."""
        return nodes.Hole(self.place, None)

    def scaled(self, scale: int) -> nodes.Hole:
        """Where it is written as a whole number of ``10**-scale``."""
        return nodes.Hole(self.place, scale)

    def text(self, form: str) -> nodes.Expr:
        """Where a text is written as ``TEXT``, ``DATE`` or ``TIMESTAMP``. Raises ``Looked`` where not all are one."""
        if self.kind not in _FORMS.get(form, ()):
            self.look()
        hole = nodes.Hole(self.place, form)
        return hole if form == "TEXT" else duck.cast(hole, form)

    def among(self, values: Container[object]) -> None:
        """For whoever needs to know that the value is one of these: the plan holds for no other."""
        self.within += (values,)

    def look(self) -> NoReturn:
        """For whoever needs the value."""
        _look(self)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = __bool__ = _look
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _look
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __divmod__ = __rdivmod__ = _look
    __neg__ = __pos__ = __abs__ = __int__ = __float__ = __index__ = __complex__ = __round__ = _look
    __trunc__ = __floor__ = __ceil__ = __str__ = __repr__ = __format__ = __len__ = __iter__ = _look


def constant(hole: nodes.Hole, values: Sequence[Value]) -> nodes.Expr:
    """What the planner writes for the value that a hole is of."""
    value = values[hole.place]
    match hole.form:
        case "DATE" | "TIMESTAMP":
            moment = datetime.fromisoformat(str(value))
            return nodes.Text(str(moment.date() if hole.form == "DATE" else moment))
        case "TEXT":
            return nodes.Text(str(value))
        case None:
            return duck.double(float(value))
        case scale:
            return duck.integer(int(Fraction(value) * 10 ** int(scale)))
