"""What EXPLAIN (PRIVACY) advises: what helps where noise is more than a tenth of the values, and what is free later.

All follows from the policy, the statement, and what was released to the caller before.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from dpproxy.accounting import sharing
from dpproxy.algebra.plan import Part, Plan
from dpproxy.engine.accuracy import AIM, Row, Rows, enough, figure, measured
from dpproxy.planner.reuse.descriptor import described
from dpproxy.planner.reuse.normal_form import stage

SOME = 3
"""Columns that are named, those with the most noise first."""


class GroupSize(NamedTuple):
    """Rows of a group, and in words of which and how they are known."""

    rows: float
    words: str


Earlier = tuple[Rows, Sequence[Row]]
"""The rows of the answer stage and those shown, as they were released before at any epsilon."""


def group_size(plan: Plan, released: float | None) -> GroupSize | None:
    """That of the smallest group, as it was ``released``, else of all alike by EXPECTED ROWS; None where unknown.

    Conditions leave nobody knows how many of these.
    """
    if released is not None:
        return GroupSize(max(1.0, released), "the smallest group")
    if plan.rows is None or plan.discovered or _has_conditions(plan):
        return None
    return GroupSize(max(1.0, plan.rows / max(1, plan.groups)), "a group of EXPECTED ROWS")


def advice(plan: Plan, size: GroupSize | None, earlier: Earlier | None, most: float) -> list[str]:
    """Lines below those of the columns; what follows is reused up to ``most`` times the noise of a new draw."""
    lines = [] if plan.free else _noise(plan, size, earlier)
    return [*lines, *(line for part in plan.charged if most and (line := _follows(part, plan, most)))]


def _noise(plan: Plan, size: GroupSize | None, earlier: Earlier | None) -> list[str]:
    if earlier is not None and len(earlier[0]) and plan.accuracy is not None:
        columns = measured(plan, *earlier)
        wanted = enough(columns, plan)
        if wanted is None:
            return []
        lost = [f"{c.lost} of {c.count} values of {c.name}" for c in columns if c.lost]
        most = f"{', '.join(lost)} smaller than their error" if lost else "over 10 % of the middle value"
        return [f"Noise, around what was released before: {most}", *_fixes(plan, wanted)]
    needs = {o.column.name: o.error.lost / AIM for o in plan.outputs if o.error is not None and o.error.lost}
    worst = sorted(needs, key=lambda name: -needs[name])[:SOME]
    if not worst or (size is not None and needs[worst[0]] <= size.rows):
        return []
    named = ", ".join(f"{figure(ceil(needs[name]))} rows ({name})" for name in worst)
    is_of_values = any(o.error is not None and o.error.span and o.error.rows is None for o in plan.outputs)
    more = ", more where values are far below their bounds" if is_of_values else ""
    takes = f"Noise: 10 % takes groups of at least {named}{more}"
    if size is None:
        return [takes]
    wanted = plan.loss.epsilon * Fraction(needs[worst[0]] / size.rows)
    return [f"{takes}; {size.words} has about {size.rows:.3g}", *_fixes(plan, wanted)]


def _fixes(plan: Plan, wanted: Fraction) -> Iterator[str]:
    """What brings errors to a tenth, or nearer."""
    if plan.accuracy is not None and wanted <= plan.accuracy.most:
        yield f"  Fix: SET dp.epsilon = {figure(float(wanted))}; brings half-widths to about 10 %"
    else:
        yield "  No epsilon that is allowed brings half-widths to 10 %"
    sets = [k for part in plan.charged[:1] for k in part.keys if not k.discovered and len(k.rows) > 1]
    if sets:
        finest = max(sets, key=lambda k: len(k.rows))
        left = plan.groups // len(finest.rows)
        yield (
            f"  Fix: coarser groups: without {', '.join(finest.names)} {left} in place of {plan.groups}, "
            f"or ranges of it"
        )
    if _has_conditions(plan):
        yield "  Fix: a condition less: each leaves fewer rows"
    yield from (f"  Fix: {words}" for words in plan.narrower)


def _has_conditions(plan: Plan) -> bool:
    return any(stage(part.query).conditions for part in plan.charged)


def _follows(part: Part, plan: Plan, most: float) -> str | None:
    """What else the release of a part answers, for nothing: a sum of n groups is the root of n times as far off."""
    if part.inputs or not part.keys or described(part, (), sharing.pool(plan)) is None:
        return None
    names = [name for k in part.keys for name in k.names]
    fewer = [k.names[0] for k in part.keys if k.rests == ("none",) and len(k.rows) < most**2]
    words = "in total" if len(names) == 1 else f"without {' or '.join(fewer)}"
    return f"Free with it: the same for some values of {', '.join(names)}{f', and {words}' if fewer else ''}"
