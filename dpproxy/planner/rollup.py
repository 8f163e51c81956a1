"""What else a release of sums answers: the same sums in another order, some of them, and sums over its groups.

Groups may be added up where every row of the coarser group is in one of them: where the key left out is whole, or the
conditions leave no row without one of its declared values. Further conditions may be taken over the groups themselves
where they are about keys alone, or end where units of the calendar do. Quarters follow from months, years from both.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache

from dpproxy.planner.descriptor import Descriptor
from dpproxy.planner.spans import Span, beginning, gaps, is_less, span_of, unit_of
from dpproxy.planner.terms import FALSE, NULL, TRUE, Term, constant_kind
from dpproxy.policy.model import Scalar

Row = tuple[Scalar | None, ...]
"""The values of a group's keys."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """How an answer is made of a release: its columns, and for each group the places of those that are added up."""

    columns: tuple[int, ...]
    places: tuple[tuple[int, ...], ...]

    @property
    def most(self) -> int:
        """The most groups that one sum adds up."""
        return max((len(p) for p in self.places), default=1)


def could_follow(stored: Descriptor, asked: Descriptor) -> bool:
    """Whether the rows, keys and sums leave it possible; false for most."""
    return (
        stored.rows == asked.rows
        and _within(stored.conditions, asked.conditions)
        and all(key in stored.keys or _is_coarser(key, stored.keys) for key in asked.keys)
        and _within(asked.measures, stored.measures)
    )


def _within(some: Sequence[Term], others: Sequence[Term]) -> bool:
    """Without sets: two terms are told apart sooner than one is hashed, and one that is missing ends it."""
    return all(term in others for term in some)


def _is_coarser(key: Term, keys: Sequence[Term]) -> bool:
    """Whether a key is a unit of the calendar, or its number, of what a finer key is of."""
    asked = _part_of(key)
    return asked is not None and any(asked[1] in (_argument(k), k) for k in keys)


def _argument(key: Term) -> Term:
    """What a unit of the calendar is of; the key itself where it is none."""
    found = unit_of(key)
    return key if found is None else found[1]


def _part_of(key: Term) -> tuple[str, Term] | None:
    """The unit of a key like date_trunc(unit, x), or extract(unit FROM x), and x."""
    match key:
        case ("cast", "INT128", False, inner):
            return _part_of(inner)
        case ("call", "date_part", False, (("literal", True, str(unit)), of), ()) if unit in _NUMBERS:
            return unit, of
        case _:
            return unit_of(key)


def derivation(
    stored: Descriptor, groups: Sequence[Row], asked: Descriptor, wanted: Sequence[Row]
) -> Derivation | None:
    """How the asked groups follow from the stored ones; None where they do not."""
    if not could_follow(stored, asked):
        return None
    columns = _places(asked.measures, stored.measures)
    if columns is None:
        return None
    left_out = [i for i, key in enumerate(stored.keys) if key not in asked.keys]
    if not all(_covered(stored, i, {g[i] for g in groups}, asked, wanted) for i in left_out):
        return None
    further = [c for c in asked.conditions if c not in stored.conditions]
    members: dict[tuple[tuple[str, object], ...], list[int]] = {}
    try:
        for place, group in enumerate(groups):
            known = _known(stored.keys, group)
            passes = all(_value(c, known) is True for c in further)
            several = members.setdefault(_typed(_value(key, known) for key in asked.keys), [])
            if passes:
                several.append(place)
    except _Unknown:
        return None
    places = [members.get(_typed(row)) for row in wanted]
    if any(p is None for p in places):
        return None
    found = Derivation(columns, tuple(tuple(p or ()) for p in places))
    return found if found.most == 1 or all(map(_adds_up, asked.measures)) else None


def _adds_up(measure: Term) -> bool:
    """Whether the measure of disjoint rows together is the sum of theirs."""
    match measure:
        case ("cast", _, _, of):
            return _adds_up(of)
        case ("add", left, right):
            return _adds_up(left) and _adds_up(right)
        case ("-", left, right):
            return _adds_up(left) and _adds_up(right)
        case ("mul", left, right):
            return (_is_number(left) and _adds_up(right)) or (_adds_up(left) and _is_number(right))
        case ("call", "sum" | "count", False, *_):
            return True
        case _:
            return False


