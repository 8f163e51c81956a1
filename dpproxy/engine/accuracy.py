"""What is shown of released values, and the notice that says how far off they may be.

Both follow from the plan and the released values alone; what is stored, ordered and computed with stays as drawn.
"""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor, inf, isfinite, log10
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from msgspec import Struct
from numpy.typing import NDArray

from dpproxy.accounting.model import format_epsilon
from dpproxy.algebra.evaluation import Floats, evaluate
from dpproxy.algebra.nodes import ColumnRef
from dpproxy.algebra.plan import Accuracy, Notice, Output, Plan, Possible, Stated
from dpproxy.engine.output import numbers
from dpproxy.values.pgtypes import FLOATS, INTEGERS, NUMERIC

DIGITS = 3
"""Of a half-width, rounded up."""
MOST_COLUMNS = 8
"""That are named."""
MOST_BOUNDS = 4
"""That are named."""
AIM = 0.1
"""The share of a value that its half-width should be: the hint names the epsilon for it."""
MORE = Fraction(101, 100)
"""Times the epsilon of a stored release is enough for a new one."""

OF_NO_SIGN = "with a sign that no value has"
OF_NOBODY = "that are of a released count of nobody"
SHOWN = {
    (OF_NO_SIGN, "show"): "SET dp.impossible shows 0 or NULL for such",
    (OF_NO_SIGN, "clamp"): "shown as 0",
    (OF_NO_SIGN, "null"): "shown as NULL",
    (OF_NOBODY, "show"): "SET dp.impossible = 'null' shows NULL for such",
    (OF_NOBODY, "clamp"): "SET dp.impossible = 'null' shows NULL for such",
    (OF_NOBODY, "null"): "shown as NULL",
}
"""What is shown of them under each dp.impossible, or what to do."""
NONE_SHOWN = (
    "Group more coarsely, or name fewer keys in WHERE. SET dp.empty_groups = 'show'; shows all groups."
)
NUMBERS = INTEGERS | FLOATS | {NUMERIC.oid}
Row = Sequence[object]
Rows: TypeAlias = Sequence[Row] | pa.Table
"""Of the answer stage: a table where they are many."""
Bools = NDArray[np.bool_]


class _Measured(Struct, frozen=True):
    """A noisy column of an answer: the half-widths of its rows, and what they are of the shown values."""

    name: str
    words: str = ""
    count: int = 0
    """The rows where a half-width is proved, of which the others are."""
    halves: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """The least, the middle and the greatest."""
    share: float = inf
    """The middle of half-width over value."""
    lost: int = 0
    """How many values are smaller than their error."""
    impossible: int = 0
    """How many values cannot be."""
    why: str = ""
    """What is wrong with them."""
    new: float | None = None
    """The half-width of a new draw, where stored releases answer and it is the same for all rows."""
    new_share: float = inf
    """The middle of it over value."""

    def __str__(self) -> str:
        if not self.count:
            return f"{self.name}: {self.words}"
        low, middle, high = map(figure, self.halves)
        return f"{self.name} ±{high}" if low == high else f"{self.name} ±{low} to ±{high} (median ±{middle})"


def presented(plan: Plan, rows: Rows, values: Sequence[tuple[object, ...]]) -> Sequence[tuple[object, ...]]:
    """The shown ``values`` of the answer stage's ``rows`` under dp.impossible and dp.round."""
    stated = plan.accuracy
    if stated is None or (stated.impossible == "show" and not stated.significant):
        return values
    columns = [list(column) for column in zip(*values, strict=True)]
    for index, output in enumerate(plan.outputs if columns else ()):
        shown = columns[index]
        if stated.impossible != "show" and output.possible is not None:
            cannot = impossible(output.possible, rows, numbers(values, index))
            nothing = stated.impossible == "null"
            shown = [
                _instead(v, output.possible, as_null=nothing) if c else v
                for v, c in zip(shown, cannot, strict=True)
            ]
        if stated.significant and output.accuracy is not None:
            halves = _halves(output.accuracy, rows).tolist()
            shown = [_rounded(value, half) for value, half in zip(shown, halves, strict=True)]
        elif stated.significant and output.bound is not None:
            place, above = output.bound
            accuracy = plan.outputs[place].accuracy
            halves = [inf] * len(rows) if accuracy is None else _halves(accuracy, rows).tolist()
            shown = [_outwards(value, half, above=above) for value, half in zip(shown, halves, strict=True)]
        columns[index] = shown
    return list(zip(*columns, strict=True))


