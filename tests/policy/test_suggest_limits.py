"""What is counted of a table, and the limits that are proposed from the counts."""

import pytest

from dpproxy.policy.apply import apply
from dpproxy.policy.model import Policy
from dpproxy.policy.store import change_of
from dpproxy.policy.suggest_limits import probes, with_released
from dpproxy.policy.suggest_probe import COUNTS, PeopleProbe, Probe, Rows
from dpproxy.policy.suggest_unit import Proposal
from dpproxy.values.pgtypes import DATE, FLOAT8, INT4, TEXT, Column, Schema, UniqueKey

SCHEMA = Schema(
    {
        "people": (Column("id", INT4), Column("age", INT4)),
        "visits": (
            Column("id", INT4),
            Column("no", INT4),
            Column("ward", TEXT),
            Column("cost", INT4),
            Column("day", DATE),
            Column("share", FLOAT8),
        ),
        "lines": (Column("no", INT4), Column("cost", INT4)),
    },
    constraints=(UniqueKey("people", ("id",), primary=True),),
)
POLICY = (
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110",
    "ALTER TABLE visits SET PRIVACY KEY (id) REFERENCES people (id) MAX ROWS 10",
    "ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('a', 'b', 'c')",
    "ALTER TABLE lines SET PRIVACY KEY (no) REFERENCES visits (no) MAX ROWS 10",
)


def policy() -> Policy:
    found = Policy()
    for sql in POLICY:
        found = apply(found, change_of(sql), SCHEMA)
    return found


def test_rows_and_groups_of_a_person_and_values_are_counted():
    found = probes(policy(), SCHEMA, "visits", ["cost"])
    assert found[:2] == [PeopleProbe("id"), PeopleProbe("id", "ward")]
    assert [one.column for one in found[2:] if isinstance(one, Probe)] == ["cost"]


@pytest.mark.parametrize(
    ("column", "ends", "counted"),
    [
        ("cost", "0 AND 999", True),
        ("cost", "0 AND 1000", False),
        ("cost", "0 AND 1", False),
        ("day", "DATE '2024-01-01' AND DATE '2024-12-31'", True),
        ("day", "DATE '2020-01-01' AND DATE '2024-12-31'", False),
        ("share", "0 AND 10", False),
    ],
)
def test_groups_are_counted_of_ranges_whose_values_are_keys(column: str, ends: str, counted: bool):  # noqa: FBT001
    bounded = change_of(f"ALTER TABLE visits ALTER COLUMN {column} SET PRIVACY DOMAIN BETWEEN {ends}")
    found = probes(apply(policy(), bounded, SCHEMA), SCHEMA, "visits", [])
    assert (PeopleProbe("id", column) in found) == counted


def test_the_counts_do_not_depend_on_bounds_that_are_declared_since():
    before = probes(policy(), SCHEMA, "visits", ["cost"])
    bounded = change_of("ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 5000")
    assert probes(apply(policy(), bounded, SCHEMA), SCHEMA, "visits", []) == before


def test_where_each_row_is_a_person_only_values_are_counted():
    assert [one.column for one in probes(policy(), SCHEMA, "people", [])] == ["age"]


def test_where_other_tables_stand_between_only_values_are_counted():
    assert [one.column for one in probes(policy(), SCHEMA, "lines", ["cost"])] == ["cost"]


def rows(counts: dict[int, int], of: int = len(COUNTS) + 1) -> Rows:
    return [(number, float(counts.get(number, 0)), counts.get(number, 0), 0.1) for number in range(of)]


def test_limits_are_proposed_with_the_share_of_people_they_leave_whole():
    declared = policy().tables["visits"]
    cost = Probe("cost", (0, 10, 100))
    released = [
        (PeopleProbe("id"), rows({0: 500, 3: 498, 9: 2})),
        (PeopleProbe("id", "ward"), rows({0: 900, 1: 100})),
        (cost, rows({0: 999, 1: 1}, 2)),
    ]
    first = Proposal(
        "ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 1000;", "", "cost"
    )
    bounds, limits, *kept = with_released([first], declared, released, "0.1")
    assert bounds.statement.endswith("DOMAIN BETWEEN 0 AND 100;")
    assert "of 100 % of people" in bounds.reason
    assert limits.statement == (
        "ALTER TABLE visits SET PRIVACY KEY (id) REFERENCES people (id) MAX ROWS 5 MAX GROUPS 2;"
    )
    assert "99.8 %" in limits.reason
    words = [one.statement.split("QUANTILES OF ")[1].split(" ")[0] for one in kept]
    assert words == ["ROWS", "GROUPS", "VALUES"]
    after = policy()
    for one in (bounds, limits, *kept):
        after = apply(after, change_of(one.statement), SCHEMA)
    unit = after.tables["visits"].unit
    assert unit is not None
    assert (unit.max_rows, unit.max_groups) == (5, 2)


def test_limits_that_are_right_are_not_proposed_again():
    fitting = change_of("ALTER TABLE visits SET PRIVACY KEY (id) REFERENCES people (id) MAX ROWS 5")
    declared = apply(policy(), fitting, SCHEMA).tables["visits"]
    [kept] = with_released([], declared, [(PeopleProbe("id"), rows({0: 500, 3: 500}))], "0.1")
    assert "QUANTILES OF ROWS" in kept.statement


def test_counts_that_noise_decides_propose_nothing():
    nothing = [(number, 0.0, 1, 50.0) for number in range(len(COUNTS) + 1)]
    assert with_released([], policy().tables["visits"], [(PeopleProbe("id"), nothing)], "0.1") == []
