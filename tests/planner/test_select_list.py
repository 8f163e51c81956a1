from dpproxy.planner.accept import parse
from dpproxy.planner.select_list import is_star, items


def test_items_lose_their_aliases():
    (item,) = items(parse("SELECT count(*) AS n"))
    assert (item.name, item.node.sql()) == ("n", "COUNT(*)")


def test_stars():
    assert [is_star(e) for e in parse("SELECT *, t.*, count(*), x").expressions] == [True, True, False, False]
