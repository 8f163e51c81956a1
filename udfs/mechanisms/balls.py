"""The values of a prior that are nearest to a truth, up to a given mass: a ball, and a ring for the rest of the mass.

The ball consists of the nearest values, with weights that sum to at most the mass; the ring of the next ones, all
equally far. In a suitable order of the values, the ball [a, b) and the ball with its ring [c, d) are intervals, one
inside the other. On a line they change only halfway between two values: one sweep finds them for every truth.
Source: Soria-Comas, "Improving data utility in differential privacy and k-anonymity", 2013, ch. 5, the refinement with
atoms.
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from udfs.priors import WHOLE, Number, Prior

Cells = NDArray[np.int64]
Floats = NDArray[np.float64]
Bounds = tuple[int, int, int, int]
"""a, b, c, d with c <= a <= b <= d."""
Truth = Number | str | None
"""The exact value: a number or a label; None if there is none (no such person, or NULL)."""

ABSENT: Final = float("nan")
"""The place of a truth that is NULL or has no place in the prior: all values are one ring around it."""
_ROW: Final = 2 * WHOLE
_SNAP: Final = 1e-6


class Space(Struct, frozen=True, dict=True):
    """The values of a prior, in orders in which balls are intervals.

    A truth has a place: twice its value in units of ``Prior.unit``, twice its rank, or its index if there is no order.
    """

    prior: Prior

    @property
    def on_line(self) -> bool:
        """Whether balls are intervals of the same order for every truth."""
        return self.prior.distance in ("absolute", "rank")  # not a set: hashing a matrix is slow

    @cached_property
    def orders(self) -> Cells:
        """The indices of the values in each order, shape (1, n), or (n, n) for distances of the prior's own."""
        if isinstance(self.prior.distance, tuple):
            return np.argsort(np.array(self.prior.distance), axis=1, kind="stable")
        return np.arange(len(self.prior.values))[None, :]

    @cached_property
    def _rings(self) -> Floats:
        """The prior's own distances, shape (n, n): row by row in ``orders``, from the nearest value on."""
        distances = np.array(self.prior.distance, dtype=np.float64)
        return np.take_along_axis(distances, self.orders, axis=1)

    @cached_property
    def _moments(self) -> Floats:
        """Cumulative sums of weight * distance in the same orders, shape (n, n + 1)."""
        moments = np.cumsum(self._rings * np.array(self.prior.weights)[self.orders], axis=1)
        return np.concatenate([np.zeros((len(moments), 1)), moments], axis=1)

    @cached_property
    def sums(self) -> Cells:
        """Cumulative weights in each order, shape (rows, n + 1); the numbers of a row exceed those of rows before."""
        weights = np.array(self.prior.weights)[self.orders]
        result = np.zeros((len(weights), weights.shape[1] + 1), dtype=np.int64)
        np.cumsum(weights, axis=1, out=result[:, 1:])
        result += np.arange(len(weights))[:, None] * _ROW
        return result

    @cached_property
    def _index(self) -> dict[float | str, int]:
        return {value: index for index, value in enumerate(self.prior.values)}

    @cached_property
    def _halfway(self) -> Floats:
        points = np.array(self.prior.places, dtype=np.float64)
        middles: Floats = points[:-1] + points[1:]
        return middles

    def place(self, truths: Sequence[Truth]) -> Floats:
        """Return the place of each truth, ``ABSENT`` for those without one."""
        if self.prior.distance == "absolute":
            return self.place_numbers(np.array([_number(truth) for truth in truths], dtype=np.float64))
        labels = (truth if isinstance(truth, str) else _number(truth) for truth in truths)
        found = np.array([self._index.get(label, ABSENT) for label in labels], dtype=np.float64)
        return 2 * found if self.on_line else found

    def place_numbers(self, truths: Floats) -> Floats:
        """Return the places of numbers (NaN for none) where the distance is ``absolute``."""
        # Beyond the values balls do not change any more; clipping makes every place exact and finite.
        scale = float(2 / self.prior.unit)
        places = np.clip(truths, -(2.0**53) / scale, 2.0**53 / scale) * scale
        whole = np.rint(places)
        return np.where(np.abs(places - whole) <= _SNAP, whole, places)

    def nearest(self, places: Floats) -> Cells:
        """Return the index of the value nearest to each place; an arbitrary index for absent truths."""
        known = np.nan_to_num(places)
        if not self.on_line:
            return known.astype(np.int64)
        return np.searchsorted(self._halfway, known)

    def balls(self, mass: int) -> "Balls":
        """Return the balls of ``mass`` (1 to ``WHOLE``) around every truth."""
        count = len(self.prior.values)
        breaks: list[int] | None
        if self.on_line:
            breaks, bounds = _sweep(self.prior.places, self.sums[0].tolist(), mass)
        else:
            breaks, bounds = None, [self._around(index, mass) for index in range(count)]
        rows = range(count) if len(self.orders) > 1 else [0] * len(bounds)
        table = [(*four, row) for four, row in zip(bounds, rows, strict=True)]
        places = None if breaks is None else np.array(breaks, dtype=np.float64)
        return Balls(mass, places, np.array([*table, (0, 0, 0, count, 0)]))

    def _around(self, index: int, mass: int) -> Bounds:
        """Return the ball around a value of a prior without an order on a line."""
        count = len(self.prior.values)
        if not isinstance(self.prior.distance, tuple):
            small = self.prior.weights[index] <= mass
            return (index, index + 1, 0, count) if small else (index, index, index, index + 1)
        distances = self._rings[index]
        sums = self.sums[index] - index * _ROW
        # Where rings end: at 0, and after the last value of each distance.
        ends = np.flatnonzero(np.diff(distances, prepend=-1.0, append=np.inf))
        last = int(np.searchsorted(sums[ends], mass, side="right")) - 1
        return 0, int(ends[last]), 0, int(ends[min(last + 1, len(ends) - 1)])

    def distances(self, balls: "Balls") -> tuple[Floats, Floats]:
        """Return for the truth at each value: the sum of weight * distance in its ball, and that of its ring."""
        count = len(self.prior.values)
        places = np.arange(count) if not self.on_line else 2 * np.array(self.prior.places)
        a, b, c, d, row = balls.bounds[balls.find(places.astype(np.float64))].T
        inside = (self.sums[row, b] - self.sums[row, a]).astype(np.float64)
        if self.prior.distance == "discrete":
            radius, total = (b > a).astype(np.float64), np.zeros(count)
        elif isinstance(self.prior.distance, tuple):
            radius, total = self._rings[row, d - 1], self._moments[row, b]
        else:
            radius, total = self._on_line(a, b, c, d)
        return total + (balls.mass - inside) * radius, radius

    def _on_line(self, a: Cells, b: Cells, c: Cells, d: Cells) -> tuple[Floats, Floats]:
        points = np.array(self.prior.places, dtype=np.float64) * float(self.prior.unit)
        sums, here = self.sums[0], np.arange(len(points))
        moments = np.concatenate([[0.0], np.cumsum(points * np.array(self.prior.weights))])
        middle = np.clip(here, a, b)
        left = points * (sums[middle] - sums[a]) - (moments[middle] - moments[a])
        right = moments[b] - moments[middle] - points * (sums[b] - sums[middle])
        return np.where(c < a, points - points[c], points[d - 1] - points), left + right


