"""What is written over released rows: what it is within, and where nothing is proved."""

import re
from collections.abc import Sequence

import numpy as np
import pytest

from dpproxy.algebra.plan import Accuracy, Plan
from tests.golden.world import World, build, plan_of
from tests.planner.release.test_intervals import shown

GROUPS = 12
INNER = "SELECT g, count(*) AS n, sum(age) AS s FROM people GROUP BY g"
APART = "WHERE true"
"""A query with a condition stays around the one inside; without it both may be one SELECT."""
RANKED = f"SELECT g AS h, rank() OVER (ORDER BY n DESC) AS place FROM ({INNER}) AS i"
LARGER = f"CROSS JOIN LATERAL (SELECT r.n AS x FROM ({INNER}) AS r WHERE r.n > q.n) AS l"
HEADER = (
    "CREATE TABLE people (id INTEGER, g INTEGER, age INTEGER)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    f"ALTER TABLE people ALTER COLUMN g SET PRIVACY DOMAIN BETWEEN 0 AND {GROUPS - 1}",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
)


@pytest.fixture(scope="module")
def world() -> World:
    return build(HEADER)


def planned(world: World, listed: str, rest: str = APART, inner: str = INNER) -> Plan:
    return plan_of(world, f"SELECT {listed} FROM ({inner}) AS q {rest}", {"dp.epsilon": "0.5"})


def accuracy(world: World, listed: str, rest: str = APART, inner: str = INNER) -> Accuracy:
    [output] = planned(world, listed, rest, inner).outputs
    assert output.accuracy is not None
    return output.accuracy


def half(world: World, listed: str) -> float:
    found = accuracy(world, listed).half
    assert found is not None
    return found


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("listed", "factor"),
    [("sum(n)", 1), ("3 - 2 * sum(n)", 2), ("sum(n) OVER ()", 1), ("-sum(n) / 4.0", 0.25)],
)
def test_a_total_is_as_far_off_as_that_many_draws(world: World, listed: str, factor: float):
    """The best: the 95 % quantile of 20,000 sums of the noise, of which the standard deviation is 0.9 %."""
    plan = planned(world, listed)
    [part] = plan.parts
    assert part.mechanism is not None
    sums = part.mechanism.draw(20_000 * GROUPS)[:, 0].reshape(-1, GROUPS).sum(axis=1)
    best = factor * float(np.quantile(np.abs(sums), 0.95))
    assert best / 1.05 <= half(world, listed) <= 1.2 * best


def test_totals_of_several_columns_hold_together(world: World):
    alone, beside = (planned(world, listed).outputs[0].accuracy for listed in ("sum(n)", "sum(n), sum(s)"))
    assert alone is not None
    assert beside is not None
    assert (beside.half or 0) > (alone.half or 0) > 0
    assert half(world, "sum(n) - sum(s)") > half(world, "sum(s)")


AVERAGES = "SELECT g, avg(age) AS a FROM people GROUP BY g"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT sum(a) AS t FROM ({AVERAGES}) AS q",
        f"SELECT 12 * avg(a) AS t FROM ({AVERAGES}) AS q",
        f"SELECT sum(a) OVER () AS t FROM ({AVERAGES}) AS q",
        "SELECT sum(avg(age)) OVER () AS t FROM people GROUP BY g",
    ],
)
def test_a_total_of_averages_is_nearer_than_the_sum_of_their_distances(world: World, sql: str):
    """Of 12 groups of 20,000 people: less than half of it, where independent noise is less by the root of 12."""
    options, rows = (
        {"dp.epsilon": "0.5", "dp.intervals": "columns"},
        [[70_000 * g, 20_000] for g in range(GROUPS)],
    )
    _, low, high, *_ = shown(plan_of(world, sql, options), rows)[0]
    each = shown(plan_of(world, f"SELECT a FROM ({AVERAGES}) AS q", options), rows)
    apart = sum(float(str(above)) - float(str(below)) for _, below, above, *_ in each)
    assert apart / 6 < float(str(high)) - float(str(low)) < apart / 2


