"""dp.target_error: the least epsilon at which no column is farther off than asked, before anything is paid.

The predicted error of a statement falls with its epsilon; it is planned at several until the least is known to three
digits. Counts and sums need no more than the policy. Averages, ranks and shares of counts need a number of rows: that
of the target, else the least released one of the groups, else the declared rows shared among the groups. All others are
estimated from what was released to the caller before: what their intervals at another epsilon would be around that.
"""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, inf, isfinite, log10, sqrt

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.accounting.model import format_epsilon
from dpproxy.algebra.plan import Error, Output, Payer, Plan, PublicPlan
from dpproxy.config import settings as session
from dpproxy.config.setting_checks import Target
from dpproxy.planner.access import Context
from dpproxy.policy.model import Budget
from dpproxy.values.errors import InvalidParameter
from udfs.privacy import NANO

DIGITS = 3
"""Of the solved epsilon, rounded up."""
PlanAt = Callable[[Context], Plan | PublicPlan]
"""The plan of one statement under other settings."""
LEAST = Fraction(1, 1000)
_AROUND = (Fraction(101, 100), Fraction(99, 100), Fraction(11, 10), Fraction(9, 10))
"""Of the epsilon that is guessed, the parts between which the search begins."""
CANNOT = "dp.target_error cannot be met"
_OTHERWISE = "SET dp.epsilon instead, or dp.target_error = off;"
_FIRST = "Ask once at a small epsilon, with dp.target_error = off: what is released then is what it is estimated from."
_WITH_COUNT = (
    "Which groups are so large follows from released counts: have count(*) in it, at first and later on."
)
_SMALL = Fraction(1, 20)
"""The epsilon that is proposed for what is estimated from."""


def within_target(context: Context, plan_at: PlanAt, written: Callable[[bool], str]) -> Plan | PublicPlan:
    """The plan at the epsilon that dp.target_error asks for; as it is where that is not set, or stored answers are.

    ``written`` is the statement for people, with count(*) besides where that is True.

    Errors: ``InvalidParameter`` where no epsilon up to the limits is enough, or an error is not known beforehand.
    """
    target = session.target_error(context.settings)
    if target is None or context.losses is not None:
        return plan_at(context)
    plan_at = _once(plan_at)
    try:
        return _within(context, target, plan_at)
    except _NotKnown as error:
        first = f"/*+ dp(epsilon={float(min(_SMALL, error.most)):g}, target_error=off) */"
        error.hint = f"{first} {written(error.count)};"
        raise


def _within(context: Context, target: Target, plan_at: PlanAt) -> Plan | PublicPlan:
    most = plan_at(priced(context, None))
    if isinstance(most, PublicPlan) or most.free:
        return most
    cap = _most(context, most)
    if not any(" quantiles=" in part.noise for part in most.parts):
        return _solved(context, target, plan_at, cap)
    found: list[Plan] = []
    for way in (
        replace(context, apart=True),
        context,
    ):  # what is stated of several quantiles together may be more
        try:
            found.append(_solved(way, target, plan_at, cap))
        except InvalidParameter:
            if way is context and not found:
                raise
    return min(found, key=lambda plan: plan.loss.nano)


def _once(plan_at: PlanAt) -> PlanAt:
    """Each plan is made once, whatever is asked of it: they differ in nothing but what is compared here."""
    plans: dict[tuple[object, ...], Plan | PublicPlan] = {}

    def plan(asked: Context) -> Plan | PublicPlan:
        key = asked.apart, asked.settings["dp.epsilon"]
        if key not in plans:
            plans[key] = plan_at(asked)
        return plans[key]

    return plan


def _solved(context: Context, target: Target, plan_at: PlanAt, cap: Fraction) -> Plan:
    """The plan at the least epsilon. Raises ``InvalidParameter`` where that is above the cap."""
    plan = _at(context, plan_at, cap)
    search = _Search(target, context, plan_at, _count(plan, target, context))
    least = search.worst(cap)
    if least > target.amount:
        raise _above(target, cap, least, groups=plan.groups)
    found = _least(search.error, target.amount, cap)
    return replace(_at(context, plan_at, found), solved=search.words(found))


class _Search(Struct, frozen=True):
    """The worst error of a statement at an epsilon; ``count`` is the number of rows of a group, None where unknown."""

    target: Target
    context: Context
    plan_at: PlanAt
    count: float | None

    def error(self, epsilon: Fraction) -> float:
        """As ``worst``; infinite where the epsilon is too small to share among rows."""
        try:
            return self.worst(epsilon)
        except InvalidParameter:
            return inf

    def worst(self, epsilon: Fraction) -> float:
        """The largest predicted error of a column. Raises ``InvalidParameter`` where one is not known."""
        plan = _at(self.context, self.plan_at, epsilon)
        known = predicted(plan, self.target, self.count)
        unknown = [i for i, error in known.items() if error is None]
        estimates = self._estimated(epsilon, unknown)
        for i in unknown:
            if estimates.get(i) is None:
                raise _unknown(plan, plan.outputs[i], self.target, self.count)
        found = [error for error in (*known.values(), *estimates.values()) if error is not None]
        if not found:
            raise InvalidParameter(f"{CANNOT}: no column is made of an aggregate", hint=_OTHERWISE)
        return max(found)

    def words(self, epsilon: Fraction) -> str:
        """What the epsilon was solved for."""
        plan = _at(self.context, self.plan_at, epsilon)
        known = predicted(plan, self.target, self.count)
        groups = f", for {self.count:g} rows a group" if self.count is not None else ""
        names = [plan.outputs[i].column.name for i, error in known.items() if error is None]
        guessed = f", as estimated from earlier releases for {', '.join(names)}" if names else ""
        asked = self.context.settings["dp.target_error"]
        return f"dp.target_error = {asked}: worst half-width {self.target.words(self.worst(epsilon))}{groups}{guessed}"

    def _estimated(self, epsilon: Fraction, columns: Sequence[int]) -> dict[int, float | None]:
        """The worst error of each of these columns around the values that were released before; None if unknown."""
        plan = _at(self.context, self.plan_at, epsilon)
        number, least = _counting(plan), self.target.rows
        earlier = self.context.earlier(plan) if columns and (least is None or number is not None) else None
        if earlier is None:
            return {}
        rows, halves = earlier
        kept = [
            n
            for n, row in enumerate(rows)
            if least is None or (number is not None and (_number(row[number]) or 0.0) >= least)
        ]
        return {
            i: _widest([(_number(rows[n][i]), halves[i][n]) for n in kept], self.target)
            for i in columns
            if i in halves
        }


