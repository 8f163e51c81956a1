"""Groups that may be empty: every declared key is answered, whether rows have it or not, and noise makes some of none.

A group is shown where its released count is above a threshold that no count of an empty group passes but with a chance
of 5 % for all groups of the statement together (union bound). What is shown follows from the release alone. Averages,
ranks and totals are then over groups that have rows, with that chance of any that has none.
"""

from collections.abc import Mapping
from fractions import Fraction

from sqlglot import exp

from dpproxy.aggregates.count import Count, count_measure
from dpproxy.aggregates.model import Aggregate
from dpproxy.algebra import nodes
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


def hiding(groups: int, aggregates: Mapping[exp.Expr, Aggregate], planning: Planning) -> exp.Expr | None:
    """The call that decides which groups are shown: one of the statement's, or one to be added; None for all."""
    setting = session.empty_groups(planning.context.settings)
    own = next((node for node, aggregate in aggregates.items() if aggregate == _ROWS), None)
    if setting == "hide":
        return own or exp.Count(this=exp.Star())
    return own if setting == "auto" and groups > MANY else None


def with_rows(aggregates: Mapping[exp.Expr, Aggregate], call: exp.Expr) -> Mapping[exp.Expr, Aggregate]:
    """The aggregates with that call among them: where there was none, it shares the noise of the others."""
    return aggregates if call in aggregates else {**aggregates, call: _ROWS}


def threshold(call: AggregateCall, groups: int) -> int:
    """The largest released count of rows that a group without any is taken to have."""
    [half] = call.noise.half_width(1 - FALSE_GROUPS / max(1, groups))
    return half


def is_there(call: AggregateCall, most: int) -> nodes.Expr:
    """Whether a group's released count is above the threshold."""
    return nodes.Binary(">", call.columns[0], duck.integer(most))
