"""How the statement's loss is spent: the mechanism of least predicted error, from declared facts alone.

One unit holds at most R rows, and one row moves the d measures of one group inside a box of half-widths ``widths``. So
with c_g of its rows in group g, the c_g adding up to R at most, a unit moves group g inside c_g boxes.

Pure mechanisms (staircase, Laplace), e-DP for a shift inside one box:

* Rows apart: R rows move R boxes, wherever they fall, and each box costs e: the unit pays R*e. For the staircase the
  levels add up, one a row; for Laplace the L1 norms do, d a row, each measured in its own width.
* Rows together: where a unit touches at most L groups (1 without GROUP BY, MAX GROUPS enforced by suppression
  otherwise), its rows in a group stay inside one box R times as wide (or as all rows of a unit reach together, where
  that is known to be less). The noise is for that box, paid L times.

Gaussian, rho-zCDP for a shift s with sum of (s_j / width_j)**2 at most d, which one box is:

* Rows apart: the unit moves group g by d * c_g**2 in that norm, all groups by d * (sum of c_g**2), at most d * R**2
  since a sum of squares is at most the square of the sum. The loss grows with the square of the shift: R**2 * rho.
* Rows together: the box that holds all rows of a unit in a group, rho for it, L times.

A Gaussian gets the greatest rho at which what the unit pays in all keeps to the part's epsilon with its delta
(``udfs.calibration``), and is charged as that pair, which adds up like any other. Where losses add up as rho, every
release is charged the square of its epsilon over 2, which is what a pure one costs at most; a Gaussian then gets all of
that as its rho, rounded down, and costs no delta.
"""

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from dpproxy.accounting.model import format_epsilon
from dpproxy.aggregates.model import Measure
from dpproxy.values.errors import InvalidParameter
from udfs.calibration import calibrate
from udfs.choose import candidates
from udfs.mechanisms import MECHANISMS, Additive, Gaussian
from udfs.privacy import LEAST_NANO, NANO, Loss


class Allocation(Struct, frozen=True):
    """A mechanism, how many times its loss one unit pays, and the groups a unit must be cut to for that."""

    mechanism: Additive
    factor: int
    groups: int | None = None
    delta: Fraction = Fraction(0)
    """What a unit pays besides its epsilon."""
    why: str = ""
    """What the mechanism was chosen for, for people."""

    @property
    def name(self) -> str:
        """The mechanism's name."""
        return type(self.mechanism).__name__.lower()

    @property
    def function(self) -> str:
        """The function of SQL that draws from it."""
        return self.mechanism.FUNCTION

    @property
    def box(self) -> str:
        """The sensitivities and what is done about them."""
        return f"{self.name} {self.mechanism.widths}"

    @property
    def words(self) -> str:
        """The mechanism with all its parameters, for the ledger."""
        mechanism = self.mechanism
        kind, delta = ("nano_rho", f" delta={self.delta}") if mechanism.CONCENTRATED else ("nano", "")
        shape = [n for n in mechanism.__struct_fields__ if n not in ("widths", "nano", "norm")]
        more = "".join(f" {name}={getattr(mechanism, name)}" for name in shape)
        return f"{self.name} widths={mechanism.widths}{more} {kind}={mechanism.nano}{delta}"


class _Form(Struct, frozen=True):
    """A box, how often one unit pays for it (a pure loss, and a concentrated one), and the cut that this needs."""

    widths: tuple[int, ...]
    pure: int
    squares: int
    groups: int | None


def allocate(
    measures: Sequence[Measure],
    most: int,
    groups: int | None,
    loss: Loss,
    delta: Fraction = Fraction(0),
    wanted: str = "auto",
    *,
    concentrated: bool = False,
) -> Allocation:
    """The allocation of least total relative variance, for units of at most ``most`` rows.

    ``groups`` is the most groups a unit may be cut to; None where there is one group only. ``delta`` is what a Gaussian
    may cost besides; without it there is none, unless losses are ``concentrated`` and add up as rho.

    Errors: ``InvalidParameter`` (22023) where the loss is too small to share among a unit's rows.
    """
    widths = tuple(m.width for m in measures)
    together = tuple(min(most * m.width, m.unit_width or most * m.width) for m in measures)
    cut = groups if groups is not None and groups < most else None
    touched = groups or 1
    forms = [_Form(together, touched, touched, cut)]
    forms += [_Form(widths, most, most * most, None)] if most > 1 else []
    found = [Allocation(m, f.pure, f.groups) for f in forms for m in _pure(f, loss, wanted)]
    if delta or concentrated:
        spent = Fraction(0) if concentrated else delta
        found += [Allocation(m, f.squares, f.groups, spent) for f in forms for m in _gaussian(f, loss, spent)]
    if not found:
        raise too_small(loss, most, min(most, touched), grouped=touched > 1)
    return _best(found, widths, wanted)


