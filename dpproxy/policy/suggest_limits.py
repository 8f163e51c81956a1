"""What SUGGEST ... WITH EPSILON counts in a table, and what it proposes from the counts."""

from collections.abc import Iterator, Sequence
from datetime import date
from functools import partial

from msgspec.structs import replace

from dpproxy.policy.dump import alter_table, decimal, declarations, quantiles_text
from dpproxy.policy.model import (
    Between,
    Counted,
    Domain,
    LimitQuantiles,
    Members,
    Policy,
    References,
    TablePolicy,
)
from dpproxy.policy.suggest_column import between
from dpproxy.policy.suggest_probe import MOST_COUNTED, PeopleProbe, Probe, Rows, limit, probe
from dpproxy.policy.suggest_unit import Proposal, is_unique
from dpproxy.values.pgtypes import DATE, INTEGERS, Column, Schema

_LEAST_LISTED = 3
"""Fewer values are at most two groups."""
_SHOWN = 6
"""Shares that a reason names."""


def probes(policy: Policy, schema: Schema, table: str, unbounded: Sequence[str]) -> list[Probe | PeopleProbe]:
    """Counts of a person's rows, of groups of columns with keys, of values of those with bounds or ``unbounded``."""
    declared = policy.tables.get(table, TablePolicy(table))
    bounded = [name for name, one in declared.columns.items() if isinstance(one.domain, Between)]
    columns = [schema.column(table, name) for name in sorted({*unbounded, *bounded})]
    values = [one for column in columns if column is not None and (one := probe(column)) is not None]
    return [*_of_people(policy, declared, schema), *values]


def _of_people(policy: Policy, declared: TablePolicy, schema: Schema) -> Iterator[PeopleProbe]:
    """None where each row is a person, or where other tables stand between the rows and the people."""
    unit = declared.unit
    if unit is None or unit.key is None or is_unique(schema, declared.name, unit.key):
        return
    if unit.references is not None:
        target, column = unit.references
        owner = policy.tables.get(target, TablePolicy(target)).unit
        if owner is None or owner.references is not None or owner.key != column:
            return
    yield PeopleProbe(unit.key)
    for name in sorted(declared.columns):
        if _has_keys(declared.columns[name].domain, schema.column(declared.name, name)):
            yield PeopleProbe(unit.key, name)


def _has_keys(domain: Domain | None, column: Column | None) -> bool:
    """Whether several values of a column may be groups: listed ones, or a short range of whole numbers or days."""
    kind, many = None if column is None else column.type.oid, 0
    match domain:
        case References():
            many = _LEAST_LISTED
        case Members(values):
            many = min(len(values), MOST_COUNTED)
        case Between(int(low), int(high)) if kind in INTEGERS:
            many = high - low + 1
        case Between(date() as low, date() as high) if kind == DATE.oid:
            many = (high - low).days + 1
        case _:
            pass
    return _LEAST_LISTED <= many <= MOST_COUNTED


def with_released(
    proposed: Sequence[Proposal],
    declared: TablePolicy,
    released: Sequence[tuple[Probe | PeopleProbe, Rows]],
    epsilon: str,
) -> list[Proposal]:
    """The proposals with bounds filled in, then limits of one person, then the quantiles themselves."""
    by_column = {one.column: (one, rows) for one, rows in released if isinstance(one, Probe)}
    found = [
        _bounded(declared.name, one, *by_column[one.unbounded], epsilon)
        if one.unbounded in by_column
        else one
        for one in proposed
    ]
    known = [(one, shown) for one, rows in released if (shown := one.quantiles(rows)) is not None]
    return [*found, *_limits(declared, known, epsilon), *map(partial(_kept, declared.name, epsilon), known)]


def _bounded(table: str, proposal: Proposal, one: Probe, rows: Rows, epsilon: str) -> Proposal:
    counts = f"counts released at epsilon {epsilon} show"
    bounds = one.bounds(rows)
    if bounds is None:
        return replace(proposal, reason=f"{proposal.reason}; {counts} no bounds")
    shown = one.quantiles(rows)
    within = (
        ""
        if shown is None
        else f", where a row at random lies of {decimal(shown.inside(*bounds))} % of people"
    )
    reason = f"{counts} rows from mark to mark{within}; what is outside is moved to them"
    return Proposal(alter_table(table, one.column, f"{between(*bounds)};"), reason)


_Known = tuple[Probe | PeopleProbe, LimitQuantiles]


def _limits(declared: TablePolicy, known: Sequence[_Known], epsilon: str) -> Iterator[Proposal]:
    """MAX ROWS and MAX GROUPS, where they differ from what is declared."""
    unit = declared.unit
    rows = next((limit(shown) for one, shown in known if one.of is Counted.ROWS), None)
    if unit is None or not isinstance(rows, int):
        return
    groups = [limit(shown) for one, shown in known if one.of is Counted.GROUPS]
    most = max((g for g in groups if isinstance(g, int)), default=rows)
    is_less = None not in groups and most < rows
    wanted = replace(unit, max_rows=rows, max_groups=most if is_less else None)
    if wanted == unit:
        return
    _, text = next(declarations(replace(declared, unit=wanted)))
    shares = "; ".join(_shares(one, shown) for one, shown in known if one.of is not Counted.VALUES)
    reason = f"counts released at epsilon {epsilon}: {shares}; more is more noise, what is beyond is left out"
    yield Proposal(alter_table(declared.name, None, f"{text};"), reason)


def _shares(one: Probe | PeopleProbe, shown: LimitQuantiles) -> str:
    """The shares up to the limit that is proposed."""
    first = dict(reversed(shown.shares))
    upto = limit(shown)
    named = [(mark, share) for share, mark in shown.shares if first[share] == mark]
    named = [each for each in named if upto is None or each[0] <= upto][-_SHOWN:]  # type: ignore[operator]
    counted = "rows" if one.of is Counted.ROWS else f"values of {one.column}"
    listed = ", ".join(f"{mark} {counted}: {decimal(share)} %" for mark, share in named)
    return f"people who have at most {listed} (\u00b1 {decimal(shown.within)} %)"


def _kept(table: str, epsilon: str, known: _Known) -> Proposal:
    one, shown = known
    column = one.column if one.of is not Counted.ROWS else None
    reason = (
        f"released at epsilon {epsilon}: notices and EXPLAIN show the share of people whom limits leave whole"
    )
    return Proposal(alter_table(table, column, f"{quantiles_text(shown)};"), reason)
