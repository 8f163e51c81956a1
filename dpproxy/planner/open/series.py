"""generate_series after FROM, or in a list without one: a public relation of whole numbers or moments, written out."""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import dates, duck, instants
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.intervals import read_interval
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.typed import Typed, number
from dpproxy.planner.open.relations import Open, OpenColumn
from dpproxy.planner.planning import Planning
from dpproxy.values.errors import (
    AmbiguousFunction,
    InvalidParameter,
    TooComplex,
    UndefinedColumn,
    Unsupported,
)
from dpproxy.values.pgtypes import DATE, INT4, INT8, INTEGERS, TIMESTAMP, TIMESTAMPTZ, UNKNOWN, SqlType
from dpproxy.wire.intervals import Interval

NAME = "generate_series"
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
MOST = 5_000
"""The most values."""


def write_series(tree: exp.Expr) -> exp.Expr:
    """The tree, with calls of generate_series after FROM as subqueries, in place."""
    for select in tree.find_all(exp.Select):
        if select.args.get("from_") is None:
            _behind_from(select)
    for table in [t for t in tree.find_all(exp.Table) if type(t.this) is exp.ExplodingGenerateSeries]:
        alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(NAME))
        made = exp.Subquery(this=table.this, alias=alias, joins=table.args.get("joins"))
        made.meta.update(table.meta)
        table.replace(made)
        _as_days(made)
    return tree


_AROUND = (exp.Alias, exp.Paren, exp.Cast, exp.Add, exp.Sub, exp.Mul)


def _behind_from(select: exp.Select) -> None:
    """A list with one series, and no FROM, is that of the series' rows."""
    found = [n for e in select.expressions for n in e.find_all(exp.ExplodingGenerateSeries)]
    if len(found) != 1:
        return
    above = found[0].parent
    while isinstance(above, _AROUND):
        above = above.parent
    if above is select:
        column = exp.column(NAME)
        column.meta.update(found[0].meta)
        found[0].replace(column)
        names = exp.TableAlias(this=exp.to_identifier(NAME), columns=[exp.to_identifier(NAME)])
        select.set("from_", exp.From(this=exp.Table(this=found[0], alias=names)))


def _as_days(series: exp.Subquery) -> None:
    """Days that are only read as dates need no zone: timestamps are the same days.

    Steps of hours are left as they are: a day on which the clock changes has fewer or more of them.
    """
    node, select = series.this, series.find_ancestor(exp.Select)
    ends = [node.args["start"], node.args["end"]]
    is_typed = any(map(_is_date, ends)) or _has_interval(node)
    is_of_days = is_typed and all(_is_date(end) or _is_day(end) for end in ends)
    if select is None or node.args.get("step") is None or not is_of_days:
        return
    alias = series.args["alias"]
    name = alias.columns[0].name if alias.columns else alias.name
    read = [c for c in select.find_all(exp.Column) if c.name == name and c.table in ("", alias.name)]
    is_cast = all(isinstance(c.parent, exp.Cast) and c.parent.to.this == exp.DType.DATE for c in read)
    shows_all = any(not isinstance(star.parent, exp.Count) for star in select.find_all(exp.Star))
    if not is_cast or shows_all or _interval(node).microseconds:
        return
    for place, end in zip(("start", "end"), ends, strict=True):
        node.set(place, exp.Cast(this=end.copy(), to=exp.DataType.build("TIMESTAMP")))


def _is_day(node: exp.Expr) -> bool:
    """A text that is read as a day where the other end is one, or a moment at its begin."""
    return isinstance(node, exp.Literal) and node.is_string and _DAY.fullmatch(node.name) is not None


def _is_date(node: exp.Expr) -> bool:
    """A cast to a date, today, or days before or after these."""
    while isinstance(node, exp.Paren | exp.Add | exp.Sub):
        if isinstance(node, exp.Add | exp.Sub) and not node.expression.is_int:
            return False
        node = node.this
    return isinstance(node, exp.CurrentDate) or (
        isinstance(node, exp.Cast) and node.to.this == exp.DType.DATE and not node.expressions
    )


def open_series(node: exp.ExplodingGenerateSeries, alias: str, planning: Planning) -> Open:
    """The values as a relation of one column, which has the name of the alias. Raises a ``Refusal``."""
    scope = Scope(ExpressionLevel.RELEASED, _no_column, planning.parameters)
    start = compile_expression(node.args["start"], scope)
    end = compile_expression(node.args["end"], scope)
    if start.type is end.type is UNKNOWN:
        start = settle(start, _of_texts(node, scope), scope, node)
    end = settle(end, start.type, scope, node)
    start = settle(start, end.type, scope, node)
    if not (start.is_number or start.is_moment or instants.is_instant(start)):
        raise Unsupported("generate_series takes whole numbers, dates or timestamps", position=position(node))
    if start.type.oid == DATE.oid:
        start, end = (instants.to_instant(v, scope.parameters.zone, node, scope) for v in (start, end))
    is_open = any(v.parameter is not None and not v.is_constant for v in (start, end))
    if not is_open and not (start.is_constant and end.is_constant):
        raise Unsupported(
            "generate_series takes constants",
            hint="Write its ends as numbers, dates, or now() and intervals: generate_series(current_date - 7, "
            "current_date, interval '1 day').",
            position=position(node),
        )
    makes = _numbers if start.is_number else _moments
    values = (
        []
        if is_open or start.is_null or end.is_null
        else list(islice(makes(node, start, end, scope), MOST + 1))
    )
    if len(values) > MOST:
        raise TooComplex(f"a series of more than {MOST} values", position=position(node))
    shape = replace(
        values[0] if values else start, is_constant=False, constant=None, parameter=None, nullable=False
    )
    if values:
        ends = values[0], values[-1]
        shape = replace(
            shape,
            low=min(v.low for v in ends) if start.is_number else None,  # type: ignore[type-var]
            high=max(v.high for v in ends) if start.is_number else None,  # type: ignore[type-var]
            first=None if start.is_number else min(v.first for v in ends),  # type: ignore[type-var]
            last=None if start.is_number else max(v.last for v in ends),  # type: ignore[type-var]
        )
    return _relation(values or [start], shape, alias, planning, is_empty=not values)


