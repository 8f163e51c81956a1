"""Constants that nobody may look at: what is planned with them holds for every value that they can have.

Whatever a planner takes from a constant, it takes by an operation on it. An unseen one has none: it can be written into
a statement, in the two forms that numbers are written in, and everything else raises ``Looked``. A plan that was made
without that is the same for all values of the same class: whole numbers, or numbers with so many decimals.
"""

import re
import secrets
from collections.abc import Sequence
from fractions import Fraction
from typing import NoReturn

from dpproxy.algebra import nodes
from dpproxy.analysis import duck

LARGEST = 10**9
"""Unseen constants are below it, and not negative."""
_OPEN, _CLOSE = f"\x01{secrets.token_hex(8)}_", "\x02"
"""What no text of a statement holds: it could be taken for a place."""
PLACE = f"{re.escape(_OPEN)}(\\d+)([ds])(\\d*){_CLOSE}"
"""What is written for one, as a regular expression."""


def is_place(name: str) -> bool:
    """Whether a name is a place: a parser that reads one takes it for a column."""
    return name.startswith(_OPEN)


class Looked(Exception):
    """Something depends on an unseen constant."""


def _look(*_: object, **__: object) -> NoReturn:
    raise Looked


class Unseen:
    """The constant of a place, a number with ``scale`` decimals; a DOUBLE where that is None."""

    __slots__ = ("place", "scale")

    def __init__(self, place: int, scale: int | None) -> None:
        self.place = place
        self.scale = scale

    def double(self) -> nodes.Expr:
        """Where it is written as a DOUBLE."""
        return nodes.Number(f"{_OPEN}{self.place}d{_CLOSE}")

    def scaled(self, scale: int) -> nodes.Expr:
        """Where it is written as a whole number of ``10**-scale``."""
        return nodes.Number(f"{_OPEN}{self.place}s{scale}{_CLOSE}")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = __bool__ = _look
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _look
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __divmod__ = __rdivmod__ = _look
    __neg__ = __pos__ = __abs__ = __int__ = __float__ = __index__ = __complex__ = __round__ = _look
    __trunc__ = __floor__ = __ceil__ = __str__ = __repr__ = __format__ = __len__ = __iter__ = _look


class Written:
    """A text with places where values belong; at each, a value is written as the planner writes a constant."""

    __slots__ = ("_pieces", "_places")

    def __init__(self, text: str) -> None:
        parts = re.split(PLACE, text)
        self._pieces = parts[::4]
        self._places = [
            (int(place), int(scale) if form == "s" else None)
            for place, form, scale in zip(parts[1::4], parts[2::4], parts[3::4], strict=True)
        ]

    @property
    def places(self) -> int:
        """How many there are."""
        return len(self._places)

    def constants(self, values: Sequence[Fraction]) -> list[str]:
        """How the values are written, place by place."""
        return [_text(values[place], scale) for place, scale in self._places]

    def with_(self, constants: Sequence[str]) -> str:
        """The text with these at its places."""
        rest = zip(constants, self._pieces[1:], strict=True)
        return self._pieces[0] + "".join([part for pair in rest for part in pair])


def _text(value: Fraction, scale: int | None) -> str:
    return duck.double_text(float(value)) if scale is None else str(int(value * 10**scale))


def is_written(text: str) -> bool:
    """Whether a text, or what is shown of it, has such a place."""
    return _OPEN in text or repr(_OPEN)[1:-1] in text


def check_seen(sql: str) -> None:
    """Before the planner has an engine run a statement: its rows are one more look. Raises ``Looked``."""
    if _OPEN in sql:
        raise Looked
