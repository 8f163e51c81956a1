"""Posterior distributions of answers that were released with noise.

Everything here is computed from released and public values (post-processing): it costs nothing, and may be repeated
with another prior.

A prior of many values stands for a continuous law: each value is replaced by a normal law around it with the variance
of its cell, so that results are not rounded to values if the noise is finer than the cells. A prior of few values is
taken as discrete.
"""

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from udfs.priors import MOST_VALUES, Prior

Floats = NDArray[np.float64]
_FEW: Final = 100
"""The most values of a prior that is taken as discrete."""
_COARSE: Final = 64
"""The number of values a prior is reduced to where only its tails matter."""
_MOST_CELLS: Final = 1 << 20
"""The most array elements in memory at a time."""
_THIN: Final = 150
"""The number of truths, and of draws of noise for each, with which expected distances are approximated."""
_TRIED: Final = 512
"""The values a prior is reduced to for that: distances change by 4 % at most, where noise is far below them."""


class Draws:
    """Released numbers with noise of a known law; arrays of shape (rows,).

    The noise around a true answer v has the standard deviation ``sqrt(fixed**2 + (slope * (v - centre))**2)``: for a
    sum divided by a noisy count, it grows with the distance from ``centre``. With ``bell`` the noise is normal,
    otherwise two-sided exponential, which approximates the staircase.
    """

    def __init__(self, value: Floats, fixed: Floats, slope: Floats, centre: Floats, *, bell: bool) -> None:
        self.value, self.fixed, self.slope, self.centre = value, fixed, slope, centre
        self.bell = bell

    def mean(self, prior: Prior, most: int = MOST_VALUES) -> Floats:
        """The posterior mean of each draw, which among all functions of the draw has the least expected squared error.

        ``most`` is the number of values that the prior is reduced to; the work grows with it.
        """
        values, weights, own = _table(prior, most)
        result = np.empty(len(self.value))
        for rows in self._chunks(len(values)):
            apart, sd = self._against(values, own, rows)
            likely = (-(apart**2) / 2 if self.bell else -np.sqrt(2) * np.abs(apart)) - np.log(sd)
            likely += np.log(weights)
            mass = np.exp(likely - likely.max(axis=1, keepdims=True))
            inside = values + apart * (own / sd)  # of a bell with the variance ``own``
            result[rows] = (mass * inside).sum(axis=1) / mass.sum(axis=1)
        reach = np.sqrt(3 * own)
        return result.clip((values - reach).min(), (values + reach).max())

    def surprise(self, prior: Prior) -> Floats:
        """For each draw the probability of one at least as extreme, on either side, if the prior is right."""
        from scipy import special  # noqa: PLC0415 - as long to load as everything else here

        values, weights, own = _table(prior, _COARSE)
        result = np.empty(len(self.value))
        for rows in self._chunks(len(values)):
            apart, _ = self._against(values, own, rows)
            if self.bell:
                below = special.ndtr(apart)
            else:
                tail = np.exp(-np.sqrt(2) * np.abs(apart)) / 2
                below = np.where(apart < 0, tail, 1 - tail)
            share = below @ weights
            result[rows] = 2 * np.minimum(share, 1 - share).clip(0, 0.5)
        return result

    def _chunks(self, width: int) -> list[slice]:
        step = max(1, _MOST_CELLS // width)
        return [slice(start, start + step) for start in range(0, len(self.value), step)]

    def _against(self, values: Floats, own: Floats, rows: slice) -> tuple[Floats, Floats]:
        """Differences of draws and values in standard deviations, and the standard deviations: shape (rows, values)."""
        moved = self.slope[rows, None] * (values - self.centre[rows, None])
        sd = np.maximum(np.sqrt(self.fixed[rows, None] ** 2 + moved**2 + own), 1e-100)
        return ((self.value[rows, None] - values) / sd).clip(-1e150, 1e150), sd


@lru_cache(maxsize=64)
def _table(prior: Prior, most: int) -> tuple[Floats, Floats, Floats]:
    """The values with mass, reduced to ``most`` of them, their masses, and the variances of their cells."""
    weights = np.array(prior.weights, dtype=np.float64)
    values = np.array(prior.values, dtype=np.float64)[weights > 0]
    masses = weights[weights > 0] / weights.sum()
    is_law = len(values) > _FEW
    starts = np.arange(0, len(values), -(-len(values) // most))
    merged = np.add.reduceat(masses, starts)
    values = np.add.reduceat(masses * values, starts) / merged
    return values, merged, _halves(values) ** 2 / 3 if is_law else np.zeros(len(values))


def _halves(values: Floats) -> Floats:
    """Half the distance of each value to its nearer neighbour, at most four times that of a value beside it.

    The limit keeps a value that is isolated from a dense region from being spread too far.
    """
    gaps = np.diff(values)
    nearer = np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps)) / 2
    beside = np.maximum(np.append(nearer[1:], 0.0), np.append(0.0, nearer[:-1]))
    result: Floats = np.minimum(nearer, 4 * beside)
    return result


@lru_cache(maxsize=256)
def expected_distances(prior: Prior, sd: float, *, bell: bool = False) -> tuple[float, float]:
    """The expected distances from the truth of the posterior mean and of the draw itself, if the prior is right.

    Both are approximated with values of equal mass and draws of equal probability: enough to choose between them.
    """
    from scipy import special  # noqa: PLC0415 - as above

    values, weights, _ = _table(prior, MOST_VALUES)
    shares = (np.arange(_THIN) + 0.5) / _THIN
    truths = values[np.searchsorted(np.cumsum(weights), shares).clip(0, len(values) - 1)]
    if bell:
        noise = special.ndtri(shares)
    else:
        tail = np.log(2 * np.minimum(shares, 1 - shares)) / np.sqrt(2)
        noise = np.where(shares < 0.5, tail, -tail)
    drawn = (truths[:, None] + sd * noise).ravel()
    none = np.zeros(len(drawn))
    found = Draws(drawn, none + sd, none, none, bell=bell).mean(prior, _TRIED)
    return float(np.abs(found.reshape(_THIN, _THIN) - truths[:, None]).mean()), float(
        sd * np.abs(noise).mean()
    )
