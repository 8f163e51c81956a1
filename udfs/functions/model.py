"""What a function of SQL is, for its registration and for its place in the list."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

SYSTEM: Final = "system.main."
"""Where Arrow functions are: a macro of the same name, which comes before, reaches one so."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function for SQL: its arguments as shown, and the Arrow function or the macro's body behind it.

    ``run`` gets one Arrow column per type of ``types``, or columns of whatever type where that is empty, and
    returns a column of ``returns``; without it the function is the macro ``body``, which may use every Arrow function
    and the macros listed before it. Macros of one name are one macro with an overload for each, and one for the Arrow
    function of that name, if there is one: its ``body``, else a call with the arguments as they are shown.
    What begins with ``_`` is not listed.
    """

    name: str
    arguments: str
    returns: str
    does: str
    types: tuple[str, ...] = ()
    run: Callable[..., Any] | None = None
    body: str = ""
