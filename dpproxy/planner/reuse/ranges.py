"""A question about a range of one term, as a walk over the borders of ranges that were released.

A release of the rows with a term from a to b is a step between two borders: forwards it is added, backwards taken away.
So rows from a to c are those from a to b and from b to c, or those from a to d without those from c to d. Each walk
between the question's own borders answers it; what is released is only looked at through its conditions.
Proof: ``ranges.md``.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from heapq import heappop, heappush

from dpproxy.planner.reuse.known import Unknown, constants
from dpproxy.planner.reuse.terms import Term, constant_kind

MOST_STEPS = 32
"""Of a walk."""
Conditions = Sequence[Term]
Step = tuple[int, int]
"""The number of a release, and 1 or -1: added or taken away."""


def walk(asked: Conditions, released: Sequence[Conditions], costs: Sequence[float]) -> list[Step] | None:
    """The steps of least cost that give the rows under ``asked``; None where there are none."""
    found = [
        (cost, steps)
        for term in dict.fromkeys(t for conditions in (asked, *released) for t in _terms(conditions))
        for cost, steps in _walks(term, asked, released, costs)
    ]
    return min(found, default=(0.0, None))[1]


def _walks(
    term: Term, asked: Conditions, released: Sequence[Conditions], costs: Sequence[float]
) -> Iterator[tuple[float, list[Step]]]:
    """The walk over the borders of one term, where it is the only one that conditions differ in."""
    own, rest = _split(asked, term)
    apart = [_split(conditions, term) for conditions in released]
    usable = {n: about for n, (about, others) in enumerate(apart) if others == rest}
    compared = [value for about in (own, *usable.values()) for c in about for value in constants(c)]
    if not compared or len({type(value) for value in compared}) > 1:
        return
    if type(compared[0]) not in (int, date, datetime):
        return
    ordered = sorted(set(compared))  # type: ignore[type-var]
    ranks = {value: 2 * place + 1 for place, value in enumerate(ordered)}
    places = [None, *range(2 * len(ordered) + 1)]
    with suppress(Unknown):
        ends = _ends(own, term, ranks, places)
        steps = {n: step for n, about in usable.items() if (step := _known(about, term, ranks, places))}
        found = None if ends is None else _least(ends, steps, costs)
        if found is not None:
            yield found


def _known(
    about: Conditions, term: Term, ranks: Mapping[object, int], places: Sequence[int | None]
) -> tuple[int, int] | None:
    with suppress(Unknown):
        return _ends(about, term, ranks, places)
    return None


def _ends(
    about: Conditions, term: Term, ranks: Mapping[object, int], places: Sequence[int | None]
) -> tuple[int, int] | None:
    """The borders of a range: the places between them satisfy all conditions. None where it is no range."""
    inside = [all(_holds(c, term, place, ranks) is True for c in about) for place in places]
    if True not in inside:
        return None
    first = inside.index(True)
    last = len(inside) - inside[::-1].index(True)
    return (first, last) if all(inside[first:last]) else None


def _least(
    ends: tuple[int, int], steps: Mapping[int, tuple[int, int]], costs: Sequence[float]
) -> tuple[float, list[Step]] | None:
    """The walk of least cost from one border to another (Dijkstra, 1959)."""
    start, goal = ends
    waiting: list[tuple[float, int, list[Step]]] = [(0.0, start, [])]
    seen: set[int] = set()
    while waiting:
        cost, at, taken = heappop(waiting)
        if at == goal:
            return cost, taken
        if at in seen or len(taken) == MOST_STEPS:
            continue
        seen.add(at)
        for number, (low, high) in steps.items():
            if at in (low, high):
                forwards = at == low
                step = [*taken, (number, 1 if forwards else -1)]
                heappush(waiting, (cost + costs[number], high if forwards else low, step))
    return None


def _split(conditions: Conditions, term: Term) -> tuple[list[Term], set[Term]]:
    """Those about the term alone, and the others."""
    own = [c for c in conditions if set(_operands(c)) == {term}]
    return own, {c for c in conditions if c not in own}


def _terms(conditions: Conditions) -> Iterator[Term]:
    for condition in conditions:
        yield from _operands(condition)


def _operands(found: Term) -> Iterator[Term]:
    """What is compared with constants; what no rule is for is its own operand."""
    if found[0] in ("and", "or", "not"):
        for part in found[1:]:
            yield from _operands(part)
    elif found[0] in ("lt", "le", "eq", "ne", "in", "not in", "is null"):
        yield from (part for part in found[1:] if constant_kind(part) is None)
    else:
        yield found


def _holds(found: Term, term: Term, place: int | None, ranks: Mapping[object, int]) -> bool | None:
    """A condition where the term is at a place among the constants, three-valued; None is NULL. Raises ``Unknown``."""
    match found[0]:
        case "and" | "or":
            values = [_holds(part, term, place, ranks) for part in found[1:]]
            decisive = found[0] == "or"
            return decisive if decisive in values else None if None in values else not decisive
        case "not":
            inner = _holds(found[1], term, place, ranks)
            return None if inner is None else not inner
        case "is null" if found[1] == term:
            return place is None
        case "in" | "not in" if found[1] == term:
            among = [_rank(part, term, place, ranks) for part in found[2:]]
            return None if place is None else (place in among) is (found[0] == "in")
        case "lt" | "le" | "eq" | "ne":
            left, right = (_rank(part, term, place, ranks) for part in found[1:3])
            if left is None or right is None:
                return None
            return {"lt": left < right, "le": left <= right, "eq": left == right, "ne": left != right}[
                found[0]
            ]
        case _:
            raise Unknown


def _rank(found: Term, term: Term, place: int | None, ranks: Mapping[object, int]) -> int | None:
    if found == term:
        return place
    values = list(constants(found)) if constant_kind(found) is not None else []
    if len(values) != 1 or values[0] not in ranks:
        raise Unknown
    return ranks[values[0]]
