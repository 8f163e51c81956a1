"""Attack: rows of two people brought together, or one person's rows multiplied, by joins and subqueries.

Every statement is refused, or no unit moves what is computed further than the statement pays for.
"""

import pytest
from msgspec.structs import replace

from dpproxy.algebra.plan import Plan
from dpproxy.values.errors import Refusal
from tests.golden.neighbours import furthest
from tests.golden.world import Tables, World, build, plan_any

HOSPITAL = (
    "CREATE TABLE patients (id BIGINT NOT NULL, age INTEGER, sex VARCHAR)",
    "CREATE TABLE visits (pid BIGINT, ward VARCHAR, cost DOUBLE)",
    "CREATE TABLE tests (vpid BIGINT, score INTEGER)",
    "CREATE TABLE loose (x INTEGER)",
    "CREATE TABLE wards (ward VARCHAR, floor INTEGER)",
    "CREATE TABLE names (ward VARCHAR, beds INTEGER)",
    "INSERT INTO patients VALUES (1, 30, 'f'), (2, 40, 'm'), (3, 50, 'f'), (4, 60, 'm')",
    "INSERT INTO visits VALUES (1, 'A', 10.5), (1, 'B', 20.5), (2, 'A', 30), (3, 'A', 5), (3, 'C', 6)",
    "INSERT INTO tests VALUES (1, 5), (2, 6), (1, 5)",
    "INSERT INTO loose VALUES (1), (2), (3)",
    "INSERT INTO wards VALUES ('A', 1), ('B', 2), ('C', 3), ('Q', 4)",
    "INSERT INTO names VALUES ('A', 1), ('B', 2), ('C', 3), ('Q', 4)",
    "ALTER TABLE wards SET PRIVACY PUBLIC",
    "ALTER TABLE names SET PRIVACY PUBLIC",
    "ALTER TABLE loose SET PRIVACY KEY ROW",
    "ALTER TABLE loose ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 10",
    "ALTER TABLE patients SET PRIVACY KEY (id)",
    "ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110",
    "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm')",
    "ALTER TABLE visits SET PRIVACY KEY (pid) REFERENCES patients (id) MAX ROWS 3",
    "ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN REFERENCES wards (ward)",
    "ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "ALTER TABLE tests SET PRIVACY KEY (vpid) REFERENCES patients (id)",
    "ALTER TABLE tests ALTER COLUMN score SET PRIVACY DOMAIN BETWEEN 0 AND 10",
)
CHAIN = (
    "CREATE TABLE owners (id BIGINT NOT NULL, x BIGINT, y BIGINT)",
    "CREATE TABLE by_x (k BIGINT, z INTEGER)",
    "CREATE TABLE by_y (k2 BIGINT, z INTEGER)",
    "CREATE TABLE by_id (k3 BIGINT, z INTEGER)",
    "INSERT INTO owners VALUES (1, 10, 100), (1, 10, 101), (1, 11, 102), (2, 20, 200), (3, 30, 300), (3, 10, 300)",
    "INSERT INTO by_x VALUES (10, 1), (10, 2), (20, 1), (30, 1)",
    "INSERT INTO by_y VALUES (100, 1), (101, 1), (200, 3), (300, 1)",
    "INSERT INTO by_id VALUES (1, 1), (1, 2), (2, 3), (3, 1)",
    "ALTER TABLE owners SET PRIVACY KEY (id) MAX ROWS 5",
    "ALTER TABLE owners ALTER COLUMN id SET PRIVACY DOMAIN BETWEEN 0 AND 10",
    "ALTER TABLE by_x SET PRIVACY KEY (k) REFERENCES owners (x)",
    "ALTER TABLE by_y SET PRIVACY KEY (k2) REFERENCES owners (y)",
    "ALTER TABLE by_id SET PRIVACY KEY (k3) REFERENCES owners (id)",
    "ALTER TABLE by_x ALTER COLUMN z SET PRIVACY DOMAIN BETWEEN 0 AND 10",
)
CASES = (
    'CREATE TABLE visits (pid BIGINT, "Unit" INTEGER)',
    "CREATE TABLE one (x INTEGER)",
    "INSERT INTO one VALUES (1)",
    "INSERT INTO visits VALUES (1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (3, 2), (3, 1)",
    "ALTER TABLE one SET PRIVACY PUBLIC",
    "ALTER TABLE visits SET PRIVACY KEY (pid)",
    'ALTER TABLE visits ALTER COLUMN "Unit" SET PRIVACY DOMAIN BETWEEN 0 AND 5',
)

