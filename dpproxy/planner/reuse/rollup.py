"""What else a release of sums answers: the same sums in another order, some of them, and sums over its groups.

Groups may be added up where every row of the coarser group is in one of them: where the key left out is whole, or the
conditions leave no row without one of its declared values. Further conditions may be taken over the groups themselves
where they are about keys alone, or end where units of the calendar do. Quarters follow from months, years from both.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal
from itertools import chain
from operator import is_
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.algebra.plan import Rest
from dpproxy.planner.reuse.descriptor import Descriptor
from dpproxy.planner.reuse.known import (
    NOT_TRUE,
    OTHER,
    Known,
    Unknown,
    argument_of,
    as_key,
    constants,
    part_of,
    value_of,
)
from dpproxy.planner.reuse.multiples import Weights, taken
from dpproxy.planner.reuse.spans import Span, gaps, span_of, unit_of
from dpproxy.planner.reuse.terms import Term, constant_kind
from dpproxy.policy.model import Scalar

Row = tuple[Scalar | None, ...]
"""The values of a group's keys."""
Typed = tuple[tuple[object, ...], tuple[type, ...]]


Multiples = tuple[tuple[int, int], ...]
"""Columns of a release by their places, and how often each is taken."""


class Derivation(Struct, frozen=True):
    """How an answer is made of a release: its columns, and for each group the places of those that are added up.

    ``columns`` has, of each column, those that it takes of the release, and how often. ``places`` are those of each
    kind of column: FILTER takes its own. ``kinds`` says of each column which it is of.
    """

    columns: tuple[Multiples, ...]
    kinds: tuple[int, ...]
    places: tuple[tuple[tuple[int, ...], ...], ...]

    @property
    def most(self) -> int:
        """The most groups that one sum adds up."""
        return max((len(p) for places in self.places for p in places), default=1)

    @property
    def terms(self) -> list[list[int]]:
        """How many groups each column of each row adds up."""
        return [[len(several[kind]) for kind in self.kinds] for several in zip(*self.places, strict=True)]

    def added(self, released: Sequence[Sequence[int]]) -> list[list[int]]:
        """The columns of each row, of those of the release."""
        return [
            [
                sum(times * released[p][c] for p in several[kind] for c, times in column)
                for column, kind in zip(self.columns, self.kinds, strict=True)
            ]
            for several in zip(*self.places, strict=True)
        ]


def could_follow(stored: Descriptor, asked: Descriptor) -> bool:
    """Whether the rows, keys and sums leave it possible; false for most."""
    return (
        stored.rows == asked.rows and within(stored.conditions, asked.conditions) and has_sums(stored, asked)
    )


def has_sums(stored: Descriptor, asked: Descriptor) -> bool:
    """Whether keys and sums leave it possible, were the rows the same."""
    return all(_reads_only(key, stored.keys) for key in asked.keys) and all(
        taken(m, stored.measures, together=True) is not None for m in asked.measures
    )


def within(some: Sequence[Term], others: Sequence[Term]) -> bool:
    """Without sets: two terms are told apart sooner than one is hashed, and one that is missing ends it."""
    return not any(term not in others for term in some)


def _reads_only(found: Term, keys: Sequence[Term]) -> bool:
    """Whether a term has no columns but in keys, or in units of the calendar of what one is of."""
    part = part_of(found)
    if (
        found in keys
        or as_key(found) in keys
        or (part is not None and any(part[1] in (argument_of(k), k) for k in keys))
    ):
        return True
    if found[0] in ("column", "of"):
        return False
    return all(_reads_only(part, keys) for part in found if isinstance(part, tuple) and part)


def derivation(
    stored: Descriptor, groups: Sequence[Row], asked: Descriptor, wanted: Sequence[Row]
) -> Derivation | None:
    """How the asked groups follow from the stored ones; None where they do not."""
    if not could_follow(stored, asked):
        return None
    ways = (taken(m, stored.measures, together=True) for m in asked.measures)
    known = [found for found in ways if found is not None]
    kinds = list(dict.fromkeys(more for _, more in known))
    several = [
        _groups(stored, groups, replace(asked, conditions=(*asked.conditions, *more)), wanted)
        for more in kinds
    ]
    places = tuple(p for p in several if p is not None)
    if len(places) < len(kinds):
        return None
    columns = _columns([weights for weights, _ in known], stored.measures)
    if columns is None:
        return None
    made = Derivation(columns, tuple(kinds.index(more) for _, more in known), places)
    return made if made.most == 1 or all(map(adds_up, asked.measures)) else None


def _groups(
    stored: Descriptor, groups: Sequence[Row], asked: Descriptor, wanted: Sequence[Row]
) -> tuple[tuple[int, ...], ...] | None:
    """The places of the stored groups that each wanted one has; None where it is not made of them."""
    left_out = [i for i, key in enumerate(stored.keys) if key not in asked.keys]
    if not all(_covered(stored, i, {g[i] for g in groups}, asked, wanted) for i in left_out):
        return None
    further = [c for c in asked.conditions if c not in stored.conditions]
    if not further and asked.keys == stored.keys and _are_alike(groups, wanted):  # there may be very many
        return tuple((place,) for place in range(len(wanted)))
    members = _members(stored, groups, asked, further)
    places = [None] if members is None else [members.get(typed(row)) for row in wanted]
    if any(p is None for p in places):
        return None
    return tuple(tuple(p or ()) for p in places)


