from collections.abc import Callable

import pytest

from dpproxy.values.errors import InvalidText

Ask = Callable[..., list[tuple[object, ...]]]


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("'{1,NULL}'::int[]", [1, None]),
        ("""'{"a b",c}'::text[]""", ["a b", "c"]),
        ("'{{1,2},{3,4}}'::int[]", [[1, 2], [3, 4]]),
        ("'{}'::bigint[]", []),
        ("'1 2'::int2vector", [1, 2]),
        ("string_to_array('a,b', ',')", ["a", "b"]),
        ("ARRAY[1, 2] || ARRAY[3]", [1, 2, 3]),
        ("array_append(ARRAY[1], 2)", [1, 2]),
        ("array_remove(ARRAY[1, 2], 1)", [2]),
        ("ARRAY[1, 2] @> ARRAY[1]", True),
        ("ARRAY[1] && ARRAY[2]", False),
        ("2 = ANY ('{1,2}')", True),
        ("'a' = ANY ('{a,b}')", True),
        ("array_length(ARRAY[5, 6], 1)", 2),
        ("(ARRAY[5, 6])[2]", 6),
    ],
)
def test_values(ask: Ask, sql: str, value: object):
    assert ask(f"SELECT {sql}") == [(value,)]


@pytest.mark.parametrize("sql", ["'{1'::int[]", "1 = ANY ('{1,}')", "'{a}'::int[]"])
def test_what_does_not_read(ask: Ask, sql: str):
    with pytest.raises(InvalidText):
        ask(f"SELECT {sql}")


def test_parameters(ask: Ask):
    assert ask("SELECT $1::int[], $2::text[], $3::int[]", [1, None], ["it's", 'a "b"'], None) == [
        ([1, None], ["it's", 'a "b"'], None)
    ]
    assert ask("SELECT count(*) FROM pg_class WHERE relname <> ALL ($1::text[])", ["patients"])[0] != (0,)
