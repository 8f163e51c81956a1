"""Priors: what an analyst believes before asking, as a public table of values with masses and distances.

A prior is rounded to a finite table once, when it is created: masses in units of 2**-40, numbers on a lattice of round
steps. It is public, so that rounding costs no privacy; from then on it is exact.
"""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from math import exp, floor, gcd, isfinite, lcm, log10
from typing import Any, Final, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from udfs.privacy import InvalidMechanism

WHOLE: Final = 2**40
"""The sum of a prior's weights."""
MOST_VALUES: Final = 10_000
MOST_DISTANCES: Final = 1_000
"""The most values of a prior with a distance matrix of its own, whose size is their square."""
_FARTHEST: Final = 2**51
_STEPS: Final = 2_000
_TAIL: Final = 7.1
"""Beyond so many standard deviations, each tail of a normal law has less than half a unit of weight."""
_MOST_SIGMA: Final = 4
_DECADE: Final = (*range(100, 200, 2), *range(200, 500, 5), *range(500, 1000, 10))
"""The lattice of a decade: steps between 1 and 2.5 percent."""

Number = int | float | Fraction | Decimal
Matrix = tuple[tuple[float, ...], ...]
Distance = Literal["absolute", "rank", "discrete"] | Matrix
"""abs(x - y) of numbers, the difference of ranks, 0 or 1, or a matrix: a row per truth with an entry per answer."""

_Floats = NDArray[np.float64]


