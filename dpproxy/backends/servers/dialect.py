"""What an engine computes for each construct of ours: a table with one line each, and the reason why it is the same."""

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.values.errors import Unsupported
from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOAT4,
    FLOAT8,
    INTEGERS,
    NUMERIC,
    TEXTS,
    TIMESTAMP,
    TIMESTAMPTZ,
    SqlType,
)


class ValueKind(Enum):
    """What a value is, as far as operations differ by it."""

    NULL = auto()
    """NULL of no type."""
    TRUTH = auto()
    WHOLE = auto()
    """A whole number of up to 64 bits."""
    HUGE = auto()
    """A whole number of up to 128 bits."""
    DECIMAL = auto()
    SINGLE = auto()
    DOUBLE = auto()
    TEXT = auto()
    DATE = auto()
    TIMESTAMP = auto()
    INSTANT = auto()
    """A moment with a time zone, held as the TIMESTAMP of UTC: compared and counted, not computed with."""
    SPAN = auto()
    """A length of time: of months, days or microseconds."""
    DOCUMENT = auto()
    """JSON, of which fields are read."""


def kind_of(kind: SqlType) -> ValueKind:
    """The kind of a column's values. Raises ``Unsupported``."""
    if kind.oid in INTEGERS:
        return ValueKind.WHOLE
    if kind.oid in TEXTS:
        return ValueKind.TEXT
    if kind.oid == NUMERIC.oid:
        return ValueKind.DECIMAL if kind.scale else ValueKind.HUGE
    found = _KINDS.get(kind.oid)
    if found is None:
        raise Unanswered(f"a column of type {kind.name}")
    return found


_KINDS = {
    BOOL.oid: ValueKind.TRUTH,
    FLOAT4.oid: ValueKind.SINGLE,
    FLOAT8.oid: ValueKind.DOUBLE,
    DATE.oid: ValueKind.DATE,
    TIMESTAMP.oid: ValueKind.TIMESTAMP,
    TIMESTAMPTZ.oid: ValueKind.INSTANT,
}


class Reach(Struct, frozen=True):
    """What a DOUBLE can be: its finite values besides zero, and whether others are possible.

    Only of use where an engine raises for what overflows or underflows.
    """

    low: float = -sys.float_info.max
    high: float = sys.float_info.max
    least: float = 5e-324
    """The smallest absolute value besides zero."""
    top: bool = True
    """It may be infinity or NaN, which stands above all numbers."""
    bottom: bool = True
    """It may be minus infinity."""

    @property
    def most(self) -> float:
        """The largest finite absolute value."""
        return max(abs(self.low), abs(self.high))

    @property
    def is_finite(self) -> bool:
        """It is a number on every row."""
        return not (self.top or self.bottom)


ANYTHING = Reach()


class Value(Struct, frozen=True):
    """An expression in the other engine's text, complete in itself (in parentheses where it needs them)."""

    sql: str
    kind: ValueKind
    reach: Reach = ANYTHING
    """Of a DOUBLE."""
    scale: int = 0
    """Of a DECIMAL."""
    wrap: str = "{}"
    """How a column is read."""
    constant: str | None = None
    """The text of a literal."""
    required: bool = False
    """A column of listed values, of which none is NULL."""

    def as_column(self, name: str) -> "Value":
        """The same value as a column of a subquery."""
        return replace(self, sql=name, wrap="{}", constant=None)

    def under(self, name: str) -> "Value":
        """The column where it is read by this name."""
        return replace(self, sql=self.wrap.format(name))


def stored(kind: ValueKind, wrap: str = "{}", reach: "Reach | None" = None, scale: int = 0) -> Value:
    """A column of a table, which ``wrap`` reads: ``{}`` stands for it."""
    return Value("", kind, ANYTHING if reach is None else reach, scale, wrap)


Rule = Callable[[Any, Sequence[Value]], Value]
"""What a node of one class is, by its operands."""


class Construct(Struct, frozen=True):
    """How one construct is written, and why every row gives the same value as here and none can raise."""

    rule: Rule
    reason: str


