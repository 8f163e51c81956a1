"""A sum as so many of each measure that is known: sum(x) of the distances from a middle, and so many middles."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache

from dpproxy.planner.reuse.filtered import wordings
from dpproxy.planner.reuse.known import Unknown, value_of
from dpproxy.planner.reuse.terms import Term, constant_kind

Weights = tuple[Fraction, ...]
"""How often a sum takes each of some measures."""


def taken(
    measure: Term, known: tuple[Term, ...], *, together: bool = False
) -> tuple[Weights, tuple[Term, ...]] | None:
    """How often a measure takes each known one, under which further conditions; None where these do not give it.

    What is computed of several sums may take several known ones only ``together``: where it is read beside one of
    these, both have noise in common.
    """
    found = ((_weights(bare, known, together=together), more) for bare, more in wordings(measure))
    return next(((weights, more) for weights, more in found if weights is not None), None)


@lru_cache(maxsize=4096)
def _weights(measure: Term, known: tuple[Term, ...], *, together: bool) -> Weights | None:
    if measure in known:
        return tuple(Fraction(int(place == known.index(measure))) for place in range(len(known)))
    wanted = _multiples(measure)
    several = [_multiples(of) or {} for of in known]
    if wanted is None or (len(wanted) > 1 and not together):
        return None
    calls = list(dict.fromkeys(call for each in (wanted, *several) for call in each))
    figures = [tuple(Fraction(each.get(call, 0)) for call in calls) for each in several]
    return coefficients(figures, tuple(Fraction(wanted.get(call, 0)) for call in calls))


@lru_cache(maxsize=4096)
def _multiples(measure: Term) -> dict[Term, int] | None:
    """So many of each sum and count, of whole numbers; None for all else."""
    found: dict[Term, int] = {}
    with suppress(Unknown):
        for call, times in _added(measure, 1):
            found[call] = found.get(call, 0) + times
        return found
    return None


def _added(found: Term, times: int) -> Iterator[tuple[Term, int]]:
    match found:
        case ("cast", "INT128" | "BIGINT", False, of):
            yield from _added(of, times)
        case ("add" | "-", left, right):
            yield from _added(left, times)
            yield from _added(right, times if found[0] == "add" else -times)
        case ("mul", left, right):
            of, factor = (left, right) if constant_kind(left) is None else (right, left)
            yield from _added(of, times * _whole(factor))
        case ("call", "sum" | "count", False, _, ()):
            yield found, times
        case _:
            raise Unknown


def _whole(found: Term) -> int:
    match found:
        case ("cast", "INT128", False, of):
            return _whole(of)
        case _:
            value = value_of(found, {})
    if type(value) is not int:
        raise Unknown
    return value


def coefficients(figures: Sequence[Weights], wanted: Weights) -> tuple[Fraction, ...] | None:
    """How often each figure is taken for a sum of measures; None where they do not give it."""
    rows = [[*(f[m] for f in figures), wanted[m]] for m in range(len(wanted))]
    solved: list[tuple[int, list[Fraction]]] = []
    for column in range(len(figures)):
        pivot = next((r for r in rows if r[column]), None)
        if pivot is None:
            continue
        rows = [r for r in rows if r is not pivot]
        pivot = [v / pivot[column] for v in pivot]
        rows = [_less(r, pivot, column) for r in rows]
        solved = [(place, _less(r, pivot, column)) for place, r in solved] + [(column, pivot)]
    if any(r[-1] for r in rows):
        return None
    found = {place: r[-1] for place, r in solved}
    return tuple(found.get(place, Fraction(0)) for place in range(len(figures)))


def _less(row: list[Fraction], pivot: list[Fraction], column: int) -> list[Fraction]:
    return [v - row[column] * p for v, p in zip(row, pivot, strict=True)]
