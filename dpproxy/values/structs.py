"""What frozen values leave out of their text, or of their comparison: mixins for ``msgspec.Struct``."""

from typing import ClassVar


class PartlyShown:
    """A struct that does not show all its fields: what may hold values of rows, or secrets, is in no message or log.

    Example:
        >>> from msgspec import Struct
        >>> class Login(PartlyShown, Struct, frozen=True):
        ...     HIDDEN = frozenset({"password"})
        ...     user: str
        ...     password: str
        >>> Login("ann", "secret")
        Login(user='ann')
    """

    __slots__ = ()
    __struct_fields__: ClassVar[tuple[str, ...]]
    HIDDEN: ClassVar[frozenset[str]] = frozenset()

    def __repr__(self) -> str:
        shown = ", ".join(f"{n}={getattr(self, n)!r}" for n in self.__struct_fields__ if n not in self.HIDDEN)
        return f"{type(self).__name__}({shown})"


class PartlyCompared:
    """A struct that is equal to another where all but some fields are: its position in a text, unless it names others.

    Example:
        >>> from msgspec import Struct
        >>> class Word(PartlyCompared, Struct, frozen=True):
        ...     text: str
        ...     position: int
        >>> Word("sum", 7) == Word("sum", 9), len({Word("sum", 7), Word("sum", 9)})
        (True, 1)
    """

    __slots__ = ()
    __struct_fields__: ClassVar[tuple[str, ...]]
    UNCOMPARED: ClassVar[frozenset[str]] = frozenset({"position"})

    def _compared(self) -> tuple[object, ...]:
        return tuple(getattr(self, n) for n in self.__struct_fields__ if n not in self.UNCOMPARED)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())
