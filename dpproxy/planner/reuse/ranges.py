"""A question about a range of one term, as a walk over the borders of ranges that were released.

A release of the rows with a term from a to b is a step between two borders: forwards it is added, backwards taken away.
So rows from a to c are those from a to b and from b to c, or those from a to d without those from c to d. Each walk
between the question's own borders answers it; what is released is only looked at through its conditions. Where one
condition has no range, all rows without those that it leaves out may be released: some groups, or under another one.
Proof: ``ranges.md``.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import lru_cache
from heapq import heappop, heappush
from itertools import combinations
from operator import eq, le, lt, ne
from typing import TypeVar

from msgspec import Struct

from dpproxy.planner.reuse.known import Unknown, constants
from dpproxy.planner.reuse.terms import Term, conjunction, constant_kind, negated

K = TypeVar("K")
MOST_STEPS = 32
"""Of a walk."""
MOST_SIDES = 3
"""Of an OR whose sides are added up."""
Conditions = Sequence[Term]
Step = tuple[int, int]
"""The number of a release, and 1 or -1: added or taken away."""
COMPARED = frozenset({int, date, datetime})
"""The types of constants that are put in order; of one question and what answers it one alone."""
_ORDER: Mapping[str, Callable[..., bool]] = {"lt": lt, "le": le, "eq": eq, "ne": ne}
_COMPARISONS = frozenset({*_ORDER, "in", "not in"})
START, LEAST, BEFORE, AFTER, END = range(5)
Border = tuple[int, object]
"""START is before NULL, LEAST behind it, BEFORE and AFTER are beside a constant, END is behind all values."""


class Range(Struct, frozen=True):
    """What conditions say of one term: the types of their constants, and two borders; None where it is no range."""

    kinds: frozenset[type]
    ends: tuple[Border, Border] | None


WHOLE = Range(frozenset(), ((START, None), (END, None)))


class _Lines(Struct, frozen=True):
    """All conditions, and by term the conditions that are not about it alone with what the others say of it."""

    conditions: frozenset[Term]
    terms: Mapping[Term, tuple[frozenset[Term], Range]]


class ConditionIndex:
    """Releases of the same rows by their conditions, each under a number: a question looks at those of use alone."""

    def __init__(self) -> None:
        self._conditions: dict[int, tuple[Term, ...]] = {}
        self._alike: dict[frozenset[Term], set[int]] = {}
        self._first: dict[Term | None, set[int]] = {}
        self._about: dict[frozenset[Term], dict[Term, dict[int, Range]]] = {}
        """By the conditions that are not about a term, and the term."""

    def add(self, number: int, conditions: Conditions) -> None:
        """Put a release in."""
        own = self._conditions[number] = tuple(conditions)
        lines = _lines(own)
        self._alike.setdefault(lines.conditions, set()).add(number)
        self._first.setdefault(next(iter(own), None), set()).add(number)
        for term, (rest, about) in lines.terms.items():
            self._about.setdefault(rest, {}).setdefault(term, {})[number] = about

    def remove(self, number: int) -> None:
        """Take a release out."""
        own = self._conditions.pop(number)
        lines = _lines(own)
        _drop(self._alike, lines.conditions, number)
        _drop(self._first, next(iter(own), None), number)
        for term, (rest, _) in lines.terms.items():
            terms = self._about[rest]
            terms[term].pop(number)
            if not terms[term]:
                del terms[term]
            if not terms:
                del self._about[rest]

    def within(self, conditions: Conditions) -> list[int]:
        """The releases that have no other conditions than these, in the order of their numbers."""
        found = [self._first.get(each, ()) for each in (None, *dict.fromkeys(conditions))]
        return sorted(
            n for several in found for n in several if all(c in conditions for c in self._conditions[n])
        )

    def walk(self, asked: Conditions, cost: Callable[[int], float | None]) -> list[Step] | None:
        """The steps of least cost that give the rows under ``asked``; None where there are none.

        A release whose cost is None is not taken.
        """
        own = _lines(tuple(asked))
        found: list[tuple[float, list[Step]]] = []
        for term in dict.fromkeys((*own.terms, *self._about.get(own.conditions, ()))):
            rest, wanted = own.terms.get(term, (own.conditions, WHOLE))
            if wanted.ends is None or not wanted.kinds <= COMPARED:
                continue
            released = {**self._about.get(rest, {}).get(term, {})}
            released |= dict.fromkeys(self._alike.get(rest, set()) - released.keys(), WHOLE)
            steps = {
                n: of.ends
                for n, of in sorted(released.items())
                if of.ends is not None and of.kinds <= (wanted.kinds or COMPARED)
            }
            costs = {n: each for n in steps if (each := cost(n)) is not None}
            kinds = wanted.kinds.union(*(released[n].kinds for n in costs))
            if len(kinds) == 1:
                found += _least(wanted.ends, {n: steps[n] for n in costs}, costs)
        return min(found, default=(0.0, None))[1]


def _drop(places: dict[K, set[int]], key: K, number: int) -> None:
    places[key].discard(number)
    if not places[key]:
        del places[key]


def remainders(asked: Conditions) -> Iterator[tuple[tuple[Conditions, int], ...]]:
    """Conditions of rows that are added or taken away, with 1 or -1: more rows, and those that the question leaves out.

    One condition is undone each time. Rows where it is NULL are left out of more rows as well, or are among those that
    the question leaves out.
    """
    for condition in asked:
        rest = tuple(c for c in asked if c != condition)
        for out in _untrue(condition):
            yield (rest, 1), ((*rest, out), -1)
        terms = set(_operands(condition))
        if condition[0] in _COMPARISONS and len(terms) == 1:
            yield ((*rest, ("not", ("is null", terms.pop()))), 1), ((*rest, negated(condition)), -1)
    yield from either(asked)


def either(asked: Conditions) -> Iterator[tuple[tuple[Conditions, int], ...]]:
    """Of a condition with OR, rows of each side are added, those of both taken away, as ``remainders`` has it."""
    for condition in asked:
        if condition[0] == "or" and len(condition) - 1 <= MOST_SIDES:
            sides, rest = condition[1:], tuple(c for c in asked if c != condition)
            some = (several for n in range(len(sides)) for several in combinations(sides, n + 1))
            yield tuple((conjunction((*rest, *several)), -((-1) ** len(several))) for several in some)


def _untrue(condition: Term) -> Iterator[Term]:
    """What holds where a condition is false or NULL: as groups are asked for it, and as it may have been asked."""
    yield ("untrue", condition)
    match condition:
        case ("differs", left, right) if (constant_kind(left) is None) != (constant_kind(right) is None):
            yield ("eq", left, right)
        case ("or", ("is null", term), ("ne" | "not in", *_) as other) if set(_operands(other)) == {term}:
            yield negated(other)
        case ("is null", _):
            yield ("not", condition)
        case ("not", ("is null", _)):
            yield condition[1]
        case _:
            pass


@lru_cache(maxsize=4096)
def _lines(conditions: tuple[Term, ...]) -> _Lines:
    """What conditions say of each term that some of them are about alone; the same for every question."""
    terms = {}
    for term in dict.fromkeys(_terms(conditions)):
        own, rest = _split(conditions, term)
        if own:
            terms[term] = rest, _range(own, term)
    return _Lines(frozenset(conditions), terms)


def _range(about: Conditions, term: Term) -> Range:
    """The borders of a range: the places between them satisfy all conditions."""
    compared = {value for c in about for value in constants(c)}
    kinds = frozenset(map(type, compared))
    if len(kinds) > 1 or not kinds <= COMPARED:
        return Range(kinds, None)
    ordered = sorted(compared)  # type: ignore[type-var]
    ranks = {value: 2 * place + 1 for place, value in enumerate(ordered)}
    places = [None, *range(2 * len(ordered) + 1)]
    try:
        tests = [_holds(c, term, ranks) for c in about]
    except Unknown:
        return Range(kinds, None)
    inside = [all(test(place) is True for test in tests) for place in places]
    if True not in inside:
        return Range(kinds, None)
    borders: list[Border] = [(START, None), (LEAST, None)]
    borders += [(side, value) for value in ordered for side in (BEFORE, AFTER)]
    borders.append((END, None))
    first, last = inside.index(True), len(inside) - inside[::-1].index(True)
    return Range(kinds, (borders[first], borders[last]) if all(inside[first:last]) else None)


def _least(
    ends: tuple[Border, Border], steps: Mapping[int, tuple[Border, Border]], costs: Mapping[int, float]
) -> Iterator[tuple[float, list[Step]]]:
    """The walk of least cost from one border to another (Dijkstra, 1959), where there is one."""
    if not all(any(end in step for step in steps.values()) for end in ends):
        return
    leaving: dict[Border, list[tuple[Step, Border]]] = {}
    for number, (low, high) in steps.items():
        leaving.setdefault(low, []).append(((number, 1), high))
        leaving.setdefault(high, []).append(((number, -1), low))
    start, goal = ends
    waiting: list[tuple[float, list[Step], Border]] = [(0.0, [], start)]
    seen: set[Border] = set()
    while waiting:
        cost, taken, at = heappop(waiting)
        if at == goal:
            yield cost, taken
            return
        if at in seen or len(taken) == MOST_STEPS:
            continue
        seen.add(at)
        for step, other in leaving.get(at, ()):
            heappush(waiting, (cost + costs[step[0]], [*taken, step], other))


def _split(conditions: Conditions, term: Term) -> tuple[list[Term], frozenset[Term]]:
    """Those about the term alone, and the others."""
    own = [c for c in conditions if set(_operands(c)) == {term}]
    return own, frozenset(c for c in conditions if c not in own)


def _terms(conditions: Conditions) -> Iterator[Term]:
    for condition in conditions:
        yield from _operands(condition)


def _operands(found: Term) -> Iterator[Term]:
    """What is compared with constants; what no rule is for is its own operand."""
    if found[0] in ("and", "or", "not"):
        for part in found[1:]:
            yield from _operands(part)
    elif found[0] in _COMPARISONS or found[0] == "is null":
        yield from (part for part in found[1:] if constant_kind(part) is None)
    else:
        yield found


_Holds = Callable[[int | None], bool | None]
"""Whether a condition holds where the term is at a place among the constants, three-valued; None is NULL."""


def _holds(found: Term, term: Term, ranks: Mapping[object, int]) -> _Holds:
    """Made once for all places: a list may have thousands of values. Raises ``Unknown``."""
    match found[0]:
        case "and" | "or":
            return _of_several([_holds(part, term, ranks) for part in found[1:]], decisive=found[0] == "or")
        case "not":
            return _opposite(_holds(found[1], term, ranks))
        case "is null" if found[1] == term:
            return lambda place: place is None
        case "in" | "not in" if found[1] == term:
            is_itself, wanted = term in found[2:], found[0] == "in"
            among = {_rank(part, ranks) for part in found[2:] if part != term}
            return lambda place: None if place is None else (is_itself or place in among) is wanted
        case "lt" | "le" | "eq" | "ne":
            return _compared(found, term, ranks)
        case _:
            raise Unknown


def _compared(found: Term, term: Term, ranks: Mapping[object, int]) -> _Holds:
    left, right = (None if part == term else _rank(part, ranks) for part in found[1:3])
    compared, reads = _ORDER[found[0]], left is None or right is None

    def holds(place: int | None) -> bool | None:
        if place is None:
            return None if reads else compared(left, right)
        return compared(place if left is None else left, place if right is None else right)

    return holds


def _of_several(parts: Sequence[_Holds], *, decisive: bool) -> _Holds:
    def holds(place: int | None) -> bool | None:
        values = [part(place) for part in parts]
        return decisive if decisive in values else None if None in values else not decisive

    return holds


def _opposite(inner: _Holds) -> _Holds:
    def holds(place: int | None) -> bool | None:
        value = inner(place)
        return None if value is None else not value

    return holds


def _rank(found: Term, ranks: Mapping[object, int]) -> int:
    values = list(constants(found)) if constant_kind(found) is not None else []
    if len(values) != 1 or values[0] not in ranks:
        raise Unknown
    return ranks[values[0]]
