"""What is said of rows that are left out and of values that are moved: by the policy, whatever rows there are."""

import pytest

from tests.golden.world import World, build, plan_of

COLUMNS = "cost INTEGER, days INTEGER, pay INTEGER, ward VARCHAR"
HEADER = (
    f"CREATE TABLE visits (id INTEGER, {COLUMNS})",
    "CREATE TABLE people (id INTEGER PRIMARY KEY, age INTEGER)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110",
    "ALTER TABLE visits SET PRIVACY KEY (id) REFERENCES people (id) MAX ROWS 5 MAX GROUPS 2",
    "ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('north', 'south')",
    "ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 99",
    "ALTER TABLE visits ALTER COLUMN days SET PRIVACY DOMAIN BETWEEN 0 AND 30 OUTSIDE NULL",
    "ALTER TABLE visits ALTER COLUMN pay SET PRIVACY DOMAIN BETWEEN 1 AND 3 NOT NULL",
)
ROWS = (
    "rows of visits beyond 5 of one id are left out",
    "groups beyond 2 of one id are left out where rows are grouped",
    "rows of visits without id count for nobody",
)


@pytest.fixture(scope="module")
def world() -> World:
    return build(HEADER)


@pytest.mark.parametrize(
    ("sql", "cuts"),
    [
        ("SELECT count(*) FROM visits", ROWS),
        ("SELECT sum(cost), avg(cost) FROM visits", (*ROWS, "cost is moved into 0 to 99")),
        (
            "SELECT ward, avg(v.days) FROM visits AS v GROUP BY ward",
            (*ROWS, "days outside of 0 to 30 is dropped"),
        ),
        (
            "SELECT count(*) FROM visits WHERE pay > 2",
            (*ROWS, "pay is moved into 1 to 3, NULL to the middle"),
        ),
        ("SELECT avg(age) FROM people", ("age is moved into 0 to 110",)),
        ("SELECT count(*) FROM people", ()),
    ],
)
def test_what_is_not_seen_of_rows_is_listed(world: World, sql: str, cuts: tuple[str, ...]):
    assert plan_of(world, sql).cuts == cuts


SHARES = (
    "ALTER TABLE visits SET PRIVACY QUANTILES OF ROWS (61.5 AT 1, 97 AT 4, 99.9 AT 20) WITHIN 0.5",
    "ALTER TABLE visits ALTER COLUMN ward SET PRIVACY QUANTILES OF GROUPS (80 AT 1, 100 AT 2) WITHIN 1",
    "ALTER TABLE visits ALTER COLUMN cost SET PRIVACY QUANTILES OF VALUES (2 AT 0, 90 AT 50, 96 AT 99) WITHIN 1",
)


def test_the_share_of_people_who_lose_nothing_is_said_where_it_was_released():
    known = build((*HEADER, *SHARES))
    found = plan_of(known, "SELECT ward, sum(cost), avg(days) FROM visits GROUP BY ward").cuts
    assert found == (
        "rows of visits beyond 5 of one id are left out (97 % \u00b1 0.5 % of people lose none)",
        "groups beyond 2 of one id are left out where rows are grouped (100 % \u00b1 1 % of people lose none)",
        "rows of visits without id count for nobody",
        "cost is moved into 0 to 99 (where a row drawn at random already is, of 94 % \u00b1 1 % of people)",
        "days outside of 0 to 30 is dropped",
    )
    ungrouped = plan_of(known, "SELECT sum(pay) FROM visits").cuts
    assert ungrouped[1] == "groups beyond 2 of one id are left out where rows are grouped"


def test_a_screen_is_enough():
    many = [f"c{i}" for i in range(40)]
    wide = build((
        f"CREATE TABLE t ({', '.join(f'{c} INTEGER' for c in many)})",
        "ALTER TABLE t SET PRIVACY KEY ROW",
        *(f"ALTER TABLE t ALTER COLUMN {c} SET PRIVACY DOMAIN BETWEEN 0 AND 9" for c in many),
    ))  # fmt: skip
    found = plan_of(wide, f"SELECT {', '.join(f'sum({c})' for c in many[:20])} FROM t").cuts
    assert len(found) == 9
    assert found[-1] == "12 more columns have bounds"
