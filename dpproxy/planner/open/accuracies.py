"""How far what is written over released rows may be off, where that is proved.

Two laws are known. All rows of all releases of a statement are within the distances of their columns together, and so
is, by the rules of ``planner.release.intervals``, what is written over columns of a row or of rows that keys name; the
least, the largest and the mean of rows are no farther off than the farthest of them. And where each row is one draw
of a release, these are independent: a total over up to n of them is within what the sum of n is, which is farther off
than that of fewer (``udfs.mechanisms.averaged``). Totals beside columns of rows count as one more release: each takes
an equal share of what may be missed, so that all hold together. Neither law is used of several rows that noise chose,
and the second not where a join may repeat rows.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import sqrt

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates import averages
from dpproxy.aggregates import formulas as f
from dpproxy.aggregates.table import is_aggregate
from dpproxy.algebra import nodes
from dpproxy.algebra.figures import later
from dpproxy.algebra.plan import Accuracy
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed, as_double
from dpproxy.analysis.windows import over
from dpproxy.planner.answer import UNBOUNDED, UNPROVED, add_bounds, rounded_ends
from dpproxy.planner.open.from_items import OpenRows
from dpproxy.planner.open.relations import OpenColumn
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.intervals import Distance, Distances, among, single_values, vanishes
from dpproxy.planner.rows.relation import own_nodes
from dpproxy.values.pgtypes import INTEGERS
from udfs.mechanisms.averaged import Averaged, Draw, widest

_LARGEST = 10**100
_ROW = (exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue)
_ALL_ROWS = (exp.Sum, exp.Avg, exp.Min, exp.Max)
_OF_ONE_ROW = (
    exp.Column, exp.Paren, exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Round, exp.Cast, exp.Abs,
)  # fmt: skip

Forms = dict[exp.Expr, float]
"""Weights of released columns of a row, of other rows, and of totals."""


def noisy(node: exp.Expr, rows: OpenRows) -> list[Accuracy]:
    """The errors of the columns of released values in an expression; a subquery has columns of its own.

    Of those of a query around it none is known.
    """
    found = [rows.find(n) for n in own_nodes(node) if type(n) is exp.Column]
    errors = [UNPROVED if c is None else c.accuracy for c in found]
    return [a for a in errors if a is not None]


class Accuracies(Struct, frozen=True, dict=True):
    """Of the columns of one SELECT that are ``listed``, with this ``confidence`` for all of them.

    ``chosen`` where noise may decide which rows there are, or which are in one group; ``grouped`` where rows are, in
    as many ``groups`` at most. ``top`` where the columns are what is shown.
    """

    rows: OpenRows
    scope: Scope
    planning: Planning
    confidence: Fraction
    listed: tuple[exp.Expr, ...]
    chosen: bool
    grouped: bool
    groups: int
    top: bool

    def of(self, node: exp.Expr, value: Typed) -> tuple[Accuracy | None, nodes.Expr | None]:
        """None without noise; and the distance of each row, where it differs."""
        found, single = noisy(node, self.rows), value.sql.has(nodes.Release)
        if not found and not single:
            is_hidden = (self.chosen and _is_of_rows(node)) or self._reads_in_subquery(node)
            return (UNPROVED if is_hidden else None), None
        if (self.chosen or any(a.chosen for a in found)) and not self._is_of_one_row(node):
            return UNPROVED, None  # without noise the least of other rows might be meant
        if _is_of_column(node) and found and found[0].words != "":
            is_one = type(_called(node)) not in _ALL_ROWS
            return (found[0] if is_one else UNPROVED), None
        singles = single_values(node, self.scope, self.planning) if single else {}
        is_known = value.is_number and not self._reads_in_subquery(node) and singles is not None
        if not single and node.find(exp.Query):
            is_known = False
        distance = self._distance(node, singles or {}) if is_known else None
        if distance is None:
            return UNPROVED, None
        chosen = any(a.chosen for a in found) or vanishes(node)
        if not isinstance(distance, nodes.Expr):
            return Accuracy(half=distance, chosen=chosen), None
        return Accuracy(chosen=chosen), distance

    def within(self, node: exp.Expr) -> tuple[float, float] | None:
        """What values of a column are within, and the mean, the least and the largest of them."""
        if not _is_of_column(node) or type(_called(node)) is exp.Sum or _called(node).args.get("default"):
            return None
        found = self.rows.find(_called(node).this.unnest())
        return None if found is None else found.within

    def note(self) -> None:
        """Count the totals as one more release, where columns of released rows are shown beside them."""
        if self._totals and self._is_beside:
            self.planning.noisy.add(tuple(compile_expression(t, self.scope).sql for t in self._totals))

    @cached_property
    def _is_beside(self) -> bool:
        """Whether columns of rows, with distances that hold together, are shown beside totals, or may be."""
        is_more = not self.top or len(self._totals) < len(self._laws)
        return is_more or any(n.find(exp.Query) for n in self.listed)

    @cached_property
    def _laws(self) -> list[exp.Expr]:
        """The different values with a law in all columns."""
        return list(dict.fromkeys(p for node in self.listed for p in self._parts(node)))

    @cached_property
    def _totals(self) -> list[exp.Expr]:
        return [p for p in self._laws if self._is_total(p)]

    def _is_of_one_row(self, node: exp.Expr) -> bool:
        """Whether it is computed of values of its row, and NULL where one of them is: rows that are left out may be."""
        is_of_row = all(type(n) in _OF_ONE_ROW for n in own_nodes(node) if noisy(n, self.rows))
        return is_of_row and not _is_of_rows(node)

    def _reads_in_subquery(self, node: exp.Expr) -> bool:
        """Whether a subquery in it may read released values of its row."""
        names = {c.name for s in self.rows.sources for c in s.columns if c.accuracy is not None}
        return any(c.name in names for query in node.find_all(exp.Query) for c in query.find_all(exp.Column))

    def _distance(self, node: exp.Expr, singles: Mapping[exp.Expr, Distance]) -> Distance | None:
        if self.rows.around is not None and not _is_of_column(node):
            return None  # values of rows around may be released, too
        parts = self._parts(node)
        known = {**{part: self._of_part(part) for part in parts}, **singles}
        forms = self._forms(node) if not singles else None
        if forms is not None:
            halves = [(w, known[part]) for part, w in forms.items()]
            alike = [abs(w) * d for w, d in halves if d is not None and not isinstance(d, nodes.Expr)]
            if len(alike) == len(halves):
                return sum(alike)
        worst = {
            p: None if type(_called(p)) is exp.Sum or self._is_total(p) else self._column(p).half
            for p in parts
        }
        return _OfRows(self.scope, known, worst).whole(node)

    def _parts(self, node: exp.Expr) -> list[exp.Expr]:
        """The different values with a law in an expression: of the row, of others, and totals."""

        def is_end(n: exp.Expr) -> bool:
            return isinstance(n, exp.Query) or self._is_leaf(n)

        return list(dict.fromkeys(n for n in node.walk(prune=is_end) if self._is_leaf(n)))

    def _is_leaf(self, node: exp.Expr) -> bool:
        """Whether it is a value that has a law."""
        is_inside = isinstance(node.parent, exp.Window | exp.Filter) and node.arg_key == "this"
        is_part = type(node) is exp.Column or (self._is_part(node) and not is_inside)
        return is_part and bool(noisy(node, self.rows))

    def _is_part(self, node: exp.Expr) -> bool:
        """Whether it is of one column, of a row that keys name or of several, and nothing else has noise."""
        if not _is_of_column(node):
            return False
        called = _called(node)
        around = [v for k, v in (*called.args.items(), *node.args.items()) if k != "this"]
        behind = [p for v in around for p in (v if isinstance(v, list) else [v]) if isinstance(p, exp.Expr)]
        return not any(noisy(part, self.rows) or part.find(exp.Query) for part in behind)

    def _is_total(self, part: exp.Expr) -> bool:
        """Whether it is a sum or mean of draws of which no two are one."""
        if type(_called(part)) not in (exp.Sum, exp.Avg) or (self.grouped and type(part) is exp.Window):
            return False
        noise = self._column(part).noise
        if noise is None or len(self.rows.sources) != 1:
            return False
        return noise.draw is not None or self._found(part).mean is not None

    def _found(self, part: exp.Expr) -> OpenColumn:
        """The column that a part is of."""
        found = self.rows.find(_called(part).this.unnest())
        if found is None:
            raise AssertionError("it is of a column")
        return found

    def _of_part(self, part: exp.Expr) -> Distance | None:
        """The distance of a value; of all values it holds together."""
        if self._is_total(part):
            return self._total(part)
        column = part if type(part) is exp.Column else _called(part).this.unnest()
        found, half = self.rows.find(column), self._column(part).half
        if found is None:
            return half
        if column is part:
            return None if self.grouped else found.reach or half
        called, is_window = type(_called(part)), type(part) is exp.Window
        if self.grouped and is_window:
            return None
        is_sum = called is exp.Sum
        if (half is not None and not is_sum) or (half is None and found.reach is None):
            return half
        each = found.reach or duck.double(0.0 if half is None else half)
        behind = over(part, self.scope) if isinstance(part, exp.Window) else _alone
        if called in _ROW:
            made = compile_expression(part, self.scope).sql
            call = made.call if isinstance(made, nodes.Window) else None
            if not isinstance(call, nodes.Call):
                return None
            others = [*call.arguments[1:2], *(duck.double(0.0) for _ in call.arguments[2:])]
            return behind(nodes.Call(call.name, (each, *others)))
        name = "sum" if is_sum else "avg" if called is exp.Avg else "max"
        far, known, many = (
            behind(nodes.Call(n, (v,))) for n, v in ((name, each), ("count", each), ("count", nodes.Star()))
        )
        return duck.case([(nodes.Binary("=", known, many), far)], None)

    def _column(self, part: exp.Expr) -> Accuracy:
        [found] = noisy(part, self.rows)
        return found

    def _total(self, part: exp.Expr) -> Distance | None:
        """Of the sum or mean of up to as many draws as there are rows, of a group or a frame."""
        noise, rows = self._column(part).noise, max(1, self.rows.rows)
        if noise is None:
            raise AssertionError("a total has a law")
        is_frame = type(part) is exp.Window and any(
            part.args.get(a) for a in ("partition_by", "order", "spec")
        )
        many = rows if is_frame else self.groups if self.grouped else 1
        share = (self.planning.beside if self._is_beside else 1) * (len(self._totals) * many)
        confidence = among(self.confidence, share)
        is_mean = type(_called(part)) is exp.Avg
        behind = over(part, self.scope) if isinstance(part, exp.Window) else _alone
        if noise.draw is None:
            mean = self._found(part).mean
            return (
                None if mean is None else averages.total(mean, type(_called(part)), rows, confidence, behind)
            )
        if many == 1 and not is_mean:
            return later(_of_all, noise.draw, rows, noise.unit, confidence)
        reach = later(_of_each, noise.draw, rows, noise.unit, confidence)
        column = self.rows.column(_called(part).this.unnest()).sql
        root = duck.call("sqrt", duck.cast(behind(nodes.Call("count", (column,))), "DOUBLE"))
        if not is_mean:
            return duck.binary("*", duck.double(reach), root)
        return duck.binary("/", duck.double(reach), duck.call("nullif", root, duck.double(0.0)))

    def _forms(self, node: exp.Expr) -> Forms | None:
        """An expression as a sum with constant weights; None where it is none."""
        if not noisy(node, self.rows):
            return {} if not node.find(exp.Subquery, exp.Select) else None
        if self._is_leaf(node):
            return {node: 1.0}
        if type(node) in (exp.Paren, exp.Neg):
            return _times(self._forms(node.this), -1.0 if type(node) is exp.Neg else 1.0)
        if type(node) in (exp.Add, exp.Sub):
            sign = -1.0 if type(node) is exp.Sub else 1.0
            return _plus(self._forms(node.this), _times(self._forms(node.expression), sign))
        scaled = self._scaled(node)
        return None if scaled is None else _times(self._forms(scaled[0]), scaled[1])

    def _scaled(self, node: exp.Expr) -> tuple[exp.Expr, float] | None:
        """What is multiplied by a constant or divided by one, and the factor; not whole numbers that are divided."""
        if type(node) is exp.Mul:
            for one, other in ((node.this, node.expression), (node.expression, node.this)):
                factor = self._constant(one)
                if factor is not None:
                    return other, factor
        elif type(node) is exp.Div and compile_expression(node, self.scope).type.oid not in INTEGERS:
            divisor = self._constant(node.expression)
            return (node.this, 1 / divisor) if divisor else None
        return None

    def _constant(self, node: exp.Expr) -> float | None:
        if noisy(node, self.rows):
            return None
        found = compile_expression(node, self.scope).constant
        if not isinstance(found, int | Fraction) or isinstance(found, bool):
            return None
        return float(found) if -_LARGEST <= found <= _LARGEST else None


def _of_all(draw: Draw, rows: int, unit: float, confidence: Fraction) -> float:
    return unit * Averaged((replace(draw, terms=draw.terms * rows),)).half_width(confidence)


def _of_each(draw: Draw, rows: int, unit: float, confidence: Fraction) -> float:
    return unit * sqrt(draw.variance) * widest(draw, rows, confidence)


class _OfRows(Distances):
    """The rules over values of released rows; of all rows they are within ``halves``, where these are known."""

    def __init__(
        self,
        scope: Scope,
        known: Mapping[exp.Expr, Distance | None],
        halves: Mapping[exp.Expr, float | None],
    ) -> None:
        super().__init__(scope, known)
        self._distances = known
        self._halves = halves

    def _start(self, node: exp.Expr) -> Distance | None:
        found = self._distances[node]
        is_each = found is None or isinstance(found, nodes.Expr)
        return self._halves[node] if self._alike and is_each else found


def _is_of_rows(node: exp.Expr) -> bool:
    """Whether it is computed of several rows, as their number is."""
    return any(is_aggregate(n) or type(n) is exp.Window for n in own_nodes(node))


def _called(node: exp.Expr) -> exp.Expr:
    return node.this if type(node) is exp.Window else node


def _is_of_column(node: exp.Expr) -> bool:
    """Whether it is the sum, the mean, the least or the largest of a column, or one of its values."""
    kinds = (*_ALL_ROWS, *_ROW) if type(node) is exp.Window else _ALL_ROWS
    called = _called(node)
    return type(called) in kinds and type(called.this.unnest()) is exp.Column


def _alone(call: nodes.Call) -> nodes.Expr:
    return call


def _plus(a: Forms | None, b: Forms | None) -> Forms | None:
    if a is None or b is None:
        return None
    return {part: a.get(part, 0.0) + b.get(part, 0.0) for part in {**a, **b}}


def _times(forms: Forms | None, factor: float) -> Forms | None:
    return None if forms is None else {part: w * factor for part, w in forms.items()}


def _told(column: OpenColumn, reach: nodes.Expr | None) -> tuple[OpenColumn, nodes.Expr | None]:
    """A column that says so where no distance is known."""
    accuracy = column.accuracy
    if accuracy is not None and accuracy.half is None and accuracy.words == "" and reach is None:
        column = replace(column, accuracy=UNPROVED)
    return replace(column, reach=None, mean=None), reach


def merged(query: nodes.Query, many: int, reaches: Sequence[str]) -> nodes.Select:
    """The different rows of a query, each with the distances of the farthest: these tell no rows apart."""
    names = [f"c{n}" for n in range(many)]
    items = [duck.named(duck.column(name, "each"), name) for name in names]
    for name in reaches:
        reach = duck.column(name, "each")
        all_known = nodes.Binary("=", duck.call("count", reach), duck.call("count", nodes.Star()))
        items.append(duck.named(duck.case([(all_known, duck.call("max", reach))], None), name))
    group = tuple(duck.column(name, "each") for name in names)
    return nodes.Select(tuple(items), nodes.Subquery(query, nodes.Bare("each")), group=group)


def different(
    query: nodes.Select, values: Sequence[Typed], reaches: Sequence[nodes.Expr | None]
) -> tuple[nodes.Select, list[Typed], list[nodes.Expr | None]]:
    """A SELECT DISTINCT as one without that word, where rows have distances of their own."""
    many = len(values)
    far = [reach for reach in reaches if reach is not None]
    if not query.distinct or not far:
        return query, list(values), list(reaches)
    names = [f"c{many + n}" for n in range(len(far))]
    behind = (duck.named(reach, name) for reach, name in zip(far, names, strict=True))
    each = replace(query, items=(*query.items, *behind), distinct=False, order=(), limit=None, offset=None)
    held = [replace(v, sql=duck.column(f"c{n}", "one")) for n, v in enumerate(values)]
    places = {value.sql: one.sql for value, one in reversed(list(zip(values, held, strict=True)))}
    order = tuple(replace(entry, value=places[entry.value]) for entry in query.order)
    whole = nodes.Select(
        tuple(duck.named(v.sql, f"c{n}") for n, v in enumerate(held)),
        nodes.Subquery(merged(each, many, names), nodes.Bare("one")),
        order=order,
        limit=query.limit,
        offset=query.offset,
    )
    left = iter(names)
    return whole, held, [None if r is None else duck.column(next(left), "one") for r in reaches]


def _ends(column: OpenColumn, value: Typed, far: nodes.Expr) -> f.Interval:
    """The ends of a value's interval, within what is known of it; NULL with it, which least and greatest pass over."""
    middle = as_double(value)
    ends = duck.binary("-", middle, far), duck.binary("+", middle, far)
    if column.floor is not None:
        floor = duck.double(float(column.floor))
        ends = f.greatest(ends[0], floor), f.greatest(ends[1], floor)
    if column.within is not None:
        ends = f.clipped(ends, *column.within)
    if not value.nullable or (column.floor is None and column.within is None):
        return ends
    low, high = (duck.case([(nodes.Not(nodes.IsNull(value.sql)), end)], None) for end in ends)
    return low, high


