"""What is believed of an answer after it was released with noise: the prior, weighed by the draw.

Everything here is computed from what was released and from what is public: it costs nothing, and may be done again with
another prior.

A prior of many values stands for a law on the line: each value is taken as a bell around it with the variance of its
cell, so that noise finer than the cells is not rounded to them. One of few values is taken at its word.
"""

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from udfs.priors import MOST_VALUES, Prior

Floats = NDArray[np.float64]
_FEW: Final = 100
"""Values of a prior that is no law on the line."""
_COARSE: Final = 64
"""Values of a prior when only its ends matter."""
_MOST_CELLS: Final = 1 << 20
"""Numbers held at a time."""
_THIN: Final = 150
"""Values of a prior when its error is predicted, and draws of noise beside each."""


class Draws:
    """Released numbers with noise of a known law.

    The noise around a true answer v has the standard deviation ``sqrt(fixed**2 + (slope * (v - centre))**2)``: a sum
    over a count that has noise itself is the farther off the farther it is from ``centre``. ``bell`` for the normal
    law, else the noise is two-sided exponential, which the staircase is about.
    """

    def __init__(self, value: Floats, fixed: Floats, slope: Floats, centre: Floats, *, bell: bool) -> None:
        self.value, self.fixed, self.slope, self.centre = value, fixed, slope, centre
        self.bell = bell

    def mean(self, prior: Prior, most: int = MOST_VALUES) -> Floats:
        """The mean of what is believed after each draw: of all functions of the draw the one of least squared error.

        ``most`` is with how many values the prior is taken: the work grows with them.
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
        """How likely a draw as far out as each one is, on either side, where the prior is right."""
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
        """Distances between draws and values in standard deviations, and these: shape (rows, values)."""
        moved = self.slope[rows, None] * (values - self.centre[rows, None])
        sd = np.maximum(np.sqrt(self.fixed[rows, None] ** 2 + moved**2 + own), 1e-100)
        return ((self.value[rows, None] - values) / sd).clip(-1e150, 1e150), sd


@lru_cache(maxsize=64)
def _table(prior: Prior, most: int) -> tuple[Floats, Floats, Floats]:
    """The values that have mass, their masses, and the variances of their cells; ``most`` of them."""
    weights = np.array(prior.weights, dtype=np.float64)
    values = np.array(prior.values, dtype=np.float64)[weights > 0]
    masses = weights[weights > 0] / weights.sum()
    is_law = len(values) > _FEW
    starts = np.arange(0, len(values), -(-len(values) // most))
    merged = np.add.reduceat(masses, starts)
    values = np.add.reduceat(masses * values, starts) / merged
    return values, merged, _halves(values) ** 2 / 3 if is_law else np.zeros(len(values))


def _halves(values: Floats) -> Floats:
    """Half the way to the nearer neighbour; of a value that stands far from where values are dense, not so far."""
    gaps = np.diff(values)
    nearer = np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps)) / 2
    beside = np.maximum(np.append(nearer[1:], 0.0), np.append(0.0, nearer[:-1]))
    result: Floats = np.minimum(nearer, 4 * beside)
    return result


@lru_cache(maxsize=256)
def expected_distances(prior: Prior, sd: float, *, bell: bool = False) -> tuple[float, float]:
    """The expected distance from the truth of the posterior mean, and of the draw itself, where the prior is right.

    Both are predicted from values of equal mass and draws of equal chance, which is enough to choose by.
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
    found = Draws(drawn, none + sd, none, none, bell=bell).mean(prior)
    return float(np.abs(found.reshape(_THIN, _THIN) - truths[:, None]).mean()), float(
        sd * np.abs(noise).mean()
    )
