"""How much epsilon is enough: the hint of a statement whose loss is too small to share is one that it passes with.

A part says what it takes, and how many share the loss is known after it was found: with what that makes, the statement
is planned again, until it passes.
"""

from collections.abc import Callable
from fractions import Fraction

from dpproxy.accounting.model import format_epsilon
from dpproxy.algebra.plan import Plan, PublicPlan
from dpproxy.config.setting_checks import MOST_EPSILON
from dpproxy.planner.access import Context
from dpproxy.planner.release.allocation import TooLittle
from dpproxy.planner.release.target_error import PlanAt, priced
from dpproxy.values.errors import Refusal
from udfs.privacy import Loss

ATTEMPTS = 8


def or_enough(context: Context, plan_at: PlanAt, most: Callable[[], Fraction]) -> Plan | PublicPlan:
    """The plan; where its loss is too small, the refusal's hint says how much is enough.

    ``most`` is what a statement over these tables may cost at most.
    """
    try:
        return plan_at(context)
    except TooLittle as error:
        found = _enough(context, plan_at, error, min(most(), Fraction(MOST_EPSILON)))
        if found is None:
            error.hint = f"No epsilon that one statement may cost is enough: {error.otherwise}."
        else:
            error.hint = f"SET dp.epsilon = {format_epsilon(found.nano)}; or {error.otherwise}."
        raise


def _enough(context: Context, plan_at: PlanAt, error: TooLittle, cap: Fraction) -> Loss | None:
    """The least loss that the statement passes with; None where it passes with none up to ``cap``."""
    wanted = error.least
    for _ in range(ATTEMPTS):
        if wanted.epsilon > cap:
            return None
        try:
            plan_at(priced(context, wanted.epsilon))
        except TooLittle as again:
            wanted = again.least
        except Refusal:
            return None
        else:
            return wanted
    return None
