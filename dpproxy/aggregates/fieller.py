"""How far a ratio of two sums may be off: all values of it that noise does not rule out (Fieller 1954).

A ratio R' before noise is off by t = R - R' where abs(t) g is at most N(a + t d + p) + more + abs(t) slack: N is the
norm of a joint law, the root of a sum of squares k^2 (w s)^2 and the sum of h abs(w); a and d are weights that follow
from what is released; p is a sum of other weights, each at most so many times. The square under the root is at most

    Q(t) = A + 2 t B + C t^2,   A = a a + 2 sum of size abs(a W) + (sum of size times root of W W)^2,
                                B = a d, for t >= 0 plus, for t < 0 minus the sum of size abs(d W),   C = d d

with products of weights times their scales. The halves of a and p count as more, that of d as slack. So with G = g less
all slack, F all that is more, abs(t) G - F <= root of Q. Where G^2 > C the left side less the right one, which is
concave, is not above 0 at 0 and grows without end: it is at most 0 up to one t, at which (abs(t) G - F)^2 = Q(t). The
larger root of that, for t of one sign, is where ``farthest`` ends. The two sides differ by the sign of a d.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from dpproxy.aggregates import formulas as f
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from udfs.mechanisms.averaged import ROUNDING
from udfs.mechanisms.linear import Linear

Form = Mapping[str, nodes.Expr]
"""The weight of each sum."""
Moved = Sequence[tuple[Form, nodes.Expr]]
"""Weights, and the most of each that there is beside others."""
_LEAST = 2.0**-20
"""Less than this share of g^2 is not divided by: rounding would have a part in it."""
_ZERO, ONE = duck.double(0.0), duck.double(1.0)


def _times(a: nodes.Expr, b: nodes.Expr) -> nodes.Expr:
    return b if a is ONE else a if b is ONE else f.times(a, b)


def combined(*terms: tuple[Form, nodes.Expr]) -> Form:
    """The sum of forms, each times a factor."""
    found: dict[str, nodes.Expr] = {}
    for form, factor in terms:
        for name, weight in form.items():
            more = _times(factor, weight)
            found[name] = f.plus(found[name], more) if name in found else more
    return found


class Norm:
    """The norm of weights of some sums."""

    def __init__(self, linear: Linear, names: Sequence[str]) -> None:
        self._scales = dict(zip(names, linear.scales, strict=True))
        self._halves = dict(zip(names, linear.halves, strict=True))

    def product(self, one: Form, other: Form) -> nodes.Expr:
        """Of weights times their scales, summed up."""
        scales = {name: self._scales[name] for name in one if name in other and self._scales[name]}
        terms = [f.scaled(_times(one[name], other[name]), scale * scale) for name, scale in scales.items()]
        return f.plus(*terms) if terms else _ZERO

    def half(self, form: Form) -> nodes.Expr:
        """What is added to the root."""
        terms = [f.scaled(f.size(w), self._halves[name]) for name, w in form.items() if self._halves[name]]
        return f.plus(*terms) if terms else _ZERO

    def root(self, form: Form) -> nodes.Expr:
        """The root alone."""
        return f.root(self.product(form, form))

    def of(self, form: Form) -> nodes.Expr:
        """The norm."""
        return f.plus(f.scaled(self.root(form), 1 + ROUNDING), self.half(form))


class Within(Struct, frozen=True):
    """What abs(t) times ``g`` is within, beside the norm."""

    g: nodes.Expr
    more: nodes.Expr
    slack: nodes.Expr


def farthest(
    norm: Norm, a: Form, d: Form, moved: Moved, within: Within, sign: int, unknown: nodes.Expr
) -> nodes.Expr:
    """The most that abs(t) is on one side, or with the sign 0 on both; ``unknown`` where there is no end."""
    forms, sizes = [form for form, _ in moved], [size for _, size in moved]
    beside = [f.times(size, norm.half(form)) for form, size in moved]
    products = [f.times(size, f.size(norm.product(a, form))) for form, size in moved]
    turned = [f.times(size, f.size(norm.product(d, form))) for form, size in moved]
    roots = [f.times(size, norm.root(form)) for form, size in zip(forms, sizes, strict=True)]
    square = f.plus(
        norm.product(a, a), f.scaled(f.plus(_ZERO, *products), 2.0), f.square(f.plus(_ZERO, *roots))
    )
    crossed = norm.product(a, d)
    crossed = f.size(crossed) if sign == 0 else f.scaled(crossed, float(sign))
    parts = [
        square,
        f.plus(crossed, *turned),
        norm.product(d, d),
        f.minus(within.g, f.plus(within.slack, norm.half(d))),
        f.plus(within.more, norm.half(a), *beside),
    ]

    def made(named: Sequence[nodes.Expr]) -> nodes.Expr:
        aa, ad, dd, left, over = named
        rest = f.minus(f.square(left), dd)
        enough = nodes.And((
            nodes.Binary(">", left, _ZERO),
            nodes.Binary(">", rest, f.scaled(f.square(left), _LEAST)),
        ))  # fmt: skip
        middle = f.plus(f.times(over, left), ad)
        under = f.plus(f.square(middle), f.times(rest, f.minus(aa, f.square(over))))
        end = f.over(
            f.plus(middle, f.root(f.greatest(under, _ZERO))), f.greatest(rest, duck.double(f.TINIEST))
        )
        return duck.case([(enough, f.scaled(end, 1 + ROUNDING))], unknown)

    return f.named("f", parts, made)
