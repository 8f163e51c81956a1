from collections.abc import Callable

import pytest

from dpproxy.algebra.plan import Answer


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("1", "?column?"),
        ("1 + 1", "?column?"),
        ("version()", "version"),
        ("pg_catalog.version()", "version"),
        ("current_user", "current_user"),
        ("now()", "now"),
        ("1::int", "int4"),
        ("'a'::text", "text"),
        ("CASE WHEN true THEN 1 END", "case"),
        ("EXISTS (SELECT 1)", "exists"),
        ("ARRAY[1]", "array"),
        ("(SELECT 1 AS x)", "x"),
        ("coalesce(1, 2)", "coalesce"),
        ("count(*)", "count"),
        ("string_agg('a', ',')", "string_agg"),
        ('1 AS "Odd"', "Odd"),
    ],
)
def test_names_of_unnamed_columns(answer: Callable[..., Answer], sql: str, name: str):
    assert [column.name for column in answer(f"SELECT {sql}").columns] == [name]


def test_two_columns_of_one_name(answer: Callable[..., Answer]):
    assert [column.name for column in answer("SELECT 1, 2, 3 AS a, 4 AS a").columns] == [
        "?column?",
        "?column?",
        "a",
        "a",
    ]


def test_values(answer: Callable[..., Answer]):
    assert [column.name for column in answer("VALUES (1, 'a')").columns] == ["column1", "column2"]
