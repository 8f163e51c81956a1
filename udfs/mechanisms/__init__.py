"""One file per mechanism, its proof beside it."""

from typing import Final

from udfs.mechanisms.staircase import Staircase

MECHANISMS: Final = {"staircase": Staircase}
"""Every mechanism by the name it is shown and recorded under."""

__all__ = ["MECHANISMS", "Staircase"]
