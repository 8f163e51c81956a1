"""Totals of averages over the rows of one release: how far off, so that it grows with the root of their number.

Of row i let N be the released number of rows, 1 for less, and S the released sum of distances from the middle of the
bounds, c and d' c the same before noise, n and s their noises: d = S / N is released, abs(d') <= D, and each average is
the middle and d, inside the bounds. All abs(n) <= B and abs(s) <= A together, so that abs(d - d') <= (A + D B) / N.
Let J be the rows with c > 2 B, which nobody knows. In J, N >= c - B > B, and

    d - d' = (s - d' n) / N = (s - d' n) / c - s n / (c N) + d' n^2 / (c N)

* The first has constant weights 1 / c and d' / c: its sum over J is bounded by ``Weighted``.
* In the second, given all n, s is independent, and abs(n) / (c N) <= B / (c (c - B)), a constant: given the levels and
  n, the sum with the smaller weights is more peaked, so that ``Weighted`` of s alone bounds it.
* The third is at most the sum of g n^2, g = abs(d') / (c (c - B)): at most B^2 times the sum of g. With v the variance
  of n, that of n^2 up to B^2 is at most B^2 v: by Bernstein's inequality the sum is at most sqrt(2 L B^2 v G2) +
  2/3 L B^2 G more than v G1, where G1, G2 and G are the sum, the sum of squares and the largest of g, and L is the
  logarithm of one over what may be missed. As G2 <= G G1 and sqrt(2 a b) <= a / 2 + b, it is at most
  3/2 v G1 + 5/3 L B^2 G.
* What the bounds cut off of d is known, row by row.

All grow with 1 / c and abs(d'): for these stand 1 over the larger of N - B and 2 B, and the less of D and
abs(d) + (A + D B) / N, d inside the bounds. Rows with N > B may be in J, and count. Rows with N <= 3 B may be outside:
all averages are within their distances together, too, of which the sum is another bound of the total. What may be
missed is shared by all of that.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import log

from sqlglot import exp

from dpproxy.aggregates import formulas as f
from dpproxy.aggregates.average import ReleasedAverage
from dpproxy.aggregates.model import Noise
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.windows import Over
from udfs.mechanisms.averaged import ROUNDING, Draw
from udfs.mechanisms.weighted import MANY, ON_TOP, Weighted

_FIRST, _ROWS, _BOXES, _REST = Fraction(4, 5), Fraction(1, 10), Fraction(1, 20), Fraction(1, 40)
"""The shares of what may be missed: the sum with constant weights, all averages, the boxes, and each of the others."""


def total(
    mean: ReleasedAverage, kind: type[exp.Expr], rows: int, confidence: Fraction, put: Over
) -> nodes.Expr:
    """How far a sum, or mean, of averages over up to so many rows may be off; ``put`` makes a call one over these."""
    found = duck.made(_sum, mean.noise, mean.draws, mean, rows, confidence, put)
    if kind is exp.Sum:
        return found
    return f.over(found, duck.call("nullif", put(nodes.Call("count", (mean.columns[1],))), duck.double(0.0)))


def _sum(
    noise: Noise, draws: Sequence[Draw], mean: ReleasedAverage, rows: int, confidence: Fraction, put: Over
) -> nodes.Expr:
    allowed, (sums, number) = 1 - confidence, draws
    reach = mean.average.distance(mean.columns, noise, 1 - allowed * _ROWS / rows)
    first = Weighted.of(draws, rows, 1 - allowed * _FIRST)
    second = Weighted.of(draws[:1], rows, 1 - allowed * _REST)
    if first is None or second is None:
        return put(nodes.Call("sum", (mean.average.distance(mean.columns, noise, 1 - allowed / rows),)))
    halves = sums.mechanism.half_width(1 - allowed * _BOXES / (2 * rows))
    box, unit, farthest = float(halves[number.component]), mean.average.unit, mean.average.farthest
    (d, many), middle = mean.average.apart(mean.columns), mean.average.middle
    inside = f.inside(d, *(end - middle for end in mean.average.limits))

    def where(sign: str, border: float, value: nodes.Expr, call: str = "sum") -> nodes.Expr:
        is_meant = nodes.Binary(sign, many, duck.double(border))
        return put(nodes.Call(call, (duck.case([(is_meant, value)], duck.double(0.0)),)))

    fewest = f.greatest(f.minus(many, duck.double(box)), duck.double(2 * box))
    far = f.over(duck.double(halves[sums.component] * unit + farthest * box), many)
    size = f.least(duck.double(farthest), f.plus(f.size(inside), far))
    squares, units = (
        f.over(f.plus(duck.double((unit * a) ** 2), f.square(f.scaled(size, b))), f.square(fewest))
        for a, b in (first.scales, (1.0, 1.0))
    )
    whole = where(">", box, squares)
    parts = [
        f.times(_factor(first, whole, where(">", box, squares, "max")), f.root(whole)),
        f.scaled(f.root(where(">", box, units)), ON_TOP / 12**0.5),
        where(">", box, f.size(f.minus(d, inside))),
    ]
    if box:
        apart = f.times(fewest, f.minus(fewest, duck.double(box)))
        crossed = where(">", box, f.over(duck.double(1.0), f.square(apart)))
        [scale], [factor] = second.scales, second.factors[:1]
        g, most = (where(">", box, f.over(size, apart), call) for call in ("sum", "max"))
        bent = f.plus(
            f.scaled(g, 1.5 * number.variance), f.scaled(most, 5 / 3 * log(1 / (allowed * _REST)) * box**2)
        )
        parts += [
            f.scaled(f.root(crossed), unit * box * (factor * scale + ON_TOP / 12**0.5)),
            f.least(f.scaled(g, box**2), bent),
            where("<=", 3 * box, reach),
        ]
    return f.least(put(nodes.Call("sum", (reach,))), f.scaled(f.plus(*parts), 1 + ROUNDING))


def _factor(first: Weighted, whole: nodes.Expr, most: nodes.Expr) -> nodes.Expr:
    """The one of the number of draws alike that no row has more of the sum than."""
    last, *others = zip(first.factors, MANY, strict=False)
    cases = [
        (nodes.Binary(">=", whole, f.scaled(most, m * (1 + ROUNDING))), duck.double(factor))
        for factor, m in reversed(others)
    ]
    return duck.case(cases, duck.double(last[0])) if cases else duck.double(last[0])
