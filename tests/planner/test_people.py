"""Subqueries grouped by the privacy key: one row for each person, with values inside what MAX ROWS rows can reach."""

import pytest

from dpproxy.errors import GroupingError, Refusal, UnitLost, Unsupported
from tests.golden.world import World, plan_of
from tests.planner.answers import answered
from tests.planner.clinic import one_part, rows_of_unit


def per_person(columns: str, rest: str = "GROUP BY person") -> str:
    return f"(SELECT person, {columns} FROM visits {rest}) AS s"


@pytest.mark.parametrize(
    ("source", "most"),
    [
        (per_person("count(*) AS n"), 1),
        (per_person("ward, count(*) AS n", "GROUP BY person, ward"), 2),
        (per_person("count(*) AS n", "GROUP BY 1"), 1),
        (f"people p JOIN {per_person('count(*) AS n')} ON s.person = p.id", 1),
        (f"visits v JOIN {per_person('count(*) AS n')} ON s.person = v.person", 2),
        ("(SELECT DISTINCT person FROM visits) AS s", 1),
        (
            "(SELECT v.no, sum(b.amount) AS x FROM visits v JOIN bills b ON b.visit = v.no GROUP BY v.no) AS s",
            3,
        ),
    ],
)
def test_a_person_has_one_row_for_each_group(clinic: World, source: str, most: int):
    assert rows_of_unit(plan_of(clinic, f"SELECT count(*) FROM {source}")) == most


@pytest.mark.parametrize(
    ("column", "width"),
    [
        ("count(*)", 2),
        ("count(DISTINCT ward)", 2),
        ("count(*) FILTER (WHERE hours > 1)", 2),
        ("sum(hours)", 10),
        ("max(hours)", 5),
        ("min(hours)", 5),
    ],
)
def test_a_value_of_one_person_stays_inside_what_the_rows_can_reach(clinic: World, column: str, width: int):
    part = one_part(clinic, f"SELECT sum(x) FROM {per_person(f'{column} AS x')}")
    assert part.mechanism is not None
    assert max(part.mechanism.widths) == width


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        (
            f"SELECT n, count(*) FROM {per_person('count(*) AS n')} GROUP BY n ORDER BY n",
            [(0, 0), (1, 1), (2, 1)],
        ),
        (f"SELECT sum(x) FROM {per_person('sum(hours) AS x')}", [(7,)]),
        (
            f"SELECT count(*) FROM {per_person('count(*) AS n', 'GROUP BY person HAVING count(*) > 1')}",
            [(1,)],
        ),
        (f"SELECT count(*) FROM {per_person('bool_and(hours > 1) AS b')} WHERE b", [(1,)]),
        (f"SELECT avg(x) FROM {per_person('avg(hours) AS x')}", [(2.75,)]),
    ],
)
def test_without_noise_it_is_what_sql_says(clinic: World, sql: str, rows: list[tuple[object, ...]]):
    found = answered(clinic, sql)
    assert [tuple(float(v) for v in row) for row in found] == [
        pytest.approx(tuple(map(float, row)), abs=1e-6) for row in rows
    ]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        (f"SELECT count(*) FROM {per_person('median(hours) AS m')}", Unsupported),
        (f"SELECT count(*) FROM {per_person('hours')}", GroupingError),
        (f"SELECT count(*) FROM {per_person('sum(DISTINCT hours) AS x')}", Unsupported),
        (f"SELECT count(*) FROM {per_person('count(*) AS n', 'GROUP BY person LIMIT 1')}", UnitLost),
        (f"SELECT * FROM {per_person('count(*) AS n')}", Refusal),
        (f"SELECT sum(person) FROM {per_person('count(*) AS n')}", Refusal),
    ],
)
def test_refused(clinic: World, sql: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_of(clinic, sql)
