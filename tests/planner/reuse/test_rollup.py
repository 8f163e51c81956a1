"""What follows from a release is what would have been computed: without noise, over rows that break the rules."""

# ruff: noqa: E501, DTZ001 - statements written out; of a type without zone

from collections.abc import Sequence
from datetime import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dpproxy.algebra.plan import Part
from dpproxy.engine.payloads import wanted_of
from dpproxy.planner.reuse.descriptor import Descriptor, described
from dpproxy.planner.reuse.rollup import Derivation, derivation
from tests.golden.world import Row, Tables, World, build, plan_of
from tests.planner.wordings import CONDITIONS, HEADER, KEYS, MEASURES

CALM = settings(
    deadline=None, max_examples=settings.default.max_examples // 2, suppress_health_check=list(HealthCheck)
)  # of four statements each


@pytest.fixture(scope="module")
def world() -> World:
    """With prepared tables, as a proxy has them: rows that each statement cuts anew are of that statement alone."""
    return replace(build(HEADER), prepared=True)


def part_of(world: World, sql: str) -> Part:
    [part] = plan_of(world, sql).parts
    return part


def descriptor(part: Part) -> Descriptor:
    found = described(part, (), 1)
    assert found is not None
    return found


def follows(world: World, stored: str, asked: str) -> Derivation | None:
    finer, coarser = part_of(world, stored), part_of(world, asked)
    return derivation(descriptor(finer), wanted_of(finer), descriptor(coarser), wanted_of(coarser))


def derived(world: World, tables: Tables, stored: str, asked: str) -> list[tuple[int, ...]]:
    """The groups of a question as they are made of a release without noise."""
    found = follows(world, stored, asked)
    assert found is not None
    return list(map(tuple, found.added(list(tables.exact(part_of(world, stored)).values()))))