def _of_texts(node: exp.ExplodingGenerateSeries, scope: Scope) -> SqlType:
    """The type of two texts: that of the step, where it has one."""
    if _has_interval(node):
        return TIMESTAMPTZ
    step = node.args.get("step")
    found = UNKNOWN if step is None else compile_expression(step, scope).type
    if found.oid not in INTEGERS:
        given = "unknown, unknown" + ("" if step is None else ", unknown")
        raise AmbiguousFunction(
            f"function generate_series({given}) is not unique",
            hint="Say the type of an end: date '2024-01-31'.",
            position=position(node),
        )
    return found


def _relation(values: list[Typed], shape: Typed, alias: str, planning: Planning, *, is_empty: bool) -> Open:
    name = nodes.Bare(planning.reserve("q"))
    source = nodes.Values(tuple((v.sql,) for v in values), name, ("c0",))
    query = nodes.Select((duck.column("c0", str(name)),), source, where=nodes.FALSE if is_empty else None)
    column = OpenColumn(alias or NAME, replace(shape, sql=duck.column("c0")))
    return Open(query, (column,), released=False, rows=len(values), empty=is_empty, unique=frozenset({0}))


def _numbers(node: exp.ExplodingGenerateSeries, start: Typed, end: Typed, scope: Scope) -> Iterator[Typed]:
    given = node.args.get("step")
    step = number(1) if given is None else settle(compile_expression(given, scope), INT4, scope, node)  # type: ignore[arg-type]
    kinds = {v.type.oid for v in (start, end, step)}
    if not kinds <= {INT4.oid, INT8.oid} or not isinstance(step.constant, int):
        raise Unsupported("generate_series takes whole numbers here", position=position(node))
    kind = INT8 if INT8.oid in kinds else INT4
    first, last, by = (int(v.constant) for v in (start, end, step))  # type: ignore[arg-type]
    if by == 0:
        raise InvalidParameter("step size cannot equal zero", position=position(node))
    for value in range(first, last + (1 if by > 0 else -1), by):
        yield replace(number(value), type=kind)  # type: ignore[arg-type]


def _moments(node: exp.ExplodingGenerateSeries, start: Typed, end: Typed, scope: Scope) -> Iterator[Typed]:
    by = _interval(node)
    move: Callable[[exp.Expr, Typed, Interval, Scope], Typed] = (
        dates.moved_by if start.type.oid == TIMESTAMP.oid else instants.add_interval
    )
    is_forward = _moment(move(node, start, by, scope)) > _moment(start)
    if _moment(move(node, start, by, scope)) == _moment(start):
        raise InvalidParameter("step size cannot equal zero", position=position(node))
    value = start
    while (_moment(value) <= _moment(end)) if is_forward else (_moment(value) >= _moment(end)):
        yield value
        value = move(node, value, by, scope)


def _has_interval(node: exp.ExplodingGenerateSeries) -> bool:
    """Whether the step is said to be one: texts beside it are moments with a time zone."""
    step = node.args.get("step")
    return isinstance(step, exp.Interval) or (isinstance(step, exp.Cast) and step.is_type("interval"))


def _interval(node: exp.ExplodingGenerateSeries) -> Interval:
    """The step, with or without the name of its type."""
    step = node.args.get("step")
    inner = step.this if isinstance(step, exp.Cast) else step and step.unnest()
    if isinstance(inner, exp.Literal) and inner.is_string:
        inner = exp.Interval(this=inner.copy())
    if not isinstance(inner, exp.Interval):
        raise Unsupported(
            "generate_series of moments takes an interval",
            hint="generate_series(a, b, interval '1 day')",
            position=position(node),
        )
    return read_interval(inner)


def _moment(value: Typed) -> datetime:
    """The constant, by which values are compared."""
    if not isinstance(value.constant, datetime):
        raise Unsupported("generate_series takes finite moments")
    return value.constant


def _no_column(node: exp.Expr) -> Typed | None:
    if type(node) is exp.Column:
        raise UndefinedColumn(
            f'column "{node.name}" does not exist', hint="The ends of a series are constants."
        )
    return None
