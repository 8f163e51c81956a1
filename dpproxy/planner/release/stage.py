"""The release stage, as SQL for an engine that never sees data."""

from collections.abc import Sequence

from dpproxy.aggregates.mode import SPREAD
from dpproxy.aggregates.model import Measure
from dpproxy.analysis import duck
from dpproxy.analysis.keys import GroupKey
from dpproxy.planner.release.allocation import Allocation
from udfs.mechanisms.quantile import Quantile
from udfs.mechanisms.quantiles import Quantiles
from udfs.privacy import NANO


def drawn_by(mechanism: Quantile | Quantiles) -> int:
    """How many numbers it draws."""
    return len(mechanism.numerators) if isinstance(mechanism, Quantiles) else 1


def quantile_sql(keys: int, mechanisms: Sequence[Quantile | Quantiles], *, vacuous: bool) -> str:
    """The release stage of order statistics: each drawn for each declared key, all from the histogram of its cells."""
    names = "".join(f", k.k{i}" for i in range(keys))
    if vacuous:
        zeros = ", ".join("0" for _ in range(sum(map(drawn_by, mechanisms))))
        return f"SELECT k.o{names}, CAST([{zeros}] AS HUGEINT[]) AS v FROM keys AS k"  # noqa: S608 - numbers only
    match = " AND ".join(f"k.k{i} IS NOT DISTINCT FROM e.k{i}" for i in range(keys)) or "TRUE"
    histogram = ", ".join(
        f"coalesce(list(CAST(e.m{i} AS HUGEINT) ORDER BY e.m0) FILTER (WHERE e.m0 IS NOT NULL), [])"
        for i in (0, 1)
    )
    drawn = [_quantile(mechanism, histogram) for mechanism in mechanisms]
    whole = drawn[0] if len(drawn) == 1 else f"flatten([{', '.join(drawn)}])"
    source = f"FROM keys AS k LEFT JOIN exact AS e ON {match} GROUP BY k.o{names}"
    return f"SELECT k.o{names}, {whole} AS v {source}"


def _quantile(mechanism: Quantile | Quantiles, histogram: str) -> str:
    """The list of what one mechanism draws."""
    ends = f"{mechanism.rows}, {_loss(mechanism.nano)})"
    drawn = f"{histogram}, {mechanism.low}, {mechanism.high}"
    if isinstance(mechanism, Quantiles) or mechanism.moved:
        numerators = mechanism.numerators if isinstance(mechanism, Quantiles) else (mechanism.numerator,)
        off = mechanism.off if isinstance(mechanism, Quantiles) else mechanism.moved
        listed = ", ".join(map(str, numerators))
        return f"dp_quantiles({drawn}, CAST([{listed}] AS HUGEINT[]), {mechanism.denominator}, {off}, {ends}"
    if mechanism.inside:
        return f"[dp_extreme({drawn}, {mechanism.numerator}, {ends}]"
    return f"[dp_quantile({drawn}, {mechanism.numerator}, {mechanism.denominator}, {ends}]"


def choice_sql(keys: int, values: GroupKey, nano: int, *, vacuous: bool) -> str:
    """The release stage of MODE: the place of one value for each declared key, rows with a value counting for it."""
    names = "".join(f", k.k{i}" for i in range(keys))
    if vacuous:
        return f"SELECT k.o{names}, CAST([0] AS HUGEINT[]) AS v FROM keys AS k"  # noqa: S608 - numbers only
    listed = ", ".join(f"({i}, {duck.text(duck.constant(v))})" for i, v in enumerate(values.values))
    match = "".join(f" AND k.k{i} IS NOT DISTINCT FROM e.k{i}" for i in range(keys))
    scores = f"list(CAST(coalesce({SPREAD} * e.m0, 0) AS HUGEINT) ORDER BY c.i)"
    drawn = f"dp_choose({scores}, {len(values.values)}, 1, {_loss(nano)}) - 1"
    source = f"FROM keys AS k CROSS JOIN (VALUES {listed}) AS c(i, v) LEFT JOIN exact AS e ON e.k{keys} = c.v{match}"
    return f"SELECT k.o{names}, [CAST({drawn} AS HUGEINT)] AS v {source} GROUP BY k.o{names}"


def _loss(nano: int) -> str:
    """Epsilon, or rho of a Gaussian."""
    return f"CAST({nano // NANO}.{nano % NANO:09d} AS DECIMAL(18,9))"


def discovered_sql(keys: int, measures: int, allocation: Allocation | None) -> str:
    """The release stage for groups that were selected, ``exact``: in the order of their keys, which tells nothing."""
    names = [f"e.k{i}" for i in range(keys)]
    order = ", ".join(f"{name} NULLS LAST" for name in names)
    drawn = "CAST([] AS HUGEINT[])"
    if allocation is not None:
        sums = ", ".join(f"CAST(e.m{i} AS HUGEINT)" for i in range(measures))
        drawn = _drawn(sums, allocation)
    ordinal = f"row_number() OVER (ORDER BY {order}) - 1 AS o"
    return f"SELECT {ordinal}, {', '.join(names)}, {drawn} AS v FROM exact AS e"  # noqa: S608 - numbers only


def _drawn(sums: str, allocation: Allocation) -> str:
    """One joint draw around sums."""
    widths = ", ".join(f"CAST({w} AS HUGEINT)" for w in allocation.mechanism.widths)
    return f"{allocation.function}([{sums}], [{widths}], {_loss(allocation.mechanism.nano)})"


def release_sql(keys: int, measures: Sequence[Measure], allocation: Allocation | None) -> str:
    """The release stage: every declared key, empty ones too, and one joint draw for each.

    Without an allocation nothing is drawn: there is no measure, or every one is 0 whatever the data.
    """
    names = "".join(f", k.k{i}" for i in range(keys))
    if allocation is None:
        zeros = ", ".join("0" for _ in measures)
        return f"SELECT k.o{names}, CAST([{zeros}] AS HUGEINT[]) AS v FROM keys AS k"  # noqa: S608 - numbers only
    sums = ", ".join(f"CAST(coalesce(e.m{i}, 0) AS HUGEINT)" for i in range(len(measures)))
    match = " AND ".join(f"k.k{i} IS NOT DISTINCT FROM e.k{i}" for i in range(keys))
    drawn = f"{_drawn(sums, allocation)} AS v"
    if not keys:  # aggregates without GROUP BY are one row, over no rows too
        return f"SELECT 0 AS o, {drawn} FROM exact AS e"  # noqa: S608 - numbers only
    return f"SELECT k.o{names}, {drawn} FROM keys AS k LEFT JOIN exact AS e ON {match}"  # noqa: S608 - numbers only


def refined_sql(keys: int, drawn: str) -> str:
    """The release stage of an answer from a prior: one draw for each declared key."""
    names = "".join(f", k.k{i}" for i in range(keys))
    match = " AND ".join(f"k.k{i} IS NOT DISTINCT FROM e.k{i}" for i in range(keys))
    if not keys:
        return f"SELECT 0 AS o, [{drawn}] AS v FROM exact AS e"  # noqa: S608 - our own text
    return f"SELECT k.o{names}, [{drawn}] AS v FROM keys AS k LEFT JOIN exact AS e ON {match}"  # noqa: S608
