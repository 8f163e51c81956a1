"""Names in messages are those that were typed."""

import pytest

from dpproxy.analysis.spoken import construct
from dpproxy.grammar import parse


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("date_trunc('month', d)", "date_trunc()"),
        ("to_char(d, 'YYYY')", "to_char()"),
        ("json_agg(x)", "json_agg()"),
        ("array_length(x, 1)", "array_length()"),
        ("random()", "random()"),
        ("md5(x)", "md5()"),
        ("string_agg(x, ',')", "string_agg()"),
        ("bit_and(x)", "bit_and()"),
        ("to_timestamp(x)", "to_timestamp()"),
        ("to_date(x, 'YYYY')", "to_date()"),
        ("lpad(x, 3)", "lpad()"),
        ("2 ^ 3", "the operator ^"),
        ("x ->> 'a'", "the operator ->>"),
        ("x #> 'a'", "the operator #>"),
        ("x ~ 'a'", "the operator ~"),
        ("x AT TIME ZONE 'UTC'", "AT TIME ZONE"),
    ],
)
def test_a_construct_has_the_name_that_was_typed(sql: str, name: str):
    assert construct(parse(f"SELECT {sql}")[0].selects[0]) == name


def test_a_deep_argument_is_not_looked_at():
    inner = "(" * 30 + "x" + ")" * 30
    node = parse(f"SELECT md5({inner})")[0].selects[0]
    for _ in range(5000):
        node = type(node)(this=node)
    assert construct(node) == "md5()"
