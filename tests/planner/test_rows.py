import pytest

from dpproxy.errors import GroupingError, NotGranted, UndefinedColumn, UndefinedTable
from tests.golden.world import World, plan_of


def test_a_qualified_column_is_the_column(world: World):
    one = plan_of(world, "SELECT sum(p.age) FROM people p WHERE p.city = 'Oslo'")
    assert one.exact == plan_of(world, "SELECT sum(age) FROM people WHERE city = 'Oslo'").exact


def test_an_alias_hides_the_table_s_name(world: World):
    with pytest.raises(UndefinedTable, match='missing FROM-clause entry for table "people"'):
        plan_of(world, "SELECT sum(people.age) FROM people p")


def test_missing_and_undeclared_columns_are_told_alike(world: World):
    told = set()
    for name in ("nothing", "rowid"):
        with pytest.raises(UndefinedColumn) as error:
            plan_of(world, f"SELECT count({name}) FROM people")
        told.add((error.value.message.replace(name, "x"), error.value.hint))
    assert told == {('column "x" does not exist', "Columns of people: age, pay, city, height.")}


@pytest.mark.parametrize("place", ["count(id)", "sum(id)", "count(*) FILTER_ id > 3", "id"])
def test_the_key_is_not_answered_anywhere(world: World, place: str):
    where = place.partition("FILTER_")
    sql = f"SELECT {where[0]} FROM people" + (f" WHERE {where[2]}" if where[2] else "")
    with pytest.raises(NotGranted, match="tells people apart"):
        plan_of(world, sql)


def test_aggregates_do_not_stand_in_where(world: World):
    with pytest.raises(GroupingError):
        plan_of(world, "SELECT count(*) FROM people WHERE 1 < count(*)")
