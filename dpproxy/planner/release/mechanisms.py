"""Which mechanisms a statement may use: all that are pure, and a Gaussian where a delta is there for it."""

from fractions import Fraction

from sqlglot import exp

from dpproxy.algebra.plan import Settings
from dpproxy.analysis.position import position
from dpproxy.config import settings as session
from dpproxy.planner.release.pricing import Terms
from dpproxy.values.errors import BoundsMissing, Unsupported
from udfs.mechanisms import MECHANISMS


def noise_delta(settings: Settings, terms: Terms, node: exp.Expr, *, discovered: bool) -> Fraction:
    """What the noise of a part may cost besides epsilon, 0 where it must be pure.

    A Gaussian is considered where it is asked for by name, or where the statement itself sets dp.delta: by default no
    delta is spent on noise. The delta of discovered keys is theirs alone. Where losses add up as rho, a Gaussian needs
    none: ``allocate`` considers it.

    Errors: PD003 without a delta, 0A000 beside discovered keys.
    """
    if terms.concentrated and not discovered:
        return Fraction(0)
    wanted = session.mechanism(settings)
    if wanted == "auto":
        return terms.delta if session.delta(settings) and not discovered else Fraction(0)
    if not MECHANISMS[wanted].CONCENTRATED:
        return Fraction(0)
    if discovered:
        raise Unsupported(
            "Gaussian noise is not drawn beside keys that are not public",
            hint="Group by declared keys, or SET dp.mechanism = 'auto';",
            position=position(node),
        )
    if not terms.delta:
        raise BoundsMissing(
            "Gaussian noise costs delta, and there is none",
            detail="dp.delta is 0, or is not set and the budget has no DELTA.",
            hint="SET dp.mechanism = 'auto'; or ask an administrator for a budget with DELTA.",
            position=position(node),
        )
    return terms.delta
