"""One file per mechanism, its proof beside it."""

from typing import Final

from udfs.mechanisms.exponential import Exponential
from udfs.mechanisms.gaussian import Gaussian
from udfs.mechanisms.laplace import Laplace
from udfs.mechanisms.quantile import Quantile
from udfs.mechanisms.selection import Selection
from udfs.mechanisms.staircase import Staircase

MECHANISMS: Final = {"staircase": Staircase, "laplace": Laplace, "gaussian": Gaussian}
"""Every mechanism that adds noise, by the name it is shown and recorded under."""

CHOICES: Final = {"exponential": Exponential, "quantile": Quantile, "selection": Selection}
"""Every mechanism that chooses instead, by the name it is shown and recorded under."""

__all__ = [
    "CHOICES",
    "MECHANISMS",
    "Exponential",
    "Gaussian",
    "Laplace",
    "Quantile",
    "Selection",
    "Staircase",
]