FINE = "SELECT y, b, k, count(*), sum(x), sum(y) FROM t GROUP BY y, b, k"
NARROW = "SELECT y, b, k, count(*), sum(x), sum(y) FROM t WHERE k IN ('a', 'b') GROUP BY y, b, k"
YES = (
    (FINE, "SELECT k, b, y, sum(x), count(*) FROM t GROUP BY k, b, y"),
    (FINE, "SELECT k, count(*) FROM t GROUP BY k"),
    (FINE, "SELECT k, y, sum(x) FROM t WHERE b GROUP BY k, y"),
    (FINE, "SELECT count(*) FROM t WHERE k = 'a' AND NOT b"),
    (FINE, "SELECT b, sum(y) FROM t WHERE k IN ('c', 'a') AND y BETWEEN 1 AND 3 GROUP BY b"),
    (FINE, "SELECT count(*) FROM t WHERE k IS NOT NULL"),
    (FINE, "SELECT count(*) FROM t WHERE k = 'a' OR k = 'b' AND y > 1"),
    (NARROW, "SELECT count(*), sum(x) FROM t WHERE k IN ('b', 'a')"),
    (NARROW, "SELECT count(*) FROM t WHERE k IN ('b', 'a') AND k <> 'a'"),
    ("SELECT y, b, count(*) FROM t GROUP BY y, b", "SELECT count(*) FROM t"),
    ("SELECT y, count(*) FROM t GROUP BY y", "SELECT y / 2 AS half, count(*) FROM t GROUP BY half"),
    ("SELECT y, count(*) FROM t GROUP BY y", "SELECT y > 2 AS high, count(*) FROM t GROUP BY high"),
    (
        "SELECT y, b, sum(x) FROM t GROUP BY y, b",
        "SELECT CASE WHEN y < 2 THEN 'few' ELSE 'many' END AS z, sum(x) FROM t WHERE b GROUP BY z",
    ),
    ("SELECT y > 2 AS high, count(*) FROM t GROUP BY high", "SELECT count(*) FROM t"),
    (
        FINE,
        "SELECT y, count(*) FILTER (WHERE b AND k = 'a'), sum(x) FILTER (WHERE k IN ('a', 'b')), count(k) FROM t GROUP BY y",
    ),
    (
        FINE,
        "SELECT b, sum(CASE WHEN k = 'a' THEN x ELSE 0 END), sum(CASE k WHEN 'b' THEN 2 ELSE 0 END) FROM t GROUP BY b",
    ),
    (
        FINE,
        "SELECT sum(3 * y) FILTER (WHERE k = 'c'), count(CASE WHEN NOT k = 'c' THEN 1 END) FROM t WHERE y > 1",
    ),
    (
        "SELECT y, b, count(*), avg(x) FROM t GROUP BY y, b",
        "SELECT y, avg(x), avg(CASE WHEN b THEN x END) FROM t GROUP BY y",
    ),
)
NUMBERS = "SELECT x, count(*), sum(y) FROM t GROUP BY x"
"""Of a column that may be NULL, and is inside of its bounds where it is not."""
NULLS = (
    (NUMBERS, "SELECT count(*), sum(y) FROM t WHERE x BETWEEN 2 AND 7"),
    (NUMBERS, "SELECT count(*) FROM t WHERE x > 3 AND x <> 5"),
    (NUMBERS, "SELECT sum(y) FROM t WHERE NOT x BETWEEN 2 AND 7"),
    (NUMBERS, "SELECT count(*) FROM t WHERE x IS NOT NULL"),
    (NUMBERS, "SELECT x / 2 AS half, count(*) FROM t GROUP BY half"),
    (NUMBERS, "SELECT x > 4 AS high, count(*) FROM t WHERE x < 8 GROUP BY high"),
    (
        NUMBERS,
        "SELECT CASE WHEN x < 5 THEN 'low' ELSE 'high' END AS z, sum(y) FROM t WHERE x IS NOT NULL GROUP BY z",
    ),
    ("SELECT x, b, count(*) FROM t GROUP BY x, b", "SELECT b, count(*) FROM t WHERE x / 2 >= 2 GROUP BY b"),
    (
        "SELECT x / 2 AS h, b, count(*) FROM t GROUP BY h, b",
        "SELECT b, count(*) FROM t WHERE x / 2 >= 2 GROUP BY b",
    ),
    (
        "SELECT y % 3 AS h, b, count(*) FROM t GROUP BY h, b",
        "SELECT b, count(*) FROM t WHERE y % 3 = 1 GROUP BY b",
    ),
    (
        "SELECT x / 2 AS h, count(*) FROM t GROUP BY h",
        "SELECT x / 2 / 2 AS q, count(*) FROM t WHERE x / 2 < 4 GROUP BY q",
    ),
    (
        "SELECT CASE WHEN x < 5 THEN 'low' ELSE 'high' END AS z, count(*) FROM t GROUP BY z",
        "SELECT count(*) FROM t",
    ),
    (
        "SELECT k, b, count(*) FROM t GROUP BY k, b",
        "SELECT CASE k WHEN 'a' THEN 'A' WHEN 'b' THEN 'B' END AS z, count(*) FROM t WHERE k <> 'c' GROUP BY z",
    ),
    ("SELECT coalesce(x, -1) AS z, count(*) FROM t GROUP BY z", "SELECT count(*) FROM t"),
    (
        "SELECT CASE WHEN x IS NULL THEN 'none' ELSE 'some' END AS z, count(*) FROM t GROUP BY z",
        "SELECT count(*) FROM t",
    ),
    ("SELECT k IS NULL AS z, count(*) FROM t GROUP BY z", "SELECT count(*) FROM t WHERE k IS NULL"),
)
NO = (
    (NUMBERS, "SELECT count(*) FROM t WHERE x IS NULL"),
    (NUMBERS, "SELECT count(*) FROM t WHERE x > 3 OR x IS NULL"),
    (NUMBERS, "SELECT b, count(*) FROM t WHERE x IS NOT NULL GROUP BY b"),
    (NUMBERS, "SELECT CASE WHEN x < 5 THEN 'low' ELSE 'high' END AS z, count(*) FROM t GROUP BY z"),
    (NUMBERS, "SELECT sum(y) FROM t WHERE coalesce(x, 3) = 3"),
    (
        "SELECT k, count(*) FROM t GROUP BY k",
        "SELECT CASE k WHEN 'a' THEN 'A' ELSE 'rest' END AS z, count(*) FROM t GROUP BY z",
    ),
    (FINE, "SELECT count(*) FROM t"),  # rows whose k is not declared
    (FINE, "SELECT b, count(*) FROM t GROUP BY b"),
    (FINE, "SELECT count(*) FROM t WHERE k IS NULL"),
    (FINE, "SELECT count(*) FROM t WHERE k <> 'a' OR y > 1"),
    (FINE, "SELECT k, count(*) FROM t WHERE x > 3 GROUP BY k"),  # x is no key
    (FINE, "SELECT k, count(x) FROM t GROUP BY k"),
    (NARROW, "SELECT k, b, y, count(*) FROM t GROUP BY k, b, y"),
    ("SELECT y, count(*) FROM t GROUP BY y", "SELECT y, b, count(*) FROM t GROUP BY y, b"),
    ("SELECT x, count(*) FROM t GROUP BY x", "SELECT count(*) FROM t"),  # x may be NULL
    ("SELECT y, count(*) FROM t GROUP BY y", "SELECT x + y AS z, count(*) FROM t GROUP BY z"),
    ("SELECT y, b, count(DISTINCT x) FROM t GROUP BY y, b", "SELECT y, count(DISTINCT x) FROM t GROUP BY y"),
    ("SELECT h, count(*) FROM w GROUP BY h", "SELECT count(*) FROM t"),
    (
        FINE,
        "SELECT y, count(*) FILTER (WHERE k = 'a'), count(*) FROM t GROUP BY y",
    ),  # rows whose k is not declared
    (FINE, "SELECT k, count(*) FILTER (WHERE x > 3) FROM t GROUP BY k"),
    (FINE, "SELECT sum(CASE WHEN k = 'a' THEN x ELSE 1 END) FROM t"),
)