def test_columns_of_one_row_and_of_rows_that_keys_name_are_within_theirs_together(world: World):
    n, s = half(world, "n"), half(world, "s")
    assert half(world, "5 - n") == n
    assert half(world, "2 * n + s / 4.0") == 2 * n + s / 4
    assert half(world, "n - lag(n) OVER (ORDER BY g)") == 2 * n
    assert half(world, "n + n - (n)") == n
    assert half(world, "max(n) OVER (PARTITION BY g % 3)") == n


@pytest.mark.parametrize("rest", ["WHERE s > 3 AND n < 9", f"{APART} ORDER BY n DESC LIMIT 2"])
def test_weighted_sums_of_a_row_are_within_theirs_whichever_rows_are_shown(world: World, rest: str):
    assert accuracy(world, "2 * n - s", rest).half == half(world, "2 * n - s")
    assert accuracy(world, "l.x + l.x", LARGER).half == 2 * half(world, "n")
    assert accuracy(world, "n - lag(n) OVER (ORDER BY g)", rest).words == "no interval is proved for it"


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("listed", "rest"),
    [
        ("g, n, s", APART),
        ("2 * n - s", APART),
        ("g, n, s - 30 * n", "WHERE n > 40 ORDER BY n DESC LIMIT 3"),
        ("sum(n), avg(s)", ""),
        ("g % 2, max(n)", "GROUP BY 1"),
        ("q.g, q.n", f"JOIN (SELECT DISTINCT g FROM ({INNER}) AS i) AS r USING (g)"),
        ("g, n * s, s * 1.0 / n, n / 2, round(s * 0.01, 1)", "ORDER BY n DESC LIMIT 3"),
        ("g, a, n * a", "ORDER BY a DESC LIMIT 1"),
        ("g, a, n - 2 * a", "WHERE a > 20"),
        ("max(n) - min(n), avg(a), max(a)", ""),
        ("g, n * 1.0 / sum(n) OVER (), n - avg(n) OVER (PARTITION BY g % 3)", ""),
        (
            "g, sum(n) OVER (ORDER BY g), n * 1.0 / max(n) OVER (), max(a) OVER (), a - lag(a) OVER (ORDER BY g)",
            "",
        ),
        ("sum(q.n), avg(q.s)", f"JOIN ({INNER}) AS r ON q.g <> r.g"),
        ("g % 3, sum(n), avg(n), min(a)", "GROUP BY 1"),
        ("g % 3, sum(a), sum(n)", "GROUP BY 1"),
        ("g, sum(a) OVER (ORDER BY g), avg(a) OVER (ORDER BY g ROWS 2 PRECEDING)", ""),
        ("g, n * 1.0 / t.c", f"CROSS JOIN (SELECT sum(n) AS c FROM ({INNER}) AS i) AS t"),
        ("g, a, n * 1.0 / (SELECT count(*) FROM people WHERE g < 6)", "WHERE n > 40"),
        ("g, s - (SELECT avg(p.age) FROM people AS p WHERE p.g = q.g)", ""),
        ("DISTINCT g, a, s * 1.0 / n", "ORDER BY g"),
        ("DISTINCT ON (g % 3) g, n, a", "ORDER BY g % 3, n DESC"),
        ("g, n, s", f"JOIN ({RANKED}) AS r ON h = g WHERE place < 4"),
    ],
)
def test_bounds_of_outer_queries_hold_what_they_are_of(world: World, listed: str, rest: str):
    """All rows of 95 % of 400 statements; 4.9 standard deviations: a false alarm in less than 1 of 10**6 runs."""
    inner, options = (
        INNER.replace(" AS s", " AS s, avg(age) AS a"),
        {"dp.epsilon": "0.5", "dp.intervals": "columns"},
    )
    sql = f"SELECT {listed} FROM ({inner if ' a' in listed or '(a' in listed else INNER}) AS q"
    whole = re.sub(r"(WHERE|ORDER BY [^()]*$).*", "", rest)
    plan, all_rows = (
        plan_of(world, f"{sql} {rest}", options),
        plan_of(world, f"{sql.replace('DISTINCT ON (g % 3)', '')} {whole}", options),
    )
    mechanisms = [part.mechanism for part in plan.parts if part.mechanism is not None]
    exact = [
        [[40 + g if width == 1 else 7 * g for width in mechanism.widths] for g in range(part.groups)]
        for part, mechanism in zip(plan.parts, mechanisms, strict=True)
    ]
    noisy = [o.bound.place for o in plan.outputs if o.bound is not None and o.bound.above]
    assert noisy
    keys = len(plan.outputs) - 3 * len(noisy)

    def by_key(rows: Sequence[tuple[object, ...]]) -> dict[object, list[float]]:
        return {row[:keys]: [float(v or 0) for v in row[keys : len(plan.outputs)]] for row in rows}  # type: ignore[arg-type]

    true = by_key(shown(all_rows, *exact))
    held = 0
    for _ in range(400):
        released = [
            [
                [e + n for e, n in zip(*both, strict=True)]
                for both in zip(rows, m.draw(len(rows)).tolist(), strict=True)
            ]
            for rows, m in zip(exact, mechanisms, strict=True)
        ]
        drawn = by_key(shown(plan, *released))
        held += all(
            low <= before + 1e-9 and before - 1e-9 <= high
            for key, row in drawn.items()
            for before, low, high in zip(
                true[key], row[len(noisy) :: 2], row[len(noisy) + 1 :: 2], strict=False
            )
        )
    assert held >= 400 * 0.95 - 4.9 * (400 * 0.95 * 0.05) ** 0.5


