"""Constants that a column is compared with and never equals, by its declared values: most often a slip of the pen."""

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

from msgspec import Struct
from sqlglot import exp

from dpproxy.algebra.plan import Notice
from dpproxy.analysis.domains import MOST_LISTED, referenced
from dpproxy.analysis.unseen import Unseen
from dpproxy.planner.planning import Planning
from dpproxy.planner.prepared import Mapped
from dpproxy.planner.rows.fields import Declared
from dpproxy.planner.rows.relation import JoinedRows
from dpproxy.policy.dump import constant
from dpproxy.policy.model import Between, Members, References, Scalar

MOST_NAMED = 10
"""Declared values that the notice lists."""
Constant = str | Fraction | Unseen
EQUAL, LEAST, MOST = "equal", "least", "most"
_SIDES: dict[type[exp.Expr], str] = {
    exp.EQ: EQUAL,
    exp.NEQ: EQUAL,
    exp.GT: LEAST,
    exp.GTE: LEAST,
    exp.LT: MOST,
    exp.LTE: MOST,
}
"""What a constant on the right is to the column in rows for which the comparison holds."""
_COMPARING = frozenset((*_SIDES, exp.In, exp.Between, exp.Case))
_TURNED = {EQUAL: EQUAL, LEAST: MOST, MOST: LEAST}


class Allowed(Struct, frozen=True):
    """The constants of a comparison that is no slip: among the values, or not beyond the ends."""

    values: frozenset[object] = frozenset()
    low: object = None
    high: object = None

    def __contains__(self, value: object) -> bool:
        like = next(iter(self.values), self.high if self.low is None else self.low)
        placed = _placed(value, like)
        if placed is None:
            return not (
                isinstance(like, str) and isinstance(value, str)
            )  # of a type that is refused elsewhere
        first, last = _instants(placed, like)
        if self.values:
            return any(first <= each <= last for each in self.values)  # type: ignore[operator]
        return (self.low is None or self.low <= last) and (self.high is None or first <= self.high)  # type: ignore[operator]


def tell_undeclared(own: Iterable[exp.Expr], rows: JoinedRows, planning: Planning) -> None:
    """A notice for each constant that a column is compared with, though the policy declares none such for it."""
    for node in (n for n in own if type(n) in _COMPARING):
        for column, other, side in _compared(node):
            found = _constant(other, planning)
            declared = None if found is None else _on_side(_declared(column, rows), side)
            allowed = None if declared is None else _allowed(declared, side)
            if allowed is None or found is None or declared is None:
                continue
            if isinstance(found, Unseen):
                found.among(allowed)
            elif found not in allowed:
                planning.tell(_notice(column.name, declared))


def _compared(node: exp.Expr) -> Iterator[tuple[exp.Column, exp.Expr, str]]:
    """Each column of a comparison with what it is compared with, and which side of it that has to be on."""
    pairs: list[tuple[exp.Expr | None, exp.Expr | None, str]] = []
    if (side := _SIDES.get(type(node))) is not None:
        pairs = [(node.this, node.expression, side), (node.expression, node.this, _TURNED[side])]
    elif type(node) is exp.In:
        pairs = [(node.this, each, EQUAL) for each in node.expressions]
    elif type(node) is exp.Between:
        pairs = [(node.this, node.args["low"], LEAST), (node.this, node.args["high"], MOST)]
    elif type(node) is exp.Case:
        pairs = [(node.this, each.this, EQUAL) for each in node.args["ifs"]]
    for column, other, side in pairs:
        if type(column) is exp.Column and other is not None:
            yield column, other, side


