"""Loops compiled to machine code.

Importing numba takes most of a second: modules that use this one are imported only when a view is built.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile ``function`` at its first call, for the types of its arguments; the code is cached on disk.

    Floats are added in the order that is written (no fastmath), so results are the same to the last bit as uncompiled.
    """
    try:
        return cast("F", numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # No cache folder is writable: every process compiles again.
        return cast("F", numba.njit(nogil=True)(function))
