"""Which joins keep the unit, and how many rows one person then has: by brute force over one person's rows."""

from collections.abc import Iterator

import pytest

from dpproxy.values.errors import NotGranted, Refusal, TooComplex, UndefinedColumn, UnitLost, Unsupported
from tests.golden.world import Row, World, build, plan_of
from tests.planner.answers import answered
from tests.planner.clinic import CLINIC, Person, one_part, rows_of_unit

BOUNDS = [
    ("people p", 1),
    ("visits v", 2),
    ("visits v JOIN visits w ON v.person = w.person", 4),
    ("visits v, visits w WHERE v.person = w.person", 4),
    ("people p JOIN visits v ON v.person = p.id", 2),
    ("people p JOIN visits v ON p.id = v.person AND v.hours > 1", 2),
    ("visits v JOIN bills b ON b.visit = v.no", 3),
    ("people p JOIN visits v ON p.id = v.person JOIN bills b ON b.visit = v.no", 3),
    ("bills b, visits v, people p WHERE ((b.visit = v.no) AND (v.person = p.id AND p.age > 0))", 3),
    ("visits v JOIN bills b ON b.visit = v.no JOIN bills c ON c.visit = v.no", 9),
    ("visits v JOIN wards w ON w.ward = v.ward", 4),
    ("visits v JOIN wards w ON w.ward = v.ward AND w.building = 'north'", 2),
    ("visits v LEFT JOIN wards w ON w.ward = v.ward", 4),
    ("visits v, wards w", 6),
    ("visits v NATURAL JOIN wards w", 4),
    ("visits v NATURAL LEFT JOIN wards w", 4),
    ("wards w NATURAL JOIN visits v", 4),
    ("(SELECT id AS person, city FROM people) p NATURAL JOIN visits v", 2),
    ("(SELECT person, no FROM visits) v NATURAL JOIN (SELECT person, ward FROM visits) w", 4),
    ("people p LEFT JOIN visits v ON v.person = p.id", 2),
    ("visits v RIGHT JOIN people p ON v.person = p.id", 2),
    ("bills b LEFT JOIN visits v ON b.visit = v.no", 3),
    ("people p FULL JOIN visits v ON p.id = v.person", 3),
    ("visits v FULL JOIN visits w ON v.person = w.person AND v.hours > w.hours", 4),
    ("people p LEFT JOIN visits v ON v.person = p.id WHERE v.person IS NULL", 1),
    ("visits v RIGHT JOIN people p ON v.person = p.id WHERE (v.person) IS NULL AND p.age > 0", 1),
    ("visits v LEFT JOIN bills b ON b.visit = v.no WHERE b.visit IS NULL", 2),
    ("visits v LEFT JOIN visits w ON w.person = v.person AND w.hours > 9 WHERE w.person IS NULL", 2),
    (
        "people p JOIN visits w ON p.id = w.person LEFT JOIN bills b ON b.visit = w.no WHERE b.visit IS NULL",
        2,
    ),
    ("people p LEFT JOIN visits v ON v.person = p.id WHERE v.person IS NULL OR p.age > 0", 2),
]


@pytest.fixture(scope="module")
def person(clinic: World) -> Iterator[Person]:
    made = Person(clinic)
    yield made
    made.close()


@pytest.mark.parametrize(("source", "most"), BOUNDS)
def test_one_person_has_as_many_rows_as_is_paid_for_and_no_more(
    clinic: World, person: Person, source: str, most: int
):
    """The bound is one of sizes alone: another condition may make it loose, as may rows without a partner."""
    sql = f"SELECT count(*) FROM {source}"
    assert rows_of_unit(plan_of(clinic, sql)) == most
    counted = max(person.count(sql) for _ in person.instances(150))
    assert counted <= most
    if not any(word in source for word in ("FULL", "hours >")):
        assert counted == most


