"""Order statistics of a view whose rows stay inside: MIN, MAX, MEDIAN and PERCENTILE of bare columns.

The rows are those of clusters of at least k, each value the middle of its cluster, and their number is fixed by the
build. One unit more or less moves every order statistic of a column by at most width / k, so each is released by
noise for that width alone. It holds for the whole column only: what a condition, a group or an expression makes of the
rows may move by more, and is refused.
"""

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.calls import name_of
from dpproxy.aggregates.model import Ends, Measure, Noise
from dpproxy.aggregates.order import fraction_of
from dpproxy.algebra import nodes
from dpproxy.algebra.figures import later
from dpproxy.algebra.plan import Caller, Error, Part
from dpproxy.analysis import duck
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.config import settings as session
from dpproxy.config.settings import DEFAULTS
from dpproxy.planner.access import Use
from dpproxy.planner.answer import answer, limits
from dpproxy.planner.open.protected_views import find_materialized, table_of, typed
from dpproxy.planner.open.relations import Open
from dpproxy.planner.planning import Planning
from dpproxy.planner.protected import view_query
from dpproxy.planner.release.allocation import Allocation, allocate
from dpproxy.planner.release.exact import ExactQuery
from dpproxy.planner.release.mechanisms import noise_delta
from dpproxy.planner.release.pricing import Draft, Price, Terms
from dpproxy.planner.release.scope import AggregateCall, ReleasedScope
from dpproxy.planner.rewrites.empty import has_no_rows
from dpproxy.planner.rows.fields import Computed, no_keys
from dpproxy.planner.rows.relation import JoinedRows, Scan, own_nodes
from dpproxy.planner.rows.sources import Env
from dpproxy.sql.quoting import identifier
from dpproxy.values.days import micros, midnight
from dpproxy.values.errors import Refusal, TypeMismatch, UndefinedTable, UnitLost
from dpproxy.values.pgtypes import DATE, FLOAT8, FLOATS, INTEGERS, NUMERIC, TIMESTAMP, Column, SqlType
from dpproxy.views.columns import MomentColumn, NumberColumn, ShownColumn
from dpproxy.views.materialized import Materialized
from udfs.mechanisms import Additive

ORDERS = (exp.Min, exp.Max, exp.Median, exp.WithinGroup)
_SPANS = {DATE.oid: "days", TIMESTAMP.oid: "seconds"}
_PLAIN = frozenset({"expressions", "from_", "limit", "offset", "order", "kind"})


class InsideStatistic(Struct, frozen=True):
    """An order statistic of a column that is held in places; noise is for ``width`` places."""

    name: str
    column: ShownColumn
    steps: NumberColumn
    width: int
    is_double: bool

    @property
    def measures(self) -> tuple[Measure, ...]:
        return ()

    @property
    def type(self) -> SqlType:
        return FLOAT8 if self.is_double else self.column.type

    @property
    def unit(self) -> Fraction:
        """What a place is wide: in the column's unit, days, or seconds."""
        per = Fraction(1, 10**6) if self.column.type.oid == TIMESTAMP.oid else Fraction(1)
        return self.steps.unit * self.steps.step * per

    def value(self, columns: Sequence[nodes.Expr]) -> Typed:
        """The place inside the column's bounds, as what it stands for."""
        place = duck.clamp(duck.cast(columns[0], "HUGEINT"), duck.integer(0), duck.integer(self.steps.last))
        number = duck.binary(
            "+", duck.binary("*", place, duck.integer(self.steps.step)), duck.integer(self.steps.low)
        )
        top = duck.cast(duck.integer(self.steps.high), "HUGEINT")
        inside = duck.cast(duck.call("least", number, top), "HUGEINT")
        if isinstance(self.steps, MomentColumn):
            return self._moment(self.steps, inside)
        if not self.is_double and self.column.type.oid not in FLOATS:
            return Typed(inside, self.type, self.column.type.scale or 0, nullable=False)
        unit = duck.double(float(self.steps.unit))
        return Typed(duck.binary("*", duck.cast(inside, "DOUBLE"), unit), self.type, None, nullable=False)

    def _moment(self, moments: MomentColumn, inside: nodes.Expr) -> Typed:
        first = moments.first
        if self.type.oid == DATE.oid:
            days = duck.cast(inside, "INTEGER")
            return Typed(duck.binary("+", duck.constant(midnight(first).date()), days), DATE, nullable=False)
        moment = duck.cast(duck.binary("+", inside, duck.integer(micros(first))), "BIGINT")
        return Typed(duck.call("make_timestamp", moment), TIMESTAMP, nullable=False)

    def noise_sd(self, columns: Sequence[nodes.Expr], noise: Noise) -> nodes.Expr:
        del columns
        return duck.double(noise.sd[0] * float(self.unit))

    def interval(self, columns: Sequence[nodes.Expr], noise: Noise, confidence: Fraction) -> Ends:
        [half] = noise.half_width(confidence)
        if isinstance(self.steps, MomentColumn):
            raise TypeMismatch(
                f"the ends of an interval around {self.name}() of a {self.column.type.shown} are no numbers",
                hint="EXPLAIN (PRIVACY) tells how far off it may be.",
            )
        middle = self.value(columns)
        number: nodes.Expr = duck.cast(middle.sql, "DOUBLE")
        if middle.scale:
            number = duck.binary("/", number, duck.double(float(10**middle.scale)))
        reach = duck.double(half * float(self.unit))
        return duck.binary("-", number, reach), duck.binary("+", number, reach)

    def error(self, noise: Noise, confidence: Fraction) -> Error:
        unit = float(self.unit)
        [half] = noise.half_width(confidence)
        words = (
            f"\u00b1{half * unit:g} {_SPANS[self.type.oid]}" if isinstance(self.steps, MomentColumn) else None
        )
        return Error(f"{self.width * unit:g} (width / k)", noise.sd[0] * unit, half * unit, words)


