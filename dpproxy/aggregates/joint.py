"""How far variances, covariances, lines and correlations may be off, by the joint law of the noise of their sums.

The law bounds one sum of the noises by a norm N of its weights, which must not depend on the noise: so they are those
before noise, marked by primes, and what is released says between which bounds they are (``Ball``). N grows with the
size of each weight. In the main sum nearly all of what may be missed is spent. A norm F that holds nearly always bounds
what is of second order: each mean, variance and covariance, and e((u - x') r') below. With the means x, y, the
variances v, w, the covariance c, dx = x - x', and e(p) the noise of the sum of p(u, v) over rows,

    n dx      = e(u - x')
    n (c - c') = e((u - x') (v - y') - c') - n dx dy

since the sum of (u - x') (v - y') over what is released is n (c + dx dy), and n' c' before noise. A variance is the
covariance of a side with itself. So (n - N(1)) abs(c - c') is at most N of the weights with c in the place of c',
plus n dx dy. Let b' = c' / v' be the slope, r'(u, v) = v - y' - b' (u - x') what is left of a row, g = y - y' - b'
dx. Of a slope and a correlation all that noise does not rule out is what there is (``fieller.py``):

    slope: n v (b - b') = e((u - x') r') - n dx (dy - b' dx),  and  e(r') = n g

The weights are (u - x) (v - y) - b (u - x)^2 + (b - b') (u - x)^2, but for dx and dy: (u - x') (v - y') has dx (v -
y) + dy (u - x) + dx dy more, and (u - x')^2 has 2 dx (u - x) + dx^2 more.
At a distance k = x + x0 under the mean a line is a = y - b k, so that

    intercept: n v (a - a') = s e(r' (v' - k' (u - x'))) + n (v - v') g + n dx^2 g + dx e(r' (o k' - (1 - o) (u - x')))

with o = k'^2 / (k'^2 + v') and s = 1 + o dx / k'. So s k' = k - (1 - o) dx and s v' = v' + (1 - o) k' dx, which is
how far the weights of the first sum times s are known; s = 1 would leave k' to dx, and the last sum larger.

A product of two sums is at most the larger square of t P + Q / t and t P - Q / t, over 4, for any t > 0. With the t
for which the roots of the sums of squares of both are alike, norms of these are at most what ``Law.product`` says:
what adds up absolute values in a norm is at most ``half`` times that root, by the inequality of Cauchy and Schwarz.

Let l = sqrt(w' / v'), l0 = sqrt(w / v), l = l0 exp(t), s = sqrt(v w), and D, E the half sum and half difference of l0
(u - x')^2 and (v - y')^2 / l0, so that those with l are cosh(t) D + sinh(t) E and cosh(t) E + sinh(t) D. As l v' = w' /
l, and c' = r' (l v' + w' / l) / 2 for the correlation r',

    n s tanh(t) = e(E + tanh(t) D) - n (l dx^2 - dy^2 / l) / (2 cosh(t))
    n (c - r' s cosh(t)) = e((u - x') (v - y') - r' (cosh(t) D + sinh(t) E)) - n dx dy + n r' (l dx^2 + dy^2 / l) / 2

The first says how large T, the most of abs(tanh(t)), is: at most 1. Let R = r' cosh(t). By the second n abs(c - R s)
is at most N((u - x') (v - y') - R D) + abs(R) T N(E) + n abs(dx dy) + n abs(R) (1 + T) (l0 dx^2 + dy^2 / l0) / 2,
since exp(abs(t)) is at most (1 + T) cosh(t). So R is known as a slope is, with D in the place of (u - x)^2; and r' is R
times what is between sqrt(1 - T^2) and 1, whatever t is.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import hypot, sqrt

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.aggregates import formulas as f
from dpproxy.aggregates.fieller import ONE as _ONE
from dpproxy.aggregates.fieller import Form, Norm, Within, combined, farthest
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from udfs.mechanisms.averaged import ROUNDING
from udfs.mechanisms.linear import Linear, Number

COUNT, X, Y, XX, YY, XY = "n", "x", "y", "xx", "yy", "xy"
"""The sums: of 1, of each argument, of their squares and of their products."""
Sizes = Mapping[str, float | nodes.Expr]
_ZERO, _HALF, _TWO = map(duck.double, (0.0, 0.5, 2.0))
_LEAST = 2.0**-62
"""In steps, less than any variance of fewer than 2^60 rows that is not zero."""


class Law(Struct, frozen=True):
    """The noises of the sums; with the confidence ``near`` the main one is bounded, with ``far`` each other."""

    draws: Mapping[str, Number]
    near: Fraction
    far: Fraction

    def norm(self, confidence: Fraction, names: Iterable[str]) -> Linear:
        """What bounds sums of the noises of some."""
        found = Linear.joint([self.draws[name] for name in names], confidence)
        if found is None:
            raise AssertionError("there is a joint law")
        return found

    def reach(self, confidence: Fraction, sizes: Sizes) -> nodes.Expr:
        """For absolute values of weights."""
        norm, by_row = self.norm(confidence, sizes), [s for s in sizes.values() if not isinstance(s, float)]

        def made(named: Sequence[nodes.Expr]) -> nodes.Expr:
            left = iter(named)
            return f.reach(norm, [s if isinstance(s, float) else next(left) for s in sizes.values()])

        return f.named("e", by_row, made)

    def product(self, one: Sizes, other: Sizes) -> nodes.Expr:
        """Of two sums, with ``far`` each of theirs."""
        names = [*dict.fromkeys((*one, *other))]
        norm = self.norm(self.far, names)
        half = hypot(*(h / s for h, s in zip(norm.halves, norm.scales, strict=True) if s))
        scales = dict(zip(names, norm.scales, strict=True))
        p, q = (
            {
                name: f.scaled(size if isinstance(size, nodes.Expr) else duck.double(size), scales[name])
                for name, size in sizes.items()
            }
            for sizes in (one, other)
        )

        def made(named: Sequence[nodes.Expr]) -> nodes.Expr:
            first, second = named[: len(p)], named[len(p) :]
            squares = (f.plus(*map(f.square, each)) for each in (first, second))
            both = [f.times(first[n], second[[*q].index(name)]) for n, name in enumerate(p) if name in q]
            return f.scaled(
                f.plus(f.root(f.times(*squares)), *both), (1 + sqrt(2) * half) ** 2 / 2 * (1 + ROUNDING)
            )

        return f.named("p", [*p.values(), *q.values()], made)

    def count(self, confidence: Fraction, names: Iterable[str]) -> float:
        """For the count alone, among others."""
        return self.norm(confidence, names).reach([float(name == COUNT) for name in names])


class Ball(Struct, frozen=True):
    """A number before noise: at most ``off`` from a ``value``."""

    value: nodes.Expr
    off: nodes.Expr = _ZERO

    @property
    def size(self) -> nodes.Expr:
        """The most that its absolute value is."""
        return f.size(self.value) if self.off is _ZERO else f.plus(f.size(self.value), self.off)

    def plus(self, other: "Ball") -> "Ball":
        """Of a sum."""
        return Ball(f.plus(self.value, other.value), _sum(self.off, other.off))

    def minus(self, other: "Ball") -> "Ball":
        """Of a difference."""
        return Ball(f.minus(self.value, other.value), _sum(self.off, other.off))

    def times(self, other: "Ball") -> "Ball":
        """Of a product: a b - a' b' = a (b - b') + (a - a') b'."""
        left = _ZERO if self.off is _ZERO else f.times(self.off, other.size)
        right = _ZERO if other.off is _ZERO else f.times(f.size(self.value), other.off)
        return Ball(f.times(self.value, other.value), _sum(left, right))

    def scaled(self, factor: nodes.Expr) -> "Ball":
        """Of a multiple by what is not negative."""
        return Ball(f.times(self.value, factor), self.off if self.off is _ZERO else f.times(self.off, factor))