def _is_number(found: Term) -> bool:
    return constant_kind(found) is not None


def _typed(values: Iterable[object]) -> tuple[tuple[str, object], ...]:
    """Told apart by type, too: True is not 1. Whole numbers are alike in whatever type they come."""
    return tuple(("int" if isinstance(v, Decimal) else type(v).__name__, v) for v in values)


def _places(wanted: Sequence[Term], among: Sequence[Term]) -> tuple[int, ...] | None:
    """Where the wanted terms are; one that stands there as often as it is wanted is taken once each time."""
    found: list[int] = []
    for each in wanted:
        places = [i for i, t in enumerate(among) if t == each]
        if not places:
            return None
        found.append(next((i for i in places if i not in found), places[0]))
    return tuple(found)


class _Unknown(Exception):
    """A condition is about more than the keys, or compares what is not compared here."""


class _Other:
    """A value that is neither declared nor written in a condition."""


OTHER = _Other()
UNTOLD = object()
"""The truth of a condition about other columns than those that are known."""
NOT_TRUE = object()
"""False, or NULL."""
Known = dict[Term, object]


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
    if stored.whole[place] is None:
        return False
    if stored.whole[place]:
        return True
    key = stored.keys[place]
    if unit_of(key) is not None or all(type(v) is date for v in declared if v is not None):
        return all(
            any(_rejects(c, known) for c in asked.conditions) or _is_unwanted(known, asked, wanted)
            for known in _outside(key, declared)
        )
    kinds = {type(v) for v in declared}
    written = {c for condition in asked.conditions for c in _constants(condition) if type(c) in kinds}
    outside = [None, OTHER, *written]
    left_out = [v for v in outside if v not in declared]
    return all(any(_rejects(c, {key: v}) for c in asked.conditions) for v in left_out)


def _outside(key: Term, declared: set[Scalar | None]) -> Iterator[Known]:
    """What is known of rows that are in no declared unit of the calendar: NULL, and each gap between units."""
    of = _argument(key)
    if None not in declared:
        yield {key: None, of: None}
    spans = [span for v in declared if (span := _span(key, v)) is not None]
    for gap in gaps(spans):
        yield {of: gap}


def _span(key: Term, value: object) -> Span | None:
    """What is known from a key's value of what it is of: of a day itself, that day."""
    found = span_of(key if unit_of(key) is not None else ("cast", "DATE", False, key), value)
    return None if found is None else found[1]


def _is_unwanted(known: Known, asked: Descriptor, wanted: Sequence[Row]) -> bool:
    """Whether rows of which so much is known are in no wanted group."""
    for place, key in enumerate(asked.keys):
        found = unit_of(key)
        if found is None or found[1] not in known:
            continue
        inside, values = known[found[1]], {row[place] for row in wanted}
        if inside is None and None not in values:
            return True
        spans = [_span(key, v) for v in values if v is not None]
        if isinstance(inside, Span) and all(s is not None and not s.meets(inside) for s in spans):
            return True
    return False


def _rejects(condition: Term, known: Known) -> bool:
    try:
        return _value(condition, known) is not True
    except _Unknown:
        return False


def _constants(found: Term) -> Iterator[object]:
    """Everything that a value is compared with."""
    if constant_kind(found) is not None:
        with suppress(_Unknown):
            yield _constant(found)
    for part in found:
        if isinstance(part, tuple) and part:
            yield from _constants(part)


def _value(found: Term, known: Known) -> object:
    """A term whose columns are known, three-valued. Raises ``_Unknown`` where one is not."""
    if found in known:
        return known[found]
    if found in (TRUE, FALSE, NULL):
        return {TRUE: True, FALSE: False, NULL: None}[found]
    if constant_kind(found) is not None:
        return _constant(found)
    rule = _RULES.get(str(found[0]))
    if rule is None:
        raise _Unknown
    return rule(found, known)


@lru_cache(maxsize=4096)
def _constant(found: Term) -> object:
    match found:
        case ("literal", True, str(text)):
            return text
        case ("literal", False, str(text)) if text.isdigit():
            return int(text)
        case ("neg", inner):
            number = _constant(inner)
            if isinstance(number, int):
                return -number
        case ("cast", "DATE", _, ("literal", True, str(text))):
            return date.fromisoformat(text)
        case ("cast", "TIMESTAMP", _, ("literal", True, str(text))):
            return datetime.fromisoformat(text)
        case _:
            pass
    raise _Unknown


