"""Loops in machine code. Importing this takes most of a second: modules that do are imported when a view is built."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile at the first call for the types it is called with; kept on disk for the next process.

    Floats are added in the order that is written, so results equal those of plain numpy to the last bit.
    """
    try:
        return cast("F", numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # No folder can be written: then every process compiles anew.
        return cast("F", numba.njit(nogil=True)(function))