def _sum(a: nodes.Expr, b: nodes.Expr) -> nodes.Expr:
    """Of two bounds."""
    return b if a is _ZERO else a if b is _ZERO else f.plus(a, b)


class Known(Struct, frozen=True):
    """The count, means, variances and covariances by their sums, each a name in SQL.

    ``middles`` are what the squares of each side are counted from; without bounds they answer ``unknown``.
    """

    law: Law
    of: Mapping[str, Ball]
    middles: Mapping[str, float]
    unknown: nodes.Expr

    def within(self, names: Sequence[str], offs: Sequence[nodes.Expr]) -> "Known":
        """The same, with the bounds of some."""
        more = {name: replace(self.of[name], off=off) for name, off in zip(names, offs, strict=True)}
        return replace(self, of={**self.of, **more})

    def mean(self, side: str) -> nodes.Expr:
        """How far a mean is off: n abs(x - x') is at most F(1, x'), which is at most F(1, x) + abs(x - x') F(1)."""
        return self._solved(self.law.far, {side: 1.0, COUNT: f.size(self.of[side].value)}, _ZERO)

    def second(self, name: str, confidence: Fraction) -> nodes.Expr:
        """How far a variance or covariance is off."""
        x, y = name[0], name[1]
        a, b = self.of[x], self.of[y]
        own = self._product(x, y).minus(Ball(self.of[name].value))
        sizes = {x: a.scaled(_TWO).size} if x == y else {x: b.size, y: a.size}
        more = f.times(self.of[COUNT].value, a.off, b.off)
        return self._solved(confidence, {name: 1.0, COUNT: own.size, **sizes}, more)

    def _solved(self, confidence: Fraction, sizes: Sizes, more: nodes.Expr) -> nodes.Expr:
        """The most that d is where the weight of the count may be larger by d."""
        left = f.minus(self.of[COUNT].value, duck.double(self.law.count(confidence, sizes)))
        return f.over(_sum(self.law.reach(confidence, sizes), more), left)

    def slope(self, confidence: Fraction, sign: int) -> nodes.Expr:
        """How far the slope is below what is released (sign 1), above it (-1), or at most (0)."""
        x, y, n = self.of[X], self.of[Y], self.of[COUNT].value
        norm, slope = (
            self.form_norm(confidence),
            f.over(self.of[XY].value, f.greatest(self.of[XX].value, duck.double(_LEAST))),
        )

        def made(named: Sequence[nodes.Expr]) -> nodes.Expr:
            [b] = named
            steep, square = f.size(b), f.square(x.off)
            under, over, one = self._from_mean(X), self._from_mean(Y), {COUNT: _ONE}
            both = f.plus(f.times(x.off, y.off), f.times(steep, square))
            moved = [(over, x.off), (under, f.plus(y.off, f.times(_TWO, steep, x.off))), (one, both)]
            slack = f.plus(f.times(_TWO, x.off, norm.of(under)), f.times(square, f.plus(norm.of(one), n)))
            a = combined((self._crossed(), _ONE), (self._squared(X), f.scaled(b, -1.0)))
            within = Within(f.times(n, self.of[XX].value), f.times(n, both), slack)
            return farthest(norm, a, self._squared(X), moved, within, sign, self.unknown)

        return f.named("s", [slope], made)

    def form_norm(self, confidence: Fraction) -> Norm:
        """Of all sums."""
        return Norm(self.law.norm(confidence, self.law.draws), [*self.law.draws])

    def _from_mean(self, side: str) -> Form:
        """The weights of the distance from the mean."""
        return {side: _ONE, COUNT: f.scaled(self.of[side].value, -1.0)}

    def _squared(self, side: str) -> Form:
        """Those of its square."""
        mean = self.of[side].value
        return {
            side * 2: _ONE,
            side: f.scaled(mean, -2.0),
            COUNT: f.plus(f.square(mean), duck.double(self.middles[side])),
        }

    def _crossed(self) -> Form:
        """Those of the product of both distances."""
        x, y = self.of[X].value, self.of[Y].value
        return {XY: _ONE, X: f.scaled(y, -1.0), Y: f.scaled(x, -1.0), COUNT: f.times(x, y)}

    def line(self, place: float) -> nodes.Expr:
        """How far the line is off where arguments are 0: so far, ``place``, below the centre."""
        x, y, v = (self.of[name] for name in (X, Y, XX))
        under = Ball(duck.double(place)).plus(x)

        def half(slopes: Sequence[Ball], share: nodes.Expr, off: nodes.Expr) -> nodes.Expr:
            [b] = slopes
            part, level = Ball(share, off), y.minus(b.times(x))
            rest = Ball(_ONE).minus(part)
            k = replace(under, off=f.times(rest.size, x.off))
            one = replace(v, off=f.plus(v.off, f.times(under.size, k.off))).plus(k.times(x))
            sizes = self._line(b, level, one, k)
            across = self._line(b, level, part.times(under).plus(rest.times(x)), rest)
            crossed = self.law.product({X: 1.0, COUNT: x.size}, across)
            moved = f.times(f.plus(v.off, f.square(x.off)), self._moved(b))
            more = f.plus(moved, f.over(crossed, f.square(self.of[COUNT].value)))
            return f.over(f.plus(self._noise(self.law.near, sizes), more), v.value)

        def share(k: nodes.Expr, v: nodes.Expr) -> nodes.Expr:
            squared = f.square(f.greatest(k, _ZERO))
            return f.over(squared, f.greatest(f.plus(squared, v), duck.double(_LEAST)))

        ends = (
            share(f.minus(f.size(under.value), x.off), f.plus(v.value, v.off)),
            share(under.size, f.greatest(f.minus(v.value, v.off), _ZERO)),
        )
        shares = [f.times(f.plus(*ends), _HALF), f.times(f.minus(ends[1], ends[0]), _HALF)]
        slope = f.over(self.of[XY].value, f.greatest(v.value, duck.double(_LEAST)))
        found = [slope, self.slope(self.law.far, 0), *shares]

        def checked(taken: Sequence[nodes.Expr]) -> nodes.Expr:
            known = nodes.Binary(">", self.unknown, taken[1])
            return duck.case([(known, half([Ball(*taken[:2])], *taken[2:]))], self.unknown)

        return f.named("d", found, checked)

    def _line(self, b: Ball, level: Ball, one: Ball, k: Ball) -> Sizes:
        """The weights of r' (one - k u), where r' is v - level - b u."""
        tilted = b.times(k)
        left = tilted.times(Ball(duck.double(self.middles[X]))).minus(level.times(one))
        turned = level.times(k).minus(b.times(one))
        return {Y: one.size, XY: k.size, X: turned.size, XX: tilted.size, COUNT: left.size}

    def correlation(self, sign: int) -> nodes.Expr:
        """How far a correlation is below what is released (sign 1), or above it (-1)."""
        return self._correlation(lambda _, end: end, (sign,))

    def correlation_squared(self, sign: int) -> nodes.Expr:
        """How far its square is below what is released (sign 1), or above it (-1)."""

        def far(r: nodes.Expr, below: nodes.Expr, above: nodes.Expr) -> nodes.Expr:
            is_above, size = nodes.Binary(">=", r, _ZERO), f.size(r)
            inner, outer = (duck.case([(is_above, a)], b) for a, b in ((below, above), (above, below)))
            return f.named("i", [size, inner, outer], lambda taken: squared(*taken))

        def squared(r: nodes.Expr, inner: nodes.Expr, outer: nodes.Expr) -> nodes.Expr:
            twice, nearer = f.scaled(r, 2.0), f.least(inner, r)
            if sign > 0:
                return f.times(nearer, f.minus(twice, nearer))
            across = f.times(inner, f.minus(inner, twice))  # on the other side of 0
            return f.greatest(f.times(outer, f.plus(twice, outer)), across)

        return self._correlation(far)

    def _correlation(self, made: Callable[..., nodes.Expr], signs: Sequence[int] = (1, -1)) -> nodes.Expr:
        """``made`` of the correlation, and of how far one before noise is below (sign 1) or above it (-1)."""
        v, w = (f.greatest(self.of[name].value, duck.double(_LEAST)) for name in (XX, YY))
        spread, steep = f.root(f.times(v, w)), f.root(f.over(w, v))
        named = [spread, steep, f.over(_ONE, steep), f.over(self.of[XY].value, spread)]
        return f.named("q", named, lambda taken: self._turned(taken, made, signs))

    def _turned(
        self, taken: Sequence[nodes.Expr], made: Callable[..., nodes.Expr], signs: Sequence[int]
    ) -> nodes.Expr:
        """With the root of the product of the variances, those of their quotients, and the correlation."""
        spread, steep, flat, r = taken
        x, y, n = self.of[X], self.of[Y], self.of[COUNT].value
        half = [f.scaled(each, 0.5) for each in (steep, flat)]
        both = combined((self._squared(X), half[0]), (self._squared(Y), half[1]))
        apart = combined((self._squared(X), half[0]), (self._squared(Y), f.scaled(half[1], -1.0)))
        under, over, one = self._from_mean(X), self._from_mean(Y), {COUNT: _ONE}
        tilt, turn = f.times(steep, x.off), f.times(flat, y.off)
        corner = f.scaled(f.plus(f.times(tilt, x.off), f.times(turn, y.off)), 0.5)
        beside = [(under, tilt), (over, turn), (one, corner)]
        far, near = self.form_norm(self.law.far), self.form_norm(self.law.near)
        crossed = self.law.product({X: 1.0, COUNT: x.size}, {Y: 1.0, COUNT: y.size})
        g = f.times(n, spread)
        most_squared = f.greatest(f.times(tilt, x.off), f.times(turn, y.off))
        slack = f.plus(*(f.times(size, far.of(form)) for form, size in beside))
        within = Within(g, f.times(n, most_squared), slack)
        most = farthest(far, apart, both, beside, within, 0, _ONE)

        def with_most(named: Sequence[nodes.Expr]) -> nodes.Expr:
            [t], size = named, f.size(r)
            rest = f.minus(_ONE, f.square(t))
            a = combined((self._crossed(), _ONE), (both, f.scaled(r, -1.0)))
            moved = [
                (over, f.plus(x.off, f.times(size, turn))),
                (under, f.plus(y.off, f.times(size, tilt))),
                (one, f.plus(f.times(x.off, y.off), f.times(size, corner))),
                (apart, f.times(size, t)),
            ]
            more_apart = f.plus(*(f.times(each, near.of(form)) for form, each in beside))
            bent = f.times(n, corner, f.plus(_ONE, t))
            slack = f.plus(more_apart, f.times(t, f.plus(near.of(apart), more_apart)), bent)
            more = f.plus(f.over(crossed, n), f.times(size, f.plus(f.times(t, more_apart), bent)))
            within = Within(g, more, slack)
            ends = [farthest(near, a, both, moved, within, sign, self.unknown) for sign in signs]
            return f.named("h", ends, lambda taken: drawn_in(r, f.root(rest), *taken))

        def drawn_in(r: nodes.Expr, root: nodes.Expr, *ends: nodes.Expr) -> nodes.Expr:
            """What is between is nearer to 0 by the root at most."""
            past = (f.minus(f.scaled(r, float(sign)), end) for sign, end in zip(signs, ends, strict=True))
            inner = [
                f.plus(end, f.times(f.greatest(each, _ZERO), f.minus(_ONE, root)))
                for end, each in zip(ends, past, strict=True)
            ]
            return made(r, *inner)

        return f.named("t", [f.least(most, _ONE)], with_most)

    def _product(self, x: str, y: str) -> Ball:
        """Of two means; of one with itself, with what its squares are counted from."""
        found = self.of[x].times(self.of[y])
        return found.plus(Ball(duck.double(self.middles[x]))) if x == y else found

    def _noise(self, confidence: Fraction, sizes: Sizes) -> nodes.Expr:
        """Of a sum with these weights, over the count."""
        return f.over(self.law.reach(confidence, sizes), self.of[COUNT].value)

    def _moved(self, b: Ball) -> nodes.Expr:
        """The most that g is."""
        x, y = self.of[X], self.of[Y]
        sizes: Sizes = {Y: 1.0, X: b.size, COUNT: y.minus(b.times(x)).size}
        return self._noise(self.law.far, sizes)


def half_width(known: Known, second: Sequence[str], made: Callable[[Known], nodes.Expr]) -> nodes.Expr:
    """What is ``made`` of what is known, with the bounds of means and of the ``second`` moments."""
    sides = [side for side in (X, Y) if side in known.of]

    def with_values(values: Sequence[nodes.Expr]) -> nodes.Expr:
        named = replace(known, of=dict(zip(known.of, map(Ball, values), strict=True)))
        return f.named(
            "b", [named.mean(side) for side in sides], lambda t: with_means(named.within(sides, t))
        )

    def with_means(named: Known) -> nodes.Expr:
        if not second:
            return made(named)
        offs = [named.second(name, named.law.far) for name in second]
        return f.named("c", offs, lambda taken: made(named.within(second, taken)))

    law, seconds = known.law, [name for name in known.of if len(name) == 2]
    used = [(side, COUNT) for side in sides] + [(name, COUNT, *dict.fromkeys(name)) for name in seconds]
    least = max(law.count(confidence, names) for confidence in (law.near, law.far) for names in used)
    enough = nodes.Binary(">", known.of[COUNT].value, duck.double(least))
    found = f.named("a", [ball.value for ball in known.of.values()], with_values)
    return duck.case([(enough, found)], known.unknown)