def _equal(left: object, right: object) -> bool | None:
    if left is None or right is None:
        return None
    if isinstance(left, _Other) or isinstance(right, _Other):
        return False
    if is_less(left, right, or_equal=False) or is_less(right, left, or_equal=False):
        return False
    if type(left) is not type(right) or not isinstance(left, str | int | date):
        raise _Unknown
    return left == right


def _less(found: Term, known: Known) -> bool | None:
    left, right = _value(found[1], known), _value(found[2], known)
    if left is None or right is None:
        return None
    is_known = is_less(left, right, or_equal=found[0] == "le")
    if is_known is not None:
        return is_known
    for kind in (int, date, datetime):
        if type(left) is kind and type(right) is kind:
            return left < right if found[0] == "lt" else left <= right  # type: ignore[operator]
    raise _Unknown


def _not(value: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise _Unknown
    return None if value is None else not value


def _parts(parts: Sequence[Term], known: Known) -> list[object]:
    """Truth values; ``UNTOLD`` for those that are about other columns."""
    found: list[object] = []
    for part in parts:
        try:
            value = _value(part, known)
        except _Unknown:
            value = UNTOLD
        if value not in (True, False, None, UNTOLD, NOT_TRUE):
            raise _Unknown
        found.append(value)
    return found


def _all(found: Term, known: Known) -> object:
    values = _parts(found[1:], known)
    if False in values:
        return False
    if UNTOLD in values and (None in values or NOT_TRUE in values):
        return NOT_TRUE
    return _certain(values, (NOT_TRUE, None), default=True)


def _any(found: Term, known: Known) -> object:
    values = _parts(found[1:], known)
    return True if True in values else _certain(values, (NOT_TRUE, None), default=False)


def _certain(values: Sequence[object], weaker: Sequence[object], *, default: bool) -> object:
    if UNTOLD in values:
        raise _Unknown
    return next((w for w in weaker if w in values), default)


def _among(found: Term, known: Known) -> bool | None:
    value = _value(found[1], known)
    compared = [_equal(value, _value(each, known)) for each in found[2:]]
    return True if True in compared else None if None in compared else False


def _case(found: Term, known: Known) -> object:
    _, branches, default = found
    for when, then in branches:
        if _value(when, known) is True:
            return _value(then, known)
    return _value(default, known)


def _called(found: Term, known: Known) -> object:
    """date_trunc and date_part of a moment that is known, or known to be in one unit of the calendar."""
    part = _part_of(found)
    if part is None:
        raise _Unknown
    unit, of = part
    value = _value(of, known)
    start = beginning(value, unit)
    if value is not None and start is None:
        raise _Unknown
    if start is None or found[1] == "date_trunc":
        return start
    return _NUMBERS[unit](start)


def _cast(found: Term, known: Known) -> object:
    """A day of a moment; a whole number as it is."""
    _, to, _, of = found
    value = _value(of, known)
    if to == "DATE" and (value is None or isinstance(value, Span)):
        return value
    if to == "INT128" and (value is None or type(value) is int):
        return value
    raise _Unknown


_NUMBERS: dict[str, Callable[[datetime], int]] = {
    "year": lambda start: start.year,
    "quarter": lambda start: (start.month + 2) // 3,
    "month": lambda start: start.month,
    "day": lambda start: start.day,
}
"""What extract() shows of a moment, from the beginning of the unit."""
_RULES: dict[str, Callable[[Term, Known], object]] = {
    "and": _all,
    "or": _any,
    "not": lambda t, known: _not(_value(t[1], known)),
    "eq": lambda t, known: _equal(_value(t[1], known), _value(t[2], known)),
    "ne": lambda t, known: _not(_equal(_value(t[1], known), _value(t[2], known))),
    "in": _among,
    "not in": lambda t, known: _not(_among(t, known)),
    "lt": _less,
    "le": _less,
    "case": _case,
    "call": _called,
    "cast": _cast,
    "is null": lambda t, known: _value(t[1], known) is None,
}