def _constant(node: exp.Expr, planning: Planning) -> Constant | None:
    """The text or number that is written, or that stands for a parameter which is known."""
    bare = node.unnest()
    if type(bare) is exp.Cast:
        bare = bare.this
    if type(bare) is exp.Neg and type(bare.this) is exp.Literal and not bare.this.is_string:
        return -Fraction(bare.this.name)
    if type(bare) is exp.Literal:
        return bare.name if bare.is_string else Fraction(bare.name)
    values = planning.parameters.values or ()
    if type(bare) is not exp.Parameter or int(bare.name) > len(values):
        return None
    value = values[int(bare.name) - 1]
    if isinstance(value, Unseen | str):
        return value
    return str(value) if isinstance(value, date) else Fraction(value) if type(value) is int else None


def _declared(node: exp.Column, rows: JoinedRows) -> Between | tuple[Scalar, ...] | None:
    """The ends or the values that the policy declares for a column; None where it declares none, or many."""
    found = list(rows.candidates(node))
    field = found[0][1] if len(found) == 1 else None
    domain = field.domain if isinstance(field, Declared | Mapped) else None
    if isinstance(domain, References) and isinstance(field, Declared):
        values = referenced(field.column, domain, field.lookup, MOST_LISTED + 1)
        return values if 0 < len(values) <= MOST_LISTED else None
    if isinstance(domain, Members):
        return tuple(value for value in domain.values if value is not None)
    return domain if isinstance(domain, Between) else None


def _on_side(declared: Between | tuple[Scalar, ...] | None, side: str) -> Between | tuple[Scalar, ...] | None:
    """Of listed numbers and moments that are compared by their order, the ends; texts have the data source's order."""
    if not isinstance(declared, tuple) or side == EQUAL:
        return declared
    if not declared or any(isinstance(value, str | bool) for value in declared):
        return None
    return Between(min(declared), max(declared))


def _allowed(declared: Between | tuple[Scalar, ...], side: str) -> Allowed | None:
    """The constants that leave some value on the side; None where nothing is told."""
    if isinstance(declared, Between):
        low, high = (_placed(end, end) for end in (declared.low, declared.high))
        if low is None or high is None:
            return None
        return Allowed(low=None if side == LEAST else low, high=None if side == MOST else high)
    placed = [_placed(value, value) for value in declared]
    values = frozenset(value for value in placed if value is not None)
    return Allowed(values) if 0 < len(values) == len(declared) else None


def _placed(value: object, like: object) -> object:
    """A constant among values that are like another: a text, a moment or a number; None where it is none of these."""
    try:
        if isinstance(like, date):
            moment = datetime.fromisoformat(str(value))
            return None if moment.tzinfo and not _has_zone(like) else moment
        if isinstance(like, str):
            return value if isinstance(value, str) else None
        return None if isinstance(like, bool) else Fraction(str(value))
    except (ValueError, TypeError, OverflowError):
        return None


def _has_zone(value: object) -> bool:
    return isinstance(value, datetime) and value.tzinfo is not None


def _instants(placed: object, like: object) -> tuple[object, object]:
    """The first and the last value that a constant can mean: without a zone it may be a day off."""
    if not isinstance(placed, datetime) or not _has_zone(like) or placed.tzinfo is not None:
        return placed, placed
    try:
        return tuple(placed.replace(tzinfo=UTC) + timedelta(days=days) for days in (-1, 1))  # type: ignore[return-value]
    except OverflowError:
        return placed.replace(tzinfo=UTC), placed.replace(tzinfo=UTC)


def _notice(column: str, declared: Between | tuple[Scalar, ...]) -> Notice:
    if isinstance(declared, Between):
        ends = f"{constant(declared.low)} to {constant(declared.high)}"
        return Notice(
            f'column "{column}" is compared with a value outside of its declared ones',
            detail=f"Declared are {ends}.",
        )
    named = ", ".join(constant(value) for value in declared[:MOST_NAMED])
    more = f" and {len(declared) - MOST_NAMED} more" if len(declared) > MOST_NAMED else ""
    what = "text" if isinstance(declared[0], str) else "value"
    return Notice(
        f'column "{column}" is compared with a {what} that is none of its declared values',
        detail=f"Declared are {named}{more}.",
    )
