"""Chapter 5 of the thesis, knowledge refinement: its numbers recomputed, and its figures drawn.

    python -m examples.thesis.refinement [--out FOLDER]

The thesis is J. Soria-Comas, "Improving data utility in differential privacy and k-anonymity", 2013. Figures go to
examples/thesis/out and need the extra: pip install 'dpproxy[plots]'.
"""

import math
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np

from examples.thesis.command import options, show
from examples.thesis.tables import Figure, compared, table
from udfs import priors
from udfs.mechanisms.refinement import Refinement
from udfs.prior_notation import parse
from udfs.priors import WHOLE, Prior
from udfs.privacy import NANO

DRAWS = 200_000
UNIT_INTERVAL = priors.uniform(0, 1)
EPSILONS = {"0.1": 0.1, "ln 2": math.log(2), "1": 1.0, "2": 2.0}
PRIORS = ("uniform(0, 1)", "normal(44, 6)", "lognormal(6, 1)", "0.3 * point(0) + 0.7 * normal(5, 1)")


def individual(prior: Prior, epsilon: float) -> Refinement:
    """One person's value."""
    return Refinement.individual(prior, round(epsilon * NANO))


def law(refinement: Refinement, truth: float) -> np.ndarray:
    """The probabilities of the prior's values."""
    return np.array([float(p) for p in refinement.pmf(truth)])


def unit_interval() -> Iterator[Figure]:
    """A uniform prior on [0, 1], one person's value 0.5."""
    printed = {
        "0.1": ("0.0772", "0.4750", "0.525", "0.476"),
        "ln 2": ("0.0463", "0.3333", "0.667", "0.549"),
        "1": ("0.0345", "0.2689", "0.731", "0.607"),
        "2": ("0.0123", "0.1192", "0.881", "0.684"),
    }
    for name, (variance, size, hit, laplace) in printed.items():
        refinement = individual(UNIT_INTERVAL, EPSILONS[name])
        values = np.array(UNIT_INTERVAL.values)
        found = float(law(refinement, 0.5) @ (values - 0.5) ** 2)
        yield Figure(f"epsilon {name}: variance of the answer", variance, found)
        yield Figure("  size of the interval made more likely, U_u", size, float(refinement.near))
        yield Figure("  probability that the answer is in it", hit, float(refinement.near * refinement.up))
        yield Figure(
            "  probability that Laplace noise stays in [0, 1]",
            laplace,
            1 - math.exp(-EPSILONS[name] / 2),
            "is 1 - e^-(epsilon/2) for scale 1/epsilon around 0.5",
        )


def booleans() -> Iterator[Figure]:
    """A yes or no of one person, epsilon 1."""
    rare = individual(priors.nominal([0, 1], [0.99, 0.01]), 1)
    even = individual(priors.nominal([0, 1], [0.5, 0.5]), 1)
    yield Figure("prior P(1) = 0.01: answer 1 where the truth is 0", "0.0036788", float(rare.pmf(0)[1]))
    yield Figure("prior P(1) = 0.01: answer 1 where the truth is 1", "0.0271828", float(rare.pmf(1)[1]))
    yield Figure("prior P(1) = 0.5: answer 1 where the truth is 0", "0.1839", float(even.pmf(0)[1]))
    yield Figure("prior P(1) = 0.5: answer 1 where the truth is 1", "0.8161", float(even.pmf(1)[1]))


def corrections() -> Iterator[Figure]:
    """What the printed formulas give, beside what they have to."""
    refinement = individual(UNIT_INTERVAL, math.log(2))
    up, down, near = (float(number) for number in (refinement.up, refinement.down, refinement.near))
    exchanged = "P(U_u) and P(U_d) are printed exchanged in section 4.3 and Algorithm 1"
    yield Figure(
        "mass of the refined prior as printed, epsilon ln 2", "1.00", up * (1 - near) + down * near, exchanged
    )
    yield Figure("  with P(U_u) = (1 - a_d) / (a_u - a_d)", "1.00", up * near + down * (1 - near))
    delta = Fraction(1, 1000)
    too_much = delta * (1 + 1 / refinement.q) / 2  # moves delta / 2
    yield Figure(
        "delta that moving delta / 2 reaches, statistical, epsilon ln 2, delta 0.001",
        "0.00100",
        reached(too_much),
        "the other side moves too, and times e^epsilon",
    )
    yield Figure("  moving delta / (1 + e^epsilon)", "0.00100", reached(delta))


