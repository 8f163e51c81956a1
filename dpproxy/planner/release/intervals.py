"""How far what is written over released values may be off: sums, differences, products, quotients, rounding.

Sums of calls with weights and quotients of these are blocks, bounded by the law of one draw (``forms``). The blocks
and the other aggregate calls of an expression are within their bounds together (union bound). Each rule below takes
operands that are within their distances to a distance of the result, so that by induction the expression is within
its own of the value that it has before noise, with the probability with which blocks and calls are.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import sqrt
from typing import cast

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates import averages
from dpproxy.aggregates import formulas as f
from dpproxy.aggregates.average import Average
from dpproxy.aggregates.count import Count
from dpproxy.aggregates.logical import Decided
from dpproxy.aggregates.model import Noise
from dpproxy.aggregates.posterior import Posterior
from dpproxy.aggregates.sum import Sum
from dpproxy.algebra import nodes
from dpproxy.algebra.figures import Figure, is_open, later
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import as_double
from dpproxy.analysis.windows import over
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.linear_forms import Block, block
from dpproxy.planner.release.scope import OF_RANKS, OF_RELEASED, AggregateCall, ReleasedScope
from dpproxy.values.pgtypes import FLOATS, INTEGERS, NUMERIC
from udfs.mechanisms.averaged import Draw, widest

Distance = float | nodes.Expr
"""The same for all rows, a number or a figure; or a DOUBLE of each row: NULL where none is proved."""
MOST_FACTORS = 8
"""Products and quotients in an expression: each writes its operands once more."""
_MOST_PLACES = 30
_MOVED = (exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue)
"""Windows of one other row."""
_TOTALS = (exp.Sum, exp.Avg)
OF_ALL_ROWS = (*_TOTALS, exp.Min, exp.Max)
"""Windows of several rows, which pass over NULL."""
_WITHOUT = (*OF_RELEASED, *OF_RANKS, Decided)
"""Aggregates that are not off by the same number in all rows."""
_NUMBERS = INTEGERS | FLOATS | {NUMERIC.oid}


def calls_in(node: exp.Expr, calls: Mapping[exp.Expr, object]) -> list[exp.Expr]:
    """The different aggregate calls of an expression."""
    kinds = set(map(type, calls))  # a node's hash is that of all below it

    def is_one(part: exp.Expr) -> bool:
        return type(part) in kinds and part in calls

    return list(dict.fromkeys(filter(is_one, node.walk(prune=is_one))))


def distance(node: exp.Expr, scope: ReleasedScope, confidence: Fraction) -> Distance | None:
    """How far the value may be from that before noise, with at least this probability.

    None where the expression has a part that no rule is for. Values of subqueries are within their distances together
    with what all releases of the statement show, each of which takes an equal share of what may be missed.
    """
    singles = single_values(node, scope.scope(), scope.planning)
    if singles is None or not (singles or calls_in(node, scope.calls)):
        return None
    confidence = among(confidence, scope.planning.beside) if singles else confidence

    def known(confidence: Fraction, noises: Sequence[Noise], halves: Sequence[Distance]) -> Distance | None:
        calls = {n: c.of(noise) for (n, c), noise in zip(scope.calls.items(), noises, strict=True)}
        return _distance(
            node, replace(scope, calls=calls), confidence, dict(zip(singles, halves, strict=True))
        )

    of = confidence, tuple(c.noise for c in scope.calls.values()), tuple(singles.values())
    is_block = any(isinstance(scope.calls[n].aggregate, Count | Sum) for n in calls_in(node, scope.calls))
    if not is_open(of) or not is_block:
        return known(*of)
    found = _OfCalls(scope, confidence, {}, singles).whole(node)  # known with noise: whether a law is nearer
    if found is None:
        return None
    if isinstance(found, nodes.Expr):
        return nodes.Later(Figure(lambda *of: as_sql(cast("Distance", known(*of))), of))
    return cast("float", Figure(known, of))


def _distance(
    node: exp.Expr, scope: ReleasedScope, confidence: Fraction, singles: Mapping[exp.Expr, Distance]
) -> Distance | None:
    own, blocks = _uses(node, scope, confidence)
    return _OfCalls(scope, among(confidence, max(1, own)), blocks, singles).whole(node)


def among(confidence: Fraction, many: int) -> Fraction:
    """That of each of so many, with which all of them hold at once."""
    return later(_among, confidence, many)


def _among(confidence: Fraction, many: int) -> Fraction:
    return 1 - (1 - confidence) / max(1, many)


def single_values(node: exp.Expr, scope: Scope, planning: Planning) -> dict[exp.Expr, Distance] | None:
    """The distances of the released values of subqueries in it; None where one is not known."""
    found: dict[exp.Expr, Distance] = {}
    for query in node.walk(prune=lambda n: isinstance(n, exp.Query)):
        if not isinstance(query, exp.Query):
            continue
        if type(query) is not exp.Subquery or isinstance(
            query.parent, exp.In | exp.Exists | exp.Any | exp.All
        ):
            return None
        value = compile_expression(query, scope).sql
        if not value.has(nodes.Release):
            continue
        half = planning.singles.get(value)
        if half is None:
            return None
        found[query] = half
    return found


class Change(Struct, frozen=True):
    """A count or sum less that of another row, which has a draw of its own, or of the same row, and then is 0."""

    call: AggregateCall
    draw: Draw

    def distance(self, _: ReleasedScope, confidence: Fraction) -> Distance:
        """The noise is symmetric: the difference of two draws has the law of their sum."""
        sd = self.call.error(confidence).noise_sd
        return sqrt(2) * sd * widest(self.draw, 2, confidence) if sd else 0.0


def _change(node: exp.Expr, scope: ReleasedScope) -> Change | None:
    """What ``count(*) - lag(count(*)) OVER (...)`` is, in an order of keys; None of anything else."""
    if type(node) is not exp.Sub or scope.filtered:
        return None
    sides = [node.this.unnest(), node.expression.unnest()]
    other = next((side for side in sides if type(side) is exp.Window), None)
    [own] = [side for side in sides if side is not other] if other is not None else [node]
    if other is None or type(other.this) not in _MOVED or other.this.this.unnest() != own:
        return None
    call, rest = scope.calls.get(own), other.copy()
    rest.this.set("this", exp.Null())
    draw = None if call is None or calls_in(rest, scope.calls) else call.draw
    return Change(call, draw[0]) if call is not None and draw is not None else None


def _uses(
    node: exp.Expr, scope: ReleasedScope, confidence: Fraction
) -> tuple[int, Mapping[exp.Expr, Block | Change]]:
    """How many bounds an expression takes: of its blocks, its other calls, and those of other rows in windows."""
    calls, blocks = scope.calls, dict[exp.Expr, Block | Change]()
    alone, windows = set[exp.Expr](), set[exp.Expr]()

    def is_end(one: exp.Expr) -> bool:
        if one in calls:
            alone.add(one)
        elif type(one) is exp.Window:
            windows.add(one)
        elif isinstance(one, exp.Query):
            return True
        elif (
            calls_in(one, calls)
            and (found := _change(one, scope) or block(one, scope, confidence, partial(_step, scope.scope())))
            is not None
        ):
            blocks[one] = found
        return one in calls or one in windows or one in blocks

    for _ in node.walk(prune=is_end):
        pass
    of_rows = sum(
        len(calls_in(n, calls)) * (scope.candidates if _is_of_all(n, calls) else 1) for n in windows
    )
    return len(blocks) + len(alone) + of_rows, blocks


def _is_of_all(window: exp.Expr, calls: Mapping[exp.Expr, AggregateCall]) -> bool:
    """Whether it takes a bound of each of several rows, as a total of draws does not."""
    if type(window.this) not in OF_ALL_ROWS:
        return False
    added = calls.get(window.this.this.unnest())
    return type(window.this) not in _TOTALS or added is None or (added.draw or added.mean) is None


def vanishes(node: exp.Expr) -> bool:
    """Whether noise may make it NULL, or what is NULL before noise a number, where a distance is known.

    So does NULLIF. A quotient by NULLIF(x, 0) has no distance where x may be zero.
    """
    return any(
        n.arg_key != "expression" or type(n.parent) is not exp.Div or n.expression.name != "0"
        for n in node.find_all(exp.Nullif)
    )


def _step(scope: Scope, node: exp.Expr) -> float | None:
    """The most that a cast between numbers or rounding adds to a distance: each value moves by half a step."""
    if type(node) is exp.Round:
        digits = node.args.get("decimals")
        places = 0 if digits is None else compile_expression(digits, scope).constant
        known = isinstance(places, int | Fraction) and -_MOST_PLACES <= places <= _MOST_PLACES
        return 10.0 ** -int(places) if known else None  # type: ignore[arg-type]
    kind = compile_expression(node, scope).type
    if kind.oid not in _NUMBERS:
        return None
    scale = 0 if kind.oid in INTEGERS else kind.scale if kind.oid == NUMERIC.oid else None
    return 0.0 if scale is None else 10.0**-scale


def interval(node: exp.Expr, scope: ReleasedScope, confidence: Fraction) -> f.Interval | None:
    """Ends (DOUBLE) that hold the value before noise with at least this probability; None where no rule is for it."""
    call = scope.calls.get(node)
    if call is not None and not isinstance(call.aggregate, OF_RANKS):
        return call.interval(confidence)
    found = distance(node, scope, confidence)
    if found is None:
        return None
    middle, reach = as_double(compile_expression(node, scope.scope())), as_sql(found)
    return f.minus(middle, reach), f.plus(middle, reach)


class Distances(ABC):
    """The rules; ``known`` are the values with noise that they start from, whose distances ``_start`` has."""

    def __init__(self, scope: Scope, known: Mapping[exp.Expr, object]) -> None:
        self._scope = scope
        self._known = known
        self._alike = False

    def whole(self, node: exp.Expr) -> Distance | None:
        """The distance of a whole expression, None where it has no rule or too many factors."""
        is_short = sum(1 for _ in node.find_all(exp.Mul, exp.Div)) <= MOST_FACTORS
        return self.of(node) if is_short else None

    def _in_all_rows(self, node: exp.Expr) -> Distance | None:
        """The distance of the row farthest off."""
        before, self._alike = self._alike, True
        try:
            return self.of(node)
        finally:
            self._alike = before

    def of(self, node: exp.Expr) -> Distance | None:
        """The distance of an expression, None where it has no rule."""
        if node in self._known:
            return self._start(node)
        rule = _RULES.get(type(node))
        if rule is not None:
            return rule(self, node)
        return None if calls_in(node, self._known) else 0.0

    @abstractmethod
    def _start(self, node: exp.Expr) -> Distance | None:
        """That of a value with noise."""

    def _size(self, node: exp.Expr) -> Distance | None:
        """The absolute value of a number."""
        typed = compile_expression(node, self._scope)
        if typed.type.oid not in _NUMBERS:
            return None
        if isinstance(typed.constant, int | Fraction):
            return abs(float(typed.constant))
        return f.size(as_double(typed))

    def inner(self, node: exp.Expr) -> Distance | None:
        """Parentheses, a change of sign, and what is without one."""
        return self.of(node.this)

    def sum(self, node: exp.Expr) -> Distance | None:
        """Of a sum or a difference: both."""
        left, right = self.of(node.this), self.of(node.expression)
        return None if left is None or right is None else _plus(left, right)

    def product(self, node: exp.Expr) -> Distance | None:
        """|a b - a' b'| <= |a| db + |b| da + da db."""
        left, right = self.of(node.this), self.of(node.expression)
        a, b = self._size(node.this), self._size(node.expression)
        if left is None or right is None or a is None or b is None:
            return None
        return _plus(_plus(_times(a, right), _times(b, left)), _times(left, right))

    def quotient(self, node: exp.Expr) -> Distance | None:
        """|a/b - a'/b'| <= (da + |a/b| db) / |b'|, and |b'| >= |b| - db; none where that may be zero.

        For a'/b' - a/b = (b (a' - a) - a (b' - b)) / (b b'). A quotient of whole numbers drops what is behind the
        point, which moves each of both by less than 1.
        """
        left, right = self.of(node.this), self.of(node.expression)
        a, b = self._size(node.this), self._size(node.expression)
        if left is None or right is None or a is None or b is None:
            return None
        found: Distance
        if right == 0.0:
            found = _over(left, b)
        else:
            above = _plus(left, _times(_over(a, b), right))
            found = _over(above, f.minus(as_sql(b), as_sql(right)))
        whole = compile_expression(node, self._scope).type.oid in INTEGERS
        return _plus(found, 1.0) if whole else found

    def rounded(self, node: exp.Expr) -> Distance | None:
        """Of what is rounded or cast to a number, and what that adds."""
        found, step = self.of(node.this), _step(self._scope, node)
        return None if found is None or step is None else _plus(found, step)

    def otherwise(self, node: exp.Expr) -> Distance | None:
        """COALESCE(x, constants): x where it is there; not of a quotient, which is none where it divides by zero."""
        if (
            node.find(exp.Div) is not None
            or vanishes(node)
            or any(calls_in(n, self._known) for n in node.expressions)
        ):
            return None
        return self.of(node.this)

    def farthest(self, node: exp.Expr) -> Distance | None:
        """GREATEST and LEAST move by no more than the argument that moves most."""
        return None if vanishes(node) else self._most([node.this, *node.expressions])

    def case(self, node: exp.Expr) -> Distance | None:
        """Of the branch that is taken: where no noise decides which, the same is taken before noise."""
        branches = [branch.args["true"] for branch in node.args["ifs"]]
        conditions = [node.this, *(branch.this for branch in node.args["ifs"])]
        if any(calls_in(one, self._known) for one in conditions if one is not None):
            return None
        return self._most([*branches, *filter(None, (node.args.get("default"),))])

    def _most(self, parts: Sequence[exp.Expr]) -> Distance | None:
        """The largest of distances that are the same for all rows."""
        found = [self._in_all_rows(part) for part in parts]
        known = [one for one in found if one is not None and not isinstance(one, nodes.Expr)]
        return later(max, tuple(known)) if len(known) == len(found) else None

    def unless(self, node: exp.Expr) -> Distance | None:
        """NULLIF(x, constant): x, where there is one."""
        return None if calls_in(node.expression, self._known) else self.of(node.this)

    def window(self, node: exp.Expr) -> Distance | None:
        """Of other rows nothing is known."""
        return None if calls_in(node, self._known) else 0.0


class _OfCalls(Distances):
    """The rules over blocks and other calls, each with the same ``confidence``."""

    def __init__(
        self,
        scope: ReleasedScope,
        confidence: Fraction,
        blocks: Mapping[exp.Expr, Block | Change],
        singles: Mapping[exp.Expr, Distance],
    ) -> None:
        super().__init__(scope.scope(), {**scope.calls, **blocks, **singles})
        self._released = scope
        self._singles = singles
        self._confidence = confidence

    def _start(self, node: exp.Expr) -> Distance | None:
        if node in self._singles:
            return self._singles[node]
        found = self._known[node]
        if isinstance(found, Block | Change):
            return found.distance(self._released, self._confidence)
        call = self._released.calls[node]
        if isinstance(call.aggregate, Posterior):
            return None  # its interval is the draw's, around which it need not be
        if isinstance(call.aggregate, Average):
            return call.distance(self._confidence)
        return half_width(call, self._confidence, alike=self._alike)

    def window(self, node: exp.Expr) -> Distance | None:
        """Over groups in an order of keys: a value of another group, or one of several groups."""
        function, calls = node.this, self._released.calls
        behind = (
            *node.args.get("partition_by", ()),
            *filter(None, (node.args.get(n) for n in ("order", "spec"))),
        )
        if not calls_in(node, calls):
            return 0.0
        if self._released.filtered or any(calls_in(part, calls) for part in behind):
            return None  # released values decide which rows there are, or in which order
        if type(function) in _TOTALS and (found := self._total(node, function.this.unnest())):
            return found
        if type(function) in OF_ALL_ROWS:
            return None if vanishes(function.this) else self._of_all(node, self.of(function.this))
        if type(function) not in _MOVED:
            return None
        others = [v for k, v in function.args.items() if k != "this" and isinstance(v, exp.Expr)]
        found = self.of(function.this)
        if found is None or any(calls_in(n, calls) for n in others):
            return None
        return self._moved(node, found) if isinstance(found, nodes.Expr) else found

    def _of_all(self, node: exp.Expr, each: Distance | None) -> Distance | None:
        """Of the sum, the mean, the least or the largest of rows that are within theirs; NULL where one has none.

        A sum is within the sum of these, a mean within their mean, an extreme within the farthest of them.
        """
        if each is None or not isinstance(node, exp.Window):
            return None
        behind, called = over(node, self._scope), type(node.this)
        many = behind(nodes.Call("count", (nodes.Star(),)))
        if not isinstance(each, nodes.Expr):
            return duck.made(f.scaled, duck.cast(many, "DOUBLE"), each) if called is exp.Sum else each
        name = "sum" if called is exp.Sum else "avg" if called is exp.Avg else "max"
        far, known = (behind(nodes.Call(n, (each,))) for n in (name, "count"))
        return duck.case([(nodes.Binary("=", known, many), far)], None)

    def _moved(self, node: exp.Expr, far: nodes.Expr) -> nodes.Expr | None:
        """The distance in the row that a value is of; what is there instead of a row has none."""
        made = compile_expression(node, self._scope).sql
        if type(node.this) not in _MOVED or not isinstance(made, nodes.Window):
            return None
        count, *others = made.call.arguments[1:] or (None,)
        arguments = (far, *([] if count is None else [count]), *(duck.double(0.0) for _ in others))
        return replace(made, call=replace(made.call, arguments=arguments))

    def _total(self, node: exp.Expr, added: exp.Expr) -> Distance | None:
        """Of the sum or mean of a call over n groups that are one draw each: no two of them share any.

        None where it is of anything else.
        """
        call, rows = self._released.calls.get(added), max(1, self._released.candidates)
        if call is not None and (mean := call.mean) is not None and isinstance(node, exp.Window):
            return averages.total(mean, type(node.this), rows, self._confidence, over(node, self._scope))
        if call is None or call.draw is None:
            return None
        sd = call.error(self._confidence).noise_sd
        if sd is None or (not is_open(sd) and not sd):
            return None
        counted = exp.Window(**{**node.args, "this": exp.Count(this=exp.Star())})
        many = as_double(compile_expression(counted, self._scope))
        reach = later(widest, call.draw[0], rows, self._confidence)
        total = duck.call("sqrt", duck.made(f.scaled, many, reach * reach * sd * sd))
        return total if type(node.this) is exp.Sum else _over(total, many)


def half_width(call: AggregateCall, confidence: Fraction, *, alike: bool = False) -> Distance | None:
    """Of a call; of the row farthest off where it shall be ``alike`` in all."""
    if isinstance(call.aggregate, _WITHOUT):
        return None
    if alike or call.law is None:
        return call.error(confidence).half_width
    return call.by_law(lambda noise: as_sql(cast("float", call.of(noise).error(confidence).half_width)))


def as_sql(one: Distance) -> nodes.Expr:
    """A distance as DOUBLE."""
    return one if isinstance(one, nodes.Expr) else duck.double(one)


def _plus(a: Distance, b: Distance) -> Distance:
    if not isinstance(a, nodes.Expr) and not isinstance(b, nodes.Expr):
        return a + b
    return duck.made(_sum, a, b)


def _sum(a: Distance, b: Distance) -> nodes.Expr:
    if 0.0 in (a, b):
        return as_sql(b if a == 0.0 else a)
    return f.plus(as_sql(a), as_sql(b))


def _times(a: Distance, b: Distance) -> Distance:
    if not isinstance(a, nodes.Expr) and not isinstance(b, nodes.Expr):
        return a * b
    return 0.0 if 0.0 in (a, b) else f.times(as_sql(a), as_sql(b))


def _over(a: Distance, b: Distance) -> Distance:
    """NULL where the divisor is not above zero."""
    if not isinstance(a, nodes.Expr) and isinstance(b, float) and b > 0:
        return a / b
    above = nodes.Binary(">", as_sql(b), duck.double(0.0))
    return duck.case([(above, f.over(as_sql(a), as_sql(b)))], None)


_RULES: dict[type[exp.Expr], Callable[[Distances, exp.Expr], Distance | None]] = {
    exp.Paren: Distances.inner,
    exp.Neg: Distances.inner,
    exp.Add: Distances.sum,
    exp.Sub: Distances.sum,
    exp.Mul: Distances.product,
    exp.Div: Distances.quotient,
    exp.Round: Distances.rounded,
    exp.Cast: Distances.rounded,
    exp.Coalesce: Distances.otherwise,
    exp.Nullif: Distances.unless,
    exp.Window: lambda rules, node: rules.window(node),
    exp.Abs: Distances.inner,
    exp.Greatest: Distances.farthest,
    exp.Least: Distances.farthest,
    exp.Case: Distances.case,
}