def impossible(possible: Possible, rows: Rows, shown: Floats) -> Bools:
    """Which values of a column cannot be what they would be without noise."""
    if possible.count is not None:
        return numbers(rows, possible.count) <= 0
    found: Bools = shown * possible.sign < 0
    return found


def _instead(value: object, possible: Possible, *, as_null: bool) -> object:
    """What is shown in its place: the nearest that can be; an average has none."""
    if as_null:
        return None
    return abs(value * 0) if possible.sign and isinstance(value, int | float | Decimal) else value


def _rounded(value: object, half: float) -> object:
    """Rounded to the second digit of its half-width."""
    if not isinstance(value, int | float | Decimal) or not isfinite(half) or half <= 0:
        return value
    number = round(value, _digits(half))
    return Decimal(f"{number:f}") if isinstance(number, Decimal) else number


def _digits(half: float) -> int:
    return 1 - floor(log10(half))


def _of_shown(halves: Floats, output: Output, stated: Stated | None) -> Floats:
    """Half-widths of rounded values: half a step more, which is a twentieth at most."""
    if stated is None or not stated.significant:
        return halves
    whole = output.column.type.oid in INTEGERS
    digits = [_digits(half) if isfinite(half) and half > 0 else inf for half in halves.tolist()]
    moved = [0.0 if d == inf or (whole and d >= 0) else 10.0**-d / 2 for d in digits]
    return halves + moved


def _outwards(value: object, half: float, *, above: bool) -> object:
    """A bound, to the digit that what it bounds is rounded to, and no nearer."""
    if not isinstance(value, int | float) or not isfinite(value) or not isfinite(half) or half <= 0:
        return value
    step = Fraction(10) ** -_digits(half)
    number = (ceil if above else floor)(Fraction(value) / step) * step
    return type(value)(number)


def half_widths(plan: Plan, rows: Rows) -> dict[int, list[float]]:
    """Of each noisy column in each row of the answer stage; infinite where none is proved."""
    return {
        i: _halves(o.accuracy, rows).tolist() for i, o in enumerate(plan.outputs) if o.accuracy is not None
    }


def _halves(accuracy: Accuracy, rows: Rows) -> Floats:
    """The half-width of a column in each row; infinite where none is proved."""
    half, place = accuracy.half, accuracy.place
    if accuracy.far is not None:
        names = {node.name for node in accuracy.far.find_all(ColumnRef)}
        columns = {name: numbers(rows, int(name.removeprefix("c"))) for name in names}
        found = evaluate(accuracy.far, columns)
    elif place is not None:
        found = numbers(rows, place)
    else:
        return np.full(len(rows), inf if half is None else half)
    return np.where(np.isnan(found), inf, found)