def inside_view(select: exp.Select, planning: Planning, env: Env) -> Materialized | None:
    """The view whose rows stay inside that a SELECT reads and nothing else, None for others."""
    clause = select.args.get("from_")
    node = None if clause is None else clause.this
    if type(node) is not exp.Table or (not node.db and node.name in env.ctes):
        return None
    found = find_materialized(node, planning.context, inside=env.view is not None)
    return found if found is not None and found.inside else None


def inside(select: exp.Select, view: Materialized, planning: Planning, env: Env, *, top: bool) -> Open:
    """The released relation of such a SELECT: one row. Raises PD002; nothing is read or spent."""
    node = select.args["from_"].this
    _check_plain(select, view)
    _check_current(select, view, planning, env)
    own = exp.Table(this=exp.to_identifier(view.name, quoted=True))  # its grant names the budget
    planning.tables.append(Use(env.view or own, view.source))
    rows = _rows(view, node.alias_or_name)
    scope = Scope(ExpressionLevel.ROW, lambda _: None, planning.parameters)
    calls: dict[exp.Expr, AggregateCall] = {}
    numbers: list[int] = []
    for call in dict.fromkeys(n for e in _written(select) for n in own_nodes(e) if isinstance(n, ORDERS)):
        statistic, fraction = _statistic(call, view, scope)
        number = planning.add(_draft(statistic, fraction, view, planning, call))
        numbers += [number] if number not in numbers else []
        noise = later(_noise, planning.source(number))
        calls[call] = AggregateCall(statistic, (duck.column("m0", f"r{number}"),), noise)
    if not numbers:
        raise _refused(view, select, "rows are not shown, and nothing else of them is answered")
    named = ", ".join(duck.words(n).lower() for n in calls)
    planning.cuts.append(f"each row of {view.view} is the middle of at least {view.k}")
    planning.describe(f"{named} on protected view {view.view}", f"one unit of {view.owner}")
    settings = planning.context.settings
    released = ReleasedScope({}, calls, 1, session.confidence(settings), rows, planning, frozenset(), env)
    shown = answer(select, released, clamp=False, intervals=session.intervals(settings), top=top)
    query = nodes.Select(
        tuple(duck.named(v, f"c{i}") for i, v in enumerate((*(v.sql for v in shown.values), *shown.more))),
        nodes.Release(numbers[0]),
        tuple(nodes.Join(nodes.Release(n), on=nodes.TRUE) for n in numbers[1:]),
    )
    limited = limits(select, query, released.scope())
    empty = has_no_rows(select)
    return Open(limited, shown.columns, True, 1, empty=empty, unique=frozenset())  # noqa: FBT003


def _written(select: exp.Select) -> list[exp.Expr]:
    order = select.args.get("order")
    return [*select.expressions, *(order.expressions if order is not None else ())]


def _refused(view: Materialized, select: exp.Expr, why: str) -> UnitLost:
    column = identifier(view.columns[0].name)
    return UnitLost(
        f'protected view "{view.view}" answers order statistics of whole columns: {why}',
        detail="One person moves these by width / k; what conditions, groups and expressions make of them, by more.",
        hint=f"SELECT min({column}), median({column}) FROM {identifier(view.name)}; "  # noqa: S608 - a hint
        "a condition belongs in the query of a view of its own.",
        position=position(select),
    )


def _check_plain(select: exp.Select, view: Materialized) -> None:
    for name, value in select.args.items():
        if value and name not in _PLAIN:
            clause = value[0] if isinstance(value, list) else value
            words = {"joins": "a join", "where": "a condition", "group": "GROUP BY"}.get(name, name.upper())
            raise _refused(
                view, clause if isinstance(clause, exp.Expr) else select, f"{words} is not answered"
            )
    node = select.args["from_"].this
    alias = node.args.get("alias")
    if alias is not None and alias.columns:
        raise _refused(view, node, "columns under other names are not answered")
    for column in (n for e in _written(select) for n in own_nodes(e) if type(n) is exp.Column):
        if column.table and column.table != node.alias_or_name:
            raise UndefinedTable(
                f'missing FROM-clause entry for table "{column.table}"', position=position(column)
            )


