import pytest

from dpproxy.planner.accept import accept, parse
from dpproxy.planner.rewrites.parentheses import from_left
from dpproxy.values.errors import Unsupported
from tests.golden.world import World, plan_any, plan_of
from tests.planner.answers import answered

SAME = [
    ("(a)", "a"),
    ("((a AS x))", "a AS x"),
    ("(a JOIN b ON a.k = b.k)", "a JOIN b ON a.k = b.k"),
    ("((a LEFT JOIN b ON a.k = b.k) JOIN c ON b.k = c.k)", "a LEFT JOIN b ON a.k = b.k JOIN c ON b.k = c.k"),
    ("(a JOIN b USING (k)) FULL JOIN (c) USING (k)", "a JOIN b USING (k) FULL JOIN c USING (k)"),
    ("(a NATURAL JOIN b) RIGHT JOIN c ON a.k = c.k", "a NATURAL JOIN b RIGHT JOIN c ON a.k = c.k"),
    ("a, (b JOIN c ON b.k = c.k)", "a, b JOIN c ON b.k = c.k"),
    ("a CROSS JOIN (b LEFT JOIN c ON b.k = c.k)", "a CROSS JOIN b LEFT JOIN c ON b.k = c.k"),
    ("a JOIN (b JOIN c ON b.k = c.k) ON a.k = b.k", "a JOIN b ON a.k = b.k JOIN c ON b.k = c.k"),
    ("a JOIN (b LEFT JOIN c ON b.k = c.k) ON a.k = b.k", "a JOIN b ON a.k = b.k LEFT JOIN c ON b.k = c.k"),
    ("a JOIN (b JOIN c ON b.k = c.k) ON a.k = c.k", "a CROSS JOIN b JOIN c ON b.k = c.k AND a.k = c.k"),
    ("a JOIN (b JOIN c ON b.k = c.k) ON x = y", "a CROSS JOIN b JOIN c ON b.k = c.k AND x = y"),
    (
        "a JOIN (b JOIN c ON b.k = c.k OR b.x) ON a.k = c.k OR a.x",
        "a CROSS JOIN b JOIN c ON (b.k = c.k OR b.x) AND (a.k = c.k OR a.x)",
    ),
    ("a JOIN (b CROSS JOIN c) ON a.k = c.k", "a CROSS JOIN b JOIN c ON a.k = c.k"),
    ("a JOIN b JOIN c ON b.k = c.k ON a.k = b.k", "a JOIN b ON a.k = b.k JOIN c ON b.k = c.k"),
    (
        "(a JOIN (b JOIN (c JOIN d ON c.k = d.k) ON b.k = c.k) ON a.k = b.k)",
        "a JOIN b ON a.k = b.k JOIN c ON b.k = c.k JOIN d ON c.k = d.k",
    ),
    ("((SELECT 1 AS k) AS s JOIN b ON s.k = b.k)", "(SELECT 1 AS k) AS s JOIN b ON s.k = b.k"),
    ("((VALUES (1)) AS v (k) JOIN b ON v.k = b.k)", "(VALUES (1)) AS v (k) JOIN b ON v.k = b.k"),
    ("a JOIN ((VALUES (1)) AS v (k)) ON a.k = v.k", "a JOIN (VALUES (1)) AS v (k) ON a.k = v.k"),
    ("(SELECT k FROM (a JOIN b ON a.k = b.k)) AS s", "(SELECT k FROM a JOIN b ON a.k = b.k) AS s"),
    ("a WHERE k IN (SELECT k FROM (b))", "a WHERE k IN (SELECT k FROM b)"),
    ("(a JOIN b USING (k)) AS j", "(SELECT * FROM a JOIN b USING (k)) AS j"),
    ("((a JOIN b ON a.k = b.k)) AS j (k, l)", "(SELECT * FROM a JOIN b ON a.k = b.k) AS j(k, l)"),
    (
        "c JOIN (a JOIN (b) ON a.k = b.k) AS j ON true",
        "c JOIN (SELECT * FROM a JOIN b ON a.k = b.k) AS j ON true",
    ),
]


@pytest.mark.parametrize(("grouped", "plain"), SAME)
def test_parentheses_that_say_nothing(grouped: str, plain: str):
    tree = accept(parse(f"SELECT count(*) FROM {grouped}"))
    assert tree.sql("postgres") == parse(f"SELECT count(*) FROM {plain}").sql("postgres")
    assert from_left(tree) is tree


