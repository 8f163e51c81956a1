"""One file per mechanism, its proof beside it."""

from typing import Final

from udfs.mechanisms.gaussian import Gaussian
from udfs.mechanisms.laplace import Laplace
from udfs.mechanisms.staircase import Staircase

MECHANISMS: Final = {"staircase": Staircase, "laplace": Laplace, "gaussian": Gaussian}
"""Every mechanism that adds noise, by the name it is shown and recorded under."""

__all__ = ["MECHANISMS", "Gaussian", "Laplace", "Staircase"]
