"""Keys that are computed: their values follow from what is declared of the columns they read, never from rows.

An expression is finite where the product of its parts' values is: of columns that enumerate, or, where they do not, of
the parts of the expression that do (a bounded whole number, a truncated date, a condition). Its keys are its image over
that product.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Rest
from dpproxy.analysis import bins, duck, instants
from dpproxy.analysis.dates import starts, unit_of
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.image import image, input_of
from dpproxy.analysis.keys import MOST_KEYS, GroupKey, Value, Values, check_size, days, held, of_moments
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed, as_double
from dpproxy.values.days import midnight
from dpproxy.values.errors import BoundsMissing, Refusal, Unsupported
from dpproxy.values.pgtypes import BOOL, DATE, FLOATS, INT8, INTEGERS, NUMERIC, TEXT, TEXTS, UNKNOWN

_STRICT = (
    exp.Column, exp.Identifier, exp.Paren, exp.Cast, exp.DataType, exp.TimestampTrunc, exp.Extract, exp.Literal, exp.Var
)  # fmt: skip
"""Expressions of these alone are NULL where a column is."""
MOST_STEPS = 10**9
"""Work of all combinations together, in characters matched."""
MOST_DIGITS = 6
"""After the point, of a key that is computed as a DOUBLE."""

ColumnValues = Callable[[exp.Column], Values | None]
"""What a column that an expression reads can be, in the form it is read in; None where that is not listed."""
Narrowed = Callable[[exp.Column, Typed], Typed]
"""A column inside the bounds that all rows of the statement are in."""


def _as_it_is(_column: exp.Column, typed: Typed) -> Typed:
    return typed


class _Part(Struct, frozen=True):
    typed: Typed
    values: Values


_Parts = dict[exp.Expr, _Part]


def derived_key(
    node: exp.Expr, name: str, scope: Scope, column_values: ColumnValues, narrowed: Narrowed = _as_it_is
) -> GroupKey:
    """The key of an expression; rows whose value is none of its values drop out.

    NULL is a key where declared values give it: a column's NULL counts only if it is listed. What the expression makes
    of a NULL that is not listed is a key, too: ``coalesce(x, 0)``.

    A condition that holds a subquery is true or false of each row.

    Errors: those of compiling; 0A000 for a subquery; ``BoundsMissing`` (PD003) where the values do not follow from
    what is declared; ``TooComplex`` for more than ``MOST_KEYS``.
    """
    if isinstance(node, exp.Query):
        raise Unsupported(
            "a subquery is no key",
            hint="Leave out of GROUP BY what has one value in all rows. What each person has one value of is a column "
            "of a subquery GROUP BY the privacy key: join that, and group by the column.",
            position=position(node),
        )
    typed = compile_expression(node, scope)
    if typed.scale is None and typed.is_number and not node.find(exp.Column, exp.Query):
        one = Typed(duck.cast(duck.integer(1), "BIGINT"), INT8, nullable=False)
        return GroupKey(name, one, one.sql, (1,), rest="none", constant=typed, is_held=False)
    return _listed(node, name, typed, _finder(node, scope, column_values, narrowed))


def _finder(node: exp.Expr, scope: Scope, column_values: ColumnValues, narrowed: Narrowed) -> "_Finder":
    finder = _Finder(scope, {}, narrowed)
    for column in _columns(node):
        column_typed, values = scope.leaf(column), column_values(column)
        if column_typed is not None and values is not None and len(values) <= MOST_KEYS:
            finder.columns[column] = _Part(column_typed, values)
    return finder


def _listed(node: exp.Expr, name: str, typed: Typed, finder: "_Finder") -> GroupKey:
    scope, parts = finder.scope, finder.parts(node)
    if parts is None:
        raise no_values(node)
    found = _image(node, scope, parts)
    if found is None:
        own = finder.own(node)
        if own is None:
            raise no_values(node)
        found = tuple(own.values)
    found = tuple(dict.fromkeys((*found, *_of_nulls(node, finder))))
    key = in_form(name, typed, _sorted(found, typed))
    if key is None:
        raise no_values(node)
    check_size(len(key.values), position(node))
    return replace(key, rest=_rest(node, scope, parts, found))


def _of_nulls(node: exp.Expr, finder: "_Finder") -> Iterator[Value]:
    """What the expression is, NULL apart, where columns are NULL that do not list it.

    Those that are listed may be NULL in every combination, the others all at once or one alone: their parts are
    computed of the column's NULL, so that parts of one column are not NULL apart.
    """
    columns, others = dict(finder.columns), []
    for column in _columns(node):
        typed, part = finder.scope.leaf(column), columns.get(column)
        if typed is None or not finder.narrowed(column, typed).nullable:
            continue
        if part is None:
            others.append((column, _Part(typed, (None,))))
        elif not isinstance(part.values, tuple) or None not in part.values:
            columns[column] = replace(part, values=(*part.values, None))
    alone = [{column: part} for column, part in others] if len(others) > 1 else []
    for absent in ({}, *alone, dict(others)):
        parts = replace(finder, columns=columns | absent).parts(node)
        found = None if parts is None else _image(node, finder.scope, parts)
        yield from (value for value in found or () if value is not None)


def _rest(node: exp.Expr, scope: Scope, parts: _Parts, found: Sequence[Value]) -> Rest:
    """What else the expression is where something that it reads is NULL: a part that can be, is where a column is."""
    columns = [scope.leaf(column) for column in _columns(node)]
    if node.find(exp.Query) is not None or any(
        c is None or not (c.is_number or c.is_moment or c.type.oid == BOOL.oid) for c in columns
    ):
        return "any"
    if not all(isinstance(n, _STRICT) for part in parts for n in part.walk()):
        return "any"
    if all(c is not None and not c.nullable for c in columns):
        values = _image(node, scope, parts)
    else:
        values = _image(node, scope, {n: replace(p, values=(*p.values, None)) for n, p in parts.items()})
    others = None if values is None else set(values) - set(found)
    return "any" if others is None or others - {None} else "null" if others else "none"


class _Finder(Struct, frozen=True):
    """Finds the parts of an expression that have few values."""

    scope: Scope
    columns: _Parts
    """Those that have few values."""
    narrowed: Narrowed

    def parts(self, node: exp.Expr) -> _Parts | None:
        """Parts that the expression is computed from, with at most ``MOST_KEYS`` combinations; None for no such."""
        if isinstance(node, exp.Query):
            return None
        columns = _columns(node)
        listed = {column: part for column, part in self.columns.items() if column in columns}
        if len(listed) == len(columns) and _combinations(listed) <= MOST_KEYS and not node.find(exp.Query):
            return listed
        inner = None if isinstance(node, exp.Column) or _is_test(node) else self._inner(node)
        if inner is not None and _combinations(inner) <= MOST_KEYS:
            return inner
        own = self.own(node)
        return None if own is None else {node: own}

    def _inner(self, node: exp.Expr) -> _Parts | None:
        """The parts of the operands; where they have too many combinations, the largest operands count as a whole."""
        found: dict[exp.Expr, _Parts] = {}
        for operand in _operands(node):
            parts = self.parts(operand)
            if parts is None:
                return None
            found[operand] = parts
        for operand in sorted(found, key=lambda o: -_combinations(found[o])):
            if _combinations(_merged(found)) <= MOST_KEYS:
                break
            own = self.own(operand)
            if own is not None and len(own.values) < _combinations(found[operand]):
                found[operand] = {operand: own}
        return _merged(found)

    def own(self, node: exp.Expr) -> _Part | None:
        """What the expression can be by its own bounds, NULL too where declared values may give it; None if unknown."""
        try:
            typed = compile_expression(node, replace(self.scope, leaf=self._leaf))
        except Refusal:  # an operand that stands for itself nowhere
            return None
        values = self._own_values(node.unnest(), typed)
        if values is None or len(values) > MOST_KEYS:
            return None
        return _Part(typed, (*values, None) if typed.nullable and None not in values else values)

    def _leaf(self, node: exp.Expr) -> Typed | None:
        """A column without the NULLs that are not listed: they are no declared values."""
        typed = self.scope.leaf(node)
        if typed is None or not isinstance(node, exp.Column):
            return typed
        part = self.columns.get(node)
        listed = part is not None and isinstance(part.values, tuple) and None in part.values
        return replace(self.narrowed(node, typed), nullable=listed)

    def _own_values(self, node: exp.Expr, typed: Typed) -> Values | None:
        if typed.type.oid == BOOL.oid:
            return (True, False)
        if isinstance(node, exp.Case):
            constants = self._arms(node, typed)
            if constants is not None:
                return constants
        if isinstance(node, exp.TimeToStr):
            scope = replace(self.scope, leaf=self._leaf)
            return bins.texts(node, bins.shown(node, compile_expression(node.this, scope), scope), MOST_KEYS)
        if typed.first is not None and typed.last is not None:
            return self._moments(node, typed, midnight(typed.first), midnight(typed.last))
        return _steps(node, typed)

    def _moments(self, node: exp.Expr, typed: Typed, first: datetime, last: datetime) -> Values | None:
        if isinstance(node, exp.DateBin):
            return bins.bins(node, first, last, MOST_KEYS)
        if isinstance(node, exp.TimestampTrunc) and instants.is_instant(typed):
            return instants.starts(first, last, node, MOST_KEYS, self.scope)
        if isinstance(node, exp.TimestampTrunc):
            return starts(first, last, unit_of(node), MOST_KEYS)
        return days(first.date(), last.date()) if typed.type.oid == DATE.oid else None

    def _arms(self, node: exp.Case, typed: Typed) -> Sequence[Value] | None:
        arms = [branch.args["true"] for branch in node.args["ifs"]]
        default = node.args.get("default")
        values = [compile_expression(arm, self.scope) for arm in (*arms, *([default] if default else []))]
        if not all(value.is_constant for value in values):
            return None
        settled = [settle(value, typed.type, self.scope, node) for value in values]
        constants = [held(value.constant, typed) for value in settled]
        return list(dict.fromkeys(constants if default else [*constants, None]))


def _steps(node: exp.Expr, typed: Typed) -> Sequence[Value] | None:
    """Every multiple of the last digit inside the bounds: of an exact number, or of a DOUBLE that is rounded."""
    digits = typed.scale if typed.scale is not None else _digits(node)
    if not typed.is_number or typed.low is None or typed.high is None or digits is None:
        return None
    step = Fraction(10) ** digits
    first, last = math.floor(typed.low * step), math.ceil(typed.high * step)
    if last - first >= MOST_KEYS:
        return None
    steps = range(first, last + 1)
    if typed.scale is not None:
        return steps
    return [float(n / step) for n in steps]


def _digits(node: exp.Expr) -> int | None:
    if not isinstance(node, exp.Floor | exp.Ceil | exp.Round | exp.Trunc):
        return None
    digits = node.args.get("decimals")
    if digits is None:
        return 0
    return int(digits.name) if isinstance(digits, exp.Literal) and digits.name in "123456" else None


def _operands(node: exp.Expr) -> Iterator[exp.Expr]:
    """The expressions that an expression is computed from, as far as they read columns."""
    for child in node.iter_expressions():
        if isinstance(child, exp.If):
            yield from _operands(child)
        elif child.find(exp.Column, exp.Query):
            yield child


def _columns(node: exp.Expr) -> dict[exp.Column, None]:
    """Those that the expression reads outside subqueries, and what these are asked about."""
    own = node.walk(prune=lambda n: isinstance(n, exp.Query) or _is_test(n))
    return {n: None for n in own if isinstance(n, exp.Column)}


def _is_test(node: exp.Expr) -> bool:
    """Whether a subquery is what a condition asks, not a value in it."""
    return isinstance(node, exp.Exists) or (isinstance(node, exp.In) and node.args.get("query") is not None)


def _merged(parts: dict[exp.Expr, _Parts]) -> _Parts:
    return {node: part for inner in parts.values() for node, part in inner.items()}


def _combinations(parts: _Parts) -> int:
    return math.prod(len(part.values) for part in parts.values())


def _image(node: exp.Expr, scope: Scope, parts: _Parts) -> tuple[Value, ...] | None:
    """The expression over all combinations; None where that is too much work."""
    inputs = {part: f"b{index}" for index, part in enumerate(parts)}

    def leaf(inner: exp.Expr) -> Typed | None:
        part = parts.get(inner)
        if part is None:
            return scope.leaf(inner)
        sql: nodes.Expr = duck.column(inputs[inner])
        if part.typed.is_number and part.typed.scale is not None:
            sql = duck.cast(sql, "HUGEINT")
        return replace(part.typed, sql=sql, presence=None, opaque=False, nullable=True)

    before = scope.parameters.budget
    typed = compile_expression(node, replace(scope, leaf=leaf))
    work = before - scope.parameters.budget
    if max(work, 1) * _combinations(parts) > MOST_STEPS:
        return None
    given = tuple(input_of(part.typed, part.values) for part in parts.values())
    return image(duck.text(typed.sql), given)


def _sorted(values: tuple[Value, ...], typed: Typed) -> tuple[Value, ...]:
    """Ascending with NULL last; texts stay in the order in which they come."""
    if typed.type.oid in TEXTS:
        return values
    known = sorted(v for v in values if v is not None)
    return (*known, *([None] if None in values else []))


def in_form(name: str, typed: Typed, values: tuple[Value, ...]) -> GroupKey | None:
    """The key in the form it leaves the engine in; None for numbers that are no short decimals."""
    kind = typed.type
    if instants.is_instant(typed):
        moments = tuple(v for v in values if not isinstance(v, float))
        return of_moments(GroupKey(name, typed, typed.sql, moments))
    if not typed.is_number:
        scalars = tuple(v for v in values if not isinstance(v, float))
        shown = replace(typed, type=TEXT) if kind.oid in (*TEXTS, UNKNOWN.oid) else typed
        return GroupKey(name, shown, typed.sql, scalars)
    if typed.scale is None:
        return _double_key(name, typed, values)
    raw = duck.cast(typed.sql, "BIGINT" if kind.oid in INTEGERS else "HUGEINT")
    return GroupKey(name, replace(typed, sql=raw), raw, tuple(None if v is None else int(v) for v in values))  # type: ignore[arg-type]


def _double_key(name: str, typed: Typed, values: tuple[Value, ...]) -> GroupKey | None:
    """A DOUBLE as whole numbers of its last decimal digit: the nearest one, which no other value is near to."""
    numbers = [v for v in values if isinstance(v, float)]
    digits = next((d for d in range(MOST_DIGITS + 1) if all(_is_decimal(v, d) for v in numbers)), None)
    if digits is None:
        return None
    steps = [None if v is None else round(float(v) * 10**digits) for v in values]  # type: ignore[arg-type]
    edge = duck.double(float(2**62))
    scaled = as_double(typed)
    if digits:
        scaled = duck.binary("*", scaled, duck.double(float(10**digits)))
    kept = duck.clamp(scaled, duck.double(-float(2**62)), edge)
    kind = NUMERIC if digits and typed.type.oid in FLOATS else typed.type
    raw = duck.cast(duck.call("round", kept), "HUGEINT" if kind.oid == NUMERIC.oid else "BIGINT")
    held = Typed(raw, kind, digits, typed.low, typed.high, typed.nullable)
    return GroupKey(name, held, raw, tuple(dict.fromkeys(steps)), is_held=not digits)


def _is_decimal(value: float, digits: int) -> bool:
    scaled = abs(value) * 10**digits
    return bool(scaled < 2**50) and abs(scaled - round(scaled)) <= 1e-12 * max(1.0, scaled)


def no_values(node: exp.Expr) -> BoundsMissing:
    """The refusal of an expression whose values nobody can list."""
    return BoundsMissing(
        "the keys do not follow from the declared domains",
        detail="Every key is answered, also one without rows: the expression must have at most "
        f"{MOST_KEYS} values, known from the declared domains of its columns.",
        hint="Group by width_bucket(x, 0, 100, 10), floor(x / 10), extract(year FROM d), date_trunc('month', d), or "
        "CASE with constants.",
        position=position(node),
    )