def accuracy_notice(
    plan: Plan, rows: Rows, values: Sequence[Row], fresh: Plan | None = None
) -> Notice | None:
    """The half-width of each noisy column; None where none is shown.

    ``rows`` are those of the answer stage, ``values`` the same as they are shown. ``fresh`` is the plan of a new draw,
    where stored releases answer: its price and half-widths are said where they are better.
    """
    stated = plan.accuracy
    hidden = _hidden(plan)
    if hidden and not values:
        return Notice(hidden[0], hint=NONE_SHOWN)
    if stated is None or not values:
        return None
    columns = measured(plan, rows, values, fresh)
    if not columns:
        return _outer(plan)
    level = f"{float(stated.confidence * 100):.4g} % half-width"
    if stated.together:
        level += " of all rows that could be shown, together" if not stated.unproved else ""
    named = [str(column) for column in columns[:MOST_COLUMNS]]
    more = len(columns) - len(named)
    named += [f"{more} more columns: EXPLAIN (PRIVACY) lists them"] if more else []
    return Notice(
        f"{level}: {'; '.join(named)}",
        detail=" ".join(
            [
                *_dominated(columns, stated),
                *_better(columns, fresh),
                *hidden,
                *_bounds(plan),
            ]
        )
        or None,
        hint=_hint(columns, plan, fresh),
    )


def _hidden(plan: Plan) -> list[str]:
    """Which groups are not shown; nothing where all are."""
    hidden = None if plan.accuracy is None else plan.accuracy.hidden
    if hidden is None:
        return []
    return [f"Groups of a released {hidden.what} up to {hidden.most:.9g} are hidden: they may have no rows."]


def _bounds(plan: Plan) -> list[str]:
    """What the statement does not see of rows, by the policy: the error does not hold that."""
    more = len(plan.cuts) - MOST_BOUNDS
    named = [*plan.cuts[:MOST_BOUNDS], *([f"{more} more: EXPLAIN (PRIVACY) lists them"] if more > 0 else [])]
    return [f"Not in it, by the policy: {'; '.join(named)}."] if named else []


def _outer(plan: Plan) -> Notice | None:
    if all(o.column.type.oid not in NUMBERS for o in plan.outputs):
        return None
    return Notice(
        "no half-width is stated: the values are computed from released values",
        hint="EXPLAIN (PRIVACY) of the subquery says how far off its values may be.",
    )


def measured(plan: Plan, rows: Rows, values: Sequence[Row], fresh: Plan | None = None) -> list[_Measured]:
    """The noisy columns of an answer, each with the half-widths of its rows."""
    new = dict(enumerate(() if fresh is None else (o.accuracy for o in fresh.outputs)))
    noisy = [(i, o, o.accuracy) for i, o in enumerate(plan.outputs) if o.accuracy is not None]
    return [_measured(i, o, accuracy, plan.accuracy, rows, values, new.get(i)) for i, o, accuracy in noisy]


def _measured(
    index: int,
    output: Output,
    accuracy: Accuracy,
    stated: Stated | None,
    rows: Rows,
    values: Sequence[Row],
    new: Accuracy | None,
) -> _Measured:
    name = output.column.name
    if accuracy.words:
        return _Measured(name, accuracy.words)
    possible, shown = output.possible, numbers(values, index)
    cannot = 0 if possible is None else int(impossible(possible, rows, shown).sum())
    why = OF_NOBODY if possible is None or possible.count is not None else OF_NO_SIGN
    halves = _of_shown(_halves(accuracy, rows), output, stated)
    known = np.isfinite(halves) & ~np.isnan(shown)
    halves, shown = halves[known], np.abs(shown[known])
    if not len(halves):
        return _Measured(name, "no interval is proved: a divisor may be zero", impossible=cannot, why=why)
    fresh = (
        None if new is None or new.half is None else float(_of_shown(np.array([new.half]), output, stated)[0])
    )
    shares = _shares(halves, shown, 0.0 if new is None else inf)
    return _Measured(
        name,
        "",
        len(halves),
        (float(halves.min()), _middle(halves), float(halves.max())),
        _middle(shares),
        int((shares > 1).sum()),
        cannot,
        why,
        fresh,
        # A new draw without noise is off by nothing, even beside a value of zero.
        inf if fresh is None else _middle(_shares(np.where(halves > 0, fresh, 0.0), shown, inf)),
    )


