"""How far what is written over released rows may be off, where that is proved.

Two laws are known. All rows of one release are within the half-width of their column together, so that sums of columns
with constant weights, of a row or of rows that keys name, are within the sum of these. And where each row is one draw
of a release, these are independent: a total over up to n of them is within what the sum of n is, which is farther off
than that of fewer (``udfs.mechanisms.averaged``). Neither is used where noise chose the rows, or where a join may
repeat them.
"""

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Accuracy
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed
from dpproxy.planner.answer import UNKNOWN_ERROR
from dpproxy.planner.open.from_items import OpenRows
from dpproxy.planner.rows.relation import own_nodes
from dpproxy.values.pgtypes import INTEGERS
from udfs.mechanisms.averaged import Averaged

UNKNOWN = Accuracy(words=UNKNOWN_ERROR)
_LARGEST = 10**100
_ROW = (exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue)

Forms = dict[exp.Expr, float]
"""Weights of released columns of a row, of other rows, and of totals."""


def noisy(node: exp.Expr, rows: OpenRows) -> list[Accuracy]:
    """The errors of the columns of released values in an expression; a subquery has columns of its own.

    Of those of a query around it none is known.
    """
    found = [rows.find(n) for n in own_nodes(node) if type(n) is exp.Column]
    errors = [UNKNOWN if c is None else c.accuracy for c in found]
    return [a for a in errors if a is not None]


class Accuracies(Struct, frozen=True):
    """Of the columns of one SELECT, of which there are ``count``, with this ``confidence`` for all of them.

    ``chosen`` where noise may decide which rows there are, or which are in one group; ``grouped`` where rows are.
    """

    rows: OpenRows
    scope: Scope
    confidence: Fraction
    count: int
    chosen: bool
    grouped: bool

    def of(self, node: exp.Expr, value: Typed) -> Accuracy | None:
        """None without noise. The least, the largest and the mean of values are as far off as the farthest of them."""
        if value.sql.has(nodes.Release):
            return UNKNOWN  # a subquery's value
        found = noisy(node, self.rows)
        if not found:
            return None
        if (self.chosen or any(a.chosen for a in found)) and not self._is_of_one_row(node):
            return UNKNOWN  # without noise the least of other rows might be meant
        if type(node) in (exp.Min, exp.Max, exp.Avg) and type(node.this.unnest()) is exp.Column:
            return found[0]
        half = self._half(self._forms(node), found) if value.is_number else None
        return UNKNOWN if half is None else Accuracy(half=half)

    def _is_of_one_row(self, node: exp.Expr) -> bool:
        """Whether it is a weighted sum of values of its row: all rows are within their half-widths at once."""
        return all(type(part) is exp.Column for part in self._forms(node) or {node: 0.0})

    def _half(self, forms: Forms | None, found: Sequence[Accuracy]) -> float | None:
        if (
            forms is None
            or self.grouped
            or len(self.rows.sources) != 1
            or self.rows.around is not None
            or any(a.noise is None for a in found)
        ):
            return None
        totals = [part for part in forms if type(part) in (exp.Sum, exp.Window) and not _is_of_a_row(part)]
        if not totals:
            halves = [(w, self._column(part).half) for part, w in forms.items()]
            return None if any(h is None for _, h in halves) else sum(abs(w) * (h or 0.0) for w, h in halves)
        if len(totals) < len(forms):
            return None
        share = len(totals) * self.count * (self.rows.rows if any(_differs(t) for t in totals) else 1)
        confidence = 1 - (1 - self.confidence) / share
        known = [(w, self._total(part, confidence)) for part, w in forms.items()]
        return None if any(t is None for _, t in known) else sum(abs(w) * (t or 0.0) for w, t in known)

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
