import pytest

from dpproxy.values.errors import AmbiguousColumn, Refusal, TooComplex, UndefinedColumn, UndefinedTable
from tests.golden.world import World, plan_any
from tests.planner.answers import answered, shape

A = "(VALUES (1, 'a'), (2, 'b')) AS a (k, x)"
B = "(VALUES (2, 'p'), (3, 'q')) AS b (k, y)"


@pytest.mark.parametrize(
    ("join", "rows"),
    [
        (f"{A} JOIN {B} USING (k)", [(2, "b", "p")]),
        (f"{A} LEFT JOIN {B} USING (k)", [(1, "a", None), (2, "b", "p")]),
        (f"{A} RIGHT JOIN {B} USING (k)", [(2, "b", "p"), (3, None, "q")]),
        (f"{A} FULL JOIN {B} USING (k)", [(1, "a", None), (2, "b", "p"), (3, None, "q")]),
        (f"{A} NATURAL FULL JOIN {B}", [(1, "a", None), (2, "b", "p"), (3, None, "q")]),
    ],
)
def test_the_columns_of_using_are_one_and_stand_first(
    world: World, join: str, rows: list[tuple[object, ...]]
):
    sql = f"SELECT * FROM {join} ORDER BY k"
    assert [name for name, _ in shape(world, sql)] == ["k", "x", "y"]
    assert answered(world, sql) == rows


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        (f"SELECT a.*, b.k FROM {A} CROSS JOIN {B} ORDER BY 1, 3 LIMIT 1", [(1, "a", 2)]),
        (f"SELECT a.k, b.k FROM {A} LEFT JOIN {B} ON a.k < b.k AND b.y = 'q' ORDER BY 1", [(1, 3), (2, 3)]),
        (f"SELECT a.k, b.k FROM {A} FULL JOIN {B} USING (k) ORDER BY 1, 2", [(1, None), (2, 2), (None, 3)]),
        (f"SELECT count(*) FROM {A}, {B} WHERE a.k = b.k", [(1,)]),
        (f"SELECT k, y FROM {A} JOIN {B} USING (k) WHERE k = 2 AND k < 3", [(2, "p")]),
        (
            f"SELECT k, c.* FROM {A} NATURAL JOIN {B} JOIN (VALUES (2, 5)) AS c (k, z) USING (k) WHERE k = z - 3",
            [(2, 2, 5)],
        ),
    ],
)
def test_joins(world: World, sql: str, rows: list[tuple[object, ...]]):
    assert answered(world, sql) == rows


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        (f"SELECT k FROM {A} CROSS JOIN {B}", AmbiguousColumn),
        (f"SELECT 1 FROM {A} JOIN {B} ON a.k = b.k WHERE k = 2", AmbiguousColumn),
        (f"SELECT z FROM {A}", UndefinedColumn),
        (f"SELECT c.k FROM {A}", UndefinedTable),
        (f"SELECT c.* FROM {A}", UndefinedTable),
        (f"SELECT 1 FROM {A} JOIN {B} USING (x)", UndefinedColumn),
        (f"SELECT 1 FROM {A} JOIN {B} ON a.k = b.k AND count(*) > 1", Refusal),
        (f"SELECT 1 FROM {A} JOIN {B} ON a.x = b.k", Refusal),
    ],
)
def test_refused(world: World, sql: str, error: type[Refusal]):
    with pytest.raises(error):
        plan_any(world, sql)


AGES = "WITH t AS (SELECT age, city, count(*) AS n FROM people GROUP BY age, city) "


def test_a_join_on_all_keys_of_one_side_grows_by_nothing(world: World):
    """303 rows: twelve joins on the keys stay 303, four without a condition would be 8 thousand million."""
    joins = " ".join(f"JOIN t AS t{i} ON t{i}.age = t0.age AND t{i}.city = t0.city" for i in range(1, 12))
    assert plan_any(world, f"{AGES} SELECT count(*) FROM t AS t0 {joins}")
    commas = ", ".join(f"t AS t{i}" for i in range(4))
    with pytest.raises(TooComplex, match="the join would have up to"):
        plan_any(world, f"{AGES} SELECT count(*) FROM {commas}")


def test_conditions_of_where_join_too(world: World):
    commas = ", ".join(f"t AS t{i}" for i in range(6))
    same = " AND ".join(f"t{i}.age = t0.age AND t{i}.city = t0.city" for i in range(1, 6))
    assert plan_any(world, f"{AGES} SELECT count(*) FROM {commas} WHERE {same}")


@pytest.mark.whole
def test_what_is_unique_in_a_public_table_is_looked_up(world: World):
    joins = " ".join(f"JOIN cities AS c{i} ON c{i}.city = c0.city" for i in range(1, 40))
    assert plan_any(world, f"SELECT count(*) FROM cities AS c0 {joins}")


def test_names_of_with_double_only_so_often(world: World):
    steps = ", ".join(f"a{i} AS (SELECT x.n FROM a{i - 1} AS x, a{i - 1} AS y)" for i in range(1, 12))
    with pytest.raises(TooComplex):
        plan_any(world, f"WITH a0 AS (SELECT count(*) AS n FROM people), {steps} SELECT count(*) FROM a11")
