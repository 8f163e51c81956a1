"""Bounds from a release: charged noisy counts of the rows between public marks.

The counts are an ordinary statement, under a policy with the widest domain that the marks allow; bounds are derived
from them at no further cost. A column is bounded by the outermost marks between which there certainly are rows: a few
rows far out do not count, as with a quantile.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import partial

from dpproxy.policy.dump import constant
from dpproxy.policy.model import Between, Budget, ColumnPolicy, Grant, Policy, Scalar
from dpproxy.sql.quoting import identifier
from dpproxy.values.pgtypes import DATE, FLOATS, INTEGERS, NUMERIC, TIMESTAMP, TIMESTAMPTZ, Column, SqlType

PAYER = ""
"""A probe is charged to the ceiling and to a budget of this name, which no statement can declare."""
CONFIDENCE = "0.999999999"
"""The confidence that an interval whose count says so has rows."""
_FARTHEST = 10**12
_FINEST = 3
"""Digits after the point of the smallest mark."""
_DEEPEST = 12
"""The most decimal places of a column that can be probed: more leave no room for exact arithmetic."""
_MOMENTS: dict[int, Callable[[int, int, int], date]] = {
    DATE.oid: date,
    TIMESTAMP.oid: datetime,
    TIMESTAMPTZ.oid: partial(datetime, tzinfo=UTC),
}
"""Marks are of the column's own type: not every data source compares a timestamp with a date."""
_YEARS = (1800, *range(1900, 2101, 5), 2200)


@dataclass(frozen=True, slots=True)
class Probe:
    """One column, and the marks between which its rows are counted, in ascending order."""

    column: str
    marks: tuple[Scalar, ...]

    def sql(self, table: str) -> str:
        """The query for the intervals and their noisy counts: above 0 only where an interval surely has rows."""
        name = identifier(self.column)
        inner = enumerate(self.marks[1:-1])
        cases = " ".join(f"WHEN {name} < {constant(mark)} THEN {number}" for number, mark in inner)
        numbered = f"CASE {cases} ELSE {len(self.marks) - 2} END AS {name}"
        rows = f"SELECT {numbered} FROM {identifier(table)} WHERE {name} IS NOT NULL"  # noqa: S608 - quoted names
        return f"SELECT {name}, dp.ci_low(count(*)) FROM ({rows}) AS marked GROUP BY 1"  # noqa: S608

    def bounds(self, rows: Iterable[Sequence[object]]) -> tuple[Scalar, Scalar] | None:
        """The outermost marks around rows; None where the counts show none."""
        found = [
            number for number, low in rows if isinstance(number, int) and isinstance(low, float) and low > 0
        ]
        return (self.marks[min(found)], self.marks[max(found) + 1]) if found else None


def probe(column: Column) -> Probe | None:
    """How a column is probed; None for a type that cannot be."""
    kind = column.type
    if kind.oid in _MOMENTS:
        return Probe(column.name, tuple(_MOMENTS[kind.oid](year, 1, 1) for year in _YEARS))
    if kind.oid in INTEGERS:
        return Probe(column.name, _numbers(Fraction(2 ** (8 * kind.size - 1) - 1), 0))
    if kind.oid in FLOATS:
        return Probe(column.name, _numbers(Fraction(_FARTHEST), _FINEST))
    if kind.oid == NUMERIC.oid and kind.scale is not None and kind.scale <= _DEEPEST:
        return Probe(column.name, _numbers(_largest(kind), min(kind.scale, _FINEST)))
    return None


def probing_policy(policy: Policy, table: str, probed: Iterable[Probe]) -> Policy:
    """The policy under which a probe runs: columns bounded by their marks, charged to ``PAYER``."""
    declared = policy.tables[table]
    wide = {one.column: ColumnPolicy(Between(one.marks[0], one.marks[-1])) for one in probed}
    budget = Budget(PAYER, Fraction(10**9))
    return replace(
        policy,
        tables={**policy.tables, table: replace(declared, columns={**declared.columns, **wide})},
        budgets={PAYER: budget},
        grants=(Grant(table, "admin", PAYER),),
    )


def _numbers(largest: Fraction, digits: int) -> tuple[Scalar, ...]:
    """0, and to both sides 1, 2 and 5 times the powers of ten, up to the largest value or far enough."""
    top = min(largest, Fraction(_FARTHEST))
    powers = (Fraction(10) ** exponent for exponent in range(-digits, 13))
    sizes = [size * power for power in powers for size in (1, 2, 5) if size * power < top]
    ascending = [-top, *(-size for size in reversed(sizes)), Fraction(0), *sizes, top]
    return tuple(int(mark) if mark.denominator == 1 else mark for mark in ascending)


def _largest(kind: SqlType) -> Fraction:
    return Fraction(10 ** (kind.precision or 0) - 1, 10 ** (kind.scale or 0))
