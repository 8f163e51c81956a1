import pytest

from dpproxy.planner.accept import parse
from dpproxy.planner.select_list import is_star, items, ordinal
from dpproxy.values.errors import SyntaxRefused


def test_items_lose_their_aliases():
    (item,) = items(parse("SELECT count(*) AS n"))
    assert (item.name, item.node.sql()) == ("n", "COUNT(*)")


def test_stars():
    assert [is_star(e) for e in parse("SELECT *, t.*, count(*), x").expressions] == [True, True, False, False]


def test_ordinals_count_from_one():
    literal = parse("SELECT 1").expressions[0]
    assert ordinal(literal, 1, "ORDER BY") == 0
    for text in ("0", "2", "1.5"):
        with pytest.raises(SyntaxRefused, match="is not in select list"):
            ordinal(parse(f"SELECT {text}").expressions[0], 1, "ORDER BY")
