"""Priors as text: ``normal(44, 6)``, ``nominal(["F", "M"], [0.3, 0.7])``, ``0.3 * point(0) + 0.7 * lognormal(6, 1)``.

A sum of families, each multiplied by its share if there are several; arguments are JSON.
"""

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from udfs import priors
from udfs.priors import Prior
from udfs.privacy import InvalidMechanism

FAMILIES: Final[dict[str, tuple[str, Callable[..., Prior]]]] = {
    "uniform": ("low, high", priors.uniform),
    "normal": ("mean, sd", priors.normal),
    "truncated_normal": ("mean, sd, low, high", priors.truncated_normal),
    "lognormal": ("mu, sigma", priors.lognormal),
    "triangular": ("low, mode, high", priors.triangular),
    "beta": ("alpha, beta) or beta(alpha, beta, low, high", priors.beta),
    "histogram": ("[edges], [masses]", priors.histogram),
    "point": ("value", priors.point),
    "table": ("[values], [masses]", priors.table),
    "nominal": ("[values], [masses]", priors.nominal),
    "ordinal": ("[values], [masses]", priors.ordinal),
    "custom": ("[values], [masses], [[distances], ...]", priors.custom),
}
"""Every family by its name, with its arguments as text for messages."""

_HEAD: Final = re.compile(r"\s*(?:([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*\*\s*)?([a-z_]+)\s*\(")
_NEXT: Final = re.compile(r"\s*([,)])")
_PLUS: Final = re.compile(r"\s*(\+|$)")
_SPACE: Final = re.compile(r"\s*")
_DECODER: Final = json.JSONDecoder()


@lru_cache(maxsize=256)
def parse(text: str) -> Prior:
    """Return the prior that a text describes. Raises InvalidMechanism.

    >>> parse("0.5 * point(0) + 0.5 * point(8)").values
    (0.0, 8.0)
    """
    parts, position, more = [], 0, True
    while more:
        share, prior, position = _term(text, position)
        parts.append((share, prior))
        end = _PLUS.match(text, position)
        if end is None:
            raise _misread(text)
        position, more = end.end(), bool(end[1])
    if len(parts) == 1:
        return parts[0][1]
    if not all(share for share, _ in parts):
        raise InvalidMechanism(
            "every part of a mixture needs its share, as in 0.3 * point(0) + 0.7 * normal(5, 1)"
        )
    return priors.mixture(parts)


def _term(text: str, position: int) -> tuple[float, Prior, int]:
    """Read a family from ``position``; return its share (0 if there is none), its prior, and the position after it."""
    head = _HEAD.match(text, position)
    if head is None:
        raise _misread(text)
    if head[2] not in FAMILIES:
        raise InvalidMechanism(
            f"no family of priors is called {head[2][:40]}; there are {', '.join(FAMILIES)}"
        )
    shown, family = FAMILIES[head[2]]
    try:
        arguments, position = _arguments(text, head.end())
        share = float(head[1] or 0)
    except (ValueError, RecursionError):
        raise _misread(text) from None
    try:
        return share, family(*arguments), position
    except TypeError:
        raise InvalidMechanism(f"the prior {head[2]} is written {head[2]}({shown})") from None


def _arguments(text: str, position: int) -> tuple[list[Any], int]:
    found = []
    while True:
        value, position = _DECODER.raw_decode(text, _SPACE.match(text, position).end())  # type: ignore[union-attr]
        found.append(value)
        after = _NEXT.match(text, position)
        if after is None:
            raise ValueError("no comma and no parenthesis")
        position = after.end()
        if after[1] == ")":
            return found, position


def _misread(text: str) -> InvalidMechanism:
    shown = text if len(text) <= 60 else f"{text[:60]}..."
    return InvalidMechanism(
        f'a prior is written like normal(44, 6) or nominal(["F", "M"], [0.3, 0.7]), not {shown}'
    )