class Dialect(Struct, frozen=True):
    """An engine: what it is called in refusals, how names are written, and the constructs it is known to compute alike.

    ``expressions`` are by node class, ``operators`` by their sign, ``functions`` and aggregates by the name they have
    in DuckDB, ``casts`` by the target's name there (``BIGINT``, ``INT128``, ``DOUBLE``, ...).
    """

    engine: str
    name: Callable[[str], str]
    table: Callable[[str, str], str]
    """The text of a table by (database, name)."""
    sorted: Callable[[Value], str]
    """A value as ORDER BY takes it, so that its order is DuckDB's."""
    expressions: Mapping[type[nodes.Expr], Construct]
    operators: Mapping[str, Construct]
    functions: Mapping[str, Construct]
    casts: Mapping[str, Construct]
    grouped: Callable[[str], str] = "({})".format
    """An operation as an operand of another one."""
    most_calls: int = sys.maxsize
    """Functions in one statement."""
    total: Callable[[str, str], str] | None = None
    """The sum of whole numbers of 64 bits over a window, from a text and OVER; None where no window is printed."""
    listed: Callable[[str, str], str] = "(SELECT * FROM (VALUES {}) AS listed({}))".format
    """Rows of values as an item of FROM, with the names of its columns."""
    asks_in_keys: bool = True
    """A subquery may be asked in what is grouped by."""

    def construct(self, node: nodes.Expr) -> Construct:
        """How one construct is written. Raises ``Unsupported`` for one that is not listed."""
        match node:
            case nodes.Binary():
                found = self.operators.get(node.operator)
            case nodes.Call(distinct=False, order=(), where=None) | nodes.Call(
                "count" | "sum", order=(), where=None
            ):
                found = self.functions.get(node.name)
            case nodes.Cast(tries=False):
                found = self.casts.get(_DIGITS.sub("DECIMAL", node.type))
            case nodes.Call() | nodes.Cast():
                found = None
            case _:
                found = self.expressions.get(type(node))
        if found is None:
            raise Unanswered(_words(node))
        return found

    def merged(self, values: Sequence[Value], sql: str) -> Value:
        """One of several values. Raises ``Unsupported`` where their kinds differ."""
        return replace(common(values), sql=sql, wrap="{}", constant=None)


def _words(node: nodes.Expr) -> str:
    """What is not listed, for people."""
    if isinstance(node, nodes.Scalar):
        return "a subquery for one value that follows the row around it"
    return "a regular expression" if getattr(node, "name", "").startswith("regexp_") else "this construct"


_HINT = "Use another form: comparisons, CASE, sums, counts and rounding of declared columns are answered."
_NUMBERS = (ValueKind.WHOLE, ValueKind.HUGE, ValueKind.DECIMAL, ValueKind.SINGLE, ValueKind.DOUBLE)
_DIGITS = re.compile(r"^DECIMAL\(\d+, ?\d+\)$")


def common(values: Sequence[Value]) -> Value:
    """What one of several values is: NULL takes the kind of the others, numbers the widest."""
    known = [v for v in values if v.kind is not ValueKind.NULL]
    if not known:
        return values[0]
    kinds = {v.kind for v in known}
    if len(kinds) == 1:
        best = known[0]
    elif kinds <= set(_NUMBERS):
        best = max(known, key=lambda v: _NUMBERS.index(v.kind))
    else:
        raise Unanswered("values of several types in one place")
    reach = Reach(
        min(v.reach.low for v in known),
        max(v.reach.high for v in known),
        min(v.reach.least for v in known),
        top=any(v.reach.top for v in known),
        bottom=any(v.reach.bottom for v in known),
    )
    return replace(best, reach=reach, scale=max(v.scale for v in known))


class Unanswered(Unsupported):
    """What is not known to be computed alike. Rules do not say by which engine: the printer does."""

    def __init__(self, what: str, engine: str = "the data source", hint: str = _HINT) -> None:
        super().__init__(f"{what} is not answered over {engine}", hint=hint)
        self.what = what


def unbounded() -> Unanswered:
    """The refusal of what a row could make overflow."""
    hint = "Bound the operands: least(greatest(x, -1000000), 1000000)."
    return Unanswered("floating-point arithmetic without bounds", hint=hint)
