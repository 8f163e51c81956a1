"""What differentially private methods have in common: epsilon, delta, and how losses are divided."""

from fractions import Fraction
from typing import Final

from dpproxy.anonymize import options
from dpproxy.anonymize.model import LEAST_CLUSTER, InvalidOption, Request
from udfs.privacy import LEAST_NANO, Loss

LEAST_EPSILON: Final = Fraction(1, 100)
"""The least epsilon of a view: a hundredth part of it and more goes to single steps, of 1/1000 at least each."""
MOST_EPSILON: Final = 10**6
COUNTING: Final = 20
"""One part in so many of epsilon releases the number of rows, where that is only a step."""

EPSILON_HELP: Final = "the loss of the whole release"
K_HELP: Final = "rows to a cluster, or auto: by the predicted error"


def epsilon(request: Request) -> Loss:
    """Take ``epsilon``. Errors: InvalidOption."""
    if "epsilon" not in request.options:
        raise InvalidOption("epsilon", "epsilon is missing", "Say what the view may cost: epsilon = 1.0.")
    value = options.number("epsilon", request.options["epsilon"])
    if not LEAST_EPSILON <= value <= MOST_EPSILON:
        raise InvalidOption("epsilon", f"epsilon is between {float(LEAST_EPSILON)} and {MOST_EPSILON}")
    return Loss.of(value)


def delta(request: Request) -> Fraction:
    """Take ``delta``, 0 unless given. Errors: InvalidOption."""
    value = options.number("delta", request.options.get("delta", 0))
    if not 0 <= value <= Fraction(1, 1000):
        raise InvalidOption("delta", "delta is between 0 and 0.001")
    return value


def cluster_size(request: Request) -> int | None:
    """Take ``k``; None where it is ``auto`` or not given. Errors: InvalidOption."""
    value = request.options.get("k", "auto")
    return None if value == "auto" else options.whole("k", value, LEAST_CLUSTER)


def attributes(request: Request) -> int:
    """How many attributes there are, at least one. Errors: InvalidOption."""
    if not request.attributes:
        raise InvalidOption("", "the view has no columns")
    return len(request.attributes)


def counting(total: Loss) -> Loss:
    """The part of ``total`` that releases the number of rows."""
    return Loss(max(total.nano // COUNTING, LEAST_NANO))


def shown(value: Loss | Fraction) -> str:
    """An epsilon or delta as people write it."""
    return f"{float(value.epsilon if isinstance(value, Loss) else value):g}"


def enough(part: Loss) -> None:
    """Refuse an epsilon of which a part is below the least one. Errors: InvalidOption."""
    if part.nano < LEAST_NANO:
        raise InvalidOption(
            "epsilon", "epsilon is too small for so many columns", "Raise it, or release fewer."
        )