def test_where_nothing_is_proved_bounds_are_null_and_what_has_no_noise_has_none(world: World):
    listed = "g, n, ln(n) AS p, 'x' || n AS t"
    plan = plan_of(world, f"SELECT {listed} FROM ({INNER}) AS q", {"dp.intervals": "columns"})
    names = ["g", "n", "p", "t", "n_ci_low", "n_ci_high", "p_ci_low", "p_ci_high"]
    assert [o.column.name for o in plan.outputs] == names
    assert all(row[6:8] == (None, None) for row in shown(plan, [[5, 9]] * GROUPS))


@pytest.mark.parametrize(
    ("listed", "rest"),
    [
        ("ln(n)", ""),
        ("coalesce(n, 0)", "WHERE s > 3"),
        ("n * 2 * 2 * 2 * 2 * 2 * 2 * 2 * 2 * s", ""),
        ("max(n * s)", ""),
        ("CASE WHEN n > 3 THEN n ELSE 0 END", ""),
        ("n * (SELECT 2)", ""),
        ("sum(n + s)", ""),
        ("sum(n) OVER (ORDER BY n)", ""),
        ("sum(n) OVER (PARTITION BY s > 3)", ""),
        ("sum(n) FILTER (WHERE g > 3)", ""),
        ("rank() OVER (ORDER BY n)", ""),
        ("max(n) OVER (ORDER BY s)", ""),
        ("lag(g, 1, n) OVER (ORDER BY g)", ""),
        ("n / sum(n) OVER ()", "WHERE n > 3"),
        ("CASE WHEN g IN (SELECT count(*) FROM people) THEN n ELSE 0 END", ""),
        ("n * (SELECT r.n FROM (" + INNER + ") AS r ORDER BY r.n LIMIT 1)", ""),
        ("sum(n)", "WHERE s > 3"),
        ("sum(n)", f"WHERE g IN (SELECT r.g FROM ({INNER}) AS r WHERE r.n > 3)"),
        ("sum(q.n)", f"JOIN ({INNER}) AS r ON q.n <> r.n"),
        ("sum(q.n)", f"JOIN ({INNER}) AS r USING (g, n)"),
        ("sum(q.n)", f"NATURAL JOIN ({INNER}) AS r"),
        ("sum(q.n)", f"JOIN LATERAL (SELECT r.n AS m FROM ({INNER}) AS r WHERE r.n > q.n) AS l ON l.m > 0"),
        ("l.x", "CROSS JOIN LATERAL (SELECT q.n + 1 AS x) AS l"),
        ("l.x", f"CROSS JOIN LATERAL (SELECT sum(r.n) AS x FROM ({INNER}) AS r WHERE r.g <= q.g) AS l"),
        ("l.x", "CROSS JOIN LATERAL (VALUES (q.n)) AS l (x)"),
        ("sum(l.x)", LARGER),
    ],
)
def test_of_others_nothing_is_proved(world: World, listed: str, rest: str):
    assert accuracy(world, listed, rest).words == "no interval is proved for it"