def _members(
    stored: Descriptor, groups: Sequence[Row], asked: Descriptor, further: Sequence[Term]
) -> dict[Typed, list[int]] | None:
    """The places of the stored groups in each asked one, if they satisfy further conditions; None where unknown."""
    at = {key: place for place, key in enumerate(stored.keys)}
    own = [at[key] for key in asked.keys if key in at]
    members: dict[Typed, list[int]] = {}
    if not further and len(own) == len(asked.keys):  # there may be very many
        for place, group in enumerate(groups):
            members.setdefault(typed([group[p] for p in own]), []).append(place)
    else:
        try:
            for place, group in enumerate(groups):
                known = _known(stored.keys, group)
                passes = all(value_of(c, known) is True for c in further)
                several = members.setdefault(typed([_key(key, known) for key in asked.keys]), [])
                if passes:
                    several.append(place)
        except Unknown:
            return None
    return members


def _are_alike(some: Sequence[Row], others: Sequence[Row]) -> bool:
    """Whether rows are the same in the same order, by type, too: True is not 1."""
    return list(some) == list(others) and all(
        map(is_, map(type, chain.from_iterable(some)), map(type, chain.from_iterable(others)))
    )


def _key(key: Term, known: Known) -> object:
    """The value of a key. Raises ``Unknown`` where only part of it is known."""
    value = value_of(key, known)
    if isinstance(value, Span) or value is NOT_TRUE:
        raise Unknown
    return value


def adds_up(measure: Term) -> bool:
    """Whether the measure of disjoint rows together is the sum of theirs."""
    match measure:
        case ("cast", _, _, of):
            return adds_up(of)
        case ("add", left, right):
            return adds_up(left) and adds_up(right)
        case ("-", left, right):
            return adds_up(left) and adds_up(right)
        case ("mul", left, right):
            return (_is_number(left) and adds_up(right)) or (adds_up(left) and _is_number(right))
        case ("call", "sum" | "count", False, *_):
            return True
        case _:
            return False


def _is_number(found: Term) -> bool:
    return constant_kind(found) is not None


class _Kinds(dict[type, type]):
    """Types by which values are told apart."""

    def __missing__(self, kind: type) -> type:
        found = self[kind] = int if issubclass(kind, Decimal) else kind
        return found


_KINDS: Final = _Kinds()


def typed(values: Iterable[object]) -> Typed:
    """Told apart by type, too: True is not 1. Whole numbers are alike in whatever type they come."""
    several = tuple(values)
    return several, tuple(map(_KINDS.__getitem__, map(type, several)))


def _columns(wanted: Sequence[Weights], among: Sequence[Term]) -> tuple[Multiples, ...] | None:
    """The multiples of each wanted sum; one that stands there as often as it is wanted is taken once each time.

    None where one takes a part of a column.
    """
    found: list[Multiples] = []
    for weights in wanted:
        if any(w.denominator > 1 for w in weights):
            return None
        each: Multiples = tuple((place, int(w)) for place, w in enumerate(weights) if w)
        if len(each) == 1:
            [(first, times)] = each
            alike = [((place, times),) for place, of in enumerate(among) if of == among[first]]
            each = next((one for one in alike if one not in found), each)
        found.append(each)
    return tuple(found)


def _known(keys: Sequence[Term], group: Row) -> Known:
    """The keys of a group, and the spans that what they are of is in."""
    known: Known = dict(zip(keys, group, strict=True))
    for key, value in zip(keys, group, strict=True):
        found = span_of(key, value)
        if found is not None:
            known.setdefault(*found)
    return known


def _covered(
    stored: Descriptor, place: int, declared: set[Scalar | None], asked: Descriptor, wanted: Sequence[Row]
) -> bool:
    """Whether every row of a wanted group that satisfies the conditions has a declared value of this key."""
    key, rest = stored.keys[place], stored.rests[place]
    return rest is not None and all(
        any(_rejects(c, known) for c in asked.conditions) or _is_unwanted(known, asked, wanted)
        for known in outside(key, argument_of(key), declared, rest, (*asked.conditions, *asked.keys))
    )


def outside(
    key: Term, of: Term, values: Collection[Scalar | None], rest: Rest, beside: Iterable[Term]
) -> Iterator[Known]:
    """What is known of rows that have no declared value of a key: NULL, each gap between units of the calendar, others.

    What is written beside the key, in conditions or in other keys, is looked at one by one.
    """
    if rest == "none":
        return
    if None not in values:
        yield {key: None, of: None}
    if rest == "null":
        return
    listed = [v for v in values if v is not None]
    if unit_of(key) is not None or all(type(v) is date for v in listed):
        spans = [span for v in listed if (span := _span(key, v)) is not None]
        for gap in gaps(spans):
            yield {of: gap}
        return
    kinds = {type(v) for v in listed}
    written = dict.fromkeys(c for each in beside for c in constants(each) if type(c) in kinds)
    others = (True, False) if kinds == {bool} else (OTHER, *written)
    yield from ({key: v} for v in others if v not in values)


def _span(key: Term, value: object) -> Span | None:
    """What is known from a key's value of what it is of: of a day itself, that day."""
    found = span_of(key if unit_of(key) is not None else ("cast", "DATE", False, key), value)
    return None if found is None else found[1]


def _is_unwanted(known: Known, asked: Descriptor, wanted: Sequence[Row]) -> bool:
    """Whether rows of which so much is known are in no wanted group."""
    for place, key in enumerate(asked.keys):
        with suppress(Unknown):
            value = _key(key, known)
            if value is not OTHER and typed([value]) not in {typed([row[place]]) for row in wanted}:
                return True
        found = unit_of(key)
        if found is None or found[1] not in known:
            continue
        inside, values = known[found[1]], {row[place] for row in wanted}
        spans = [_span(key, v) for v in values if v is not None]
        if isinstance(inside, Span) and all(s is not None and not s.meets(inside) for s in spans):
            return True
    return False


def _rejects(condition: Term, known: Known) -> bool:
    try:
        return value_of(condition, known) is not True
    except Unknown:
        return False