class Prior(Struct, frozen=True, dict=True):
    """A distribution over finitely many values, and the distance between a truth and an answer.

    Shapes: one weight per value; numbers in increasing order where the distance is ``absolute``.
    Units: weights in 1 / ``WHOLE``. A value of weight 0 may be the truth, but is never an answer.
    Errors: InvalidMechanism.
    """

    values: tuple[float | str, ...]
    weights: tuple[int, ...]
    distance: Distance

    def __post_init__(self) -> None:
        count = len(self.values)
        if not 1 <= count <= MOST_VALUES:
            raise InvalidMechanism(f"a prior needs 1 to {MOST_VALUES} values")
        if len(self.weights) != count or min(self.weights) < 0 or sum(self.weights) != WHOLE:
            raise InvalidMechanism("a prior needs one weight per value, 2**40 in all and none negative")
        if len(set(self.values)) != count:
            raise InvalidMechanism("a prior names each value once")
        if len({isinstance(value, str) for value in self.values}) > 1:
            raise InvalidMechanism("the values of a prior are all numbers or all text")
        if not all(isinstance(value, str) or isfinite(value) for value in self.values):
            raise InvalidMechanism("the numbers of a prior must be finite")
        if self.distance == "absolute":
            self._check_numbers()
        if isinstance(self.distance, tuple):
            _check_distances(self.distance, count)

    def _check_numbers(self) -> None:
        if self.labelled or any(x >= y for x, y in pairwise(self.places)):
            raise InvalidMechanism("the values of this prior must be numbers in increasing order")
        if max(map(abs, self.places)) > _FARTHEST:
            raise InvalidMechanism("the numbers of a prior must be multiples of one step, 2**51 at most")
        if not 1e-100 <= self.unit <= 1e100:  # so that no product of a place and a weight leaves the floats
            raise InvalidMechanism("the numbers of a prior must have a step between 1e-100 and 1e100")

    @property
    def labelled(self) -> bool:
        """Whether the values are text."""
        return isinstance(self.values[0], str)

    @property
    def unit(self) -> Fraction:
        """The greatest number of which every value, read as a decimal, is a multiple; 1 unless values are numbers."""
        return self._lattice[0]

    @property
    def places(self) -> tuple[int, ...]:
        """The values in units of ``unit``, or their ranks."""
        return self._lattice[1]

    @cached_property
    def _lattice(self) -> tuple[Fraction, tuple[int, ...]]:
        if self.distance != "absolute":
            return Fraction(1), tuple(range(len(self.values)))
        ratios = [Decimal(repr(value)).as_integer_ratio() for value in self.values]
        denominator = lcm(*(below for _, below in ratios))
        steps = [above * (denominator // below) for above, below in ratios]
        most = gcd(*steps) or 1
        return Fraction(most, denominator), tuple(step // most for step in steps)


def _check_distances(distances: Matrix, count: int) -> None:
    if count > MOST_DISTANCES:
        raise InvalidMechanism(f"a prior with its own distances has {MOST_DISTANCES} values at most")
    if len(distances) != count or any(len(row) != count for row in distances):
        raise InvalidMechanism("distances need one row per value with one number per value")
    if not all(0 <= entry <= 1e100 for row in distances for entry in row):
        raise InvalidMechanism("a distance must be between 0 and 1e100")


def uniform(low: Number, high: Number) -> Prior:
    """The uniform law between ``low`` and ``high``."""
    start, end = _range(low, high)
    return _on_lattice(low, high, lambda x: np.clip((x - start) / (end - start), 0.0, 1.0))


def normal(mean: Number, sd: Number) -> Prior:
    """The normal law with mean ``mean`` and standard deviation ``sd``."""
    center, scale = _location(mean, sd)
    reach = Decimal(repr(_TAIL * scale))
    middle = Decimal(repr(center))
    return _on_lattice(middle - reach, middle + reach, lambda x: _normal((x - center) / scale))


def truncated_normal(mean: Number, sd: Number, low: Number, high: Number) -> Prior:
    """The normal law, conditional on a value between ``low`` and ``high``."""
    center, scale = _location(mean, sd)
    start, end = _range(low, high)
    sign = -1.0 if start > center else 1.0  # where both ends are in the upper tail, its mirror image is exact
    ends = sorted((sign * (start - center) / scale, sign * (end - center) / scale))
    first, last = (float(_normal(z)) for z in ends)
    if last - first < 1e-9:
        raise InvalidMechanism("truncated_normal has hardly any mass between low and high")

    def below(x: _Floats) -> _Floats:
        share: _Floats = (_normal(sign * (x - center) / scale) - first) / (last - first)
        return np.clip(share if sign > 0 else 1.0 - share, 0.0, 1.0)

    reach = _TAIL * scale
    return _on_lattice(max(start, center - reach), min(end, center + reach), below)


def lognormal(mu: Number, sigma: Number) -> Prior:
    """The exponential of a normal law with mean ``mu`` and standard deviation ``sigma`` (4 at most).

    Above a ``sigma`` of 0.4 the steps between its values are 1 to 2.5 percent of them.
    """
    center, scale = _location(mu, sigma)
    if scale > _MOST_SIGMA or abs(center) > 200:
        raise InvalidMechanism(f"lognormal needs mu between -200 and 200 and sigma of {_MOST_SIGMA} at most")

    def below(x: _Floats) -> _Floats:
        share: _Floats = _normal((np.log(x) - center) / scale)
        return share

    low, high = exp(center - _TAIL * scale), exp(center + _TAIL * scale)
    if scale <= 0.4:
        return _on_lattice(low, high, below)
    low = max(low, high * 1e-12)  # places stay exact
    decades = range(floor(log10(low)) - 2, floor(log10(high)) - 1)
    values = [float(f"{digits}e{power}") for power in decades for digits in _DECADE]
    return _of([value for value in values if low <= value <= high], below)


def triangular(low: Number, mode: Number, high: Number) -> Prior:
    """The triangular law: its density rises linearly from ``low`` to ``mode`` and falls linearly to ``high``."""
    start, end = _range(low, high)
    peak = _finite(mode)
    if not start <= peak <= end:
        raise InvalidMechanism("triangular needs low, mode, high in this order")
    rise, fall = max(peak - start, 1e-300), max(end - peak, 1e-300)

    def below(x: _Floats) -> _Floats:
        up = np.clip(x - start, 0.0, rise) ** 2 / (rise * (end - start))
        down = np.clip(end - x, 0.0, fall) ** 2 / (fall * (end - start))
        return np.where(x < peak, up, 1.0 - down)

    return _on_lattice(low, high, below)


def beta(alpha: Number, beta: Number, low: Number = 0, high: Number = 1) -> Prior:
    """The beta law, stretched from [0, 1] to [``low``, ``high``]."""
    first, second = _finite(alpha), _finite(beta)
    start, end = _range(low, high)
    if not (0 < first <= 1e6 and 0 < second <= 1e6):
        raise InvalidMechanism("beta needs alpha and beta above 0, 10^6 at most")
    return _on_lattice(
        low,
        high,
        lambda x: _beta(first, second, np.clip((x - start) / (end - start), 0.0, 1.0)),
    )


def histogram(edges: Sequence[Number], masses: Sequence[Number]) -> Prior:
    """Bins between neighbouring edges, each with its mass spread evenly; masses need not add up to 1."""
    ends = [_finite(edge) for edge in edges]
    if len(ends) < 2 or len(masses) != len(ends) - 1 or any(x >= y for x, y in pairwise(ends)):
        raise InvalidMechanism("histogram needs increasing edges and one mass per bin, one less than edges")
    heights = [0.0, *map(float, accumulate(_shares(masses)))]
    return _on_lattice(edges[0], edges[-1], lambda x: np.interp(x, ends, heights))


def point(value: Number) -> Prior:
    """One number for certain: an atom, for a mixture."""
    return Prior((_finite(value),), (WHOLE,), "absolute")


def table(values: Sequence[Number], masses: Sequence[Number]) -> Prior:
    """Numbers with masses, in any order, the distance abs(x - y); masses need not add up to 1."""
    weights = _weights(masses, len(values))
    pairs = sorted(zip(map(_finite, values), weights, strict=True))
    return Prior(tuple(value for value, _ in pairs), tuple(weight for _, weight in pairs), "absolute")


def nominal(values: Sequence[Number | str], masses: Sequence[Number]) -> Prior:
    """Values without an order, the distance 0 or 1; masses need not add up to 1."""
    return Prior(_labels(values), _weights(masses, len(values)), "discrete")


def ordinal(values: Sequence[Number | str], masses: Sequence[Number]) -> Prior:
    """Values in their order, the distance the difference of ranks; masses need not add up to 1."""
    return Prior(_labels(values), _weights(masses, len(values)), "rank")


def custom(
    values: Sequence[Number | str], masses: Sequence[Number], distances: Sequence[Sequence[Number]]
) -> Prior:
    """Values with any distance: one row per truth, one number per answer; masses need not add up to 1."""
    rows = tuple(tuple(_finite(entry) for entry in row) for row in distances)
    return Prior(_labels(values), _weights(masses, len(values)), rows)


def mixture(parts: Iterable[tuple[Number, Prior]]) -> Prior:
    """Priors over numbers, each with a share; shares need not add up to 1."""
    listed = list(parts)
    if any(prior.distance != "absolute" for _, prior in listed):
        raise InvalidMechanism("only priors over numbers mix")
    masses: dict[float, Fraction] = {}
    for share, (_, prior) in zip(_shares([share for share, _ in listed]), listed, strict=True):
        for value, weight in zip(prior.values, prior.weights, strict=True):
            masses[float(value)] = masses.get(float(value), Fraction(0)) + share * weight
    return table(list(masses), list(masses.values()))


def _on_lattice(low: Number, high: Number, below: Callable[[_Floats], _Floats]) -> Prior:
    """Discretise a continuous law with distribution function ``below`` to a round step; at most ``_STEPS`` steps."""
    start, end = _fraction(low), _fraction(high)
    step = _round_step((end - start) / _STEPS)
    first, last = -(-start // step), end // step
    return _of([index * step.numerator / step.denominator for index in range(first, last + 1)], below)


def _of(values: list[float], below: Callable[[_Floats], _Floats]) -> Prior:
    """Give each value the mass of the points nearest to it, by the distribution function ``below``."""
    between = (np.array(values[:-1]) + np.array(values[1:])) / 2
    cuts = np.rint(below(between) * WHOLE).astype(np.int64).tolist()
    weights = tuple(y - x for x, y in pairwise([0, *accumulate(cuts, max), WHOLE]))
    kept = [(value, weight) for value, weight in zip(values, weights, strict=True) if weight]
    return Prior(tuple(value for value, _ in kept), tuple(weight for _, weight in kept), "absolute")


def _round_step(least: Fraction) -> Fraction:
    """Return the least of 1, 2 and 5 times a power of ten that is at least ``least``."""
    power = Fraction(10) ** (len(str(int(least))) if least >= 1 else -len(str(int(1 / least))))
    steps = (power / 10 * digit for digit in (1, 2, 5, 10, 20, 50, 100))
    return next(step for step in steps if step >= least)


def _weights(masses: Sequence[Number], count: int) -> tuple[int, ...]:
    if len(masses) != count:
        raise InvalidMechanism("a prior needs one mass per value")
    cuts = [round(total * WHOLE) for total in accumulate(_shares(masses))]
    return tuple(y - x for x, y in pairwise([0, *cuts]))


def _shares(masses: Sequence[Number]) -> list[Fraction]:
    for mass in masses:
        _finite(mass)
    exact = [_fraction(mass) for mass in masses]
    total = sum(exact)
    if not total or min(exact) < 0:
        raise InvalidMechanism("masses must be 0 or more, and not all 0")
    return [mass / total for mass in exact]


def _labels(values: Sequence[Any]) -> tuple[float | str, ...]:
    if values and all(isinstance(value, str) for value in values):
        return tuple(values)
    return tuple(map(_finite, values))


def _location(mean: Number, sd: Number) -> tuple[float, float]:
    center, scale = _finite(mean), _finite(sd)
    if not 1e-100 < scale < 1e100 or abs(center) > 1e6 * scale:
        raise InvalidMechanism("the standard deviation must be above 0, and a millionth of the mean at least")
    return center, scale


def _range(low: Number, high: Number) -> tuple[float, float]:
    start, end = _finite(low), _finite(high)
    if not 1e-100 < end - start < 1e100 or max(abs(start), abs(end)) > 1e6 * (end - start):
        raise InvalidMechanism("low must be below high, by a millionth of either at least")
    return start, end


def _finite(value: Any) -> float:  # noqa: ANN401 - checked here
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | Decimal):
        raise InvalidMechanism("a prior takes numbers here")
    try:
        result = float(value)
    except OverflowError:
        result = float("inf")
    if not isfinite(result):
        raise InvalidMechanism("the numbers of a prior must be finite")
    return result


def _fraction(value: Number | str) -> Fraction:
    """Return a number exactly; a float counts as the decimal it prints as."""
    return Fraction(repr(value) if isinstance(value, float) else value)


def _normal(z: _Floats | float) -> _Floats:
    """The distribution function of the standard normal law."""
    from scipy import special  # noqa: PLC0415 - as long to load as everything else here

    share: _Floats = special.ndtr(z)
    return share


def _beta(first: float, second: float, x: _Floats) -> _Floats:
    """The distribution function of a beta law."""
    from scipy import special  # noqa: PLC0415

    share: _Floats = special.betainc(first, second, x)
    return share