def test_releases_of_one_statement_are_within_their_distances_together(world: World):
    """Each of two holds but in half of the statements that may miss; a row of a union says its own."""
    other = "SELECT g, count(age) AS n, 0 AS s FROM people GROUP BY g"
    alone = [
        plan_of(
            world, f"SELECT n FROM ({one}) AS q", {"dp.epsilon": "0.25", "dp.confidence": confidence}
        ).outputs[0]
        for one, confidence in ((INNER, str(1 - 0.05 / 2)), (other, str(1 - 0.05 / 2)))
    ]
    halves = [0.0 if o.accuracy is None else o.accuracy.half for o in alone]
    for sql in (
        f"{INNER} UNION ALL {other}",
        f"SELECT * FROM ({INNER} UNION ALL {other}) AS u ORDER BY n LIMIT 2",
    ):
        plan = plan_of(world, sql, {"dp.epsilon": "0.5", "dp.intervals": "columns"})
        assert [o.column.name for o in plan.outputs][3:5] == ["n_ci_low", "n_ci_high"]
        accuracy = plan.outputs[1].accuracy
        assert accuracy is not None
        assert accuracy.half == max(h or 0 for h in halves)
        assert accuracy.place is not None
        assert plan.accuracy is not None
        assert plan.accuracy.together


def test_a_subquery_is_a_released_value_too(world: World):
    single = "(SELECT count(*) FROM people)"
    plan = plan_of(
        world, f"SELECT {single} AS n, count(*) AS m FROM people WHERE g = 3", {"dp.intervals": "columns"}
    )
    halves = [o.accuracy.half for o in plan.outputs[:2] if o.accuracy is not None]
    assert halves[0] >= halves[1] > 0  # type: ignore[operator]
    share = "100.0 * count(*) / (SELECT count(*) FROM people)"
    plan = plan_of(world, f"SELECT {share} AS p FROM people WHERE g = 3", {"dp.intervals": "columns"})
    assert [o.column.name for o in plan.outputs] == ["p", "p_ci_low", "p_ci_high"]
    accuracy = plan.outputs[0].accuracy
    assert accuracy is not None
    assert accuracy.place is not None
    assert len(plan.parts) == 2
    for sql in (
        "SELECT (SELECT avg(age) FROM people) AS a",
        "SELECT count(*), (SELECT avg(age) FROM people) FROM people",
    ):
        accuracy = plan_of(world, sql).outputs[-1].accuracy
        assert accuracy is not None
        assert accuracy.place is not None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT g, a FROM (SELECT g, avg(age) AS a FROM people GROUP BY ROLLUP (g)) AS r",
        "SELECT DISTINCT g, a FROM (SELECT g, avg(age) AS a FROM people GROUP BY g) AS r",
        "SELECT g, avg(age) FROM people GROUP BY g UNION SELECT 99, 7",
        "SELECT max(a), avg(a) FROM (SELECT g, avg(age) AS a FROM people GROUP BY g) AS r",
        "SELECT max(a) OVER (ORDER BY g) FROM (SELECT g, avg(age) AS a FROM people GROUP BY g) AS r",
    ],
)
def test_intervals_of_averages_stay_within_the_declared_bounds(world: World, sql: str):
    """Of groups without anybody, too, whose averages are not known at all."""
    plan = plan_of(world, sql, {"dp.intervals": "columns"})
    exact = [[[0] * p.measures for _ in range(p.groups)] for p in plan.parts]
    bounds = [(i, o.bound.place) for i, o in enumerate(plan.outputs) if o.bound is not None]
    rows = shown(plan, *exact)
    assert bounds
    assert any(row[i] is not None for row in rows for i, _ in bounds)
    for row in rows:
        assert all(row[i] is None or 0 <= float(str(row[i])) <= 100 for i, _ in bounds)