def _widest(pairs: Sequence[tuple[float | None, float]], target: Target) -> float | None:
    """The largest error of values with their half-widths; None where one has none, or there is no value."""
    found = []
    for value, half in pairs:
        if value is None or not isfinite(half):
            return None
        found.append(half if not target.is_share else half / abs(value) if value else inf)
    return max(found, default=None)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float | Decimal) and isfinite(value) else None


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


def predicted(plan: Plan, target: Target, count: float | None) -> dict[int, float | None]:
    """The error of each noisy column as it follows from the policy and a number of rows; None where it does not."""
    found: dict[int, float | None] = {}
    for i, output in enumerate(plan.outputs):
        if output.error is not None:
            found[i] = _predicted(output.error, target, count)
        elif output.accuracy is not None:
            found[i] = None if target.is_share else output.accuracy.half
    return found


def _predicted(error: Error, target: Target, count: float | None) -> float | None:
    if target.is_share:
        return None if error.rows is None or count is None else error.rows / count
    return error.half_width if count is None else error.half(count)


def _counting(plan: Plan) -> int | None:
    """The place of a column that counts the rows of groups."""
    errors = [(i, o.error) for i, o in enumerate(plan.outputs) if o.error is not None]
    return next((i for i, e in errors if e.rows is not None and e.span is not None), None)


class _NotKnown(InvalidParameter):
    """What has to be released first, at ``most`` epsilon; with a ``count`` where that tells groups apart."""

    def __init__(self, message: str, most: Fraction, *, count: bool) -> None:
        super().__init__(message, detail=_WITH_COUNT if count else _FIRST)
        self.most, self.count = most, count


def _unknown(plan: Plan, output: Output, target: Target, count: float | None) -> InvalidParameter:
    name, error = output.column.name, output.error
    ranks = error is not None and error.half_width is None and error.rows is not None
    if ranks and not target.is_share:
        return InvalidParameter(
            f'{CANNOT}: the error of column "{name}" is one of ranks', hint="SET dp.target_error = '5 %';"
        )
    if error is not None and count is None and _needs_count(error, target):
        return InvalidParameter(
            f'{CANNOT}: the error of column "{name}" depends on how many rows there are',
            hint="Ask for their count first, or have an administrator declare EXPECTED ROWS of the table.",
        )
    if plan.accuracy is None:
        raise AssertionError("a column with noise")
    is_counted = target.rows is None or _counting(plan) is not None
    words = f'{CANNOT}: the error of column "{name}" is not known beforehand'
    return _NotKnown(words, plan.accuracy.most, count=not is_counted)


def _needs_count(error: Error, target: Target) -> bool:
    return error.rows is not None if target.is_share else error.over_count is not None


def _count(plan: Plan, target: Target, context: Context) -> float | None:
    """Rows of a group: of the target, else of the smallest that was released, else of every group as declared."""
    if not any(o.error is not None and _needs_count(o.error, target) for o in plan.outputs):
        return None
    if target.rows is not None:
        return float(target.rows)
    released = context.counted(plan)
    if released is not None:
        return max(1.0, released)
    return None if plan.rows is None else max(1.0, plan.rows / max(1, plan.groups))


def _above(target: Target, cap: Fraction, least: float, *, groups: int) -> InvalidParameter:
    amount = target.words(float(target.amount))
    found = InvalidParameter(
        f"{CANNOT}: {amount} takes more than epsilon {float(cap):g}, the most this statement may cost",
        detail=f"At epsilon {float(cap):g} the worst half-width is {target.words(least)}.",
        hint=_OTHERWISE,
    )
    rows = "" if target.rows is None else f" for groups of at least {target.rows}"
    if target.is_share and target.rows is None and groups > 1 and least > 1:
        found.hint = f"SET dp.target_error = '{amount} for groups of at least 100'; and have count(*) in the statement."
        found.detail = "The values of one group are no larger than their noise: it may be of nobody."
    elif isfinite(least):
        enough = f"{100 * _up(least):g} %" if target.is_share else f"{_up(least):g}"
        found.hint = f"SET dp.target_error = '{enough}{rows}';"
    return found


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
    for near in _AROUND if guess else ():
        if low < (each := _rounded(guess * near)) < high:
            low, high = (low, each) if error(each) <= target else (each, high)
    while low < (middle := _rounded(Fraction(sqrt(low * high)))) < high:
        low, high = (low, middle) if error(middle) <= target else (middle, high)
    return high