def with_distances(
    query: nodes.Select,
    values: Sequence[Typed],
    found: Sequence[tuple[OpenColumn, nodes.Expr | None]],
    *,
    bounded: bool,
) -> tuple[nodes.Select, tuple[OpenColumn, ...]]:
    """A SELECT of columns with the distances of their rows, which go behind them.

    Before these the bounds of noisy numbers, where they are ``bounded``: NULL where none is proved.
    """
    found = [_told(column, reach) for column, reach in found]
    shown, columns = list(values), [column for column, _ in found]
    for place, (column, reach) in enumerate(found):
        if not bounded or column.accuracy is None or not values[place].is_number:
            continue
        half = column.accuracy.half
        far = reach or (None if half is None else duck.double(half))
        low, high = (UNBOUNDED, UNBOUNDED) if far is None else _ends(column, values[place], far)
        add_bounds(place, column.name, rounded_ends(low, high, values[place].scale), shown, columns)
    more = [value.sql for value in shown[len(values) :]]
    for place, (column, reach) in enumerate(found):
        if reach is not None:
            columns[place] = replace(column, reach=duck.column(f"c{len(values) + len(more)}"))
            more.append(reach)
    named = (duck.named(value, f"c{len(values) + i}") for i, value in enumerate(more))
    return replace(query, items=(*query.items, *named)), tuple(columns)
