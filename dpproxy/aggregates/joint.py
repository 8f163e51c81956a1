"""How far variances, covariances, lines and correlations may be off, by the joint law of the noise of their sums.

The law bounds one sum of the noises by a norm N of its weights, which must not depend on the noise: so they are those
before noise, marked by primes, and what is released says between which bounds they are (``Ball``). N grows with the
size of each weight. In the main sum nearly all of what may be missed is spent. A norm F that holds nearly always bounds
what is of second order: each mean, variance and covariance, and e((u - x') r') below. With the means x, y, the
variances v, w, the covariance c, dx = x - x', and e(p) the noise of the sum of p(u, v) over rows,

    n dx      = e(u - x')
    n (c - c') = e((u - x') (v - y') - c') - n dx dy

since the sum of (u - x') (v - y') over what is released is n (c + dx dy), and n' c' before noise. A variance is the
covariance of a side with itself. So (n - N(1)) abs(c - c') is at most N of the weights with c in the place of c', plus
n dx dy. Let b' = c' / v' be the slope, r'(u, v) = v - y' - b' (u - x') what is left of a row, g = y - y' - b' dx.

    slope: n v (b - b') = e((u - x') r') - n dx g,  and  e(r') = n g

as the sum of (u - x') (released line - line before noise) is n (dx g + v (b - b')). The weights are those for b in
the place of b' and abs(b - b') times those of (u - x')^2, so that abs(b - b') is on both sides, as in a quotient
(``planner/release/linear_forms.py``). At a distance k = x + x0 under the mean a line is a = y - b k, so that

    intercept: n v (a - a') = e(r' (v' - k' (u - x'))) + (v - v') n g - dx e((u - x') r') + k dx n g

Let h' = c' / w' be the slope the other way, l = sqrt(w' / v'). As sqrt(v w) = (l v + w / l) / 2 - d with
d = (l sqrt(v) - sqrt(w))^2 / (2 l), and the same before noise without d, and b' v' = h' w' = c', the correlation r has

    n sqrt(v w) (r - r') = e((u - x') (v - y') - b' / 2 (u - x')^2 - h' / 2 (v - y')^2)
                           - n dx dy + n (b' dx^2 + h' dy^2) / 2 + n r' d

and d / sqrt(v w) = (z + 1 / z) / 2 - 1 with z^2 = w' v / (v' w), where z and 1 / z are at most
1 / sqrt((1 - abs(v - v') / v) (1 - abs(w - w') / w)). As abs(r') is at most abs(r) + abs(r - r'), that is on both
sides, too.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.aggregates import formulas as f
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from udfs.mechanisms.linear import Linear, Number

COUNT, X, Y, XX, YY, XY = "n", "x", "y", "xx", "yy", "xy"
"""The sums: of 1, of each argument, of their squares and of their products."""
Sizes = Mapping[str, float | nodes.Expr]
_ZERO, _ONE = duck.double(0.0), duck.double(1.0)


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

    def scaled(self, factor: float) -> "Ball":
        """Of a multiple by what is not negative."""
        return Ball(
            f.scaled(self.value, factor), self.off if self.off is _ZERO else f.scaled(self.off, factor)
        )

    def over(self, other: "Ball") -> "Ball":
        """Of a quotient: a/b - a'/b' = (a - a' - a/b (b - b')) / b'; ``other`` is above its ``off``."""
        value = f.over(self.value, other.value)
        off = f.plus(self.off, f.times(f.size(value), other.off))
        return Ball(value, f.over(off, f.minus(other.value, other.off)))


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
        sizes = {x: a.scaled(2.0).size} if x == y else {x: b.size, y: a.size}
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
        k = Ball(duck.double(place)).plus(x)

        def half(taken: Sequence[Ball]) -> nodes.Expr:
            [b] = taken
            one, level, tilted = v.plus(k.times(x)), y.minus(b.times(x)), k.times(b)
            left = tilted.times(Ball(duck.double(self.middles[X]))).minus(one.times(level))
            turned = k.times(level).minus(one.times(b))
            sizes = {Y: one.size, XY: k.size, X: turned.size, XX: tilted.size, COUNT: left.size}
            moved = f.times(f.plus(v.off, f.times(f.size(k.value), x.off)), self._moved(b))
            more = f.times(x.off, self._tilted(self.law.far, X, b))
            return f.over(f.plus(self._noise(self.law.near, sizes), moved, more), v.value)

        return self._with_slopes(self.law.far, (X,), half)

    def correlation(self) -> nodes.Expr:
        """How far a correlation is off."""
        x, y, c, v, w = (self.of[name] for name in (X, Y, XY, XX, YY))

        def half(taken: Sequence[Ball]) -> nodes.Expr:
            b, h = taken
            squares = b.times(self._product(X, X)).plus(h.times(self._product(Y, Y)))
            sizes: Sizes = {
                XY: 1.0,
                XX: b.scaled(0.5).size,
                YY: h.scaled(0.5).size,
                X: y.minus(b.times(x)).size,
                Y: x.minus(h.times(y)).size,
                COUNT: self._product(X, Y).minus(squares.scaled(0.5)).size,
            }
            bent = f.plus(f.times(b.size, f.square(x.off)), f.times(h.size, f.square(y.off)))
            above = f.plus(self._noise(self.law.near, sizes), f.times(x.off, y.off), f.scaled(bent, 0.5))
            spread = f.root(f.positive(f.times(v.value, w.value)))
            return f.named("s", [spread, above, apart], lambda t: _less(f.over(f.size(c.value), t[0]), *t))

        shares = [f.minus(_ONE, f.over(one.off, one.value)) for one in (v, w)]
        z = f.root(f.positive(f.times(*shares)))
        apart = f.minus(f.scaled(f.plus(z, f.over(_ONE, z)), 0.5), _ONE)
        above = [nodes.Binary(">", one.value, one.off) for one in (v, w)]
        found = self._with_slopes(self.law.far, (X, Y), half)
        return duck.case([(nodes.And((*above, nodes.Binary(">", _ONE, apart))), found)], self.unknown)

    def _product(self, x: str, y: str) -> Ball:
        """Of two means; of one with itself, with what its squares are counted from."""
        found = self.of[x].times(self.of[y])
        return found.plus(Ball(duck.double(self.middles[x]))) if x == y else found

    def _noise(self, confidence: Fraction, sizes: Sizes) -> nodes.Expr:
        """Of a sum with these weights, over the count."""
        return f.over(self.law.reach(confidence, sizes), self.of[COUNT].value)

    def _tilted(self, confidence: Fraction, side: str, b: Ball) -> nodes.Expr:
        """Of the sum of (u - x') r', over the count; ``side`` is that of u."""
        other = Y if side == X else X
        x, y = self.of[side], self.of[other]
        left = self._product(X, Y).minus(b.times(self._product(side, side)))
        turned = y.minus(b.times(x).scaled(2.0))
        sizes: Sizes = {XY: 1.0, side * 2: b.size, side: turned.size, other: x.size, COUNT: left.size}
        return self._noise(confidence, sizes)

    def _moved(self, b: Ball) -> nodes.Expr:
        """The most that g is."""
        x, y = self.of[X], self.of[Y]
        sizes: Sizes = {Y: 1.0, X: b.size, COUNT: y.minus(b.times(x)).size}
        return self._noise(self.law.far, sizes)

    def _with_slopes(
        self, confidence: Fraction, sides: Sequence[str], made: Callable[[Sequence[Ball]], nodes.Expr]
    ) -> nodes.Expr:
        """``made`` of the slopes over some sides, where noise leaves enough of the variances."""

        def room(side: str) -> nodes.Expr:
            """The variance without what noise has of it for each unit of slope."""
            x = self.of[side]
            sizes: Sizes = {
                side * 2: 1.0,
                side: x.scaled(2.0).size,
                COUNT: self._product(side, side).size,
            }
            taken = f.plus(self._noise(confidence, sizes), f.square(x.off))
            return f.minus(self.of[side * 2].value, taken)

        def off(side: str, b: nodes.Expr, left: nodes.Expr) -> nodes.Expr:
            x, y = self.of[side], self.of[Y if side == X else X]
            moved = f.times(x.off, f.plus(y.off, f.times(f.size(b), x.off)))
            return f.over(f.plus(self._tilted(confidence, side, Ball(b)), moved), left)

        def with_rooms(rooms: Sequence[nodes.Expr]) -> nodes.Expr:
            values = [f.over(self.of[XY].value, self.of[side * 2].value) for side in sides]
            above = [nodes.Binary(">", one, _ZERO) for one in rooms]
            found = f.named("v", values, lambda taken: with_values(taken, rooms))
            return duck.case([(nodes.And(tuple(above)), found)], self.unknown)

        def with_values(values: Sequence[nodes.Expr], rooms: Sequence[nodes.Expr]) -> nodes.Expr:
            offs = [off(*each) for each in zip(sides, values, rooms, strict=True)]
            return f.named("d", offs, lambda t: made([Ball(*each) for each in zip(values, t, strict=True)]))

        return f.named("r", [room(side) for side in sides], with_rooms)


def _less(r: nodes.Expr, spread: nodes.Expr, above: nodes.Expr, apart: nodes.Expr) -> nodes.Expr:
    """The most that d is where it is at most ``above`` over ``spread``, and ``apart`` times r + d."""
    return f.over(f.plus(f.over(above, spread), f.times(r, apart)), f.minus(_ONE, apart))


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
