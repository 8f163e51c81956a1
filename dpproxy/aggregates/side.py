"""One argument of a variance or a covariance: its centred steps, small enough to multiply, and what they sum up to.

Let d be a row's distance from the centre in steps, abs(d) <= W. Where W is 2^30 or more the steps are first put on a
coarser power-of-two lattice, e = floor((d + 2^(k-1)) / 2^k), so that abs(e) <= E = floor((W + 2^(k-1)) / 2^k) <=
2^30: products of two such steps fit 64 bits, and no sum of them passes 128 bits. Widths are of what is summed, that
is of e itself, so the rounding is inside them. Sums and squares are of the same e: a variance is their difference,
and what rounding adds to one alone would not cancel.

One row adds e^2, which lies in [0, E^2], to a sum of squares. With H = floor(E^2 / 2) subtracted it lies in
[-H, E^2 - H]: half the width, and dividing by the count adds H back without noise.
"""

from fractions import Fraction

from msgspec import Struct

from dpproxy.aggregates.argument import Argument
from dpproxy.aggregates.model import Measure
from dpproxy.aggregates.sum import centred_measure
from dpproxy.algebra import nodes
from dpproxy.analysis import duck

ROOT_BITS = 30


class Side(Struct, frozen=True):
    """``argument`` in steps of 2^``shift`` lattice steps; all numbers of a side are in these steps."""

    argument: Argument

    @property
    def shift(self) -> int:
        """The k above."""
        return max(self.argument.centred_width.bit_length() - ROOT_BITS, 0)

    @property
    def reach(self) -> int:
        """The E above."""
        return self.argument.centred_width + self._half >> self.shift

    @property
    def _half(self) -> int:
        return 1 << self.shift - 1 if self.shift else 0

    @property
    def middle(self) -> int:
        """The H above."""
        return self.reach**2 // 2

    @property
    def steps(self) -> nodes.Expr:
        """A row's e, a BIGINT. What is divided is not negative, so that dropping the rest is rounding down."""
        if self.shift == 0:
            return self.argument.centred
        lift = self.reach + 1
        moved = duck.binary("+", self.argument.centred, duck.integer((lift << self.shift) + self._half))
        divided = duck.binary("//", moved, duck.integer(1 << self.shift))
        return duck.binary("-", divided, duck.integer(lift))

    @property
    def total(self) -> Measure:
        """The sum of e; on the argument's own lattice it is the one that an average of it needs too."""
        if self.shift == 0:
            return centred_measure(self.argument)
        return Measure(duck.call("sum", self.steps), max(self.reach, 1))

    @property
    def squares(self) -> Measure:
        """The sum of e^2 - H."""
        if self.argument.distinct:
            return Measure(self._squares_once, max(self.reach**2 - self.middle, 1))
        centred = duck.binary("-", duck.binary("*", self.steps, self.steps), duck.integer(self.middle))
        return Measure(duck.call("sum", centred), max(self.reach**2 - self.middle, 1))

    @property
    def _squares_once(self) -> nodes.Expr:
        """Of each e once: 2 e^2 + [e < 0] is another number for each e, and the bits that this adds are counted."""
        e, zero = self.steps, duck.integer(0)
        below = nodes.Binary("<", e, zero)
        bit = duck.case([(below, duck.integer(1))], zero)
        keyed = duck.binary("+", duck.binary("*", duck.binary("*", e, e), duck.integer(2)), bit)
        total, number = self.argument.each("sum", keyed), self.argument.each("count", e)
        bits = self.argument.each("count", duck.case([(below, e)], None))
        squares = duck.binary("//", duck.cast(duck.binary("-", total, bits), "HUGEINT"), duck.integer(2))
        middles = duck.binary("*", duck.cast(duck.integer(self.middle), "HUGEINT"), number)
        return duck.binary("-", squares, middles)

    @property
    def unit(self) -> Fraction:
        """One step as a value."""
        return self.argument.unit * (1 << self.shift)

    @property
    def radius(self) -> float:
        """Half the declared range: no standard deviation is larger (Popoviciu's inequality)."""
        typed = self.argument.typed
        return float(((typed.high or Fraction(0)) - (typed.low or Fraction(0))) / 2 / self.unit)

    @property
    def centre(self) -> float:
        """What the steps count from."""
        return float(Fraction(self.argument.centre, 2**self.shift))


def products(a: Side, b: Side) -> Measure:
    """The sum of products of two sides' steps, symmetric about 0 already."""
    product = duck.call("sum", duck.binary("*", a.steps, b.steps))
    return Measure(product, max(a.reach * b.reach, 1))
