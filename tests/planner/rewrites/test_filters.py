"""CASE in an aggregate: the rows that a condition holds for, as with FILTER."""

import pytest

from dpproxy.values.errors import NotGranted
from tests.golden.world import World, plan_of
from tests.planner.answers import answered, shape
from tests.planner.clinic import one_part

SAME = [
    ("count(DISTINCT CASE WHEN ward = 'A' THEN person END)", "count(DISTINCT person) FILTER (WHERE ward = 'A')"),
    ("count(DISTINCT (CASE WHEN ward = 'A' THEN (person) ELSE NULL END))",
     "count(DISTINCT person) FILTER (WHERE ward = 'A')"),
    ("count(CASE WHEN ward = 'A' THEN person END)", "count(person) FILTER (WHERE ward = 'A')"),
    ("count(DISTINCT CASE WHEN ward = 'A' THEN NULL WHEN hours > 1 THEN person END)",
     "count(DISTINCT person) FILTER (WHERE CASE WHEN ward = 'A' THEN false WHEN hours > 1 THEN true ELSE false END)"),
    ("count(DISTINCT CASE WHEN ward = 'A' THEN NULL ELSE person END)",
     "count(DISTINCT person) FILTER (WHERE CASE WHEN ward = 'A' THEN false ELSE true END)"),
    ("count(DISTINCT CASE ward WHEN 'A' THEN person END)",
     "count(DISTINCT person) FILTER (WHERE CASE ward WHEN 'A' THEN true ELSE false END)"),
    ("sum(CASE WHEN ward = 'A' THEN hours END)", "sum(hours) FILTER (WHERE ward = 'A')"),
    ("sum(CASE WHEN ward = 'A' THEN hours ELSE 0 END)", "sum(hours) FILTER (WHERE ward = 'A')"),
    ("avg(CASE WHEN ward = 'A' THEN hours ELSE NULL END)", "avg(hours) FILTER (WHERE ward = 'A')"),
    ("count(CASE WHEN ward = 'A' THEN hours END)", "count(hours) FILTER (WHERE ward = 'A')"),
    ("count(CASE WHEN ward = 'A' THEN 1 END)", "count(*) FILTER (WHERE ward = 'A')"),
    ("sum(CASE WHEN ward = 'A' THEN 1 ELSE 0 END)", "count(*) FILTER (WHERE ward = 'A')"),
    ("sum(CASE WHEN ward = 'A' THEN 2 ELSE 0 END)", "count(*) FILTER (WHERE ward = 'A')"),
    ("count(DISTINCT CASE WHEN ward = 'A' THEN person END) FILTER (WHERE hours > 1)",
     "count(DISTINCT person) FILTER (WHERE (hours > 1) AND (ward = 'A'))"),
]  # fmt: skip


@pytest.mark.parametrize(("case", "filtered"), SAME)
def test_it_is_the_release_of_a_filter(clinic: World, case: str, filtered: str):
    ours, theirs = (one_part(clinic, f"SELECT {call} FROM visits") for call in (case, filtered))
    assert ours.exact == theirs.exact
    assert ours.factor == theirs.factor
    named = [name for name, _ in shape(clinic, f"SELECT {case} FROM visits")]
    assert named == [case.partition("(")[0]]


def test_a_funnel(clinic: World):
    steps = ", ".join(f"count(DISTINCT CASE WHEN v.ward = '{w}' THEN v.person END) AS {w}" for w in "AB")
    sql = f"SELECT p.city, {steps} FROM people p JOIN visits v ON v.person = p.id GROUP BY p.city ORDER BY A DESC"
    assert answered(clinic, sql) == [("Oslo", 1, 1), ("Rome", 1, 0)]
    each = "SELECT max(n) FROM (SELECT id, count(CASE WHEN hours > 1 THEN no END) AS n FROM people LEFT JOIN visits ON "
    assert answered(clinic, f"{each} person = id GROUP BY id) AS t".replace("max(n)", "sum(n)")) == [(2,)]


