"""Bounds and limits from a release: charged noisy counts of people between public marks.

The counts are ordinary statements, under a policy with the widest limits and domains that the marks allow; what is
proposed is derived from them at no further cost. Of a column's values one row of each person is counted, so that nobody
moves more than one count. A column is bounded by the outermost marks between which there certainly are rows: a few rows
far out do not count, as with a quantile.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import partial
from math import ceil, sqrt

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.policy.dump import constant
from dpproxy.policy.model import Between, Budget, ColumnPolicy, Counted, Grant, LimitQuantiles, Policy, Scalar
from dpproxy.policy.units import unit_table
from dpproxy.sql.quoting import identifier, table_text
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


MOST_COUNTED = 1000
"""Rows and groups of one person, told apart."""
_TAIL = Fraction(11, 5)
"""Standard deviations within which a sum of noise is with 95 %: 2.12 for one draw of the two-sided exponential law."""
_LEAST_USE = 20
"""Shares that may be off by more percent say nothing."""
_ENOUGH = 99
"""The share of people, in percent, whom a proposed limit leaves whole."""
_FIGURES = "dp.ci_low(count(*)), count(*), dp.noise_sd(count(*))"
Rows = Iterable[Sequence[object]]


class Probe(Struct, frozen=True):
    """One column, and the marks between which a row of each person is counted, in ascending order."""

    column: str
    marks: tuple[Scalar, ...]
    of = Counted.VALUES

    def sql(self, table: str) -> str:
        """The query for the intervals and their noisy counts: above 0 only where an interval surely has rows."""
        name = identifier(self.column)
        inner = enumerate(self.marks[1:-1])
        cases = " ".join(f"WHEN {name} < {constant(mark)} THEN {number}" for number, mark in inner)
        numbered = f"CASE {cases} ELSE {len(self.marks) - 2} END AS {name}"
        rows = f"SELECT {numbered} FROM {table_text(table)} WHERE {name} IS NOT NULL"  # noqa: S608 - quoted names
        return f"SELECT {name}, {_FIGURES} FROM ({rows}) AS marked GROUP BY 1"  # noqa: S608

    def policy(self, policy: Policy, table: str) -> Policy:
        """The policy under which it runs."""
        return probing_policy(policy, table, 1, {self.column: Between(self.marks[0], self.marks[-1])})

    def quantiles(self, rows: Rows) -> LimitQuantiles | None:
        """The share below each mark; None where the noise is too large."""
        found = _quantiles(self.of, self.marks[1:], rows)
        first = (Fraction(0), self.marks[0])
        return None if found is None else replace(found, shares=(first, *found.shares))

    def bounds(self, rows: Rows) -> tuple[Scalar, Scalar] | None:
        """The outermost marks around rows; None where the counts show none."""
        found = [
            number
            for number, low, *_ in rows
            if isinstance(number, int) and isinstance(low, float) and low > 0
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


class PeopleProbe(Struct, frozen=True):
    """How many rows each person has, or different values of a column: people are counted by it."""

    key: str
    column: str | None = None

    @property
    def of(self) -> Counted:
        """What is counted of each person."""
        return Counted.ROWS if self.column is None else Counted.GROUPS

    def sql(self, table: str) -> str:
        """The query for the noisy number of people up to each mark and beyond the one before."""
        counted = "*" if self.column is None else f"DISTINCT {identifier(self.column)}"
        each = f"SELECT {identifier(self.key)}, count({counted}) AS n FROM {table_text(table)} GROUP BY 1"  # noqa: S608
        cases = " ".join(f"WHEN n <= {mark} THEN {number}" for number, mark in enumerate(COUNTS))
        numbered = f"SELECT CASE {cases} ELSE {len(COUNTS)} END AS m FROM ({each}) AS person"  # noqa: S608
        return f"SELECT m, {_FIGURES} FROM ({numbered}) AS marked GROUP BY 1"  # noqa: S608 - quoted names

    def policy(self, policy: Policy, table: str) -> Policy:
        """The policy under which it runs."""
        return probing_policy(policy, table, 2 * MOST_COUNTED, {})

    def quantiles(self, rows: Rows) -> LimitQuantiles | None:
        """The share of people who have at most so many; None where the noise is too large."""
        return _quantiles(self.of, COUNTS, rows)


COUNTS = (*(size * power for power in (1, 10, 100) for size in (1, 2, 3, 5, 7)), MOST_COUNTED)


def _quantiles(of: Counted, marks: Sequence[Scalar], rows: Rows) -> LimitQuantiles | None:
    """Shares of the released total, in tenths of a percent; of alike ones the first and the last.

    Those of rows and groups are alike if they are equal, those of values if it may be noise by which they differ.
    """
    counts, sds = dict[int, Fraction](), list[Fraction]()
    for number, _, count, sd in rows:
        counts[int(str(number))], sds = Fraction(int(str(count))), [*sds, Fraction(float(str(sd)))]
    total = sum(counts.values(), Fraction(0))
    within = _TAIL * max(sds) * Fraction(sqrt(len(sds)))
    if total * _LEAST_USE <= 100 * within:
        return None
    off = Fraction(ceil(1000 * within / total), 10)
    alike = off if of is Counted.VALUES else 0
    shares, share, below = list[tuple[Fraction, Scalar]](), Fraction(0), Fraction(0)
    for number, mark in enumerate(marks):
        below += counts.get(number, Fraction(0))
        share = max(share, min(Fraction(round(1000 * below / total), 10), Fraction(100)))
        if len(shares) > 1 and share - shares[-2][0] <= alike:
            shares.pop()
        shares.append((share, mark))
    return LimitQuantiles(of, tuple(shares), off)


def limit(quantiles: LimitQuantiles) -> Scalar | None:
    """The least number of rows or groups that leaves nearly all people whole; None where none of them does."""
    wanted = _ENOUGH - quantiles.within
    return next((mark for share, mark in quantiles.shares if share >= wanted), None)


def probing_policy(policy: Policy, table: str, most: int, domains: dict[str, Between]) -> Policy:
    """The policy under which a probe runs: other limits, charged to ``PAYER``."""
    declared = policy.tables[table]
    wide = {name: ColumnPolicy(domain) for name, domain in domains.items()}
    unit = None if declared.unit is None else replace(declared.unit, max_rows=most, max_groups=None)
    owner = unit_table(policy, table)
    delta = Fraction(0) if owner.ceiling is None else owner.ceiling.delta
    budget = Budget(PAYER, Fraction(10**9), delta)
    wider = replace(declared, unit=unit, columns={**declared.columns, **wide})
    return replace(
        policy,
        tables={**policy.tables, table: wider},
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