ANY_ROWS = [
    (n, ("a", "b", "z", None)[n % 4], (None, -3, 0, 2, 4, 5, 7, 9, 12)[n % 9], n % 7 - 1, n % 2 == 0, None)
    for n in range(72)
]


@pytest.mark.parametrize(("stored", "asked"), [*YES, *NULLS])
def test_what_is_determined_follows(world: World, stored: str, asked: str):
    tables = Tables(world)
    tables.fill({"t": ANY_ROWS, "w": []})
    try:
        coarser = part_of(world, asked)
        exact = tables.exact(coarser)
        assert derived(world, tables, stored, asked) == [exact[row] for row in wanted_of(coarser)]
    finally:
        tables.close()


@pytest.mark.parametrize(("stored", "asked"), NO)
def test_what_is_not_determined_does_not_follow(world: World, stored: str, asked: str):
    assert follows(world, stored, asked) is None


COMPUTED = (
    "SELECT y / 2 AS half, count(*) FROM t GROUP BY half",
    "SELECT y % 3 * 10 AS z, b, sum(x) FROM t GROUP BY z, b",
    "SELECT CASE WHEN y < 2 THEN 'few' ELSE 'many' END AS z, count(*), sum(x) FROM t WHERE y + 1 > 2 GROUP BY z",
    "SELECT 4 - y AS less, count(*) FROM t WHERE NOT b GROUP BY less",
)


@pytest.mark.parametrize("asked", COMPUTED)
def test_keys_that_are_computed_of_keys_are_what_would_be_computed(world: World, asked: str):
    finer = part_of(world, "SELECT y, b, count(*), sum(x) FROM t GROUP BY y, b")
    coarser = part_of(world, asked)
    found = derivation(descriptor(finer), wanted_of(finer), descriptor(coarser), wanted_of(coarser))
    assert found is not None
    tables = Tables(world)
    rows = [(n, "abz"[n % 3], n * 7 % 12, n % 7 - 1, n % 2 == 0, None) for n in range(40)]
    tables.fill({"t": rows, "w": []})
    exact, wanted = list(tables.exact(finer).values()), tables.exact(coarser)
    tables.close()
    assert dict(zip(wanted_of(coarser), map(tuple, found.added(exact)), strict=True)) == wanted