def reached(delta: Fraction) -> float:
    """The delta between two truths of a uniform prior on 0, 1, 2, 3 at epsilon ln 2, over all events."""
    prior = priors.table([0, 1, 2, 3], [1, 1, 1, 1])
    refinement = Refinement(prior, round(math.log(2) * NANO), "statistical", WHOLE // 4, delta)
    found = [refinement.pmf(truth) for truth in prior.values]
    factor = 1 / refinement.q
    return float(
        max(sum(max(p - factor * q, 0) for p, q in zip(x, y, strict=True)) for x, y in permutations(found, 2))
    )


def drawn() -> str:
    """Draws beside the exact law: a uniform prior on [0, 1], one person's value 0.5."""
    rows = []
    for name, epsilon in EPSILONS.items():
        refinement = individual(UNIT_INTERVAL, epsilon)
        answers = refinement.release_numbers(np.full(DRAWS, 0.5))
        exact = float(law(refinement, 0.5) @ (np.array(UNIT_INTERVAL.values) - 0.5) ** 2)
        rows.append([name, f"{exact:.4f}", f"{float(((answers - 0.5) ** 2).mean()):.4f}", ""])
    return table(f"{DRAWS:,} answers drawn: variance", ["epsilon", "exact", "drawn", ""], rows)


def statistical() -> str:
    """The factor a_u of least expected distance beside e^(epsilon/2), where the truth follows the prior."""
    rows = []
    for text in PRIORS:
        prior = parse(text)
        nothing = Refinement(prior, NANO, "statistical", WHOLE).expected_distance
        for epsilon in (0.1, 1, 3):
            best, even = (
                make(prior, round(epsilon * NANO)) for make in (Refinement.statistical, Refinement.balanced)
            )
            numbers = (
                best.up,
                math.exp(epsilon / 2),
                best.expected_distance,
                even.expected_distance,
                nothing,
            )
            rows.append([text, f"{epsilon:g}", *(f"{float(number):.4f}" for number in numbers), ""])
    names = [
        "prior",
        "epsilon",
        "best a_u",
        "e^(epsilon/2)",
        "expected distance",
        "with e^(epsilon/2)",
        "prior alone",
        "",
    ]
    return table("Statistical queries: the holder's choice of a_u", names, rows)


def beside_laplace() -> str:
    """The mean absolute error for one person's value in [0, 1] that follows the prior."""
    rows = []
    for name, epsilon in EPSILONS.items():
        clamped = (1 - (1 - math.exp(-epsilon)) / epsilon) / epsilon  # E min(abs(noise), room on its side)
        numbers = (individual(UNIT_INTERVAL, epsilon).expected_distance, 1 / epsilon, clamped)
        rows.append([name, *(f"{number:.4f}" for number in numbers), ""])
    names = ["epsilon", "refinement", "Laplace, scale 1/epsilon", "the same, clamped to [0, 1]", ""]
    return table("Mean absolute error of one value in [0, 1], uniform prior", names, rows)


def tables() -> Iterator[str]:
    """Every table, as text."""
    yield compared("A uniform prior on [0, 1], one person's value 0.5", list(unit_interval()))
    yield compared("A yes or no of one person, epsilon 1", list(booleans()))
    yield compared("Corrections", list(corrections()))
    yield drawn()
    yield statistical()
    yield beside_laplace()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables and draw the figures."""
    return show("refinement", tables(), options("refinement", __doc__).parse_args(arguments).out)


if __name__ == "__main__":
    sys.exit(main())
