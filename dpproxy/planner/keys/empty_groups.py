"""Groups that may be empty: every declared key is answered, whether rows have it or not, and noise makes some of none.

A group is shown where a released number is above a threshold that no number of an empty group passes but with a chance
of 5 % for all groups of the statement together (union bound). The number is one that is 0 without rows: a count, a sum
of a column without negative values, or else the distance from 0 of another sum. What is shown follows from the release
alone. Averages, ranks and totals are then over groups that have rows, with that chance of any that has none.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from sqlglot import exp

from dpproxy.aggregates.count import Count, count_measure
from dpproxy.aggregates.model import Aggregate
from dpproxy.aggregates.sum import Sum
from dpproxy.algebra import nodes
from dpproxy.algebra.figures import later
from dpproxy.algebra.plan import Hidden
from dpproxy.analysis import duck
from dpproxy.config import settings as session
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.scope import AggregateCall

FALSE_GROUPS = Fraction(1, 20)
"""The chance that any group without rows is shown."""
MANY = 1000
"""With more groups, those that may be empty are hidden by default."""
_ROWS = Count(count_measure(None))
"""What tells whether a group is empty."""


class Deciding(NamedTuple):
    """The call of which one measure tells whether a group has rows, and the place of that.

    It may be below 0 where it is ``signed``. The statement has no such call where it is ``added``.
    """

    call: exp.Expr
    place: int = 0
    signed: bool = False
    added: bool = False


def hiding(groups: int, aggregates: Mapping[exp.Expr, Aggregate], planning: Planning) -> Deciding | None:
    """What decides which groups are shown: of the statement's calls, or one to be added; None for all groups."""
    setting = session.empty_groups(planning.context.settings)
    own = next((Deciding(node) for node, aggregate in aggregates.items() if aggregate == _ROWS), None)
    if setting == "hide":
        return own or Deciding(exp.Count(this=exp.Star()), added=True)
    if setting != "auto" or groups <= MANY:
        return None
    return own or min(_deciding(aggregates), default=(0, None), key=lambda pair: pair[0])[1]


def _deciding(aggregates: Mapping[exp.Expr, Aggregate]) -> Iterator[tuple[int, Deciding]]:
    """The measures that are 0 without rows, the best first: rows, sums, other counts, sums of both signs."""
    for node, aggregate in aggregates.items():
        for place, measure in enumerate(aggregate.measures):
            if measure == _ROWS.measure:
                yield 0, Deciding(node, place)
            elif isinstance(measure.sql, nodes.Call) and measure.sql.name == "count":
                yield 2, Deciding(node, place)
        if isinstance(aggregate, Sum) and not aggregate.derived:
            is_signed = aggregate.argument.low < 0
            yield 3 if is_signed else 1, Deciding(node, signed=is_signed)


def with_rows(aggregates: Mapping[exp.Expr, Aggregate], call: exp.Expr) -> Mapping[exp.Expr, Aggregate]:
    """The aggregates with that call among them: where there was none, it shares the noise of the others."""
    return aggregates if call in aggregates else {**aggregates, call: _ROWS}


def threshold(call: AggregateCall, decides: Deciding, groups: int) -> tuple[nodes.Expr, Hidden]:
    """Whether a group is shown, and what is said of those that are not."""
    most = call.noise.half_width(1 - FALSE_GROUPS / max(1, groups))[decides.place]
    value = call.columns[decides.place]
    read = duck.call("abs", value) if decides.signed else value
    condition = nodes.Binary(">", read, duck.made(duck.integer, most))
    if isinstance(call.aggregate, Sum) and not call.aggregate.derived:
        what = duck.words(decides.call).lower()
        what = f"abs({what})" if decides.signed else what
        return condition, later(Hidden, most * call.aggregate.weights[0], what)
    return condition, later(Hidden, most, "count", decides.added)