def test_different_values_of_a_group_do_not_add_up_but_their_own_group_is_itself(world: World):
    stored = "SELECT y, b, count(DISTINCT x) FROM t GROUP BY y, b"
    assert follows(world, stored, "SELECT count(DISTINCT x) FROM t WHERE y = 2 AND b") is not None


def test_rows_that_no_group_counts_make_groups_too_few(world: World):
    """Why a key that leaves rows out is not added up."""
    rows = {"t": [(1, "a", 1, 1, True, 0.5), (2, "zz", 1, 1, True, 0.5), (3, None, 1, 1, True, 0.5)], "w": []}
    tables = Tables(world)
    tables.fill(rows)
    fine = tables.exact(part_of(world, "SELECT k, count(*) FROM t GROUP BY k"))
    total = tables.exact(part_of(world, "SELECT count(*) FROM t"))
    tables.close()
    assert (sum(c for (c,) in fine.values()), total[()]) == (1, (3,))


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c", "zz", None]),
        st.sampled_from([None, -2, 0, 3, 9, 11]),
        st.integers(-1, 6),
        st.booleans(),
        st.sampled_from([None, 0.25, 0.75]),
    ),
    max_size=25,
)
_FILTERED = (
    *MEASURES,
    *(f"{m} FILTER (WHERE {c[0]})" for m in MEASURES for c in (CONDITIONS[2], CONDITIONS[5], CONDITIONS[16])),
    "sum(CASE WHEN {a}k = 'a' AND NOT {a}b THEN {a}x ELSE 0 END)",
    "sum(CASE WHEN {a}y > 2 THEN 2 END)",
    "count(CASE WHEN {a}k = 'b' THEN 1 END)",
    "count({a}k)",
)
_CONDITIONS = st.frozensets(st.integers(0, len(CONDITIONS) - 1), max_size=2)


def _statement(keys: Sequence[int], measures: Sequence[int], conditions: Sequence[int]) -> str:
    columns = [KEYS[n].format(a="") for n in keys]
    where = " AND ".join(f"({CONDITIONS[n][0].format(a='')})" for n in conditions) or "true"
    group = f" GROUP BY {', '.join(columns)}" if columns else ""
    listed = [*columns, *(_FILTERED[n].format(a="") for n in measures)]
    return f"SELECT {', '.join(listed)} FROM t WHERE {where}{group}"


@CALM
@given(data=st.data(), rows=ROWS)
@pytest.mark.parametrize("prepared", [True, False])
def test_a_derived_answer_is_the_answer_over_any_rows(
    world: World, *, prepared: bool, data: st.DataObject, rows: list[Row]
):
    world = replace(world, prepared=prepared)
    keys = data.draw(st.permutations(range(len(KEYS))))
    measures = data.draw(st.lists(st.sampled_from(range(len(MEASURES))), min_size=1, unique=True))
    first = data.draw(_CONDITIONS)
    stored = part_of(world, _statement(keys, measures, sorted(first)))
    tables = Tables(world)
    tables.fill({"t": [(n, *row) for n, row in enumerate(rows)], "w": []})
    try:
        for _ in range(4):
            kept = data.draw(st.lists(st.sampled_from(keys), unique=True))
            others = range(len(MEASURES), len(_FILTERED))
            some = data.draw(
                st.lists(st.sampled_from([*measures, *others]), min_size=1, max_size=3, unique=True)
            )
            asked = part_of(world, _statement(kept, some, sorted({*first, *data.draw(_CONDITIONS)})))
            if stored.vacuous or asked.vacuous:
                continue
            wanted = wanted_of(asked)
            found = derivation(descriptor(stored), wanted_of(stored), descriptor(asked), wanted)
            if found is None:
                continue
            exact = list(tables.exact(stored).values())
            derived = list(map(tuple, found.added(exact)))
            assert derived == [tables.exact(asked)[row] for row in wanted]
    finally:
        tables.close()


