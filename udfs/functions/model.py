"""The description of an SQL function, for its registration and for the list of functions."""

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

SYSTEM: Final = "system.main."
"""The schema of Arrow functions: a macro calls the function of its own name, which it shadows, by this prefix."""


class SqlFunction(Struct, frozen=True):
    """An SQL function: its arguments as text, and the Arrow function or the macro's body that implements it.

    ``run`` takes one Arrow column for each type of ``types``, or columns of any type if that is empty, and returns a
    column of ``returns``. Without it the function is the macro ``body``, which may use every Arrow function and the
    macros listed before it. Macros of one name become one macro with an overload for each, and one more for the Arrow
    function of that name, if there is one: its ``body``, else a call with the same arguments. Functions whose names
    begin with ``_`` are not listed.
    """

    name: str
    arguments: str
    returns: str
    does: str
    types: tuple[str, ...] = ()
    run: Callable[..., Any] | None = None
    body: str = ""