@pytest.mark.parametrize("value", ["lag(a) OVER (ORDER BY g)", "lag(n) OVER (ORDER BY g)"])
def test_no_value_has_no_interval(world: World, value: str):
    inner = "SELECT g, avg(age) AS a, count(*) AS n FROM people GROUP BY g"
    plan = plan_of(world, f"SELECT {value} AS v FROM ({inner}) AS q", {"dp.intervals": "columns"})
    rows = shown(plan, *[[[0] * p.measures for _ in range(p.groups)] for p in plan.parts])
    assert [row for row in rows if row[0] is None] == [(None, None, None, *rows[0][3:])]
    assert all(None not in row[:3] for row in rows if row[0] is not None)


def test_of_rows_that_are_one_the_farthest_counts(world: World):
    """Two groups of the same average and different numbers of people: one row, as far off as the smaller group's."""
    inner = "SELECT g, avg(age) AS a FROM people WHERE g < 2 GROUP BY g"
    options = {"dp.intervals": "columns"}
    apart = plan_of(world, f"SELECT a FROM ({inner}) AS q {APART}", options)
    rows = [[0, 1000], [0, 2000]]  # distances from the middle, and people
    each = shown(apart, rows)
    assert each[0][1:3] != each[1][1:3]
    [row] = shown(plan_of(world, f"SELECT DISTINCT a FROM ({inner}) AS q", options), rows)
    assert row[:3] == each[0][:3]
    union = f"SELECT a FROM ({inner}) AS q UNION SELECT a FROM ({inner}) AS r"
    [row] = shown(plan_of(world, union, options), rows)
    assert row[:3] == each[0][:3]


def test_of_rows_that_noise_chose_no_total_is_proved(world: World):
    """Nor of values that it makes NULL: each is within its distance, but left out of the total."""
    for inner in (
        f"{INNER} HAVING count(*) > 3",
        f"{INNER} ORDER BY n LIMIT 3",
        INNER.replace("count(*)", "nullif(count(*), 0)"),
        f"SELECT g, nullif(n, 0) AS n FROM ({INNER}) AS i",
    ):
        for listed in ("sum(n)", "avg(n)", "max(n)"):
            assert accuracy(world, listed, inner=inner).words == "no interval is proved for it"


def test_a_total_of_rows_of_several_releases_is_within_the_distances_of_all(world: World):
    """Two releases of 12 rows each, which hold together."""
    other = INNER.replace("count(*)", "count(age)")
    union = f"{INNER} UNION ALL {other}"
    plan = planned(world, "g, n", inner=union)
    rows = [[[30, 1]] * GROUPS] * len(plan.parts)
    assert plan.outputs[1].accuracy is not None
    half = plan.outputs[1].accuracy.half or 0.0
    summed = plan_of(
        world, f"SELECT sum(n) AS t FROM ({union}) AS q", {"dp.epsilon": "0.5", "dp.intervals": "columns"}
    )
    [(total, low, high, *_)] = shown(summed, *rows)
    assert high - total == total - low  # type: ignore[operator]
    assert GROUPS * half <= float(str(high)) - float(str(total)) <= 2 * GROUPS * half + 1


@pytest.mark.parametrize("other", [f"({INNER}) AS r", f"({INNER.replace('sum(age)', 'sum(age + 1)')}) AS r"])
def test_a_total_of_rows_that_a_join_repeats_is_within_the_distances_of_all(world: World, other: str):
    """Each of 12 rows meets 11 others: of the same release, and of another one."""
    plan = plan_of(
        world,
        f"SELECT sum(q.n) AS t, sum(q.n) - sum(r.n) AS d FROM ({INNER}) AS q JOIN {other} ON q.g <> r.g",
        {"dp.epsilon": "0.5", "dp.intervals": "columns"},
    )
    each = planned(world, "n").outputs[0].accuracy
    assert each is not None
    rows = [[[30, 1]] * GROUPS] * len(plan.parts)
    [(total, difference, low, high, below, above, *_)] = shown(plan, *rows)
    assert (total, difference) == (30 * 132, 0)
    assert high - total == total - low >= 132 * (each.half or 0.0)  # type: ignore[operator]
    assert above == -below == 2 * (high - total)  # type: ignore[operator]