CALENDAR = (
    "CREATE TABLE c (id INTEGER NOT NULL, seen TIMESTAMP, day DATE, k VARCHAR)",
    "ALTER TABLE c SET PRIVACY KEY (id)",
    "ALTER TABLE c ALTER COLUMN seen SET PRIVACY DOMAIN BETWEEN TIMESTAMP '2023-02-03' AND TIMESTAMP '2024-11-30 12:00:00'",
    "ALTER TABLE c ALTER COLUMN day SET PRIVACY DOMAIN BETWEEN '2023-01-01' AND '2024-12-31'",
    "ALTER TABLE c ALTER COLUMN k SET PRIVACY DOMAIN IN ('a', 'b')",
)
MONTHS = "SELECT date_trunc('month', seen) AS m, k, count(*) FROM c GROUP BY m, k"
DAYS = "SELECT date_trunc('month', day) AS m, count(*) FROM c GROUP BY m"
EACH_DAY = "SELECT day, count(*) FROM c GROUP BY day"
A_YEAR = "seen >= '2024-01-01' AND seen < '2024-07-01'"
FOLLOW = (
    (MONTHS, f"SELECT k, count(*) FROM c WHERE {A_YEAR} GROUP BY k"),
    (MONTHS, f"SELECT date_trunc('quarter', seen) AS q, k, count(*) FROM c WHERE {A_YEAR} GROUP BY q, k"),
    (MONTHS, f"SELECT date_trunc('month', seen) AS m, k, count(*) FROM c WHERE {A_YEAR} GROUP BY m, k"),
    (MONTHS, f"SELECT extract(year FROM seen) AS y, k, count(*) FROM c WHERE {A_YEAR} GROUP BY y, k"),
    (MONTHS, "SELECT k, count(*) FROM c WHERE seen::date BETWEEN '2024-02-01' AND '2024-03-31' GROUP BY k"),
    (
        MONTHS,
        "SELECT k, count(*) FROM c WHERE seen >= '2023-03-01' AND NOT seen > '2024-02-29 23:59:59.999999' GROUP BY k",
    ),
    (
        MONTHS,
        "SELECT k, count(*) FROM c WHERE extract(year FROM seen) = 2024 AND seen < '2024-10-01' AND seen >= '2024-01-01' GROUP BY k",
    ),
    (DAYS, "SELECT date_trunc('quarter', day) AS q, count(*) FROM c GROUP BY q"),
    (DAYS, "SELECT date_trunc('year', day) AS q, count(*) FROM c GROUP BY q"),
    (MONTHS, "SELECT to_char(seen, 'YYYY-MM') AS m, k, count(*) FROM c GROUP BY m, k"),
    (MONTHS, "SELECT k, count(*) FROM c WHERE to_char(seen, 'YYYY-MM') = '2024-02' GROUP BY k"),
    (MONTHS, "SELECT k, count(*) FROM c WHERE extract(quarter FROM seen) = 2 GROUP BY k"),
    (MONTHS, "SELECT k, count(*) FROM c WHERE seen IS NOT NULL GROUP BY k"),
    (MONTHS, "SELECT k, date_trunc('month', seen)::date AS m, count(*) FROM c GROUP BY m, k"),
    (DAYS, "SELECT to_char(day, 'YYYY') AS y, count(*) FROM c GROUP BY y"),
    (
        DAYS,
        "SELECT to_char(day, 'MM/YYYY') AS y, count(*) FROM c WHERE extract(year FROM day) = 2023 GROUP BY y",
    ),
    (DAYS, "SELECT extract(year FROM day) * 100 + extract(month FROM day) AS m, count(*) FROM c GROUP BY m"),
    (DAYS, "SELECT count(*) FROM c WHERE extract(month FROM day) = 2 OR extract(year FROM day) = 2024"),
    *(
        (EACH_DAY, f"SELECT extract({part} FROM day) AS p, count(*) FROM c GROUP BY p")
        for part in ("dow", "isodow", "doy", "week")
    ),
    (
        EACH_DAY,
        "SELECT to_char(day, 'YYYY-MM-DD') AS d, count(*) FROM c WHERE extract(isodow FROM day) < 6 GROUP BY d",
    ),
    (
        "SELECT seen::date AS d, count(*) FROM c GROUP BY d",
        "SELECT to_char(seen, 'YYYY-MM') AS m, count(*) FROM c GROUP BY m",
    ),
    (DAYS, "SELECT count(*) FROM c WHERE day BETWEEN '2023-12-01' AND '2024-01-31'"),
    (
        "SELECT day, count(*) FROM c GROUP BY day",
        "SELECT count(*) FROM c WHERE day IN ('2023-12-01', '2024-01-17')",
    ),
    (
        "SELECT day, count(*) FROM c GROUP BY day",
        "SELECT count(*) FROM c WHERE day BETWEEN '2023-12-05' AND '2024-01-17'",
    ),
    (
        "SELECT seen::date AS d, count(*) FROM c GROUP BY d",
        "SELECT date_trunc('month', seen) AS m, count(*) FROM c WHERE seen >= '2024-02-01' AND seen < '2024-04-01' GROUP BY m",
    ),
)
DO_NOT_FOLLOW = (
    (MONTHS, f"SELECT k, count(*) FROM c WHERE {A_YEAR.replace('07-01', '07-02')} GROUP BY k"),
    (
        MONTHS,
        "SELECT k, count(*) FROM c WHERE seen <= '2024-01-31' AND seen >= '2024-01-01' GROUP BY k",
    ),  # a moment is later
    (MONTHS, f"SELECT date_trunc('week', seen) AS w, k, count(*) FROM c WHERE {A_YEAR} GROUP BY w, k"),
    (MONTHS, f"SELECT seen::date AS d, k, count(*) FROM c WHERE {A_YEAR} GROUP BY d, k"),
    (MONTHS, "SELECT k, count(*) FROM c GROUP BY k"),  # rows without a moment
    (MONTHS, "SELECT k, count(*) FROM c WHERE seen < '2024-03-01' OR seen IS NULL GROUP BY k"),
    (MONTHS, f"SELECT k, count(*) FROM c WHERE {A_YEAR} AND day > '2024-01-01' GROUP BY k"),
    (DAYS, "SELECT count(*) FROM c WHERE day > '2023-12-01'"),
    (DAYS, "SELECT to_char(day, 'YYYY-MM-DD') AS d, count(*) FROM c GROUP BY d"),
    (DAYS, "SELECT extract(dow FROM day) AS d, count(*) FROM c GROUP BY d"),
    (MONTHS, "SELECT to_char(seen, 'YYYY-MM') AS m, count(*) FROM c GROUP BY m"),  # rows of another k
    (DAYS, "SELECT date_trunc('quarter', seen) AS q, count(*) FROM c GROUP BY q"),
)


