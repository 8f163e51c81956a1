"""Parsers for the options of methods: each checks type and bounds, and unknown options are refused."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import isqrt
from typing import Final

from dpproxy.anonymize.forest import Pair
from dpproxy.anonymize.model import (
    LEAST_CLUSTER,
    Attribute,
    InvalidOption,
    LatticeDomain,
    OptionValue,
    ViewRequest,
)

LEAST_AUTO: Final = 11
"""The least k that links correctly with probability at most 0.09, the bound that the European Medicines Agency and
Health Canada set for clinical data that are published."""
_MOST_DECLARED: Final = 4096
"""The most bins of a declared width."""


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


def pair_weights(request: ViewRequest) -> dict[Pair, int]:
    """How much each pair of columns matters, by the option ``workload``: from 1 to 4. Errors: InvalidOption.

    A column that is named doubles the weight of its pairs; those of columns that are named together have the most.
    """
    places = {attribute.name: place for place, attribute in enumerate(request.attributes)}
    given = request.options.get("workload", ())
    entries = (given,) if isinstance(given, str) else given
    named, together = set[int](), set[Pair]()
    for entry in map(str, entries if isinstance(entries, tuple) else (entries,)):
        names = (entry,) if entry in places else tuple(map(str.strip, entry.split(",")))
        if not all(name in places for name in names):
            hint = f"Columns ({', '.join(sorted(places))}), or statements about them: ('SELECT ...')."
            raise InvalidOption("workload", "workload names what is no column of the view", hint)
        group = sorted({places[name] for name in names})
        named.update(group if len(group) == 1 else ())
        together.update(combinations(group, 2))
    return {
        (a, b): 4 if (a, b) in together else 2 ** len({a, b} & named)
        for a, b in combinations(range(len(places)), 2)
    }


def bin_widths(request: ViewRequest, attributes: Sequence[Attribute]) -> tuple[int | None, ...]:
    """The option ``bins``: of each attribute the width of its bins in steps of its domain. Errors: InvalidOption."""
    given = request.options.get("bins", ())
    found: dict[str, int] = {}
    for entry in (given,) if isinstance(given, str) else given if isinstance(given, tuple) else ("",):
        name, _, width = str(entry).rpartition(" ")
        domain = next((a.domain for a in request.attributes if a.name == name), None)
        if not isinstance(domain, LatticeDomain) or not width.isdecimal() or int(width) < 1:
            hint = "Each is a column of numbers or dates and a width above 0: bins = ('age 10', 'cost 500')."
            raise InvalidOption("bins", "bins are the widths of columns", hint)
        if domain.width // int(width) >= _MOST_DECLARED:
            raise InvalidOption("bins", f"{name} has more than {_MOST_DECLARED} bins of this width")
        found[name] = int(width)
    return tuple(found.get(a.name) for a in attributes)