class Balls(Struct, frozen=True):
    """The balls of one mass: rows ``bounds`` of (a, b, c, d, order), the last for absent truths.

    With ``breaks``, the rows are for truths before, at, between and after them; without, there is one for each value.
    """

    mass: int
    breaks: Floats | None
    bounds: Cells

    def find(self, places: Floats) -> Cells:
        """Return the row of ``bounds`` for each place."""
        absent = np.isnan(places)
        known = np.where(absent, 0.0, places)
        if self.breaks is None:
            found = known.astype(np.int64)
        else:
            found = np.searchsorted(self.breaks, known, "left") + np.searchsorted(self.breaks, known, "right")
        return np.where(absent, len(self.bounds) - 1, found)


def _sweep(points: tuple[int, ...], sums: list[int], mass: int) -> tuple[list[int], list[Bounds]]:
    """Return twice the truths where balls change, and the balls before, at, between and after these truths.

    The ring between two such truths is one value: the nearer one of those next to the ball on its left and right.
    """
    if mass >= sums[-1]:
        return [], [(0, len(points), 0, len(points))]
    breaks: list[int] = []
    a, b, left = 0, bisect_right(sums, mass) - 1, False
    bounds: list[Bounds] = []
    while True:
        if a == b and not left:  # a ball of no value: its ring counts as the left one
            a, b, left = a + 1, a + 1, True
        bounds.append((a, b, a - 1, b) if left else (a, b, a, b + 1))
        if b == len(points):
            return breaks, bounds
        if left:  # until the next value on the right is as near as the ring
            breaks.append(points[a - 1] + points[b])
            bounds.append((a, b, a - 1, b + 1))
            left = sums[b + 1] - sums[a] <= mass
        else:  # until the ring is as near as the first of the ball
            breaks.append(points[a] + points[b])
            bounds.append((a + 1, b, a, b + 1))
            a += 1
            left = sums[b + 1] - sums[a] <= mass
        b += left


def _number(truth: Truth) -> float:
    """Return a truth as a float, or ``ABSENT`` if it is not a number."""
    if truth is None or isinstance(truth, str):
        return ABSENT
    try:
        return float(truth)
    except OverflowError:
        return float("inf") if truth > 0 else float("-inf")
    except ValueError:  # a signalling NaN of Decimal
        return ABSENT
