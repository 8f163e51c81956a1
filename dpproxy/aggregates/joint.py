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
dx.

    slope: n v (b - b') = e((u - x') r') - n dx g,  and  e(r') = n g

as the sum of (u - x') (released line - line before noise) is n (dx g + v (b - b')). The weights are those for b in
the place of b' and abs(b - b') times those of (u - x')^2, so that abs(b - b') is on both sides, as in a quotient
(``planner/release/linear_forms.py``). At a distance k = x + x0 under the mean a line is a = y - b k, so that

    intercept: n v (a - a') = s e(r' (v' - k' (u - x'))) + n (v - v') g + n dx^2 g + dx e(r' (o k' - (1 - o) (u - x')))

with o = k'^2 / (k'^2 + v') and s = 1 + o dx / k'. So s k' = k - (1 - o) dx and s v' = v' + (1 - o) k' dx, which is
how far the weights of the first sum times s are known; s = 1 would leave k' to dx, and the last sum larger.

A product of two sums is at most the larger square of t P + Q / t and t P - Q / t, over 4, for any t > 0. With the t
for which the roots of the sums of squares of both are alike, norms of these are at most what ``Law.product`` says:
what adds up absolute values in a norm is at most ``half`` times that root, by the inequality of Cauchy and Schwarz.

Let h' = c' / w' be the slope the other way, l = sqrt(w' / v'). As sqrt(v w) = (l v + w / l) / 2 - d with d = (l
sqrt(v) - sqrt(w))^2 / (2 l), and the same before noise without d, and b' v' = h' w' = c', the correlation r has

    n sqrt(v w) (r - r') = e((u - x') (v - y') - b' / 2 (u - x')^2 - h' / 2 (v - y')^2)
                           - n dx dy + n r' (l dx^2 + dy^2 / l) / 2 + n r' d

Let p = sqrt(l) dx + dy / sqrt(l), and m the same with a minus. What is between is n ((1 + r') m^2 - (1 - r') p^2) / 4.
Let r not be below 0, else y changes its sign, and M the larger of abs(p) and abs(m). As d is not below 0, r' is above r
by at most what e has and (1 - r) M^2 / 4, and below by at most that of e, (1 + r) M^2 / 4 and r d.
With l0 = sqrt(w / v) and t = ln(l / l0),

    2 n sqrt(v w) sinh(t) = n (l v - w / l) = e(l (u - x')^2 - (v - y')^2 / l) - n p m

and d = sqrt(v w) (cosh(t) - 1). Let l0 take the place of l in the weights of e, and in M^2: they are at most
exp(abs(t)) times as large with l. (That of the count is a difference of what is not negative, at most the larger.)
So 1 - exp(-2 abs(t)) is at most ``turned``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import hypot, sqrt

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.aggregates import formulas as f
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from udfs.mechanisms.averaged import ROUNDING
from udfs.mechanisms.linear import Linear, Number

COUNT, X, Y, XX, YY, XY = "n", "x", "y", "xx", "yy", "xy"
"""The sums: of 1, of each argument, of their squares and of their products."""
Sizes = Mapping[str, float | nodes.Expr]
_ZERO, _HALF, _ONE, _TWO = map(duck.double, (0.0, 0.5, 1.0, 2.0))
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

    def slope(self, confidence: Fraction) -> nodes.Expr:
        """How far the slope is off."""
        return self._with_slopes(confidence, (X,), lambda taken: taken[0].off)

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
        return self._with_slopes(self.law.far, (X,), half, shares)

    def _line(self, b: Ball, level: Ball, one: Ball, k: Ball) -> Sizes:
        """The weights of r' (one - k u), where r' is v - level - b u."""
        tilted = b.times(k)
        left = tilted.times(Ball(duck.double(self.middles[X]))).minus(level.times(one))
        turned = level.times(k).minus(b.times(one))
        return {Y: one.size, XY: k.size, X: turned.size, XX: tilted.size, COUNT: left.size}

    def correlation(self) -> nodes.Expr:
        """How far a correlation is off."""
        return self._correlation(lambda _, *both: f.greatest(*both))

    def correlation_squared(self) -> nodes.Expr:
        """How far its square is off."""

        def half(r: nodes.Expr, below: nodes.Expr, above: nodes.Expr) -> nodes.Expr:
            twice = f.scaled(r, 2.0)
            nearer = f.times(f.least(below, r), f.minus(twice, f.least(below, r)))
            beyond = f.times(below, f.minus(below, twice))  # on the other side of 0
            return f.greatest(f.times(above, f.plus(twice, above)), nearer, beyond)

        return self._correlation(half)

    def _correlation(self, made: Callable[..., nodes.Expr]) -> nodes.Expr:
        """``made`` of the size of the correlation, and of how far one before noise is nearer to 0, and farther."""
        x, y = self.of[X], self.of[Y]
        v, w = (f.greatest(self.of[name].value, duck.double(_LEAST)) for name in (XX, YY))
        of_both = [f.root(f.times(v, w)), f.root(f.over(w, v)), f.root(f.over(v, w))]

        def half(
            slopes: Sequence[Ball], spread: nodes.Expr, steep: nodes.Expr, flat: nodes.Expr
        ) -> nodes.Expr:
            b, h = slopes
            a, c = self._product(X, X), self._product(Y, Y)
            squares = b.times(a).plus(h.times(c))
            sizes: Sizes = {
                XY: 1.0,
                XX: b.scaled(_HALF).size,
                YY: h.scaled(_HALF).size,
                X: y.minus(b.times(x)).size,
                Y: x.minus(h.times(y)).size,
                COUNT: self._product(X, Y).minus(squares.scaled(_HALF)).size,
            }
            tilted: Sizes = {
                XX: steep,
                YY: flat,
                X: x.scaled(steep).scaled(_TWO).size,
                Y: y.scaled(flat).scaled(_TWO).size,
                COUNT: f.greatest(a.scaled(steep).size, c.scaled(flat).size),
            }
            roots = f.root(steep), f.root(flat)
            centre = f.plus(f.times(roots[0], x.size), f.times(roots[1], y.size))
            across: Sizes = {X: roots[0], Y: roots[1], COUNT: centre}
            square = f.over(f.square(self._noise(self.law.far, across)), spread)
            turned = f.plus(f.over(self._noise(self.law.far, tilted), spread), square)
            main = f.over(self._noise(self.law.near, sizes), spread)
            r = f.over(f.size(self.of[XY].value), spread)
            return f.named("q", [r, main, square, turned], lambda taken: with_values(*taken))

        def with_values(
            r: nodes.Expr, main: nodes.Expr, square: nodes.Expr, turned: nodes.Expr
        ) -> nodes.Expr:
            rest = f.minus(_ONE, turned)
            root = f.root(f.greatest(rest, duck.double(_LEAST)))
            bent = f.over(f.scaled(square, 0.25), root)
            apart = f.minus(f.scaled(f.plus(root, f.over(_ONE, root)), 0.5), _ONE)
            below = f.plus(main, bent, f.times(r, f.plus(bent, apart)))
            above = f.plus(main, f.times(bent, f.greatest(f.minus(_ONE, r), _ZERO)))
            found = f.named("h", [below, above], lambda taken: made(r, *taken))
            return duck.case([(nodes.Binary(">", rest, duck.double(_LEAST)), found)], self.unknown)

        return self._with_slopes(self.law.far, (X, Y), half, of_both)

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

    def _with_slopes(
        self,
        confidence: Fraction,
        sides: Sequence[str],
        made: Callable[..., nodes.Expr],
        more: Sequence[nodes.Expr] = (),
    ) -> nodes.Expr:
        """``made`` of the slopes over some sides and ``more``, where noise leaves enough of the variances."""

        def room(side: str) -> nodes.Expr:
            """The variance without what noise has of it for each unit of slope."""
            x = self.of[side]
            sizes: Sizes = {
                side * 2: 1.0,
                side: x.scaled(_TWO).size,
                COUNT: self._product(side, side).size,
            }
            taken = f.plus(self._noise(confidence, sizes), f.square(x.off))
            return f.minus(self.of[side * 2].value, taken)

        def off(side: str, b: nodes.Expr, left: nodes.Expr) -> nodes.Expr:
            other = Y if side == X else X
            x, y, slope = self.of[side], self.of[other], Ball(b)
            sizes: Sizes = {
                XY: 1.0,
                side * 2: slope.size,
                side: y.minus(slope.times(x).scaled(_TWO)).size,
                other: x.size,
                COUNT: self._product(X, Y).minus(slope.times(self._product(side, side))).size,
            }
            moved = f.times(x.off, f.plus(y.off, f.times(f.size(b), x.off)))
            return f.over(f.plus(self._noise(confidence, sizes), moved), left)

        def with_values(taken: Sequence[nodes.Expr]) -> nodes.Expr:
            rooms, values, others = (
                taken[: len(sides)],
                taken[len(sides) : 2 * len(sides)],
                taken[2 * len(sides) :],
            )
            above = [nodes.Binary(">", one, _ZERO) for one in rooms]
            offs = [off(*each) for each in zip(sides, values, rooms, strict=True)]
            found = f.named(
                "d", offs, lambda t: made([Ball(*each) for each in zip(values, t, strict=True)], *others)
            )
            return duck.case([(nodes.And(tuple(above)), found)], self.unknown)

        least = duck.double(_LEAST)
        slopes = [f.over(self.of[XY].value, f.greatest(self.of[side * 2].value, least)) for side in sides]
        return f.named("r", [*map(room, sides), *slopes, *more], with_values)


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