SAME_NAME = [
    ("items JOIN orders ON items.no = orders.no", 4),
    ("items JOIN orders USING (no)", 4),
    ("people p JOIN orders o ON p.id = o.person JOIN items i ON o.no = i.no", 4),
    ("items i JOIN orders a ON i.no = a.no JOIN orders b ON i.no = b.no", 4),
    ("items i LEFT JOIN orders o ON i.no = o.no", 4),
    ("items a JOIN items b ON a.no = b.no JOIN orders o ON a.no = o.no", 16),
    ("orders a JOIN orders b ON a.no = b.no", 9),
    ("orders a JOIN (SELECT no AS other FROM orders) b ON a.no = b.other", 9),
    ("items i JOIN (SELECT no FROM orders) o ON i.no = o.no", 4),
    ("items i JOIN (SELECT no AS other FROM orders) o ON i.no = o.other", 4),
    ("items i JOIN (SELECT no FROM items) AS orders ON i.no = orders.no", 16),
    ("items i JOIN (SELECT a.no FROM orders a JOIN orders b ON a.no = b.no) AS o ON i.no = o.no", 36),
    ("items i JOIN (SELECT no FROM orders UNION ALL SELECT no FROM orders) o ON i.no = o.no", 24),
]


@pytest.mark.parametrize(("source", "most"), SAME_NAME)
def test_who_refers_to_whom_is_what_is_declared_whatever_the_columns_are_called(source: str, most: int):
    world = build(
        (
            "CREATE TABLE people (id INTEGER)",
            "CREATE TABLE orders (no INTEGER, person INTEGER)",
            "CREATE TABLE items (no INTEGER)",
            "ALTER TABLE people SET PRIVACY KEY (id)",
            "ALTER TABLE orders SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 3",
            "ALTER TABLE items SET PRIVACY KEY (no) REFERENCES orders (no) MAX ROWS 4",
        )
    )
    assert rows_of_unit(plan_of(world, f"SELECT count(*) FROM {source}")) == most


def test_rows_that_a_left_join_keeps_are_counted_with_those_that_refer_to_them(clinic: World, person: Person):
    sql = "SELECT count(*) FROM visits v LEFT JOIN bills b ON b.visit = v.no"
    bound = rows_of_unit(plan_of(clinic, sql))
    counted = max(person.count(sql) for _ in person.instances(150))
    assert counted <= bound < 2 * 3
    assert bound - counted <= 1


LOST = [
    "people p, visits v",
    "people p CROSS JOIN visits v",
    "people p JOIN visits v ON p.age = v.hours",
    "people p JOIN visits v ON p.id = v.no",
    "people p JOIN visits v ON p.id <> v.person",
    "people p JOIN visits v ON p.id = v.person OR v.hours > 1",
    "people p JOIN visits v ON NOT (p.id = v.person)",
    "people p JOIN visits v ON CASE WHEN true THEN p.id = v.person END",
    "people p LEFT JOIN visits v ON p.id = v.person OR p.age > 3",
    "people p LEFT JOIN visits v ON true WHERE p.id = v.person",
    "people p LEFT JOIN visits v ON p.id = p.id",
    "people p JOIN visits v ON p.id = p.id",
    "people p JOIN visits v ON v.person = v.person JOIN visits w ON w.person = p.id",
    "people p JOIN visits v ON p.id = v.person JOIN visits w ON w.ward = v.ward",
    "visits v JOIN bills b ON b.visit = v.person",
    "people p JOIN wards w ON w.beds = p.age JOIN visits v ON v.ward = w.ward",
    "people p JOIN wards w ON w.beds = p.id",
    "people p JOIN people q ON p.age = q.age",
    "people p JOIN (SELECT person, ward FROM visits) v ON v.ward = p.city",
    "people p JOIN (SELECT ward FROM visits) v ON p.id = p.id",
    "shops s JOIN shops t ON s.ward = t.ward",
    "people p JOIN shops s ON s.ward = p.city",
]


@pytest.mark.parametrize("source", LOST)
def test_where_rows_of_two_people_could_meet_the_join_is_refused(clinic: World, source: str):
    with pytest.raises(Refusal) as refusal:
        plan_of(clinic, f"SELECT count(*) FROM {source}")
    assert refusal.value.sqlstate in ("PD002", "42501", "42883"), refusal.value
    assert refusal.value.position is not None