@pytest.fixture(scope="module")
def calendar() -> World:
    return replace(build(CALENDAR), prepared=True)


@pytest.mark.parametrize(("stored", "asked"), FOLLOW)
def test_units_of_the_calendar_follow_from_finer_ones(calendar: World, stored: str, asked: str):
    """And are what would be computed, over rows on every border and with NULLs."""
    finer, coarser = part_of(calendar, stored), part_of(calendar, asked)
    found = derivation(descriptor(finer), wanted_of(finer), descriptor(coarser), wanted_of(coarser))
    assert found is not None
    moments = [
        None,
        *(
            datetime(y, m, d, h)
            for y in (2022, 2023, 2024)
            for m in range(1, 13)
            for d, h in ((1, 0), (17, 5), (28, 23))
        ),
    ]
    rows = [(n, at, None if at is None else at.date(), "abz"[n % 3]) for n, at in enumerate(moments)]
    tables = Tables(calendar)
    tables.fill({"c": rows})
    exact, wanted = list(tables.exact(finer).values()), tables.exact(coarser)
    tables.close()
    assert any(count for (count,) in wanted.values())
    assert dict(zip(wanted_of(coarser), map(tuple, found.added(exact)), strict=True)) == wanted


@pytest.mark.parametrize(("stored", "asked"), DO_NOT_FOLLOW)
def test_what_cuts_through_a_unit_of_the_calendar_does_not_follow(calendar: World, stored: str, asked: str):
    assert follows(calendar, stored, asked) is None