CHOSEN = (
    f"WITH q AS ({INNER}), r AS (SELECT g AS w, count(age) AS k FROM people GROUP BY g),"
    " t AS (SELECT w FROM r WHERE k > 50) "
)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT q.n * z.c FROM q, (SELECT count(*) AS c FROM t) AS z",
        "SELECT q.n + 1000 * z.c FROM q, (SELECT count(*) AS c FROM t) AS z",
        "SELECT q.n + count(*) OVER () FROM q WHERE q.n > 2",
        "SELECT count(*) FROM t",
        "SELECT count(*) FROM q GROUP BY n / 10",
        "SELECT count(*) FROM (SELECT w FROM t UNION ALL SELECT 99) AS u",
        "SELECT count(*) FROM (SELECT g FROM q EXCEPT SELECT w FROM t) AS u",
        "SELECT count(*) FROM (SELECT DISTINCT n FROM q) AS u",
        "SELECT max(g) FROM (SELECT DISTINCT ON (g % 3) g FROM q ORDER BY g % 3, n) AS u",
        f"SELECT count(*) FROM ({INNER} HAVING count(*) > 3) AS h",
        "SELECT CASE WHEN t.w IS NULL THEN 100 ELSE q.n END FROM q LEFT JOIN t ON t.w = q.g",
        "SELECT CASE WHEN t.w IS NULL THEN 100 END FROM q LEFT JOIN t ON t.w = q.g",
        "SELECT CASE WHEN t.w IS NULL THEN 100 END FROM t RIGHT JOIN q ON t.w = q.g",
        "SELECT CASE WHEN r.w IS NULL THEN 100 END FROM q LEFT JOIN r ON r.w = q.g AND r.k > 50",
        "SELECT x.h FROM q FULL JOIN (SELECT k AS n, w AS h FROM r) AS x USING (n)",
        "SELECT min(n) FROM q JOIN t ON t.w = q.g",
        "SELECT min(n) FROM t JOIN q ON t.w = q.g",
        "SELECT avg(n) FROM q, LATERAL (SELECT w FROM r WHERE r.k > 50 AND r.w = q.g) AS z",
        "SELECT max(n) FROM q JOIN (SELECT w FROM r ORDER BY k LIMIT 1) AS z ON z.w = q.g",
        "SELECT sum(n) FROM q JOIN (SELECT w FROM r ORDER BY k LIMIT 1) AS z ON z.w = q.g",
        "SELECT (SELECT n FROM q JOIN r ON w = g ORDER BY k LIMIT 1)",
        "SELECT (SELECT n FROM q ORDER BY s LIMIT 1)",
        "SELECT (SELECT q.n + 1)::int FROM q",
    ],
)
def test_of_what_several_rows_that_noise_chose_make_nothing_is_proved(world: World, sql: str):
    [output] = plan_of(world, CHOSEN + sql, {"dp.epsilon": "0.5"}).outputs
    assert output.accuracy is not None
    assert output.accuracy.words == "no interval is proved for it"


@pytest.mark.parametrize(
    ("sql", "known"),
    [
        ("SELECT q.g, q.n FROM q JOIN t ON t.w = q.g", [False, True]),
        ("SELECT t.w, -q.n FROM t LEFT JOIN q ON t.w = q.g", [False, True]),
        ("SELECT w, q.n FROM q JOIN r ON w = q.g ORDER BY k LIMIT 1", [False, True]),
        ("SELECT max(q.n) FROM q JOIN r ON w = g", [True]),
        ("SELECT (SELECT n FROM q WHERE g = 3)", [True]),
        ("SELECT g, count(*) OVER () FROM q", [False, False]),
    ],
)
def test_columns_of_one_row_stay_within_theirs_and_keys_stay_exact(world: World, sql: str, known: list[bool]):
    outputs = plan_of(world, CHOSEN + sql, {"dp.epsilon": "0.5"}).outputs
    assert [o.accuracy is not None for o in outputs] == known
    assert all(o.accuracy is None or o.accuracy.half for o in outputs)
