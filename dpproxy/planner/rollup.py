"""What else a release of sums answers: the same sums in another order, some of them, and sums over its groups.

Groups may be added up where every row of the coarser group is in one of them: where the key left out is whole, or the
conditions leave no row without one of its declared values. Further conditions may be taken over the groups themselves
where they are about keys alone.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from dpproxy.planner.descriptor import Descriptor
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
        and _within(asked.keys, stored.keys)
        and _within(asked.measures, stored.measures)
    )


def _within(some: Sequence[Term], others: Sequence[Term]) -> bool:
    """Without sets: two terms are told apart sooner than one is hashed, and one that is missing ends it."""
    return all(term in others for term in some)


def derivation(
    stored: Descriptor, groups: Sequence[Row], asked: Descriptor, wanted: Sequence[Row]
) -> Derivation | None:
    """How the asked groups follow from the stored ones; None where they do not."""
    if not could_follow(stored, asked):
        return None
    columns = _places(asked.measures, stored.measures)
    kept = _places(asked.keys, stored.keys)
    if columns is None or kept is None:
        return None
    left_out = [i for i in range(len(stored.keys)) if i not in kept]
    if not all(_covered(stored, i, {g[i] for g in groups}, asked.conditions) for i in left_out):
        return None
    further = [c for c in asked.conditions if c not in stored.conditions]
    try:
        passing = [_passes(stored.keys, further, group) for group in groups]
    except _Unknown:
        return None
    members: dict[tuple[tuple[str, object], ...], list[int]] = {}
    for place, group in enumerate(groups):
        several = members.setdefault(_typed(group[i] for i in kept), [])
        if passing[place]:
            several.append(place)
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
    """Told apart by type, too: True is not 1."""
    return tuple((type(v).__name__, v) for v in values)


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


def _passes(keys: Sequence[Term], conditions: Sequence[Term], group: Row) -> bool:
    known: Known = dict(zip(keys, group, strict=True))
    return all(_value(c, known) is True for c in conditions)


def _covered(
    stored: Descriptor, place: int, declared: set[Scalar | None], conditions: Sequence[Term]
) -> bool:
    """Whether every row that satisfies the conditions has a declared value of this key."""
    if stored.whole[place] is None:
        return False
    if stored.whole[place]:
        return True
    kinds = {type(v) for v in declared}
    written = {c for condition in conditions for c in _constants(condition) if type(c) in kinds}
    outside = [None, OTHER, *written]
    left_out = [v for v in outside if v not in declared]
    return all(any(_rejects(c, {stored.keys[place]: v}) for c in conditions) for v in left_out)


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
        case _:
            pass
    raise _Unknown


def _equal(left: object, right: object) -> bool | None:
    if left is None or right is None:
        return None
    if isinstance(left, _Other) or isinstance(right, _Other):
        return False
    if type(left) is not type(right) or not isinstance(left, str | int | date):
        raise _Unknown
    return left == right


def _less(found: Term, known: Known) -> bool | None:
    left, right = _value(found[1], known), _value(found[2], known)
    if left is None or right is None:
        return None
    for kind in (int, date):
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
    "is null": lambda t, known: _value(t[1], known) is None,
}
