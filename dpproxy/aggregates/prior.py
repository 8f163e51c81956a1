"""What a draw from a refined prior is as a column: the place of one of the prior's values, and the value it stands for.

The exact value goes into the refinement and nowhere else. What comes out is a whole number: the value in units of the
prior's step where values are placed on a line, else its place in the list of values.
"""

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from dpproxy.aggregates.model import Ends, Measure, Noise
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Error
from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed
from dpproxy.values.errors import InvalidParameter, Unsupported
from dpproxy.values.pgtypes import FLOATS, INTEGERS, NUMERIC, TEXTS, SqlType
from udfs.priors import Prior

FARTHEST_PLACE = 2**48
"""Beyond, a DOUBLE divided by the step might round to another place."""
LARGEST_VALUE = 10**18
"""Of a prior for a whole number or a numeric."""
MOST_VALUES = 2500
"""Planning takes time that grows with them, and is free."""
MOST_LISTED = 1000
"""Values that are written out in the statement."""


class Refined(Struct, frozen=True):
    """A draw from a ``prior``, written as ``text`` and shown as ``kind``.

    ``scale`` is that of an exact number, None for a number that is shown as it is drawn.
    """

    prior: Prior
    text: str
    kind: SqlType
    scale: int | None
    measures: tuple[Measure, ...] = ()

    @property
    def type(self) -> SqlType:
        return self.kind

    @property
    def _placed(self) -> bool:
        return self.prior.distance == "absolute"

    def place(self, drawn: nodes.Expr) -> nodes.Expr:
        """The whole number that is released for a drawn value."""
        if self._placed:
            steps = nodes.Binary("/", drawn, duck.double(float(self.prior.unit)))
            return duck.cast(duck.call("round", steps), "HUGEINT")
        return duck.cast(
            nodes.Binary("-", duck.call("list_position", self._listed(), drawn), duck.integer(1)),
            "HUGEINT",
        )

    def label(self, place: nodes.Expr) -> nodes.Expr:
        """The text at a place."""
        at = duck.cast(duck.binary("+", place, duck.integer(1)), "BIGINT")
        return duck.call("list_extract", self._listed(), at)

    def _listed(self) -> nodes.Expr:
        values = self.prior.values
        return duck.call(
            "list_value",
            *(nodes.Text(v) if isinstance(v, str) else duck.double(float(v)) for v in values),
        )

    def value(self, columns: Sequence[nodes.Expr]) -> Typed:
        if self.prior.labelled:
            longest = max(len(str(v)) for v in self.prior.values)
            return Typed(self.label(columns[0]), self.kind, longest=longest, nullable=False)
        number = self._number(columns[0])
        if self.scale is None:
            return Typed(number, self.kind, None, nullable=False)
        shifted = number if not self.scale else duck.binary("*", number, duck.double(float(10**self.scale)))
        return Typed(duck.cast(duck.call("round", shifted), "HUGEINT"), self.kind, self.scale, nullable=False)

    def _number(self, place: nodes.Expr) -> nodes.Expr:
        if not self._placed:
            return self.label(place)
        return in_units(place, self.prior.unit)

    def noise_sd(self, columns: Sequence[nodes.Expr], noise: Noise) -> nodes.Expr:
        del columns, noise
        raise _no_noise("noise_sd")

    def interval(self, columns: Sequence[nodes.Expr], noise: Noise, confidence: Fraction) -> Ends:
        del columns, noise, confidence
        raise _no_noise("ci_low")

    def error(self, noise: Noise, confidence: Fraction) -> Error:
        """Of which the ``noise`` has the expected distance in place of a standard deviation."""
        del confidence
        [distance] = noise.sd
        return Error(
            "any", None, None, f"one draw, expected distance {distance:.6g} where the prior is right"
        )


def _no_noise(function: str) -> Unsupported:
    return Unsupported(
        f"dp.{function} of dp.with_prior is not answered: it is a draw from the prior, not a value with noise",
        hint="EXPLAIN (PRIVACY) tells its expected distance from the truth.",
    )


def in_units(number: nodes.Expr, unit: Fraction) -> nodes.Expr:
    """A whole number of units as DOUBLE: of a decimal unit by its denominator, which gives the nearest one."""
    whole = duck.cast(number, "DOUBLE")
    scaled = whole if unit.numerator == 1 else duck.binary("*", whole, duck.double(float(unit.numerator)))
    return scaled if unit.denominator == 1 else duck.binary("/", scaled, duck.double(float(unit.denominator)))


def check_fits(prior: Prior, kind: SqlType, at: int | None) -> None:
    """Refuse a prior whose values the column's type does not hold. Raises ``InvalidParameter`` (22023)."""
    is_number = kind.oid in {*INTEGERS, *FLOATS, NUMERIC.oid}
    if not is_number and kind.oid not in TEXTS:
        raise Unsupported(f"a prior over values of type {kind.shown} is not answered", position=at)
    if prior.labelled == is_number:
        raise InvalidParameter(
            f"the prior is over {'texts' if prior.labelled else 'numbers'}, what is asked for is of type {kind.shown}",
            hint="Texts take nominal(['a', 'b'], [1, 2]) or ordinal(['a', 'b'], [1, 2]).",
            position=at,
        )
    if len(prior.values) > MOST_VALUES:
        raise InvalidParameter(f"a prior has {MOST_VALUES} values at most", position=at)
    if prior.distance != "absolute" and len(prior.values) > MOST_LISTED:
        raise InvalidParameter(
            f"a prior that lists its values has {MOST_LISTED} of them at most", position=at
        )
    if prior.distance == "absolute" and max(map(abs, prior.places)) > FARTHEST_PLACE:
        raise InvalidParameter("the numbers of the prior have too many digits", position=at)
    if is_number and kind.oid not in FLOATS:
        largest = {2: 2**15 - 1, 4: 2**31 - 1}.get(kind.size if kind.oid in INTEGERS else 0, LARGEST_VALUE)
        if max(abs(float(v)) for v in prior.values) > largest:
            raise InvalidParameter(f"the prior has values that {kind.shown} does not hold", position=at)
