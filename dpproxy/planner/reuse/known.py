"""Terms of which some columns are known, three-valued: what a group of a release says of the rows in it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime
from functools import lru_cache

from dpproxy.planner.reuse.spans import Span, bare, beginning, is_less, unit_of
from dpproxy.planner.reuse.terms import FALSE, NULL, TRUE, Term, constant_kind
from dpproxy.values.days import midnight


class Unknown(Exception):
    """A condition is about more than the keys, or compares what is not compared here."""


class Other:
    """A value that is neither declared nor written in a condition."""


OTHER = Other()
UNTOLD = object()
"""The truth of a condition about other columns than those that are known."""
NOT_TRUE = object()
"""False, or NULL."""
Known = dict[Term, object]


def argument_of(key: Term) -> Term:
    """What a unit of the calendar is of; the key itself where it is none."""
    found = unit_of(key)
    return key if found is None else found[1]


def part_of(key: Term) -> tuple[str, Term] | None:
    """The unit of a key like date_trunc(unit, x), or extract(unit FROM x), and x."""
    match key:
        case ("cast", "INT128", False, inner):
            return part_of(inner)
        case ("call", "date_part", False, (("literal", True, str(unit)), of), ()) if unit in _NUMBERS:
            return unit, bare(of)
        case _:
            return unit_of(key)


def constants(found: Term) -> Iterator[object]:
    """Everything that a value is compared with."""
    if constant_kind(found) is not None:
        with suppress(Unknown):
            yield _constant(found)
            return
    for part in found:
        if isinstance(part, tuple) and part:
            yield from constants(part)


def as_key(found: Term) -> Term:
    """A quotient or a remainder of whole numbers as it is grouped by."""
    return ("cast", "BIGINT", False, found) if found[0] in ("//", "%") else found


def value_of(found: Term, known: Known) -> object:
    """A term whose columns are known, three-valued. Raises ``Unknown`` where one is not."""
    for key in (found, as_key(found)):
        if key in known:
            return known[key]
    if found in (TRUE, FALSE, NULL):
        return {TRUE: True, FALSE: False, NULL: None}[found]
    if constant_kind(found) is not None:
        return _constant(found)
    rule = _RULES.get(str(found[0]))
    if rule is None:
        raise Unknown
    return rule(found, known)


@lru_cache(maxsize=4096)
def _constant(found: Term) -> object:
    match found:
        case ("literal", True, str(text)):
            return text
        case ("literal", False, str(text)) if text.isdigit():
            return int(text)
        case ("neg", inner) | ("cast", "BIGINT", False, inner):
            number = _constant(inner)
            if isinstance(number, int):
                return -number if found[0] == "neg" else number
        case ("cast", "DATE", _, ("literal", True, str(text))):
            return date.fromisoformat(text)
        case ("cast", "TIMESTAMP", _, ("literal", True, str(text))):
            return datetime.fromisoformat(text)
        case _:
            pass
    raise Unknown


def _equal(left: object, right: object) -> bool | None:
    if left is None or right is None:
        return None
    if isinstance(left, Other) or isinstance(right, Other):
        return False
    if is_less(left, right, or_equal=False) or is_less(right, left, or_equal=False):
        return False
    if type(left) is not type(right) or not isinstance(left, str | int | date):
        raise Unknown
    return left == right


def _same(left: object, right: object) -> bool:
    """NULL is the same as NULL alone."""
    return left is right if left is None or right is None else _equal(left, right) is True


def _less(found: Term, known: Known) -> bool | None:
    left, right = value_of(found[1], known), value_of(found[2], known)
    if left is None or right is None:
        return None
    is_known = is_less(left, right, or_equal=found[0] == "le")
    if is_known is not None:
        return is_known
    for kind in (int, date, datetime):
        if type(left) is kind and type(right) is kind:
            return left < right if found[0] == "lt" else left <= right  # type: ignore[operator]
    raise Unknown


def _not(value: object) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise Unknown
    return None if value is None else not value


def _parts(parts: Sequence[Term], known: Known) -> list[object]:
    """Truth values; ``UNTOLD`` for those that are about other columns."""
    found: list[object] = []
    for part in parts:
        try:
            value = value_of(part, known)
        except Unknown:
            value = UNTOLD
        if value not in (True, False, None, UNTOLD, NOT_TRUE):
            raise Unknown
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
        raise Unknown
    return next((w for w in weaker if w in values), default)


def _among(found: Term, known: Known) -> bool | None:
    value = value_of(found[1], known)
    compared = [_equal(value, value_of(each, known)) for each in found[2:]]
    return True if True in compared else None if None in compared else False


def _case(found: Term, known: Known) -> object:
    _, branches, default = found
    for when, then in branches:
        if value_of(when, known) is True:
            return value_of(then, known)
    return value_of(default, known)


def _called(found: Term, known: Known) -> object:
    """date_trunc and date_part of a moment that is known, or known to be in one unit of the calendar; a divisor."""
    if found[1:3] == ("nullif", False) and len(found[3]) == 2:
        first, second = (value_of(each, known) for each in found[3])
        return None if _equal(first, second) else first
    if found[1:3] == ("right", False) and len(found[3]) == 2:
        text, digits = (value_of(each, known) for each in found[3])
        if not isinstance(text, str | None) or type(digits) is not int or digits <= 0:
            raise Unknown
        return None if text is None else text[-digits:]
    part = part_of(found)
    if part is None:
        raise Unknown
    name, of = part
    unit, number = (name, None) if found[1] == "date_trunc" else _NUMBERS[name]
    value = value_of(of, known)
    start = beginning(value, unit)
    if value is not None and start is None:
        raise Unknown
    return start if start is None or number is None else number(start)


def _cast(found: Term, known: Known) -> object:
    """A day of a moment, and its first moment; a whole number as it is, and in digits."""
    _, to, _, of = found
    value = value_of(of, known)
    if to in ("DATE", "TIMESTAMP") and (value is None or isinstance(value, Span)):
        return value
    if to == "DATE" and isinstance(value, datetime):
        return value.date()
    if to == "TIMESTAMP" and isinstance(value, date):
        return midnight(value)
    if to == "TEXT" and (value is None or type(value) is int):
        return None if value is None else str(value)
    if to in ("INT128", "BIGINT") and (value is None or type(value) is int):
        return value
    raise Unknown


def _arithmetic(found: Term, known: Known) -> int | None:
    """Of whole numbers, which the engine keeps inside their types; by nothing but what is positive, as it does."""
    tag, left, right = found[0], value_of(found[1], known), value_of(found[2], known)
    if left is None or right is None:
        return None
    if type(left) is not int or type(right) is not int:
        raise Unknown
    if tag in _SUMS:
        return _SUMS[tag](left, right)
    if left < 0 or right <= 0:
        raise Unknown
    return left // right if tag == "//" else left % right


def _joined(found: Term, known: Known) -> str | None:
    left, right = value_of(found[1], known), value_of(found[2], known)
    if not isinstance(left, str | None) or not isinstance(right, str | None):
        raise Unknown
    return None if left is None or right is None else left + right


def _negative(found: Term, known: Known) -> int | None:
    value = value_of(found[1], known)
    if value is not None and type(value) is not int:
        raise Unknown
    return None if value is None else -value


_SUMS: dict[str, Callable[[int, int], int]] = {
    "add": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "mul": lambda left, right: left * right,
}


_NUMBERS: dict[str, tuple[str, Callable[[datetime], int]]] = {
    "year": ("year", lambda start: start.year),
    "quarter": ("quarter", lambda start: (start.month + 2) // 3),
    "month": ("month", lambda start: start.month),
    "day": ("day", lambda start: start.day),
    "dow": ("day", lambda start: start.isoweekday() % 7),
    "isodow": ("day", lambda start: start.isoweekday()),
    "doy": ("day", lambda start: start.timetuple().tm_yday),
    "week": ("week", lambda start: start.isocalendar().week),
    "hour": ("hour", lambda start: start.hour),
}
"""What extract() shows of a moment, from the beginning of a unit of the calendar."""
_RULES: dict[str, Callable[[Term, Known], object]] = {
    "and": _all,
    "or": _any,
    "untrue": lambda t, known: value_of(t[1], known) is not True,
    "not": lambda t, known: _not(value_of(t[1], known)),
    "eq": lambda t, known: _equal(value_of(t[1], known), value_of(t[2], known)),
    "ne": lambda t, known: _not(_equal(value_of(t[1], known), value_of(t[2], known))),
    "same": lambda t, known: _same(value_of(t[1], known), value_of(t[2], known)),
    "differs": lambda t, known: not _same(value_of(t[1], known), value_of(t[2], known)),
    "in": _among,
    "not in": lambda t, known: _not(_among(t, known)),
    "lt": _less,
    "le": _less,
    "case": _case,
    "call": _called,
    "cast": _cast,
    **dict.fromkeys(("add", "-", "mul", "//", "%"), _arithmetic),
    "neg": _negative,
    "||": _joined,
    "is null": lambda t, known: value_of(t[1], known) is None,
}