def _check_current(select: exp.Select, view: Materialized, planning: Planning, env: Env) -> None:
    """Refuse where its rows would be other people's today: an answer is charged to units as they are declared now."""
    nobody = Caller("", frozenset(), "")
    owner = replace(planning.context, caller=nobody, settings=DEFAULTS, losses=None, prepared=None)
    try:
        found = view_query(view.view, view.query, owner, env.plan).digest
    except Refusal:
        found = None
    if found != view.digest:
        raise UnitLost(
            f'protected view "{view.view}" was built of tables that are declared otherwise now',
            detail="What one person moves its rows by follows from what was declared then.",
            hint=f"An administrator builds it anew: REFRESH PROTECTED VIEW {identifier(view.view)};",
            position=position(select.args["from_"].this),
        )


def _rows(view: Materialized, alias: str) -> JoinedRows:
    """The columns for refusals and names; nothing is ever read through it."""
    fields = tuple(
        Computed(c.name, Column(c.name, c.type), typed(c, c.name), no_keys(c.name)) for c in view.columns
    )
    content = tuple(duck.column(c.name) for c in view.columns)
    item = nodes.Table(view.table)
    scan = Scan(alias, item, fields, view.name, content=content)
    return JoinedRows((scan,), None, view.owner, 1, 1, True, content)  # noqa: FBT003 - no unit has several rows


def _statistic(node: exp.Expr, view: Materialized, scope: Scope) -> tuple[InsideStatistic, Fraction]:
    """What is asked, and which quantile that is."""
    call, operand, fraction = node, node.this, Fraction(1, 2)
    if isinstance(node, exp.WithinGroup):
        call, listed = node.this, node.expression.expressions
        operand = listed[0].this
        fraction = fraction_of(call.this, scope)
        fraction = 1 - fraction if listed[0].args.get("desc") else fraction
    elif isinstance(node, exp.Min | exp.Max):
        fraction = Fraction(int(isinstance(node, exp.Max)))
    column = next((c for c in view.columns if type(operand) is exp.Column and c.name == operand.name), None)
    is_bare = column is not None and not isinstance(node.parent, exp.Filter)
    if column is None or column.steps is None or not is_bare:
        raise _refused(view, node, f"{name_of(call)}() takes one of its columns as it is")
    is_number = column.type.oid in {*INTEGERS, *FLOATS, NUMERIC.oid}
    is_double = is_number and isinstance(call, exp.Median | exp.PercentileCont)
    if not is_number and isinstance(call, exp.Median | exp.PercentileCont):
        raise TypeMismatch(
            f"{name_of(call)} of a {column.type.shown} is not answered",
            hint="percentile_disc(0.5) WITHIN GROUP (ORDER BY x) is, and so are min(x) and max(x).",
            position=position(node),
        )
    width = max(1, -(-column.steps.last // max(1, view.k)))
    return InsideStatistic(name_of(call), column, column.steps, width, is_double), fraction


def _draft(
    statistic: InsideStatistic, fraction: Fraction, view: Materialized, planning: Planning, node: exp.Expr
) -> Draft:
    """One draw around the row at the quantile's place; how many rows there are is public."""
    settings, measure = planning.context.settings, Measure(duck.column("m0"), statistic.width)
    place = max(0, -(-fraction.numerator * view.rows // fraction.denominator) - 1)
    name = duck.column(statistic.column.name)
    order = (nodes.Ordered(name),)
    row = nodes.Select(
        (name,), table_of(view), order=order, limit=duck.integer(1), offset=duck.integer(place)
    )
    shown = duck.named(duck.cast(name, "INT128"), "m0")
    query = nodes.Select((shown,), nodes.Subquery(row, nodes.Bare("o")))

    def price(part: Part, terms: Terms) -> Price:
        delta = noise_delta(settings, terms, node, discovered=False)
        allocation = allocate([measure], 1, None, terms.loss, delta, session.mechanism(settings))
        made = replace(
            part,
            release=_release(allocation),
            box=f"order statistic {allocation.box}",
            noise=allocation.words,
            loss=terms.loss,
            noise_delta=allocation.delta,
            why=f"{allocation.why}; of protected view {view.view}, k = {view.k}",
        )
        return Price(made, allocation.mechanism)

    part = planning.part(ExactQuery(query, frozenset()))
    return Draft(part, ("order statistic", statistic.width), price)


def _noise(mechanism: Additive) -> Noise:
    return Noise(mechanism.noise_sd(), mechanism.half_width, 1)


def _release(allocation: Allocation) -> str:
    """The draw: the answer has one row, whatever the backend's."""
    nano = allocation.mechanism.nano
    loss = f"CAST({nano // 10**9}.{nano % 10**9:09d} AS DECIMAL(18,9))"
    [width] = allocation.mechanism.widths
    drawn = f"{allocation.function}([CAST(e.m0 AS HUGEINT)], [CAST({width} AS HUGEINT)], {loss})"
    return f"SELECT k.o, {drawn} AS v FROM keys AS k LEFT JOIN exact AS e ON TRUE"  # noqa: S608 - numbers only