def _shares(halves: Floats, shown: Floats, of_nothing: float) -> Floats:
    """Half-width over value; ``of_nothing`` of a value of zero, where there is noise."""
    found = np.where(halves > 0, of_nothing, 0.0)
    return np.divide(halves, shown, out=found, where=shown > 0)


def _middle(figures: Floats) -> float:
    """The median; of two in the middle their mean."""
    ordered, size = np.sort(figures), len(figures)
    return float(ordered[(size - 1) // 2] + ordered[size // 2]) / 2


def _better(columns: Sequence[_Measured], fresh: Plan | None) -> list[str]:
    """What a new draw costs, where it is more accurate in all rows of a column."""
    better = [
        f"{column.name} ±{figure(column.new)}"
        for column in columns[:MOST_COLUMNS]
        if column.new is not None and column.count
        if figure(column.new) != figure(column.halves[0]) and column.new < column.halves[0]
    ]
    if fresh is None or not better:
        return []
    price = format_epsilon(fresh.loss.nano)
    return [f"A new draw costs {price} epsilon: {'; '.join(better)} (SET dp.reuse = 'never';)."]


def _dominated(columns: Sequence[_Measured], stated: Stated) -> list[str]:
    """Where noise is larger than what it is added to."""
    lines = [
        f"{column.name} is smaller than its error."
        if column.count == 1
        else f"{column.lost} of {column.count} values of {column.name} "
        f"{'is smaller than its' if column.lost == 1 else 'are smaller than their'} error."
        for column in columns
        if column.lost
    ]
    lines += [
        f"Values of {column.name} {column.why}: {column.impossible} ({SHOWN[column.why, stated.impossible]})."
        for column in columns
        if column.impossible
    ]
    if stated.unproved:
        lines.append("Released values decide which rows are shown: these may be farther off than the others.")
    return lines


def enough(columns: Sequence[_Measured], plan: Plan, fresh: Plan | None = None) -> Fraction | None:
    """The epsilon at which the middle value of each column is known to a tenth: errors fall as 1 / epsilon, about.

    None where it is already, or no epsilon helps.
    """
    known = [c for c in columns if isfinite(c.share)]
    if plan.accuracy is None or max((c.share for c in known), default=0.0) <= AIM or plan.free:
        return None
    return max(_enough(c, plan, fresh) for c in known)


def _hint(columns: Sequence[_Measured], plan: Plan, fresh: Plan | None) -> str | None:
    """What brings the middle value of each column to a tenth."""
    wanted = enough(columns, plan, fresh)
    if wanted is None or plan.accuracy is None:
        return None
    is_one = all(c.count < 2 for c in columns)
    value = "the value" if is_one else "the middle value"
    if wanted > plan.accuracy.most:
        advice = "Ask about more rows" if is_one else "Group more coarsely"
        return f"{advice}: no epsilon that is allowed brings half-widths to 10 % of {value}."
    return f"SET dp.epsilon = {figure(float(wanted))}; brings half-widths to about 10 % of {value}."


def _enough(column: _Measured, plan: Plan, fresh: Plan | None) -> Fraction:
    """The epsilon of a new draw at which a column's middle value is known to a tenth."""
    if fresh is None or column.new is None:
        return plan.loss.epsilon * Fraction(column.share / AIM)
    # What is stored answers again up to its own epsilon.
    return max(fresh.loss.epsilon * Fraction(column.new_share / AIM), plan.loss.epsilon * MORE)


def figure(value: float) -> str:
    """A number that is not negative, rounded up to ``DIGITS`` digits, without an exponent.

    >>> [figure(v) for v in (0.0, 58.2, 898720.4, 0.012345)]
    ['0', '58.2', '899000', '0.0124']
    """
    if not value:
        return "0"
    places = DIGITS - 1 - floor(log10(value))
    step = Decimal(1).scaleb(-places)
    whole = (Decimal(repr(value)) / step).to_integral_value("ROUND_CEILING")
    return f"{(whole * step).normalize():f}"
