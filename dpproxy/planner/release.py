"""The release stage, as SQL for an engine that never sees data."""

from collections.abc import Sequence

from dpproxy.aggregates.model import Measure
from dpproxy.planner.allocate import Allocation
from udfs.privacy import NANO


def release_sql(keys: int, measures: Sequence[Measure], allocation: Allocation | None) -> str:
    """The release stage: every declared key, empty ones too, and one joint draw for each.

    Without an allocation nothing is drawn: there is no measure, or every one is 0 whatever the data.
    """
    names = "".join(f", k.k{i}" for i in range(keys))
    if allocation is None:
        zeros = ", ".join("0" for _ in measures)
        return f"SELECT k.o{names}, CAST([{zeros}] AS HUGEINT[]) AS v FROM keys AS k"  # noqa: S608 - numbers only
    sums = ", ".join(f"CAST(coalesce(e.m{i}, 0) AS HUGEINT)" for i in range(len(measures)))
    widths = ", ".join(f"CAST({w} AS HUGEINT)" for w in allocation.mechanism.widths)
    match = " AND ".join(f"k.k{i} IS NOT DISTINCT FROM e.k{i}" for i in range(keys))
    epsilon = (
        f"CAST({allocation.mechanism.nano // NANO}.{allocation.mechanism.nano % NANO:09d} AS DECIMAL(18,9))"
    )
    drawn = f"dp_release([{sums}], [{widths}], {epsilon}) AS v"
    if not keys:  # aggregates without GROUP BY are one row, over no rows too
        return f"SELECT 0 AS o, {drawn} FROM exact AS e"  # noqa: S608 - numbers only
    return f"SELECT k.o{names}, {drawn} FROM keys AS k LEFT JOIN exact AS e ON {match}"  # noqa: S608 - numbers only
