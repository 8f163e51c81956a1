"""The radii of the staircase that give the least noise or the shortest intervals, computed in floats.

The noise is private with any non-negative radii, so that an error here can cost accuracy and nothing else.
"""

from collections.abc import Callable, Sequence
from math import ceil, log
from typing import Final

import numpy as np

_GRID: Final = 48
_SMALL: Final = 64
_ALIKE: Final = 0.05
"""Below this epsilon intervals of the least noise are within 1 part in 10,000 of the shortest; the search is long."""
_FAR: Final = 30.0
"""What is beyond e to the minus that does not move an interval."""
_POLISHED: Final = 16
"""With more components than this, single radii are not improved by search: the gain is too small."""
_MANY: Final = 32
"""With more components than this, radii change the variance by less than 1 part in 10,000, for any epsilon up to 6."""


def moments(offsets: Sequence[float], q: float) -> tuple[float, float]:
    """Return E[t] and E[t**2] under the law proportional to the product of (t + offset) and q**t."""
    odds = q / (1 - q)
    arms = [1.0]
    for offset in offsets:
        kept = [(offset + m) * c for m, c in enumerate(arms)]
        raised = [(m + 1) * odds * c for m, c in enumerate(arms)]
        arms = [a + b for a, b in zip([*kept, 0.0], [0.0, *raised], strict=True)]
        scale = sum(arms)
        arms = [arm / scale for arm in arms]
    first = second = 0.0
    for m, weight in enumerate(arms):  # t is m plus m + 1 geometric variables
        mean = m + (m + 1) * odds
        first += weight * mean
        second += weight * (mean * mean + (m + 1) * odds * (1 + odds))
    return first, second


def cost(widths: Sequence[int], radii: Sequence[int], q: float) -> float:
    """Return the sum of variance / width**2 over components of positive width."""
    offsets = [(r + 0.5) / d for r, d in zip(radii, widths, strict=True)]
    first, second = moments(offsets, q)
    result = 0.0
    for radius, width in zip(radii, widths, strict=True):
        rho, step = radius / width, 1 / width
        result += (second + (2 * rho + step) * first + rho * (rho + step)) / 3
    return result


def best_radii(widths: Sequence[int], q: float) -> tuple[int, ...]:
    """Return radii floor(gamma * width), improved one by one while the cost falls; 0 where the width is 0."""
    moving = [width for width in widths if width]
    if not moving or len(moving) > _MANY:
        return (0,) * len(widths)
    radii = iter(_polish(moving, _scan(moving, lambda tried: cost(moving, tried, q)), q))
    return tuple(next(radii) if width else 0 for width in widths)


def shortest_radii(widths: Sequence[int], q: float, confidence: float) -> tuple[int, ...]:
    """Return radii floor(gamma * width) of the shortest intervals, in widths; of equals those of the least noise."""
    moving = [width for width in widths if width]
    if not moving or len(moving) > _MANY or -log(q) < _ALIKE:
        return best_radii(widths, q)

    def length(radii: Sequence[int]) -> tuple[int | float, ...]:
        ends = half_widths(moving, radii, q, confidence)
        return sum(h / width for h, width in zip(ends, moving, strict=True)), cost(moving, radii, q)

    radii = iter(_scan(moving, length))
    return tuple(next(radii) if width else 0 for width in widths)


def half_widths(widths: Sequence[int], radii: Sequence[int], q: float, confidence: float) -> list[int]:
    """Return for each component about the least h that its noise is within with the confidence."""
    levels = np.arange(ceil((_FAR + 4 * len(widths)) / -log(q)) + 4 * len(widths), dtype=np.float64)
    halves = [radius + 0.5 + levels * width for radius, width in zip(radii, widths, strict=True)]
    logs = levels * log(q) + sum(np.log(half) for half in halves)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    found = []
    for half in halves:
        low, high = 0.0, float(half[-1])
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            inside = float(weights @ np.minimum(1.0, middle / half))
            low, high = (low, middle) if inside >= confidence else (middle, high)
        found.append(max(0, ceil(high - 0.5 - 1e-6)))
    return found


def _scan(widths: Sequence[int], value: Callable[[list[int]], float | tuple[int | float, ...]]) -> list[int]:
    """The least value on a grid over gamma in [0, 1], refined three times."""

    def scaled(gamma: int, parts: int) -> list[int]:
        return [gamma * width // parts for width in widths]

    def valued(gamma: int, parts: int) -> tuple[float | tuple[int | float, ...], int]:
        return value(scaled(gamma, parts)), gamma

    parts = _GRID
    gamma = min(valued(g, parts) for g in range(parts + 1))[1]
    for _ in range(3):
        gamma, parts = gamma * 8, parts * 8
        gamma = min(valued(g, parts) for g in range(max(gamma - 8, 0), min(gamma + 8, parts) + 1))[1]
    return scaled(gamma, parts)


def _polish(widths: Sequence[int], radii: list[int], q: float) -> list[int]:
    """Move single radii of narrow components by one step while the cost falls."""
    if len(widths) > _POLISHED:
        return radii
    least, moved = cost(widths, radii, q), True
    while moved:
        moved = False
        for index, width in enumerate(widths):
            for step in (-1, 1) if width <= _SMALL else ():
                tried = [*radii[:index], max(radii[index] + step, 0), *radii[index + 1 :]]
                value = cost(widths, tried, q)
                if value < least * (1 - 1e-12):
                    radii, least, moved = tried, value, True
    return radii