def _pure(form: _Form, loss: Loss, wanted: str) -> list[Additive]:
    share, named = Loss(loss.nano // form.pure), MECHANISMS.get(wanted)
    if share.nano < LEAST_NANO:
        return []
    if named is not None and not named.COMPARED:
        return [named.best(form.widths, share.nano)]
    return [c.mechanism for c in candidates(form.widths, share)]


def _gaussian(form: _Form, loss: Loss, delta: Fraction) -> list[Additive]:
    """Within the loss and its delta; without one, where losses add up as rho, within the square of it over 2."""
    rho = loss.nano**2 // (2 * NANO)
    nano = calibrate(form.widths, loss, delta, form.squares) if delta else rho // form.squares
    return [Gaussian.best(form.widths, nano)] if nano else []


def _best(found: Sequence[Allocation], widths: tuple[int, ...], wanted: str) -> Allocation:
    """The least error of each mechanism, and of these the one that is asked for."""
    errors: dict[str, tuple[float, Allocation]] = {}
    for each in found:
        error = _relative_variance(each.mechanism, widths)
        if each.name not in errors or error < errors[each.name][0]:
            errors[each.name] = (error, each)
    if wanted == "auto":
        name = min(errors, key=lambda n: round(errors[n][0], 9))
        others = ", ".join(_compared(n, errors[n][0], errors[name][0]) for n in errors if n != name)
        why = f"least predicted error: {others}" if others else "nothing else fits so small a loss"
    else:
        name, why = wanted, f"dp.mechanism = {wanted}"
        if name not in errors:
            raise InvalidParameter(
                f"no {name} mechanism fits so small a loss among the rows of one privacy unit",
                hint="Raise dp.epsilon or dp.delta, or SET dp.mechanism = 'auto';",
            )
    best = errors[name][1]
    return Allocation(best.mechanism, best.factor, best.groups, best.delta, why)


def _compared(name: str, error: float, least: float) -> str:
    """How much worse another mechanism would be."""
    ratio = error / least if least else 1.0
    return f"{name} {ratio:.3g} times the variance" if ratio > 1.001 else f"{name} alike"


class TooLittle(InvalidParameter):
    """A loss that is too small for one part of a statement.

    ``least`` is what the part takes; ``otherwise`` is what helps besides more epsilon, as a clause: ``enough`` puts
    it behind how much that is.
    """

    def __init__(
        self,
        loss: Loss,
        least: Loss,
        why: str,
        otherwise: str,
        *,
        beside: str = "",
        position: int | None = None,
    ) -> None:
        message = f"epsilon {format_epsilon(loss.nano)}{beside} is too small {why}"
        super().__init__(message, hint=f"Raise dp.epsilon, or {otherwise}.", position=position)
        self.least = least
        self.why = why
        self.beside = beside
        self.otherwise = otherwise

    def of(self, loss: Loss, shares: int) -> "TooLittle":
        """The same, said of the loss of the whole statement."""
        why = self.why if shares == 1 else f"for {shares} parts, each {self.why}"
        least = Loss(self.least.nano * shares)
        return TooLittle(loss, least, why, self.otherwise, beside=self.beside, position=self.position)


def too_small(loss: Loss, most: int, shares: int, *, grouped: bool = False) -> TooLittle:
    """The refusal of a loss that cannot be shared; ``grouped`` where a unit pays for the groups it is in."""
    otherwise = "ask without GROUP BY" if grouped else "ask for less at once"
    why = f"to share among the {most} rows of one privacy unit"
    return TooLittle(loss, Loss(shares * LEAST_NANO), why, otherwise)


def _relative_variance(mechanism: Additive, widths: tuple[int, ...]) -> float:
    return sum((sd / width) ** 2 for sd, width in zip(mechanism.noise_sd(), widths, strict=True))