@pytest.mark.parametrize(
    ("grouped", "place"),
    [
        ("a LEFT JOIN (b JOIN c ON b.k = c.k) ON a.k = b.k", "b JOIN"),
        ("a RIGHT JOIN (b JOIN c ON b.k = c.k) ON a.k = b.k", "b JOIN"),
        ("a JOIN (b LEFT JOIN c ON b.k = c.k) ON a.k = c.k", "b LEFT"),
        ("a JOIN (b LEFT JOIN c ON b.k = c.k) ON x = y", "b LEFT"),
        ("a JOIN (b FULL JOIN c ON b.k = c.k) ON a.k = b.k", "b FULL"),
        ("a JOIN (b JOIN c USING (k)) ON a.k = b.k", "b JOIN"),
        ("a JOIN (b JOIN c ON b.k = c.k) USING (k)", "b JOIN"),
        ("a NATURAL JOIN (b JOIN c ON b.k = c.k)", "b JOIN"),
        ("(a) AS j", "j"),
        ("(a JOIN b ON a.k = b.k) TABLESAMPLE BERNOULLI (5)", "a JOIN"),
    ],
)
def test_parentheses_that_are_refused(grouped: str, place: str):
    sql = f"SELECT 1 FROM {grouped}"
    tree = parse(sql)
    with pytest.raises(Unsupported, match="in parentheses") as error:
        accept(tree)
    assert error.value.position == sql.index(place, len("SELECT 1 FROM "))
    assert error.value.hint
    assert tree == parse(sql)  # as it was


def test_two_pairs_around_a_query(world: World):
    assert answered(world, "SELECT * FROM ((SELECT 1 AS k)) AS s") == [(1,)]


@pytest.mark.parametrize(
    ("grouped", "plain"),
    [
        ("(people)", "people"),
        (
            "(people AS p JOIN visits AS v ON p.id = v.patient)",
            "people AS p JOIN visits AS v ON p.id = v.patient",
        ),
        (
            "((people AS p LEFT JOIN visits AS v ON p.id = v.patient) JOIN cities AS c ON p.city = c.city)",
            "people AS p LEFT JOIN visits AS v ON p.id = v.patient JOIN cities AS c ON p.city = c.city",
        ),
        (
            "visits AS v JOIN (people AS p LEFT JOIN cities AS c ON p.city = c.city) ON v.patient = p.id",
            "visits AS v JOIN people AS p ON v.patient = p.id LEFT JOIN cities AS c ON p.city = c.city",
        ),
        (
            "cities AS c JOIN (people AS p JOIN visits AS v ON p.id = v.patient) ON c.size = v.hours",
            "cities AS c CROSS JOIN people AS p JOIN visits AS v ON p.id = v.patient AND c.size = v.hours",
        ),
    ],
)
def test_a_plan_is_that_without_parentheses(world: World, grouped: str, plain: str):
    asked = "SELECT count(*), sum(age) FROM"
    assert plan_of(world, f"{asked} {grouped}") == plan_of(world, f"{asked} {plain}")


def test_over_public_tables(world: World):
    joined = "(cities AS a JOIN (cities AS b JOIN cities AS c ON b.city = c.city) ON a.size = c.size)"
    assert answered(world, f"SELECT * FROM {joined} ORDER BY 1 LIMIT 1") == [("Oslo", 3) * 3]


def test_alone_they_are_no_query(world: World):
    with pytest.raises(Unsupported):
        plan_any(world, "(people)")


@pytest.mark.parametrize(
    "written",
    [
        "a LEFT JOIN d CROSS JOIN c ON a.x = d.y",  # a LEFT JOIN (d CROSS JOIN c) ON ...
        "a JOIN (b LEFT JOIN d CROSS JOIN c ON b.x = d.y) ON a.x = b.x",
        "a LEFT JOIN b",
        "a INNER JOIN b",
        "a CROSS JOIN b ON a.x = b.x",
        "a, b RIGHT JOIN c ON b.z = c.z",  # a, (b RIGHT JOIN c ON ...)
        "a, b FULL JOIN c ON b.z = c.z",
        "a, b NATURAL JOIN c",
        "a, b JOIN c USING (z)",
        "a, b JOIN d ON b.x = d.y JOIN c USING (z)",
        "a AS q JOIN (c JOIN b ON b.z = c.z AND q.y = c.w) ON c.w = q.w",  # inside, q is another's
        "d CROSS JOIN (c LEFT JOIN b ON y = b.x)",
        "d JOIN (c JOIN b ON b.z IN (SELECT d.y FROM e)) ON c.w = d.w",
    ],
)
def test_what_would_be_read_otherwise_is_refused(written: str):
    with pytest.raises(Unsupported) as caught:
        accept(parse(f"SELECT count(*) FROM {written}"))
    assert caught.value.hint


@pytest.mark.parametrize(
    "written",
    ["a, b LEFT JOIN c ON b.z = c.z", "a, b, c", "b RIGHT JOIN c ON b.z = c.z, a", "a CROSS JOIN b, c"],
)
def test_commas_that_say_the_same(written: str):
    accept(parse(f"SELECT count(*) FROM {written}"))