@pytest.mark.parametrize(
    "call",
    [
        "count(DISTINCT CASE WHEN ward = 'A' THEN person ELSE 1 END)",
        "count(DISTINCT CASE WHEN ward = 'A' THEN person WHEN ward = 'B' THEN no END)",
        "count(DISTINCT CASE WHEN person = 1 THEN person END)",
        "max(CASE WHEN ward = 'A' THEN person END)",
        "sum(CASE WHEN ward = 'A' THEN person END)",
    ],
)
def test_a_key_is_no_value_all_the_same(clinic: World, call: str):
    with pytest.raises(NotGranted):
        plan_of(clinic, f"SELECT {call} FROM visits")


@pytest.mark.parametrize(
    "call",
    [
        "sum(CASE WHEN ward = 'A' THEN hours ELSE 1 END)",
        "sum(CASE WHEN ward = 'A' THEN hours WHEN ward = 'B' THEN 2 END)",
        "avg(CASE WHEN ward = 'A' THEN hours ELSE 0 END)",
        "count(DISTINCT CASE WHEN ward = 'A' THEN hours END)",
        "sum(CASE WHEN ward = 'A' THEN hours ELSE 0.0 END)",
        "sum(CASE WHEN ward = 'A' THEN 1 ELSE 0e0 END)",
    ],
)
def test_a_case_of_several_values_stays_as_it_is(clinic: World, call: str):
    assert "CASE WHEN" in one_part(clinic, f"SELECT {call} FROM visits").exact
    assert "FILTER" not in one_part(clinic, f"SELECT {call} FROM visits").exact


def test_multiples_of_a_column_are_its_own_sum(clinic: World):
    """So both are one release, and the value is what it was."""
    one = one_part(clinic, "SELECT sum(hours), count(hours) FROM visits")
    for call in ("sum(3 * hours)", "sum(hours * 3)", "sum(hours * 1.5)"):
        found = one_part(clinic, f"SELECT {call}, count(hours) FROM visits")
        assert found.exact == one.exact
    [[total, thrice, more]] = answered(
        clinic, "SELECT sum(hours), sum(3 * hours), sum(hours * 1.5) FROM visits"
    )
    assert (thrice, more) == (3 * total, 1.5 * float(total))
    assert shape(clinic, "SELECT sum(2 * hours), sum(hours * 1.5) FROM visits") == [
        ("sum", "int8"),
        ("sum", "numeric"),
    ]


def test_other_columns_stay_as_they_are(clinic: World):
    assert (
        "CASE WHEN"
        in one_part(clinic, "SELECT count(DISTINCT CASE WHEN hours > 1 THEN ward END) FROM visits").exact
    )


def test_a_zero_with_a_point_makes_a_numeric(clinic: World):
    """The quotient of two whole numbers is cut, that of numerics is not."""
    call = "sum(CASE WHEN ward = 'A' THEN 1 ELSE {} END)"
    sql = f"SELECT {call.format('0.0')} / 2 AS a, {call.format('0')} / 2 AS b FROM visits"
    assert shape(clinic, sql) == [("a", "numeric"), ("b", "int8")]


@pytest.mark.parametrize(("zero", "people"), [("ELSE 0", 1), ("", 0)])
def test_of_people_a_sum_of_zeros_is_no_sum_of_nothing(clinic: World, zero: str, people: int):
    each = f"SELECT person, sum(CASE WHEN ward = 'B' THEN hours {zero} END) AS s FROM visits GROUP BY person"
    assert answered(clinic, f"SELECT count(*) FROM ({each}) AS e WHERE s <= 0") == [(people,)]


@pytest.mark.parametrize("condition", ["", "FILTER (WHERE hours > 3)"])
def test_so_it_is_over_a_window(clinic: World, condition: str):
    call = f"sum(CASE WHEN ward = 'B' THEN hours ELSE 0 END) {condition} OVER (PARTITION BY person)"
    sql = f"SELECT count(*) FROM (SELECT person, {call} AS s FROM visits) AS w WHERE s <= 0"
    assert answered(clinic, sql) == [(1,)]
