from dpproxy.aggregates.model import Measure
from dpproxy.planner.release.allocation import Allocation
from dpproxy.planner.release.stage import release_sql
from udfs.mechanisms.staircase import Staircase

MEASURES = (Measure("COUNT(*)", 1), Measure("SUM(x)", 10**30))
ALLOCATION = Allocation(Staircase.best((1, 10**30), 1_500_000_001), 1)


def test_every_key_gets_one_joint_draw():
    assert release_sql(2, MEASURES, ALLOCATION) == (
        "SELECT k.o, k.k0, k.k1, dp_release([CAST(coalesce(e.m0, 0) AS HUGEINT), CAST(coalesce(e.m1, 0) AS HUGEINT)], "
        f"[CAST(1 AS HUGEINT), CAST({10**30} AS HUGEINT)], CAST(1.500000001 AS DECIMAL(18,9))) AS v "
        "FROM keys AS k LEFT JOIN exact AS e ON k.k0 IS NOT DISTINCT FROM e.k0 AND k.k1 IS NOT DISTINCT FROM e.k1"
    )


def test_without_keys_there_is_one_row():
    sql = release_sql(0, MEASURES, ALLOCATION)
    assert sql.startswith("SELECT 0 AS o, dp_release([")
    assert sql.endswith("FROM exact AS e")


def test_without_an_allocation_nothing_is_read():
    assert release_sql(1, MEASURES, None) == "SELECT k.o, k.k0, CAST([0, 0] AS HUGEINT[]) AS v FROM keys AS k"
    assert release_sql(0, (), None) == "SELECT k.o, CAST([] AS HUGEINT[]) AS v FROM keys AS k"
