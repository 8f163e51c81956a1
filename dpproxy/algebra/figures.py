"""Numbers that follow from noise, while a statement is compiled: what they are made of, and once it is known, what.

A statement is compiled whatever it costs. A ``Figure`` stands where a number will, or what has numbers: ``later`` makes
one of a function and its arguments where any of these is one, and otherwise the value at once. What is read of a
figure, or computed with one, is a figure; whoever would decide by one raises ``TypeError``: no rule depends on what is
not known yet.
"""

from collections.abc import Callable
from operator import add, getitem, mul, truediv
from typing import Any, TypeVar, cast

from msgspec import Struct

T = TypeVar("T")


class Figure(Struct, frozen=True):
    """What a function makes of arguments, of which some are figures, or tuples of such."""

    made: Callable[..., Any]
    of: tuple[Any, ...] = ()

    __iter__ = None

    def __hash__(self) -> int:
        return hash(self.made)

    def __bool__(self) -> bool:
        raise TypeError("what follows from noise decides nothing")

    def __getattr__(self, name: str) -> "Figure":
        return Figure(getattr, (self, name))

    def __getitem__(self, place: int) -> "Figure":
        return Figure(getitem, (self, place))

    def __call__(self, *of: object) -> "Figure":
        return Figure(_called, (self, of))

    def __add__(self, other: object) -> "Figure":
        return Figure(add, (self, other))

    def __radd__(self, other: object) -> "Figure":
        return Figure(add, (other, self))

    def __mul__(self, other: object) -> "Figure":
        return Figure(mul, (self, other))

    def __rmul__(self, other: object) -> "Figure":
        return Figure(mul, (other, self))

    def __truediv__(self, other: object) -> "Figure":
        return Figure(truediv, (self, other))


def _called(function: Callable[..., object], of: tuple[object, ...]) -> object:
    return function(*of)


class Settled:
    """Figures that became known, each made once; ``known`` says what those are that are made of nothing."""

    def __init__(self, known: Callable[[Any], Any]) -> None:
        self._known = known
        self._made: dict[int, tuple[Figure, Any]] = {}

    def of(self, value: Any) -> Any:  # noqa: ANN401 - of any type
        """A figure as it is, also in a tuple; everything else is itself."""
        if type(value) is tuple:
            return tuple(map(self.of, value))
        if not isinstance(value, Figure):
            return value
        if id(value) not in self._made:
            found = value.made(*map(self.of, value.of)) if value.of else self._known(value)
            self._made[id(value)] = value, found
        return self._made[id(value)][1]


def later(made: Callable[..., T], *of: object) -> T:
    """What a function makes of arguments; a figure in its place, where one of them is a figure."""
    return cast("T", Figure(made, of)) if is_open(of) else made(*of)


def is_open(value: object) -> bool:
    """Whether it is a figure, or a tuple with one."""
    return isinstance(value, Figure) or (type(value) is tuple and any(map(is_open, value)))
