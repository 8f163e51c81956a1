"""A release by a Python call, without SQL: numbers and a mechanism in, noisy numbers out."""

from collections.abc import Sequence
from typing import Final

from udfs import arrow
from udfs.functions.joint import Joint
from udfs.pool import Pool
from udfs.privacy import WIDEST, InvalidMechanism

_POOL: Final = Pool()


def release(numbers: Sequence[int | None], mechanism: Joint, pool: Pool | None = None) -> list[int]:
    """Return the numbers with one joint draw, which costs ``mechanism.loss``; saturated at 38 digits.

    None counts as 0, the sum of no rows, and so does a number of sensitivity 0.

    Args:
        numbers: as many as the mechanism has sensitivities.
        mechanism: the source of the noise.
        pool: the pool to take draws from; by default the process's own.

    Errors: InvalidMechanism.

    >>> from udfs.mechanisms import Staircase
    >>> len(release([120, 4500], Staircase.best((1, 100), 10**9)))
    2
    """
    # Noise is taken before a number is read, and added in words of fixed size, because the time of an addition of
    # Python integers depends on how large they are.
    noise = (pool or _POOL).take(mechanism, 1)[0]
    if len(numbers) != len(noise):
        raise InvalidMechanism("a release needs as many numbers as sensitivities")
    exact = [max(-WIDEST, min(number or 0, WIDEST)) for number in numbers]
    released = arrow.integers(arrow.add(arrow.from_integers(exact), noise))
    return [number if width else 0 for number, width in zip(released, mechanism.widths, strict=True)]
