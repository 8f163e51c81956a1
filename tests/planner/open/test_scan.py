import pytest

from dpproxy.values.errors import TooComplex
from tests.golden.neighbours import furthest
from tests.golden.world import Tables, World, plan_of
from tests.planner.answers import answered

VISITS = "SELECT count(*) FROM people AS p JOIN {} AS w ON p.city = w.city"


def exact(world: World, subquery: str) -> str:
    return plan_of(world, VISITS.format(subquery)).parts[0].exact


def test_columns_and_conditions_are_left_to_the_engine(world: World):
    sql = exact(world, "(SELECT city FROM cities WHERE size > 3)")
    assert 'FROM "cities"' in sql


@pytest.mark.parametrize(
    "subquery",
    [
        "(SELECT city, size * 10 AS z FROM cities)",
        "(SELECT city, sqrt(size) AS z FROM cities)",
        "(SELECT city, rank() OVER (ORDER BY size) AS z FROM cities)",
        "(SELECT DISTINCT ON (city) city, size FROM cities ORDER BY city, size)",
        "(SELECT city, string_agg(city, ',') AS z FROM cities GROUP BY city)",
        "(SELECT city, (SELECT max(size) FROM cities) AS z FROM cities)",
        "(SELECT city FROM cities ORDER BY size LIMIT 5)",
        "(SELECT city, avg(size) AS z FROM cities GROUP BY city)",
        "(SELECT city FROM cities EXCEPT SELECT city FROM cities WHERE size > 1000)",
        "(SELECT city FROM cities INTERSECT ALL SELECT city FROM cities)",
    ],
)
def test_what_could_fail_on_one_row_is_written_out(world: World, subquery: str):
    sql = exact(world, subquery)
    assert "cities" not in sql
    assert "VALUES" in sql
    assert "'Oslo'" in sql


@pytest.mark.parametrize(
    ("subquery", "condition"),
    [
        ("(SELECT city, size * 1.5 AS z FROM cities)", "w.z > 4.4"),
        ("(SELECT city, size / 2.0 AS z FROM cities)", "w.z > 1.4"),
        ("(SELECT city, size > 2 AS z FROM cities)", "w.z"),
        ("(SELECT city, date '2020-01-01' + size AS z FROM cities)", "w.z > date '2020-01-02'"),
        ("(SELECT city, nullif(size, 7) AS z FROM cities)", "w.z IS NULL OR w.z = 3"),
        ("(SELECT city, upper(city) AS z FROM cities)", "w.z = 'OSLO' OR w.z = 'ROME'"),
        ("(SELECT city, size + 1 AS z FROM cities WHERE size > 1000)", "w.z > 0 OR w.z IS NULL"),
    ],
)
def test_values_of_every_type_come_through(world: World, subquery: str, condition: str):
    sql = f"SELECT count(*) FROM {subquery} AS w JOIN people AS p ON p.city = w.city WHERE {condition}"
    assert answered(world, sql) == [(0,)]
    assert plan_of(world, sql).parts


def test_a_long_one_is_refused(world: World):
    rows = ", ".join(f"({n})" for n in range(46))
    cross = f"(SELECT 'Oslo' AS city, a.x + b.x AS z FROM (VALUES {rows}) a (x), (VALUES {rows}) b (x))"
    with pytest.raises(TooComplex, match="more than 2000 rows"):
        plan_of(world, VISITS.format(cross))


def test_a_written_number_is_a_key(world: World):
    doubled = "(SELECT city, size * 2 AS z FROM cities) AS w"
    sql = f"SELECT w.z, count(*) FROM people p JOIN {doubled} ON p.city = w.city GROUP BY w.z"
    assert plan_of(world, sql).parts[0].keys[0].rows == ((6,), (14,))


@pytest.mark.parametrize(
    "value", ["size", "size + 1", "max(size)", "sum(size)", "avg(size)", "count(*)", "max(size / 2.0)"]
)
def test_bounds_of_what_is_computed_are_facts(world: World, value: str):
    grouped = "GROUP BY city" if "(" in value else ""
    sql = (
        f"SELECT sum(w.x) FROM people p JOIN (SELECT city, {value} AS x FROM cities {grouped}) w USING (city)"
    )
    tables = Tables(world)
    try:
        furthest(world, plan_of(world, sql), tables)
    finally:
        tables.close()
