"""Options that the differentially private methods share (epsilon, delta, k), and how they divide epsilon."""

from fractions import Fraction
from math import isqrt
from typing import Final

from msgspec import Struct

from dpproxy.anonymize import options
from dpproxy.anonymize.model import LEAST_CLUSTER, InvalidOption, Make, ViewBuild, ViewRequest
from udfs.mechanisms import Exponential, Gaussian, Laplace
from udfs.privacy import LEAST_NANO, NANO, Loss

LEAST_EPSILON: Final = Fraction(1, 100)
"""The least epsilon of a view: methods divide it among steps, each of which needs ``LEAST_NANO``."""
MOST_EPSILON: Final = 10**6
COUNTING: Final = 20
"""One part in so many of epsilon releases the number of rows, in methods where that is a step of its own."""

EPSILON_HELP: Final = "the loss of the whole release"
K_HELP: Final = "rows to a cluster, or auto: by the predicted error"


class Purse(Struct, frozen=True):
    """What a build may lose: whole nano-epsilon, or nano-rho where ``concentrated``; parts of it are rounded down."""

    nano: int
    concentrated: bool = False

    def noise(self, width: int, part: Fraction) -> Laplace | Gaussian:
        """Noise for one release that a unit moves by ``width`` in one component, at ``part`` of the whole."""
        nano = int(self.nano * part)
        return Gaussian((width,), nano) if self.concentrated else Laplace((width,), nano)

    def deviation(self, part: Fraction) -> float:
        """The standard deviation of noise of width 1."""
        return max(float(self.noise(1, part).noise_sd()[0]), 1e-3)

    def most(self, part: Fraction) -> int:
        """Into how many releases ``part`` of the whole may be divided, each of which must be possible."""
        nano = int(self.nano * part)
        return 2 * nano * NANO // LEAST_NANO**2 if self.concentrated else nano // LEAST_NANO

    def choice(self, spread: int, part: Fraction) -> Exponential:
        """A choice whose scores a unit moves within an interval of length ``spread``, at ``part`` of the whole."""
        nano = int(self.nano * part)
        return Exponential(spread, isqrt(2 * nano * NANO) if self.concentrated else nano)


def epsilon(request: ViewRequest) -> Loss:
    """The option ``epsilon``, which is required. Errors: InvalidOption."""
    if "epsilon" not in request.options:
        raise InvalidOption("epsilon", "epsilon is missing", "Say what the view may cost: epsilon = 1.0.")
    value = options.number("epsilon", request.options["epsilon"])
    if not LEAST_EPSILON <= value <= MOST_EPSILON:
        raise InvalidOption("epsilon", f"epsilon is between {float(LEAST_EPSILON)} and {MOST_EPSILON}")
    return Loss.of(value)


def delta(request: ViewRequest) -> Fraction:
    """The option ``delta``, 0 by default. Errors: InvalidOption."""
    value = options.number("delta", request.options.get("delta", 0))
    if not 0 <= value <= Fraction(1, 1000):
        raise InvalidOption("delta", "delta is between 0 and 0.001")
    return value


def cluster_size(request: ViewRequest) -> int | None:
    """The option ``k``; None if it is ``auto``, the default. Errors: InvalidOption."""
    value = request.options.get("k", "auto")
    return None if value == "auto" else options.whole("k", value, LEAST_CLUSTER)


def attributes(request: ViewRequest) -> int:
    """The number of attributes. Errors: InvalidOption where there is none."""
    if not request.attributes:
        raise InvalidOption("", "the view has no columns")
    return len(request.attributes)


def counting(total: Loss) -> Loss:
    """The part of ``total`` that releases the number of rows."""
    return Loss(max(total.nano // COUNTING, LEAST_NANO))


def shown(value: Loss | Fraction) -> str:
    """An epsilon or delta as a decimal, for messages."""
    return f"{float(value.epsilon if isinstance(value, Loss) else value):g}"


def guaranteed(make: Make, total: Loss, delta: Fraction = Fraction(0)) -> ViewBuild:
    """A release that ``make`` draws at this price, and its guarantee in words."""
    also = f", delta {shown(delta)}" if delta else ""
    return ViewBuild(f"differential privacy, epsilon {shown(total)}{also}", total, make, delta)


def enough(part: Loss) -> None:
    """Refuse an epsilon so small that a step's part of it is below ``LEAST_NANO``. Errors: InvalidOption."""
    if part.nano < LEAST_NANO:
        raise InvalidOption(
            "epsilon", "epsilon is too small for so many columns", "Raise it, or release fewer."
        )
