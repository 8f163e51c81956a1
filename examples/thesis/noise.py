"""Chapter 4 of the thesis, optimal noise: its numbers recomputed, and its figures drawn.

    python -m examples.thesis.noise [--out FOLDER]

The thesis is J. Soria-Comas, "Improving data utility in differential privacy and k-anonymity", 2013. Figures go to
examples/thesis/out and need the extra: pip install 'dpproxy[plots]'.
"""

import math
import sys
from collections.abc import Callable, Iterator, Sequence

from scipy.optimize import minimize_scalar

from examples.thesis import continuous as optimal
from examples.thesis.command import options, show
from examples.thesis.tables import Figure, compared, table
from udfs.mechanisms import Staircase
from udfs.privacy import NANO

EPSILONS = (0.1, 0.5, 1.0)
FINE = 10**6
"""Steps of the lattice for a sensitivity of 1: so fine that it looks continuous."""
DRAWS = 200_000


def lowest(value: Callable[[float], float]) -> float:
    """Where on [0, 1] the value is least."""
    return float(minimize_scalar(value, bounds=(0, 1), method="bounded", options={"xatol": 1e-7}).x)


def one_query() -> Iterator[Figure]:
    """Section 4.2: variance and 95 % interval of one answer of sensitivity 1."""
    for epsilon, laplace, least in zip(
        EPSILONS, ("200", "8", "2"), ("199.917", "7.917", "1.9181"), strict=True
    ):
        gamma = optimal.best_gamma(epsilon)
        yield Figure(
            f"Laplace, variance, epsilon {epsilon:g}", laplace, optimal.laplace_variance([1], epsilon)
        )
        yield Figure(f"optimal, variance, epsilon {epsilon:g}", least, optimal.variance(gamma, epsilon))
    yield Figure("  which is at d", "0.416737", lowest(lambda d: optimal.variance(d, 1)))
    lengths = zip(EPSILONS, ("59.91", "11.98", "5.99"), ("59.9105", "11.9784", "5.9865"), strict=True)
    for epsilon, laplace, shortest in lengths:
        interval = 2 * optimal.laplace_region(0.95, [1], epsilon)
        yield Figure(f"Laplace, length of the 95 % interval, epsilon {epsilon:g}", laplace, interval)
        length = optimal.shortest_interval(0.95, epsilon)[1]
        yield Figure(f"optimal, length of the 95 % interval, epsilon {epsilon:g}", shortest, length)
    yield Figure("  which is at d", "0.9933", lowest(lambda d: optimal.region(0.95, d, 1)))


def density_of_theorem_1(d: float = 0.5, epsilon: float = 1.0) -> Iterator[Figure]:
    """The mass of the density with the exponent as printed, -i*epsilon, and with -(i+1)*epsilon."""
    steps = 1 / (1 - math.exp(-epsilon))
    peak = optimal.peak(d, 1, epsilon)
    yield Figure(
        "mass with the printed exponent, d = 0.5, epsilon 1",
        "1.00",
        2 * peak * (d + steps),
        "Theorem 1 prints -i*epsilon for step i; with -(i+1)*epsilon the mass is 1",
    )
    yield Figure("mass with -(i+1)*epsilon", "1", 2 * peak * (d + steps * math.exp(-epsilon)))


def two_queries() -> Iterator[Figure]:
    """Section 4.3: sensitivities 1 and 10, epsilon 1, innermost box a tenth of them."""
    gamma, epsilon = 0.1, 1.0
    variance = optimal.variance(gamma, epsilon, 2)
    yield Figure("variance of component 1", "4.0338", variance)
    yield Figure("variance of component 2", "403.38", 100 * variance)
    yield Figure("Laplace, variance of each", "242", optimal.laplace_variance([1, 10], epsilon))
    printed = (("0.99", "6.99", "73.022"), ("0.95", "", "52.183"), ("0.90", "", "42.787"))
    for confidence, beta, alpha in printed:
        half = optimal.region(float(confidence), gamma, epsilon, 2)
        percent = f"{100 * float(confidence):.0f} % region"
        why = "the thesis prints another label and number for this half-width" if beta else ""
        yield Figure(f"{percent}, half-width of component 1", beta, half, why)
        yield Figure(f"{percent}, area", "", 2 * half * 2 * 10 * half)
        reach = optimal.laplace_region(float(confidence), [1, 10], epsilon)
        yield Figure(f"{percent}, alpha of Laplace", alpha, reach)


def several_queries() -> str:
    """The best innermost box for d answers, in the continuum, on a fine lattice and drawn, beside Laplace."""
    rows = []
    for d in (1, 2, 3, 4, 5, 6, 8, 10):
        gamma = optimal.best_gamma(1, d)
        least, laplace = optimal.variance(gamma, 1, d), optimal.laplace_variance([1] * d, 1)
        lattice = Staircase.best((FINE,) * d, NANO)
        drawn = float((lattice.draw(DRAWS // d) / FINE).var())
        exact = float(lattice.variance()[0]) / FINE**2
        numbers = (gamma, least, exact, drawn, laplace, laplace / least)
        rows.append(
            [
                str(d),
                *(f"{number:.{digits}f}" for number, digits in zip(numbers, (4, 3, 3, 3, 0, 2), strict=True)),
            ]
        )
    names = ["d", "gamma", "variance", "on the lattice", "drawn", "Laplace", "Laplace / joint"]
    return table("Several answers together, epsilon 1, variance of each (sensitivities 1)", names, rows)


def counts() -> str:
    """On whole numbers the optimum for a count beats the continuum's."""
    rows = []
    for epsilon in (0.1, 0.5, 1, 2):
        lattice = float(Staircase.best((1,), int(epsilon * NANO)).variance()[0])
        continuum = optimal.variance(optimal.best_gamma(epsilon), epsilon)
        drawn = float(Staircase.best((1,), int(epsilon * NANO)).draw(DRAWS).var())
        rows.append(
            [
                f"{epsilon:g}",
                *(f"{x:.4f}" for x in (continuum, lattice, drawn)),
                f"{lattice / continuum - 1:+.1%}",
            ]
        )
    return table("A count: variance", ["epsilon", "continuum", "whole numbers", "drawn", "change"], rows)


def tables() -> Iterator[str]:
    """Every table, as text."""
    yield compared("One answer (sensitivity 1)", list(one_query()))
    yield compared("The density", list(density_of_theorem_1()))
    yield compared("Two answers together (sensitivities 1 and 10, epsilon 1, gamma 0.1)", list(two_queries()))
    yield several_queries()
    yield counts()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables and draw the figures."""
    return show("noise", tables(), options("noise", __doc__).parse_args(arguments).out)


if __name__ == "__main__":
    sys.exit(main())