LOST = (
    # b follows c, and c follows b: neither follows a.
    "SELECT count(*) FROM patients a CROSS JOIN patients b LEFT JOIN visits c ON c.pid = b.id WHERE c.pid = b.id",
    # Equal where c has a partner; where it has none, a and b are anybody.
    "SELECT count(*) FROM patients a CROSS JOIN patients b LEFT JOIN visits c ON c.pid = a.id AND c.pid = b.id",
    # The condition is about the two queries around, and c is anybody's.
    (
        "SELECT count(*) FROM patients AS a WHERE EXISTS (SELECT 1 FROM visits AS b WHERE b.pid = a.id "
        "AND EXISTS (SELECT 1 FROM tests AS c WHERE a.id = b.pid AND c.score = 6))"
    ),
)
HELD = (
    # A person has two groups, where a join leaves the key out for some rows.
    (
        "SELECT count(*) FROM (SELECT p.id FROM patients AS p FULL JOIN visits AS v ON p.id = v.pid AND p.age > 45 "
        "GROUP BY p.id) AS x"
    ),
    (
        "SELECT count(*) FROM (SELECT t.vpid FROM visits AS v LEFT JOIN tests AS t ON t.vpid = v.pid AND v.cost > 15 "
        "GROUP BY t.vpid) AS x"
    ),
    (
        "SELECT count(*) FROM (SELECT DISTINCT y.vpid FROM (SELECT t.vpid FROM visits AS v LEFT JOIN tests AS t "
        "ON t.vpid = v.pid AND v.cost > 15) AS y) AS x"
    ),
    # Each of two public tables has one row for a row of the other.
    "SELECT count(*) FROM loose CROSS JOIN wards AS w LEFT JOIN names AS n ON n.ward = w.ward WHERE w.ward = n.ward",
    # One row of w for each row of t, and one more where t is left out.
    (
        "SELECT count(*) FROM patients AS p CROSS JOIN wards AS w LEFT JOIN tests AS t ON t.vpid = p.id "
        "AND t.score = w.floor + 4 WHERE w.floor = coalesce(t.score - 4, 4)"
    ),
)
REFERRED = (
    # owners is referred to by two columns, and has several rows for a value of either.
    "SELECT count(*) FROM by_x LEFT JOIN owners AS o ON by_x.k = o.x LEFT JOIN by_y ON by_y.k2 = o.y",
    "SELECT count(*) FROM by_y LEFT JOIN owners AS o ON by_y.k2 = o.y LEFT JOIN by_x ON by_x.k = o.x",
    # The key itself has several rows.
    "SELECT count(*) FROM by_id LEFT JOIN owners AS o ON by_id.k3 = o.id",
    "SELECT count(*) FROM by_id JOIN owners AS o ON by_id.k3 = o.id",
)
NAMED = (
    # "Unit" and our own "unit" are one name to the engine.
    "SELECT count(*) FROM visits CROSS JOIN one",
    'SELECT count(*) FROM (SELECT "Unit", "Unit" + 1 AS "UNIT", 2 AS "uNIT" FROM visits) AS x',
    'SELECT count(*) FROM (SELECT "Unit" AS "UNIT" FROM visits CROSS JOIN one) AS x WHERE "UNIT" < 100',
)


def move(world: World, sql: str) -> list[int]:
    """How far a unit moves each part; fails where that is further than it pays."""
    plan = plan_any(world, sql, {"dp.epsilon": "3"})
    assert isinstance(plan, Plan)
    engine = Tables(world)
    try:
        return furthest(world, plan, engine)
    finally:
        engine.close()


@pytest.fixture(scope="module", params=["bare", "prepared"])
def tables(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def hospital(tables: str) -> World:
    return replace(build(HOSPITAL), prepared=tables == "prepared")


@pytest.mark.parametrize("sql", LOST)
def test_rows_of_two_people_do_not_meet(hospital: World, sql: str):
    with pytest.raises(Refusal) as caught:
        plan_any(hospital, sql)
    assert caught.value.sqlstate == "PD002"


@pytest.mark.parametrize("sql", HELD)
def test_rows_are_not_more_than_counted(hospital: World, sql: str):
    assert max(move(hospital, sql)) >= 1


@pytest.mark.parametrize("sql", REFERRED)
def test_a_table_that_is_referred_to_twice(tables: str, sql: str):
    assert max(move(replace(build(CHAIN), prepared=tables == "prepared"), sql)) >= 1


@pytest.mark.parametrize("sql", NAMED)
def test_names_in_another_case(tables: str, sql: str):
    assert max(move(replace(build(CASES), prepared=tables == "prepared"), sql)) >= 1


def test_a_subquery_beside_aggregates_does_not_see_rows(hospital: World):
    sql = (
        "SELECT count(*) FROM (SELECT v.pid FROM visits AS v GROUP BY v.pid "
        "HAVING EXISTS (SELECT 1 FROM tests AS t WHERE t.vpid = v.pid)) AS x"
    )
    with pytest.raises(Refusal) as caught:
        plan_any(hospital, sql)
    assert caught.value.sqlstate == "0A000"