def test_the_units_at_the_end_of_references_are_equated_besides(clinic: World):
    """Two people may share the number of a visit: its bills are each one's own."""
    exact = one_part(clinic, "SELECT count(*) FROM visits v JOIN bills b ON b.visit = v.no").exact
    assert exact.endswith('WHERE "unit_1" = "unit" AND "visit" = "no"')
    own = one_part(clinic, "SELECT count(*) FROM people p JOIN visits v ON p.id = v.person").exact
    assert '"id" = "person"' not in own  # the keys themselves are the units


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("visits v NATURAL JOIN people p", UnitLost),
        ("visits v NATURAL LEFT JOIN people p", UnitLost),
        ("visits v ASOF JOIN people p ON v.person = p.id", Unsupported),
        ("wards w JOIN visits v ON v.ward = w.ward RIGHT JOIN people p ON p.id = v.person", Unsupported),
        ("people p JOIN visits v USING (city)", UndefinedColumn),
        ("people p JOIN visits v USING (nothing)", UndefinedColumn),
        ("people p JOIN shops s ON true", UnitLost),
    ],
)
def test_refused(clinic: World, source: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_of(clinic, f"SELECT count(*) FROM {source}")


def test_a_full_join_beside_others_is_a_subquery(clinic: World):
    joined = "people p FULL JOIN visits v ON p.id = v.person"
    with pytest.raises(Unsupported, match="between the first two tables alone") as refused:
        plan_of(clinic, f"SELECT count(*) FROM {joined} JOIN wards w ON w.ward = v.ward")
    assert "subquery" in str(refused.value.hint)
    plan_of(
        clinic, f"SELECT count(*) FROM (SELECT p.id, v.ward FROM {joined}) t JOIN wards w ON w.ward = t.ward"
    )


@pytest.mark.parametrize(
    ("lateral", "hint"),
    [
        ("SELECT v.hours FROM visits v WHERE v.person = p.id + 1", "a declared reference."),
        ("SELECT v.hours, v.person FROM visits v WHERE v.person > p.id", "a declared reference, l.person."),
    ],
)
def test_the_hint_names_no_column_of_a_rewrite(clinic: World, lateral: str, hint: str):
    with pytest.raises(UnitLost) as refused:
        plan_of(clinic, f"SELECT count(*) FROM people p CROSS JOIN LATERAL ({lateral}) l")
    assert str(refused.value.hint).endswith(f"Join it on its privacy key or {hint}")


def test_too_many_rows_of_one_person_are_refused():
    header = [s.replace("MAX ROWS 2", "MAX ROWS 1001") for s in CLINIC]
    with pytest.raises(TooComplex, match="may have 1002001 rows"):
        plan_of(build(header), "SELECT count(*) FROM visits v JOIN visits w ON v.person = w.person")


@pytest.mark.parametrize(
    ("listed", "order", "found"),
    [
        ("p.city, count(*) AS hours", "hours DESC", [("Oslo", 2), ("Rome", 1)]),
        ("p.city AS ward, count(*)", "ward DESC", [("Rome", 1), ("Oslo", 2)]),
        ("p.city, count(*) AS age", "age", [("Rome", 1), ("Oslo", 2)]),
        ("p.city, sum(hours) AS hours", "hours", [("Oslo", 3), ("Rome", 4)]),
        ("p.city, count(*)", "city DESC", [("Rome", 1), ("Oslo", 2)]),
        ("p.city, sum(v.hours) AS n", "sum(hours) DESC", [("Rome", 4), ("Oslo", 3)]),
    ],
)
def test_order_by_takes_an_output_name_before_a_column(
    clinic: World, listed: str, order: str, found: list[Row]
):
    joined = "people p JOIN visits v ON v.person = p.id"
    assert answered(clinic, f"SELECT {listed} FROM {joined} GROUP BY p.city ORDER BY {order}") == found
    assert answered(clinic, f"SELECT {listed} FROM {joined} GROUP BY 1 ORDER BY {order}") == found


def test_an_expression_in_order_by_is_over_columns(clinic: World):
    joined = "people p JOIN visits v ON v.person = p.id GROUP BY p.city"
    sql = f"SELECT p.city, count(*) AS hours FROM {joined} ORDER BY hours + 1"
    with pytest.raises(NotGranted):
        plan_of(clinic, sql)
