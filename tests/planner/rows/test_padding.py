"""What may be asked of rows that an outer join pads: such a row counts for nothing, or the statement is refused."""

from collections.abc import Iterator
from itertools import cycle

import pytest

from dpproxy.values.errors import Refusal, UnitLost
from tests.golden.world import Tables, World, plan_of
from tests.planner.answers import answered

INNER = "visits v JOIN wards w ON v.ward = w.ward"
KEPT = "visits v LEFT JOIN wards w ON v.ward = w.ward"
COMPUTED = {
    "wards w LEFT JOIN visits v ON v.ward = w.ward": INNER,
    "visits v RIGHT JOIN wards w ON v.ward = w.ward": INNER,
    "visits v FULL JOIN wards w ON v.ward = w.ward": KEPT,
    "wards w FULL JOIN visits v ON v.ward = w.ward": KEPT,
}
"""Joins that pad the protected side, with what is computed instead: padded rows are left out."""
PADDED = list(COMPUTED)
NOTHING = [
    "count(v.hours)",
    "count((v.hours))",
    "sum(v.hours)",
    "count(DISTINCT v.hours)",
    "count(v.hours) FILTER (WHERE w.beds > 6)",
    "sum(hours)",
    "covar_pop(v.hours, w.beds)",
    "covar_pop(w.beds, v.hours)",
]
SOMETHING = [
    "count(*)",
    "count(1)",
    "count(w.ward)",
    "sum(w.beds)",
    "count(DISTINCT w.beds)",
    "sum(coalesce(v.hours, 1))",
    "count(v.hours IS NULL)",
    "count(*) FILTER (WHERE v.hours IS NULL)",
    "sum(v.hours + 0)",
    "covar_pop(w.beds, w.beds)",
    "count(v.hours), count(*)",
]


@pytest.fixture(scope="module")
def tables(clinic: World) -> Iterator[Tables]:
    made = Tables(clinic)
    made.fill(clinic.rows)
    yield made
    made.close()


def mixed(calls: list[str]) -> list[tuple[str, str]]:
    """The first call with every join, the others with one each."""
    return [(calls[0], s) for s in PADDED] + list(zip(calls[1:], cycle(PADDED), strict=False))


@pytest.mark.parametrize(("call", "source"), mixed(NOTHING))
def test_a_column_of_the_protected_side_is_nothing_there(
    clinic: World, tables: Tables, call: str, source: str
):
    [outer] = plan_of(clinic, f"SELECT {call} FROM {source}").parts
    [other] = plan_of(clinic, f"SELECT {call} FROM {COMPUTED[source]}").parts
    assert outer.box == other.box
    assert tables.exact(outer) == tables.exact(other) != {(): (0,) * other.measures}


@pytest.mark.parametrize(("call", "source"), mixed(SOMETHING))
def test_what_public_rows_would_add_to_is_refused(clinic: World, call: str, source: str):
    with pytest.raises(UnitLost, match="only the public side") as caught:
        plan_of(clinic, f"SELECT {call} FROM {source}")
    assert caught.value.sqlstate == "PD002"
    assert caught.value.position is not None
    assert "count(v.person)" in str(caught.value.hint)


def test_the_place_and_hint_are_of_what_counts(clinic: World):
    sql = f"SELECT count(v.hours), count(*) FROM {PADDED[0]}"
    with pytest.raises(Refusal) as caught:
        plan_of(clinic, sql)
    assert caught.value.position == sql.index("count(*)")


@pytest.mark.parametrize("source", [INNER, KEPT])
def test_nothing_is_asked_of_joins_that_pad_no_protected_row(clinic: World, source: str):
    assert plan_of(clinic, f"SELECT count(*), sum(w.beds) FROM {source}").parts


def test_public_keys_without_partner_are_answered_with_zero(clinic: World):
    rows = answered(clinic, f"SELECT w.building, count(v.hours) FROM {PADDED[0]} GROUP BY w.building")
    assert sorted(map(tuple, rows)) == [("north", 3), ("south", 1)]
    only = "wards w LEFT JOIN visits v ON v.ward = w.ward AND v.hours > 4"
    rows = answered(clinic, f"SELECT w.building, count(v.hours) FROM {only} GROUP BY w.building")
    assert sorted(map(tuple, rows)) == [("north", 0), ("south", 0)]


@pytest.mark.parametrize("source", PADDED)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT v.hours FROM {}",
        "SELECT v.person, count(*) AS n FROM {} GROUP BY v.person",
        "SELECT DISTINCT v.person FROM {}",
    ],
)
def test_a_subquery_that_would_lose_public_rows_is_refused(clinic: World, source: str, query: str):
    with pytest.raises(UnitLost, match="lost in a subquery"):
        plan_of(clinic, f"SELECT count(*) FROM ({query.format(source)}) AS x")
