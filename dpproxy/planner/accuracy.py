"""dp.target_error: the least epsilon at which no column is farther off than asked, before anything is paid.

The predicted error of a statement falls with its epsilon; it is planned at several until the least is known to three
digits. Averages need a count: the least released one of the groups, else the declared rows shared among the groups.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor, inf, log10, sqrt

from dpproxy.accounting.model import format_epsilon
from dpproxy.algebra.plan import ColumnError, Payer, Plan, PublicPlan
from dpproxy.config import settings as session
from dpproxy.planner.access import Context
from dpproxy.policy.model import Budget
from dpproxy.values.errors import InvalidParameter
from udfs.privacy import NANO

DIGITS = 3
"""Of the solved epsilon, rounded up."""
PlanAt = Callable[[Context], Plan | PublicPlan]
"""The plan of one statement under other settings."""
LEAST = Fraction(1, 1000)
CANNOT = "dp.target_error cannot be met"


def within_target(context: Context, plan_at: PlanAt, rows: Callable[[], int | None]) -> Plan | PublicPlan:
    """The plan at the epsilon that dp.target_error asks for; as it is where that is not set, or stored answers are.

    ``rows`` are the declared rows of the largest table.

    Errors: ``InvalidParameter`` where no epsilon up to the limits is enough, or an error is not known beforehand.
    """
    target = session.target_error(context.settings)
    if target is None or context.losses is not None:
        return plan_at(context)
    most = plan_at(priced(context, None))
    if isinstance(most, PublicPlan) or most.free:
        return most
    cap = _most(context, most)
    plan = _at(context, plan_at, cap)
    count = _count(plan, context, rows)
    least = worst(plan, count)
    if least > target:
        raise _above(target, cap, least)
    found = _least(lambda epsilon: _worst_at(context, plan_at, epsilon, count), target, cap)
    plan = _at(context, plan_at, found)
    groups = f", for {count:g} rows a group" if count is not None and _is_ratio(plan) else ""
    words = f"dp.target_error = {float(target):g}: worst half-width {worst(plan, count):.6g}{groups}"
    return replace(plan, solved=words)


def priced(context: Context, epsilon: Fraction | None) -> Context:
    """The same settings without a target, at another epsilon where one is given: as much of it as there are digits."""
    given = {**context.settings, "dp.target_error": ""}
    if epsilon is not None:
        given["dp.epsilon"] = format_epsilon(int(epsilon * NANO))
    return replace(context, settings=given)


def _at(context: Context, plan_at: PlanAt, epsilon: Fraction) -> Plan:
    plan = plan_at(priced(context, epsilon))
    if isinstance(plan, PublicPlan):
        raise TypeError("a statement over protected rows")
    return plan


def _worst_at(context: Context, plan_at: PlanAt, epsilon: Fraction, count: float | None) -> float:
    """The error at an epsilon; infinite where that is too small to share among rows."""
    try:
        return worst(_at(context, plan_at, epsilon), count)
    except InvalidParameter:
        return inf


def _most(context: Context, plan: Plan) -> Fraction:
    """The most that this statement may cost: dp.epsilon, the budget's MAX, and every limit."""
    own = session.epsilon(context.settings)
    most = most_epsilon(plan.payer, context.policy.budgets[plan.payer.budget])
    return most if own is None else max(LEAST, min(own, most))


def most_epsilon(payer: Payer, budget: Budget) -> Fraction:
    """The most that any statement may cost: the budget's MAX, and every limit."""
    limits: Iterable[Fraction | None] = (
        budget.max_epsilon,
        payer.ceiling_limit,
        payer.budget_limit,
        payer.user_limit,
        payer.session_limit,
    )
    return max(LEAST, min(limit for limit in limits if limit is not None))


def worst(plan: Plan, count: float | None) -> float:
    """The largest predicted half-width of a column. Raises ``InvalidParameter`` where one is not known."""
    errors = [(o.column.name, o.error) for o in plan.outputs if o.error is not None]
    if not errors:
        raise InvalidParameter(
            f"{CANNOT}: no column is an aggregate by itself",
            hint="SET dp.epsilon instead, or dp.target_error = off;",
        )
    return max(_half_width(name, error, count) for name, error in errors)


def _half_width(name: str, error: ColumnError, count: float | None) -> float:
    if error.half_width is not None:
        return error.half_width
    if error.over_count is None:
        raise InvalidParameter(
            f'{CANNOT}: the error of column "{name}" is not known beforehand',
            hint="SET dp.epsilon instead, or dp.target_error = off;",
        )
    if count is None:
        raise InvalidParameter(
            f'{CANNOT}: the error of column "{name}" depends on how many rows there are',
            hint="Ask for their count first, or have ALTER TABLE ... SET PRIVACY EXPECTED ROWS declared;",
        )
    return error.over_count / count


def _is_ratio(plan: Plan) -> bool:
    return any(o.error is not None and o.error.over_count is not None for o in plan.outputs)


def _count(plan: Plan, context: Context, rows: Callable[[], int | None]) -> float | None:
    """Rows of the smallest group, as far as that was released; else of every group, as declared."""
    if not _is_ratio(plan):
        return None
    released = context.counted(plan)
    if released is not None:
        return max(1.0, released)
    declared = rows()
    return None if declared is None else max(1.0, declared / max(1, plan.groups))


def _above(target: Fraction, cap: Fraction, least: float) -> InvalidParameter:
    return InvalidParameter(
        f"{CANNOT}: {float(target):g} takes more than epsilon {float(cap):g}, the most this statement may cost",
        detail=f"At epsilon {float(cap):g} the worst half-width is {least:.6g}.",
        hint=f"SET dp.target_error = '{_up(least):g}';",
    )


def _up(value: float) -> float:
    return float(_rounded(Fraction(value)))


def _rounded(value: Fraction) -> Fraction:
    """Up, to ``DIGITS`` digits."""
    step = Fraction(10) ** (floor(log10(value)) - DIGITS + 1)
    return ceil(value / step) * step


def _least(error: Callable[[Fraction], float], target: Fraction, cap: Fraction) -> Fraction:
    """The least epsilon of ``DIGITS`` digits at which the error is within the target; at ``cap`` it is.

    The error falls about as 1 / epsilon: where it is known at the cap, the search begins around what follows.
    """
    low, high = LEAST, cap
    if error(low) <= target:
        return low
    guess = cap * Fraction(error(cap)) / target
    for each in (_rounded(guess * Fraction(11, 10)), _rounded(guess * Fraction(9, 10))) if guess else ():
        if low < each < high:
            low, high = (low, each) if error(each) <= target else (each, high)
    while low < (middle := _rounded(Fraction(sqrt(low * high)))) < high:
        low, high = (low, middle) if error(middle) <= target else (middle, high)
    return high
