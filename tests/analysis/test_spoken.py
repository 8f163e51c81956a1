"""Names in messages are those that were typed."""

import pytest
from sqlglot import exp
from sqlglot.expressions import FUNCTION_BY_NAME

from dpproxy.analysis.spoken import construct, function
from dpproxy.sql.grammar import parse


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
        ("2 ^ 3", "power()"),
        ("x ? 'a'", "the operator ?"),
        ("x ?| y", "the operator ?|"),
        ("x @> y", "the operator @>"),
        ("x ->> 'a'", "the operator ->>"),
        ("x #> 'a'", "the operator #>"),
        ("x ~ 'a'", "the operator ~"),
        ("x AT TIME ZONE 'UTC'", "AT TIME ZONE"),
    ],
)
def test_a_construct_has_the_name_that_was_typed(sql: str, name: str):
    assert construct(parse(f"SELECT {sql}")[0].selects[0]) == name


def test_every_function_of_the_parser_has_a_name():
    others = {exp.ParameterizedAgg, exp.CombinedParameterizedAgg}  # no dialect of ours reads them
    for kind in set(FUNCTION_BY_NAME.values()) - others:
        needed = [name for name, is_needed in kind.arg_types.items() if is_needed]
        lists = {"ifs": [exp.If()], "expressions": [exp.column("x")]}
        given = {name: lists.get(name, exp.column("x")) for name in needed}
        assert function(kind(**given)).replace("_", "a").isalnum(), kind


def test_what_is_named_keeps_its_arguments():
    node = parse("SELECT if(x, 1, 0)")[0].selects[0]
    construct(node)
    assert all(part.parent is node for part in (node.this, node.args["true"], node.args["false"]))


def test_a_deep_argument_is_not_looked_at():
    inner = "(" * 30 + "x" + ")" * 30
    node = parse(f"SELECT md5({inner})")[0].selects[0]
    for _ in range(5000):
        node = type(node)(this=node)
    assert construct(node) == "md5()"
