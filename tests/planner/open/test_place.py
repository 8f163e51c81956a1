from dpproxy.algebra import nodes, printing
from dpproxy.algebra.plan import PublicPlan
from dpproxy.analysis.scopes import Parameters
from dpproxy.planner.open.place import is_public, placed, reads_release
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.pricing import ANY_TERMS
from tests import reading
from tests.golden.world import World, plan_any, plan_of


def read(sql: str) -> nodes.Query:
    """A query of ours, in which ``r0`` is the relation of a release."""
    released = nodes.Table(nodes.Bare("r0"))
    found = reading.read(sql).transform(lambda node: nodes.Release(0) if node == released else None)
    assert isinstance(found, nodes.Query)
    return found


def place(sql: str) -> tuple[str, list[str]]:
    planning = Planning(None, Parameters(), ANY_TERMS)  # type: ignore[arg-type] - the context is not read
    return printing.text(placed(read(sql), planning)), [*map(printing.text, planning.publics)]


def test_quoted_names_are_tables_of_the_backend():
    tree = read('SELECT 1 FROM "cities" AS q JOIN r0 ON 1 = 1')
    assert all(is_public(t) for t in tree.find_all(nodes.Table))
    assert not is_public(nodes.Table(nodes.Bare("p0")))
    assert reads_release(tree)
    assert not reads_release(read('SELECT 1 FROM "cities" AS q'))


def test_only_the_columns_that_are_read_are_fetched():
    sql, publics = place('SELECT "r0"."m0" + "q"."size" FROM r0 JOIN "cities" AS q ON "q"."city" = "r0"."k0"')
    assert sql == 'SELECT "r0"."m0" + "q"."size" FROM r0 JOIN p0 AS q ON "q"."city" = "r0"."k0"'
    assert publics == ['SELECT "city", "size" FROM "cities"']


def test_a_subquery_that_stands_alone_is_fetched_whole():
    sql, publics = place(
        'SELECT "r0"."m0" FROM r0 WHERE "r0"."m0" > (SELECT MAX("q"."size") FROM "cities" AS q)'
    )
    assert sql == 'SELECT "r0"."m0" FROM r0 WHERE "r0"."m0" > (SELECT * FROM p0)'
    assert publics == ['SELECT MAX("q"."size") FROM "cities" AS q']


def test_one_that_follows_a_row_is_run_there():
    inner = '(SELECT MAX("q"."size") FROM "cities" AS q WHERE "q"."city" = "r0"."k0")'
    sql, publics = place(f"SELECT {inner} FROM r0")
    assert sql == 'SELECT (SELECT MAX("q"."size") FROM p0 AS q WHERE "q"."city" = "r0"."k0") FROM r0'
    assert publics == ['SELECT "city", "size" FROM "cities"']


def test_a_table_none_of_whose_columns_is_read():
    _, publics = place('SELECT COUNT(*) FROM r0 CROSS JOIN "cities" AS q')
    assert publics == ['SELECT 1 FROM "cities"']


def test_a_name_means_the_nearest_item_that_has_it():
    inner = '(SELECT "q"."m0" AS "c0" FROM (SELECT "r0"."m0" FROM r0) AS q)'
    sql = f'SELECT "q"."city", "s"."c0" FROM "cities" AS q CROSS JOIN {inner} AS s'
    assert place(sql) == (sql.replace('"cities"', "p0"), ['SELECT "city" FROM "cities"'])


def test_what_is_asked_twice_is_fetched_once(world: World):
    plan = plan_of(
        world,
        "WITH t AS (SELECT city, count(*) AS n FROM people GROUP BY city) "
        "SELECT a.n FROM t a JOIN cities b ON a.city = b.city JOIN cities c ON a.city = c.city",
    )
    assert [*map(printing.text, plan.publics)] == ['SELECT "city" FROM "cities"']


def test_public_statements_stay_where_the_tables_are(world: World):
    found = plan_any(world, "SELECT city FROM cities")
    assert isinstance(found, PublicPlan)
    assert '"cities"' in printing.text(found.query)
