"""Released numbers added up with constant weights, and quotients of two such sums: how far off, by one draw's law.

The measures of one SELECT are one joint draw. For a sum with weights w its noise is T(w), within N(w) with the
confidence that is asked, where N is a norm (``udfs.mechanisms.linear``). Of a quotient d = A / B, with d' = A' / B'
before noise,

    A - d' B = (A - A') - d' (B - B') = T(a - d' b)

for the weights a and b, so that abs(d - d') abs(B) <= N(a - d' b) <= N(a - d b) + abs(d - d') N(b): one bound in place
of one for each number. What rounding adds to A and B is at most its step.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates import formulas as f
from dpproxy.aggregates.count import Count
from dpproxy.aggregates.sum import Sum
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.typed import as_double
from dpproxy.planner.release.scope import AggregateCall, ReleasedScope
from dpproxy.values.pgtypes import INTEGERS
from udfs.mechanisms.linear import Linear, Number


class Form(Struct, frozen=True):
    """Weights of released columns, and the most that rounding moves their sum by."""

    weights: Mapping[nodes.Expr, float]
    draws: Mapping[nodes.Expr, Number]
    step: float = 0.0

    def times(self, factor: float) -> "Form":
        """A multiple."""
        weights = {column: w * factor for column, w in self.weights.items()}
        return replace(self, weights=weights, step=self.step * abs(factor))

    def plus(self, other: "Form") -> "Form":
        """A sum."""
        columns = {**self.weights, **other.weights}
        weights = {c: self.weights.get(c, 0.0) + other.weights.get(c, 0.0) for c in columns}
        return Form(weights, {**self.draws, **other.draws}, self.step + other.step)


class Block(Struct, frozen=True):
    """A sum with weights, or a quotient by another one, of one draw."""

    node: exp.Expr
    draws: Mapping[nodes.Expr, Number]
    top: Form
    bottom: Form | None

    def distance(self, scope: ReleasedScope, confidence: Fraction) -> float | nodes.Expr:
        """How far off it is; NULL where the divisor may be zero."""
        over = [self.top.weights.get(c, 0.0) for c in self.draws]
        linear = Linear.joint(list(self.draws.values()), confidence)
        if linear is None:
            raise AssertionError("a block has a joint law")
        if self.bottom is None:
            return linear.reach(over) + self.top.step
        under = [self.bottom.weights.get(c, 0.0) for c in self.draws]
        a, b = (
            as_double(compile_expression(n, scope.scope())) for n in (self.node.this, self.node.expression)
        )
        d = f.over(a, duck.call("nullif", b, duck.double(0.0)))
        sizes = [_size(w, v, d) for w, v in zip(over, under, strict=True)]
        above = f.reach(linear, sizes)
        if self.top.step or self.bottom.step:
            above = f.plus(above, duck.double(self.top.step), f.scaled(f.size(d), self.bottom.step))
        left = f.minus(f.size(b), duck.double(linear.reach(under) + self.bottom.step))
        found = duck.case([(nodes.Binary(">", left, duck.double(0.0)), f.over(above, left))], None)
        whole = compile_expression(self.node, scope.scope()).type.oid in INTEGERS
        return (
            f.plus(found, duck.double(1.0)) if whole else found
        )  # what is behind the point is dropped of both


def _size(over: float, under: float, d: nodes.Expr) -> float | nodes.Expr:
    """abs(over - d under)."""
    if not under:
        return abs(over)
    if not over:
        return f.scaled(f.size(d), abs(under))
    return f.size(f.minus(duck.double(over), f.scaled(d, under)))


def block(
    node: exp.Expr, scope: ReleasedScope, confidence: Fraction, step: Callable[[exp.Expr], float | None]
) -> Block | None:
    """The expression as a block, where the law of its released numbers is nearer than the bounds of each by itself.

    ``step`` is the most that a cast or rounding adds; None where that is not known.
    """
    if type(node) not in _RULES:
        return None
    forms = _Forms(scope, step)
    top, bottom = forms.of(node), None
    if top is None and type(node) is exp.Div:
        top, bottom = forms.of(node.this), forms.of(node.expression)
        if bottom is None or not bottom.weights:
            return None
    if top is None or (bottom is None and len(top.weights) < 2):
        return None
    draws = {**top.draws, **(bottom.draws if bottom is not None else {})}
    has_law = Linear.of(list(draws.values()), confidence) is not None
    return Block(node, draws, top, bottom) if has_law else None


class _Forms:
    """The rules."""

    def __init__(self, scope: ReleasedScope, step: Callable[[exp.Expr], float | None]) -> None:
        self._scope = scope
        self._step = step

    def of(self, node: exp.Expr) -> Form | None:
        """The form of an expression, without weights where it has no released number; None where it is none."""
        call = self._scope.calls.get(node)
        if call is not None:
            return _called(call)
        rule = _RULES.get(type(node))
        if rule is not None:
            return rule(self, node)
        return Form({}, {}) if self._constant(node) is not None else None

    def inner(self, node: exp.Expr) -> Form | None:
        """Parentheses."""
        return self.of(node.this)

    def negative(self, node: exp.Expr) -> Form | None:
        """Of a change of sign."""
        return _scaled(self.of(node.this), -1.0)

    def sum(self, node: exp.Expr) -> Form | None:
        """Of a sum or a difference."""
        left, right = self.of(node.this), self.of(node.expression)
        if left is None or right is None:
            return None
        return left.plus(right.times(-1.0 if type(node) is exp.Sub else 1.0))

    def product(self, node: exp.Expr) -> Form | None:
        """By a constant."""
        for one, other in ((node.this, node.expression), (node.expression, node.this)):
            factor = self._constant(one)
            if factor is not None:
                return _scaled(self.of(other), factor)
        return None

    def quotient(self, node: exp.Expr) -> Form | None:
        """By a constant; whole numbers drop what is behind the point."""
        divisor = self._constant(node.expression)
        is_whole = compile_expression(node, self._scope.scope()).type.oid in INTEGERS
        return None if not divisor or is_whole else _scaled(self.of(node.this), 1 / divisor)

    def rounded(self, node: exp.Expr) -> Form | None:
        """A cast or a rounding."""
        found, step = self.of(node.this), self._step(node)
        return None if found is None or step is None else replace(found, step=found.step + step)

    def unless(self, node: exp.Expr) -> Form | None:
        """NULLIF(x, constant)."""
        return self.of(node.this) if self._constant(node.expression) is not None else None

    def _constant(self, node: exp.Expr) -> float | None:
        """The value of a constant number."""
        if any(n in self._scope.calls for n in node.walk(prune=lambda n: n in self._scope.calls)):
            return None
        found = compile_expression(node, self._scope.scope()).constant
        return float(found) if isinstance(found, int | Fraction) and not isinstance(found, bool) else None


def _scaled(form: Form | None, factor: float) -> Form | None:
    return None if form is None else form.times(factor)


def _called(call: AggregateCall) -> Form | None:
    """A count or a sum, in the unit of its value."""
    if not isinstance(call.aggregate, Count | Sum) or len(call.noise.draws) != len(call.columns):
        return None
    draws = dict(zip(call.columns, call.noise.draws, strict=True))
    return Form(dict(zip(call.columns, call.aggregate.weights, strict=True)), draws)


_RULES: dict[type[exp.Expr], Callable[[_Forms, exp.Expr], Form | None]] = {
    exp.Paren: _Forms.inner, exp.Neg: _Forms.negative, exp.Add: _Forms.sum, exp.Sub: _Forms.sum,
    exp.Mul: _Forms.product, exp.Div: _Forms.quotient, exp.Cast: _Forms.rounded, exp.Round: _Forms.rounded,
    exp.Nullif: _Forms.unless,
}  # fmt: skip
