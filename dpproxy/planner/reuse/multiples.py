"""A sum as so many of each measure that is known: sum(x) of the distances from a middle, and so many middles.

What is added up is taken apart as well: sum(2 * x + 1) is two sums and a count of x. Of two columns that is so only
where neither can be NULL.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache

from dpproxy.planner.reuse.filtered import wordings
from dpproxy.planner.reuse.known import Unknown, value_of
from dpproxy.planner.reuse.terms import Term, constant_kind

STAR: Term = ("call", "count", False, (("star",),), ())
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


def figures(measures: Sequence[Term]) -> tuple[tuple[Term, ...], list[tuple[int, ...]]] | None:
    """The single sums and counts that measures are made of, and how often each measure takes each of them."""
    each = [_multiples(measure) for measure in measures]
    found = [of for of in each if of is not None]
    calls = tuple(dict.fromkeys(call for of in found for call in of))
    return None if len(found) < len(each) else (calls, [tuple(of.get(c, 0) for c in calls) for of in found])


@lru_cache(maxsize=4096)
def _weights(measure: Term, known: tuple[Term, ...], *, together: bool) -> Weights | None:
    if measure in known:
        return tuple(Fraction(int(place == known.index(measure))) for place in range(len(known)))
    wanted = _multiples(measure)
    several = [_multiples(of) or {} for of in known]
    if wanted is None:
        return None
    calls = list(dict.fromkeys(call for each in (wanted, *several) for call in each))
    rows = [tuple(Fraction(each.get(call, 0)) for call in calls) for each in several]
    found = coefficients(rows, tuple(Fraction(wanted.get(call, 0)) for call in calls))
    if together or _is_call(measure) or found is None or sum(map(bool, found)) == 1:
        return found
    return None


@lru_cache(maxsize=4096)
def _multiples(measure: Term) -> dict[Term, int] | None:
    """So many of each sum and count, of whole numbers; None for all else."""
    found: dict[Term, int] = {}
    try:
        for call, times in _added(measure, 1):
            found[call] = found.get(call, 0) + times
    except Unknown:
        return None
    return {call: times for call, times in found.items() if times} or None


def _is_call(measure: Term) -> bool:
    """Whether it is one figure of its own, of which nothing else is made."""
    return measure[0] == "call" or (measure[0] == "cast" and _is_call(measure[3]))


def _added(found: Term, times: int) -> Iterator[tuple[Term, int]]:
    """The sums and counts of single values that a measure has, and how often."""
    match found:
        case ("cast", "INT128" | "BIGINT", False, of):
            yield from _added(of, times)
        case ("add" | "-" | "mul", *_):
            for side, several in _sides(found, times):
                yield from _added(side, several)
        case ("call", "sum", False, (of,), ()):
            yield from ((call, times * n) for call, n in _summed(of).items())
        case ("call", "count", False, (of,), ()):
            parts = _parts_or_whole(of)
            values = [value for value in parts if value is not None]
            yield _call("count", values[0] if len(values) == 1 else of), times
        case _:
            raise Unknown


def _sides(found: Term, times: int) -> tuple[tuple[Term, int], ...]:
    """What a sum or a multiple is of, and how often each."""
    name, left, right = found
    if name != "mul":
        return (left, times), (right, times if name == "add" else -times)
    of, factor = (left, right) if constant_kind(left) is None else (right, left)
    return ((of, times * _whole(factor)),)


def _summed(of: Term) -> dict[Term, int]:
    """What a sum adds up, taken apart."""
    present, held = _held(of)
    parts = _parts_or_whole(held)
    values = [value for value in parts if value is not None]
    if len(values) != 1 and not (present and values):
        return {_call("sum", _bare(held)): 1}
    found = {_call("sum", value): parts[value] for value in values}
    if None in parts:
        found[STAR if present else _call("count", values[0])] = parts[None]
    return {call: times for call, times in found.items() if times}


def _call(name: str, of: Term) -> Term:
    as_whole = of if name == "count" else ("cast", "BIGINT", False, of)
    return ("call", name, False, (as_whole,), ())


def _held(of: Term) -> tuple[bool, Term]:
    """Whether it is never NULL, and what it is."""
    match of:
        case ("cast", "BIGINT", False, ("present", held)):
            return True, held
        case _:
            return False, of


def _bare(of: Term) -> Term:
    """Without casts to whole numbers."""
    match of:
        case ("cast", "INT128" | "BIGINT", False, inner):
            return _bare(inner)
        case _:
            return of


def _parts_or_whole(of: Term) -> dict[Term | None, int]:
    found: dict[Term | None, int] = {}
    with suppress(Unknown):
        for value, times in _parts(of, 1):
            found[value] = found.get(value, 0) + times
        return found
    return {_bare(of): 1}


def _parts(of: Term, times: int) -> Iterator[tuple[Term | None, int]]:
    """The values of which a value is the sum, and how often; None is 1. All are cast to whole numbers."""
    match of:
        case ("cast", "INT128" | "BIGINT", False, inner) if _bare(inner)[0] in _LINEAR:
            yield from _parts(inner, times)
        case ("add" | "-" | "mul", *_):
            for side, several in _sides(of, times):
                yield from _parts(side, several)
        case ("neg", inner) if constant_kind(inner) is None:
            yield from _parts(inner, -times)
        case _ if constant_kind(of) is not None:
            yield None, times * _whole(of)
        case ("cast", "INT128" | "BIGINT", False, inner):
            yield _bare(inner), times
        case _:
            raise Unknown


_LINEAR = frozenset({"add", "-", "mul", "neg"})


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
