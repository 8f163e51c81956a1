"""How far what is written over released rows may be off, where that is proved.

Two laws are known. All rows of all releases of a statement are within the distances of their columns together, and so
is, by the rules of ``planner.release.intervals``, what is written over columns of a row or of rows that keys name. And
where each row is one draw of a release, these are independent: a total over up to n of them is within what the sum of n
is, which is farther off than that of fewer (``udfs.mechanisms.averaged``). The second is not used where noise chose the
rows or where a join may repeat them, the first of other rows not where noise chose them.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Accuracy
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed, as_double
from dpproxy.planner.answer import UNBOUNDED, UNPROVED, add_bounds, of_single, rounded_ends
from dpproxy.planner.open.aggregates import is_aggregate
from dpproxy.planner.open.from_items import OpenRows
from dpproxy.planner.open.relations import OpenColumn
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.intervals import Distance, Distances
from dpproxy.planner.rows.relation import own_nodes
from dpproxy.values.pgtypes import INTEGERS
from udfs.mechanisms.averaged import Averaged

_LARGEST = 10**100
_ROW = (exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue)
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


class Accuracies(Struct, frozen=True):
    """Of the columns of one SELECT, of which there are ``count``, with this ``confidence`` for all of them.

    ``chosen`` where noise may decide which rows there are, or which are in one group; ``grouped`` where rows are.
    """

    rows: OpenRows
    scope: Scope
    planning: Planning
    confidence: Fraction
    count: int
    chosen: bool
    grouped: bool

    def of(self, node: exp.Expr, value: Typed) -> tuple[Accuracy | None, nodes.Expr | None]:
        """None without noise; and the distance of each row, where it differs.

        The least, the largest and the mean of values are as far off as the farthest of them.
        """
        if value.sql.has(nodes.Release):
            return of_single(value, self.planning), None  # a subquery's value
        found = noisy(node, self.rows)
        if not found:
            is_hidden = (self.chosen and _is_of_rows(node)) or self._reads_in_subquery(node)
            return (UNPROVED if is_hidden else None), None
        if (self.chosen or any(a.chosen for a in found)) and not self._is_of_one_row(node):
            return UNPROVED, None  # without noise the least of other rows might be meant
        if _is_extreme(node) and found[0].words:
            return found[0], None
        distance = self._distance(node) if value.is_number and not node.find(exp.Query) else None
        if isinstance(distance, float):
            return Accuracy(half=distance), None
        return (UNPROVED if distance is None else Accuracy()), distance

    def _is_of_one_row(self, node: exp.Expr) -> bool:
        """Whether it is computed of values of its row, and NULL where one of them is: rows that are left out may be."""
        is_of_row = all(type(n) in _OF_ONE_ROW for n in own_nodes(node) if noisy(n, self.rows))
        return is_of_row and not _is_of_rows(node)

    def _reads_in_subquery(self, node: exp.Expr) -> bool:
        """Whether a subquery in it may read released values of its row."""
        names = {c.name for s in self.rows.sources for c in s.columns if c.accuracy is not None}
        return any(c.name in names for query in node.find_all(exp.Query) for c in query.find_all(exp.Column))

    def _distance(self, node: exp.Expr) -> Distance | None:
        if self.rows.around is not None and not _is_extreme(node):
            return None  # values of rows around may be released, too
        parts = list(dict.fromkeys(n for n in node.walk(prune=self._is_leaf) if self._is_leaf(n)))
        known = self._known(parts)
        forms = self._forms(node)
        if forms is not None:
            halves = [(w, known[part]) for part, w in forms.items()]
            if all(isinstance(d, float) for _, d in halves):
                return sum(abs(w) * d for w, d in halves if isinstance(d, float))
        return _OfRows(self.scope, known, {p: self._column(p).half for p in parts}).whole(node)

    def _is_leaf(self, node: exp.Expr) -> bool:
        """Whether it is a value that has a law: of the row, of another one, or a total."""
        is_part = type(node) is exp.Column or self._is_part(node) or _is_extreme(node)
        return is_part and bool(noisy(node, self.rows))

    def _known(self, parts: Sequence[exp.Expr]) -> dict[exp.Expr, Distance | None]:
        """The distances of values that hold together; None where none is proved."""
        totals = [part for part in parts if type(part) in (exp.Sum, exp.Window) and not _is_of_a_row(part)]
        if not totals:
            return {part: self._of_a_row(part) for part in parts}
        nothing = dict[exp.Expr, Distance | None].fromkeys(parts)
        if len(totals) < len(parts) or self.grouped or len(self.rows.sources) != 1:
            return nothing
        share = len(totals) * self.count * (self.rows.rows if any(_differs(t) for t in totals) else 1)
        confidence = 1 - (1 - self.confidence) / share
        return {part: self._total(part, confidence) for part in totals}

    def _of_a_row(self, part: exp.Expr) -> Distance | None:
        """Of a value of the row, which may have a distance of its own, or of any other one."""
        column = part.this.unnest() if _is_extreme(part) else part
        found = self.rows.find(column) if type(column) is exp.Column else None
        if found is None:
            return self._column(part).half
        if column is part:
            return None if self.grouped else found.reach or self._column(part).half
        if found.reach is None or self._column(part).half is not None:
            return self._column(part).half
        far = duck.call("avg" if type(part) is exp.Avg else "max", found.reach)
        all_known = nodes.Binary("=", duck.call("count", found.reach), duck.call("count", found.typed.sql))
        return duck.case([(all_known, far)], None)

    def _column(self, part: exp.Expr) -> Accuracy:
        [found] = noisy(part, self.rows)
        return found

    def _total(self, part: exp.Expr, confidence: Fraction) -> float | None:
        noise = self._column(part).noise
        if noise is None or noise.draw is None:
            return None
        draw = replace(noise.draw, terms=noise.draw.terms * max(1, self.rows.rows))
        return noise.unit * Averaged((draw,)).half_width(confidence)

    def _forms(self, node: exp.Expr) -> Forms | None:
        """An expression as a sum with constant weights; None where it is none."""
        if not noisy(node, self.rows):
            return {} if not node.find(exp.Subquery, exp.Select) else None
        if type(node) is exp.Column or self._is_part(node):
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

    def _is_part(self, node: exp.Expr) -> bool:
        """Whether it is a total, or a value of a row that keys name, of one column."""
        called = node.this if type(node) is exp.Window else node
        if type(called) is not exp.Sum and not (type(node) is exp.Window and type(called) in _ROW):
            return False
        around = [v for k, v in called.args.items() if k != "this"] + [
            v for k, v in node.args.items() if k != "this"
        ]
        behind = [p for v in around for p in (v if isinstance(v, list) else [v]) if isinstance(p, exp.Expr)]
        if type(called) is exp.Sum and type(node) is not exp.Window:
            behind = []
        return type(called.this) is exp.Column and not any(noisy(part, self.rows) for part in behind)

    def _constant(self, node: exp.Expr) -> float | None:
        if noisy(node, self.rows):
            return None
        found = compile_expression(node, self.scope).constant
        if not isinstance(found, int | Fraction) or isinstance(found, bool):
            return None
        return float(found) if -_LARGEST <= found <= _LARGEST else None


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
        return self._halves[node] if self._alike and not isinstance(found, float) else found


def _is_of_rows(node: exp.Expr) -> bool:
    """Whether it is computed of several rows, as their number is."""
    return any(is_aggregate(n) or type(n) is exp.Window for n in own_nodes(node))


def _is_extreme(node: exp.Expr) -> bool:
    """Whether it is the least, the largest or the mean of a column."""
    return type(node) in (exp.Min, exp.Max, exp.Avg) and type(node.this.unnest()) is exp.Column


def _is_of_a_row(part: exp.Expr) -> bool:
    return type(part) is exp.Window and type(part.this) in _ROW


def _differs(total: exp.Expr) -> bool:
    """Whether it is another one in each row."""
    return type(total) is exp.Window and any(total.args.get(a) for a in ("partition_by", "order", "spec"))


def _plus(a: Forms | None, b: Forms | None) -> Forms | None:
    if a is None or b is None:
        return None
    return {part: a.get(part, 0.0) + b.get(part, 0.0) for part in {**a, **b}}


def _times(forms: Forms | None, factor: float) -> Forms | None:
    return None if forms is None else {part: w * factor for part, w in forms.items()}


def _told(column: OpenColumn, reach: nodes.Expr | None) -> tuple[OpenColumn, nodes.Expr | None]:
    """A column that says so where no distance is known."""
    accuracy = column.accuracy
    if accuracy is not None and accuracy.half is None and not accuracy.words and reach is None:
        column = replace(column, accuracy=UNPROVED)
    return replace(column, reach=None), reach


def with_distances(
    query: nodes.Select,
    values: Sequence[Typed],
    found: Sequence[tuple[OpenColumn, nodes.Expr | None]],
    *,
    bounded: bool,
) -> tuple[nodes.Select, tuple[OpenColumn, ...]]:
    """A SELECT of columns with the distances of their rows, which go behind them; no rows are told apart by these.

    Before these the bounds of noisy numbers, where they are ``bounded``: NULL where none is proved.
    """
    found = [_told(column, None if query.distinct else reach) for column, reach in found]
    shown, columns = list(values), [column for column, _ in found]
    for place, (column, reach) in enumerate(found):
        if not bounded or column.accuracy is None or not values[place].is_number:
            continue
        half = column.accuracy.half
        far = reach or (None if half is None else duck.double(half))
        low = high = UNBOUNDED
        if far is not None:
            middle = as_double(values[place])
            low, high = duck.binary("-", middle, far), duck.binary("+", middle, far)
            if column.floor is not None:
                floor = duck.double(float(column.floor))
                low, high = duck.call("greatest", low, floor), duck.call("greatest", high, floor)
        add_bounds(place, column.name, rounded_ends(low, high, values[place].scale), shown, columns)
    more = [value.sql for value in shown[len(values) :]]
    for place, (column, reach) in enumerate(found):
        if reach is not None:
            columns[place] = replace(column, reach=duck.column(f"c{len(values) + len(more)}"))
            more.append(reach)
    named = (duck.named(value, f"c{len(values) + i}") for i, value in enumerate(more))
    return replace(query, items=(*query.items, *named)), tuple(columns)
