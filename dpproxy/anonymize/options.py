"""Parsers for the options of methods: each checks type and bounds, and unknown options are refused."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import isqrt
from typing import Final

from dpproxy.anonymize.model import LEAST_CLUSTER, InvalidOption, OptionValue, ViewRequest

LEAST_AUTO: Final = 11
"""The least k that links correctly with probability at most 0.09, the bound that the European Medicines Agency and
Health Canada set for clinical data that are published."""


def only(request: ViewRequest, known: Mapping[str, str]) -> None:
    """Refuse options that the method does not have. Errors: InvalidOption."""
    for name in request.options:
        if name not in known:
            taken = ", ".join(known) or "none"
            raise InvalidOption(name, f"the method has no option {name}", f"Its options: {taken}.")


def word(request: ViewRequest, name: str, choices: Iterable[str]) -> str:
    """The option ``name``, one of ``choices``; the first is the default. Errors: InvalidOption."""
    allowed = tuple(choices)
    value = request.options.get(name, allowed[0])
    if value not in allowed:
        raise InvalidOption(name, f"{name} is one of {', '.join(allowed)}")
    return str(value)


def whole(name: str, value: OptionValue, least: int) -> int:
    """``value`` as a whole number of at least ``least``. Errors: InvalidOption."""
    number = value if isinstance(value, Fraction) else Fraction(value) if isinstance(value, int) else None
    if number is None or number.denominator != 1 or number < least:
        raise InvalidOption(name, f"{name} is a whole number, at least {least}")
    return int(number)


def number(name: str, value: OptionValue) -> Fraction:
    """``value`` as an exact number. Errors: InvalidOption."""
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        return Fraction(value)
    raise InvalidOption(name, f"{name} is a number")


def cluster_size(request: ViewRequest, attributes: int) -> int:
    """The option ``k``: a whole number, or ``auto`` (see ``automatic``). Errors: InvalidOption."""
    if "k" not in request.options:
        raise InvalidOption("k", "k is missing", "Say how many rows are to be alike: k = 10, or k = auto.")
    value = request.options["k"]
    return automatic(request, attributes) if value == "auto" else whole("k", value, LEAST_CLUSTER)


def automatic(request: ViewRequest, attributes: int) -> int:
    """Choose k from public facts: the largest that loses little information, and never less than ``LEAST_AUTO``.

    Of N rows spread evenly over m attributes, k neighbours fill a cube of side (k / N) ** (1 / m); while that is at
    most a tenth of the domain, clusters lose at most 1 % of each attribute's variance. k is also at most sqrt(N).
    """
    expected = request.expected_rows or 0
    return int(max(LEAST_AUTO, min(isqrt(expected), expected // 10**attributes)))
