import pytest

from dpproxy.planner.accept import parse
from dpproxy.planner.select_list import is_star, items, output_name


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("count(*)", "count"),
        ("avg(x) AS mean", "mean"),
        ('x AS "Mean Value"', "Mean Value"),
        ("x", "x"),
        ("(x)", "x"),
        ("count(*) + 1", "?column?"),
        ("CAST(count(*) AS float8)", "count"),
        ("CAST(1 AS bigint)", "int8"),
        ("CASE WHEN true THEN 1 END", "case"),
        ("dp.ci_low(count(*))", "ci_low"),
        ("round(avg(x), 1)", "round"),
        ("a AND b", "?column?"),
        ("ceil(x)", "ceil"),
    ],
)
def test_columns_are_named_as_in_postgresql(expression: str, name: str):
    assert output_name(parse(f"SELECT {expression}").expressions[0]) == name


def test_items_lose_their_aliases():
    (item,) = items(parse("SELECT count(*) AS n"))
    assert (item.name, item.node.sql()) == ("n", "COUNT(*)")


def test_stars():
    assert [is_star(e) for e in parse("SELECT *, t.*, count(*), x").expressions] == [True, True, False, False]
