"""The staircase distribution on the real line: reference figures and error predictions in floats, not for releases.

Components are scaled to sensitivity 1; gamma is the half-width of the innermost box. Source: Soria-Comas,
"Improving data utility in differential privacy and k-anonymity", 2013, ch. 4; Theorem 1 with the exponent
-(i+1)*epsilon.
"""

import math
from collections.abc import Callable, Sequence

from udfs.mechanisms.radii import moments


def peak(d: float, width: float, epsilon: float) -> float:
    """Return the density on [-d, d] of the noise for one query of sensitivity ``width``, 0 <= d <= width."""
    q = math.exp(-epsilon)
    return (1 - q) / (2 * (d * (1 - q) + width * q))


def variance(gamma: float, epsilon: float, components: int = 1) -> float:
    """Return the variance of each component of a joint draw."""
    first, second = moments([gamma] * components, math.exp(-epsilon))
    return (second + 2 * gamma * first + gamma * gamma) / 3


def best_gamma(epsilon: float, components: int = 1) -> float:
    """Return the gamma of least variance."""
    return _least(lambda gamma: variance(gamma, epsilon, components))


def coverage(beta: float, gamma: float, epsilon: float, components: int = 1) -> float:
    """Return the probability that every component is within beta of 0."""
    inside = mass = 0.0
    for level in range(math.ceil(60 / epsilon) + 20 * components):
        weight = math.exp(-level * epsilon) * (gamma + level) ** components
        mass += weight
        inside += weight * (min(1.0, beta / (gamma + level)) ** components if gamma + level else 1.0)
    return inside / mass


def region(confidence: float, gamma: float, epsilon: float, components: int = 1) -> float:
    """Return the least beta with that coverage."""
    low, high = 0.0, 1.0
    while coverage(high, gamma, epsilon, components) < confidence:
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        covered = coverage(middle, gamma, epsilon, components) >= confidence
        low, high = (low, middle) if covered else (middle, high)
    return high


def shortest_interval(confidence: float, epsilon: float) -> tuple[float, float]:
    """Return (gamma, length) of the shortest interval around one answer."""
    gamma = _least(lambda gamma: region(confidence, gamma, epsilon))
    return gamma, 2 * region(confidence, gamma, epsilon)


def laplace_variance(widths: Sequence[float], epsilon: float) -> float:
    """Return the variance of each component under Laplace noise for the same sensitivities."""
    return 2 * (sum(widths) / epsilon) ** 2


def laplace_region(confidence: float, widths: Sequence[float], epsilon: float) -> float:
    """Return the least alpha such that Laplace noise has L1 norm at most alpha with that confidence."""
    low, high = 0.0, 1000.0
    for _ in range(60):
        x = (low + high) / 2  # in units of the scale the sum has an Erlang distribution
        outside = math.exp(-x) * sum(x**i / math.factorial(i) for i in range(len(widths)))
        low, high = (low, x) if 1 - outside >= confidence else (x, high)
    return high * sum(widths) / epsilon


def _least(value: Callable[[float], float]) -> float:
    """The minimiser on [0, 1], to about four digits."""
    centre, span = 0.5, 0.5
    for _ in range(5):
        grid = [centre + span * (i - 10) / 10 for i in range(21)]
        centre = min((point for point in grid if 0 <= point <= 1), key=value)
        span /= 5
    return centre
