"""What CHECK constraints say of one column: bounds and lists of constants, where that is all they say."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpproxy.policy.model import Scalar


@dataclass(frozen=True, slots=True)
class Limits:
    """What a column may hold besides NULL; None where nothing is known."""

    low: Scalar | None = None
    high: Scalar | None = None
    values: tuple[Scalar, ...] | None = None


def limits(expressions: Iterable[str], column: str) -> Limits:
    """What these constraints say together; what one of them says besides only narrows it.

    A bound that ``<`` leaves out is given as if it were ``<=``. Dates are texts, as they are written.

    >>> limits(["((age >= 0) AND (age < 110))"], "age")
    Limits(low=0, high=110, values=None)
    """
    found = Limits()
    for expression in expressions:
        try:
            tree = sqlglot.parse_one(expression, read="duckdb")
        except SqlglotError:
            continue
        for part in _conjuncts(tree):
            found = _narrowed(found, part, column.lower())
    return found


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    node = node.unnest()
    if isinstance(node, exp.And):
        yield from _conjuncts(node.this)
        yield from _conjuncts(node.expression)
    else:
        yield node


def _narrowed(found: Limits, part: exp.Expr, column: str) -> Limits:
    """``found`` and what a condition says of the column, nothing where it is none of the known ones."""
    match part:
        case exp.GT() | exp.GTE() | exp.LT() | exp.LTE():
            return _compared(found, part, column)
        case exp.Between() if _is(part.this, column):
            low, high = _constant(part.args["low"]), _constant(part.args["high"])
            return found if low is None or high is None else replace(found, low=low, high=high)
        case exp.In() if _is(part.this, column):
            listed = [_constant(one) for one in part.expressions]
        case exp.EQ(expression=exp.Any(this=array)) if _is_text(part.this, column):
            listed = _listed(array)
        case exp.EQ() if _is_text(part.this, column):
            listed = [_constant(part.expression)]
        case _:
            return found
    values = tuple(one for one in listed if one is not None)
    # With a NULL in the list, or what is no constant, every value passes or may pass.
    return replace(found, values=values) if values and len(values) == len(listed) else found


def _compared(found: Limits, part: exp.Expr, column: str) -> Limits:
    upwards = isinstance(part, exp.GT | exp.GTE)
    left, right = part.this, part.expression
    if _is(right, column):
        left, right, upwards = right, left, not upwards
    bound = _constant(right) if _is(left, column) else None
    if bound is None:
        return found
    return replace(found, low=bound) if upwards else replace(found, high=bound)


def _is(node: exp.Expr, column: str) -> bool:
    node = node.unnest()
    return isinstance(node, exp.Column) and node.name.lower() == column


def _is_text(node: exp.Expr, column: str) -> bool:
    """The column, or as PostgreSQL writes one of VARCHAR: cast to a text."""
    node = node.unnest()
    return _is(node.this if isinstance(node, exp.Cast) and node.to.this is exp.DType.TEXT else node, column)


def _listed(node: exp.Expr) -> list[Scalar | None]:
    """What stands in an array, as PostgreSQL writes the values of IN; of anything else nothing is known."""
    node = node.unnest()
    node = node.this.unnest() if isinstance(node, exp.Cast) else node
    return [_constant(one) for one in node.expressions] if isinstance(node, exp.Array) else []


def _constant(node: exp.Expr) -> Scalar | None:
    """A constant, None for anything else and for NULL."""
    node = node.unnest()
    match node:
        case exp.Literal(is_string=True):
            return str(node.this)
        case exp.Literal():
            return _number(node.this)
        case exp.Neg():
            value = _constant(node.this)
            return -value if isinstance(value, int | Fraction) else None
        case exp.Cast():
            return _cast(_constant(node.this), node.to.this)
        case _:
            return None


_TEXTS = frozenset({
    exp.DType.TEXT, exp.DType.VARCHAR, exp.DType.USERDEFINED, exp.DType.DATE, exp.DType.TIMESTAMP,
    exp.DType.TIMESTAMPNTZ,
})  # fmt: skip
_WHOLE = frozenset({exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT})
_BROKEN = frozenset({exp.DType.DECIMAL, exp.DType.FLOAT, exp.DType.DOUBLE})


def _cast(value: Scalar | None, kind: exp.DType) -> Scalar | None:
    """PostgreSQL writes a type behind most constants; None where the cast would change the value."""
    if kind in _TEXTS:
        return value if isinstance(value, str) else None
    if kind not in _WHOLE | _BROKEN:
        return None
    number = _number(value) if isinstance(value, str) else value
    return number if isinstance(number, int) or kind in _BROKEN else None


def _number(text: str) -> int | Fraction | None:
    try:
        value = Fraction(text)
    except ValueError:
        return None
    return int(value) if value.denominator == 1 else value
