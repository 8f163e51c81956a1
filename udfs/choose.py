"""The mechanism of least expected error, from public facts alone: the sensitivities and the limit of the loss."""

from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import assert_never

from msgspec import Struct

from udfs.calibration import calibrate
from udfs.mechanisms import MECHANISMS, Additive, Gaussian, Staircase
from udfs.mechanisms.radii import cost
from udfs.privacy import LEAST_NANO, NANO, Concentrated, InvalidMechanism, Loss


class Choice(Struct, frozen=True):
    """A mechanism, and its expected error: the sum over components of variance / sensitivity**2."""

    mechanism: Additive
    error: float


def choose(widths: tuple[int, ...], limit: Loss | Concentrated, delta: Fraction = Fraction(0)) -> Choice:
    """Return the best mechanism for one joint release; the first of equals in the order of ``candidates``.

    Errors: InvalidMechanism if none fits.

    >>> choose((1,), Loss(10**9)).mechanism
    Staircase(widths=(1,), nano=1000000000, radii=(0,))
    """
    return candidates(widths, limit, delta)[0]


@lru_cache(maxsize=4096)
def candidates(
    widths: tuple[int, ...], limit: Loss | Concentrated, delta: Fraction = Fraction(0)
) -> tuple[Choice, ...]:
    """Return the mechanisms that fit the limit, the least error first; of equals in the order of ``MECHANISMS``.

    Args:
        widths: sensitivities: the most that one unit moves each component, all of them at once.
        limit: pure epsilon, where a positive ``delta`` also allows mechanisms that are (epsilon, delta)-private; or
            rho, where a pure mechanism counts as epsilon**2 / 2.
        delta: the most delta beside a pure limit; meaningless beside rho, whose delta belongs to the whole account.

    Errors: InvalidMechanism if none fits.
    """
    match limit:
        case Loss(pure):
            rho = calibrate(widths, limit, delta) if delta > 0 else 0
        case Concentrated(rho):
            pure = isqrt(2 * NANO * rho)
        case _:
            assert_never(limit)
    kinds = (
        [kind for kind in MECHANISMS.values() if kind.COMPARED and not kind.CONCENTRATED]
        if pure >= LEAST_NANO
        else []
    )
    mechanisms = [kind.best(widths, pure) for kind in kinds]
    mechanisms += [Gaussian.best(widths, rho)] if rho else []
    found = [Choice(mechanism, _error(mechanism)) for mechanism in mechanisms]
    if not found:
        raise InvalidMechanism("no mechanism fits so small a loss")
    return tuple(sorted(found, key=lambda choice: round(choice.error, 9)))


def _error(mechanism: Additive) -> float:
    if isinstance(mechanism, Staircase):
        return _staircase_error(mechanism)
    sds = zip(mechanism.noise_sd(), mechanism.widths, strict=True)
    return sum((sd / width) ** 2 for sd, width in sds if width)


def _staircase_error(mechanism: Staircase) -> float:
    """In floats, since the exact variance of very many components takes long."""
    moving = [(w, r) for w, r in zip(mechanism.widths, mechanism.radii, strict=True) if w]
    if not moving:
        return 0.0
    widths, radii = zip(*moving, strict=True)
    return cost(widths, radii, mechanism.ratio / 2**64)
