"""The mechanisms, one file for each, its proof beside it.

In come sensitivities in lattice steps and a loss in nano; out come draws of integer noise, or a choice among
candidates, with predictions of their error. ``powers`` and ``levels`` are the laws that noise is made of.
Start with ``laplace``.
"""

from typing import Final

from udfs.mechanisms.additive import Additive
from udfs.mechanisms.bounds import QuantileBounds
from udfs.mechanisms.exponential import Exponential
from udfs.mechanisms.gaussian import Gaussian
from udfs.mechanisms.laplace import Laplace
from udfs.mechanisms.quantile import Quantile
from udfs.mechanisms.quantiles import Quantiles
from udfs.mechanisms.selection import Selection
from udfs.mechanisms.staircase import Shortest, Staircase

MECHANISMS: Final[dict[str, type[Additive]]] = {
    "staircase": Staircase,
    "shortest": Shortest,
    "laplace": Laplace,
    "gaussian": Gaussian,
}
"""Every mechanism that adds noise, by its name in messages and records: its class in small letters."""

CHOICES: Final = {
    "exponential": Exponential,
    "quantile": Quantile,
    "quantiles": Quantiles,
    "bounds": QuantileBounds,
    "selection": Selection,
}
"""Every mechanism that chooses a value instead of adding noise, by its name in messages and records."""

__all__ = [
    "CHOICES", "MECHANISMS", "Additive", "Exponential", "Gaussian", "Laplace", "Quantile", "QuantileBounds",
    "Quantiles", "Selection", "Shortest", "Staircase",
]  # fmt: skip
