"""The release stage, as SQL for an engine that never sees data."""

from collections.abc import Sequence

from dpproxy.aggregates.mode import SPREAD
from dpproxy.aggregates.model import Measure
from dpproxy.analysis import duck
from dpproxy.analysis.keys import GroupKey
from dpproxy.planner.release.allocation import Allocation
from udfs.mechanisms.bounds import QuantileBounds
from udfs.mechanisms.quantile import Quantile
from udfs.mechanisms.quantiles import Quantiles
from udfs.privacy import NANO

Ranked = Quantile | Quantiles


def drawn_by(mechanism: Ranked) -> int:
    """How many numbers it draws."""
    return len(mechanism.numerators) if isinstance(mechanism, Quantiles) else 1


def quantile_sql(keys: int, mechanism: Ranked, *, vacuous: bool) -> str:
    """The release stage of order statistics: drawn for each declared key from the histogram of its cells."""
    if vacuous:
        return _no_rows(keys, drawn_by(mechanism))
    names = "".join(f", k.k{i}" for i in range(keys))
    return f"SELECT k.o{names}, {_quantile(mechanism)} AS v {_histograms(keys)} GROUP BY k.o{names}"


def bounds_sql(
    keys: int, bounds: Sequence[tuple[int, QuantileBounds]], *, drawn: Ranked | None, vacuous: bool
) -> str:
    """The release stage of what statistics lie between, each by its place in the lists that were released of all.

    These are the relation ``points``; where it is not released before, it is what ``drawn`` draws, and comes first.
    """
    if vacuous:
        return _no_rows(keys, 2 * len(bounds) + (0 if drawn is None else drawn_by(drawn)))
    names = "".join(f", k.k{i}" for i in range(keys))
    lists = [*(["p.v"] if drawn else []), *(_bounds(place, each) for place, each in bounds)]
    head = f"WITH points AS MATERIALIZED ({quantile_sql(keys, drawn, vacuous=False)}) " if drawn else ""
    source = f"{_histograms(keys)} JOIN points AS p ON k.o = p.o GROUP BY k.o{names}, p.v"
    return f"{head}SELECT k.o{names}, flatten([{', '.join(lists)}]) AS v {source}"


def _no_rows(keys: int, numbers: int) -> str:
    names = "".join(f", k.k{i}" for i in range(keys))
    zeros = ", ".join("0" for _ in range(numbers))
    return f"SELECT k.o{names}, CAST([{zeros}] AS HUGEINT[]) AS v FROM keys AS k"  # noqa: S608 - numbers only


def _histograms(keys: int) -> str:
    match = " AND ".join(f"k.k{i} IS NOT DISTINCT FROM e.k{i}" for i in range(keys)) or "TRUE"
    return f"FROM keys AS k LEFT JOIN exact AS e ON {match}"


_HISTOGRAM = ", ".join(
    f"coalesce(list(CAST(e.m{i} AS HUGEINT) ORDER BY e.m0) FILTER (WHERE e.m0 IS NOT NULL), [])"
    for i in (0, 1)
)


def _quantile(mechanism: Ranked) -> str:
    """The list of what one mechanism draws."""
    drawn, ends = (
        f"{_HISTOGRAM}, {mechanism.low}, {mechanism.high}",
        f"{mechanism.rows}, {_loss(mechanism.nano)})",
    )
    if isinstance(mechanism, Quantiles):
        listed = ", ".join(map(str, mechanism.numerators))
        return f"dp_quantiles({drawn}, CAST([{listed}] AS HUGEINT[]), {mechanism.denominator}, {ends}"
    if mechanism.inside:
        return f"[dp_extreme({drawn}, {mechanism.numerator}, {ends}]"
    return f"[dp_quantile({drawn}, {mechanism.numerator}, {mechanism.denominator}, {ends}]"


def _bounds(place: int, bounds: QuantileBounds) -> str:
    of = bounds.of
    public = f"{of.low}, {of.high}, {of.numerator}, {of.denominator}, {of.rows}, {_loss(of.nano)}"
    around = f"{float(bounds.confidence)!r}, CAST(p.v[{place + 1}] AS HUGEINT)"
    return f"dp_quantile_bounds({_HISTOGRAM}, {public}, {around})"


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
