import pytest
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Part
from dpproxy.analysis import duck
from dpproxy.planner.release.exact import MOST_SUBQUERIES, ordered
from dpproxy.policy.model import Unit
from dpproxy.values.errors import TooComplex
from tests.golden.world import Tables, World, plan_of


def part_of(world: World, sql: str) -> Part:
    [part] = plan_of(world, sql).parts
    return part


def exact(world: World, sql: str) -> str:
    return part_of(world, sql).exact


def test_a_row_unit_is_not_truncated(world: World):
    people = replace(world.policy.tables["people"], unit=Unit(None))
    policy = replace(world.policy, tables={**world.policy.tables, "people": people})
    part = part_of(replace(world, policy=policy), "SELECT count(*) FROM people WHERE age > 3")
    assert not part.truncated
    assert "OVER" not in part.exact


def test_conditions_are_sorted_and_said_once(world: World):
    one = exact(world, "SELECT count(*) FROM people WHERE age > 3 AND city = 'Oslo' AND age > 3")
    assert one == exact(world, "SELECT count(*) FROM people WHERE (city = 'Oslo') AND (age > 3)")


def test_conditions_that_differ_in_numbers_alone_are_ordered_by_these():
    above = [nodes.Binary(">", duck.column("age"), duck.integer(n)) for n in (7, 12)]
    other = nodes.Binary("<", duck.column("age"), duck.integer(1))
    assert (
        ordered([above[0], other, *above]) == ordered([other, *reversed(above)]) == [other, *reversed(above)]
    )
    unseen = nodes.Binary(">", duck.column("age"), nodes.Hole(0, 0))
    assert ordered([unseen, other, unseen]) == [other, unseen]
    with pytest.raises(nodes.Looked):
        ordered([unseen, above[0]])


def test_aliases_qualifiers_and_output_do_not_change_the_question(world: World):
    one = exact(world, "SELECT city, count(*) FROM people GROUP BY city")
    other = "SELECT 2 * count(*), p.city AS x FROM public.people p GROUP BY 2 HAVING count(*) > 1 ORDER BY x LIMIT 1"
    assert exact(world, other) == one


def test_rows_are_kept_by_a_keyed_hash_of_all_their_content(world: World):
    sql = exact(world, "SELECT count(*) FROM people")
    assert 'HASH($1, "id", "id", "age", "pay", "city", "height")' in sql
    assert "rowid" not in sql.lower()


def test_another_secret_keeps_other_rows(world: World):
    part = part_of(world, "SELECT sum(hours) FROM visits")
    tables = Tables(world)
    tables.fill({"people": [(1, 1, 1, "Oslo", 1.0)], "visits": [(1, "A", n) for n in range(24)]})
    sums = {tables.exact(part, secret=f"{n:064x}")[()] for n in range(8)}
    tables.close()
    assert len(sums) > 1


def test_a_unit_keeps_its_rows_whoever_else_is_there(world: World):
    part = part_of(world, "SELECT ward, sum(hours) FROM visits GROUP BY ward")
    tables = Tables(world)
    people = [(n, 1, 1, "Oslo", 1.0) for n in (1, 2)]
    first = [(1, "ABC"[n % 3], n) for n in range(20)]
    second = [(2, "ABC"[n % 3], n) for n in range(20)]
    sums = []
    for visits in (first, second, [*second, *first]):
        tables.fill({"people": people, "visits": visits})
        sums.append(tables.exact(part))
    tables.close()
    assert sums[2] == {key: (sums[0][key][0] + sums[1][key][0],) for key in sums[0]}


def test_what_a_part_takes_from_earlier_ones_is_numbered_after_the_secret(world: World):
    first, second = plan_of(
        world, "SELECT count(*) FROM people WHERE age > (SELECT avg(age) FROM people)"
    ).parts
    assert first.inputs == ()
    assert [taken.number for taken in second.inputs] == [2]
    assert "$2" in second.exact
    assert second.truncated


def test_a_cell_is_grouped_by_and_never_null(world: World):
    sql = exact(world, "SELECT city, max(age) FROM people GROUP BY city")
    assert "GROUP BY 1, 2" in sql
    assert "IS NULL" in sql


@pytest.mark.parametrize(
    ("condition", "number", "subqueries"),
    [
        ("id IN (SELECT id FROM people WHERE age > {})", MOST_SUBQUERIES, MOST_SUBQUERIES),
        ("age NOT IN (SELECT beds FROM wards WHERE beds > {})", MOST_SUBQUERIES // 3, MOST_SUBQUERIES),
    ],
)
def test_more_subqueries_than_engines_plan_are_refused(
    clinic: World, condition: str, number: int, subqueries: int
):
    def asked(number: int) -> str:
        conditions = (condition.format(n) for n in range(number))
        return f"SELECT count(*) FROM people WHERE {' AND '.join(conditions)}"

    assert exact(clinic, asked(number)).count("EXISTS") == subqueries
    with pytest.raises(TooComplex) as caught:
        exact(clinic, asked(number + 1))
    assert caught.value.sqlstate == "54001"
    assert "NOT EXISTS" in (caught.value.hint or "")
