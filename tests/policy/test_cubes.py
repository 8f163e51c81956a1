"""The text of a cube: read, and written again."""

import pytest

from dpproxy.policy.apply_view import definition
from dpproxy.policy.cubes import read
from dpproxy.policy.dump import protected_view
from dpproxy.policy.parser import is_privacy_statement, parse
from dpproxy.policy.statements import CreateView
from dpproxy.values.errors import InvalidParameter, SyntaxRefused


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("t (a) measures (count(*))", "t (a) MEASURES (count(*))"),
        ('"T" ("A b" as c) MEASURES (sum( x ))', '"T" ("A b" AS c) MEASURES (sum( x ))'),
        (
            "t (a width 10, f(a, b) as c) MEASURES (sum(x + y) AS s)",
            "t (a WIDTH 10, f(a, b) AS c) MEASURES (sum(x + y) AS s)",
        ),
        (
            "t (a, a AS b) MEASURES (count(*) AS n, sum(x) AS sum_x)",
            "t (a, a AS b) MEASURES (count(*) AS n, sum(x))",
        ),
    ],
)
def test_a_cube_is_written_as_it_is_read(text: str, written: str):
    assert str(read(text)) == written
    assert read(written) == read(text)


def test_names_follow_from_expressions():
    cube = read("t (a, b WIDTH 2) MEASURES (count(*), sum(x), count(x))")
    assert [d.name for d in cube.dimensions] == ["a", "b"]
    assert [m.name for m in cube.measures] == ["count", "sum_x", "count_x"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("t () MEASURES (count(*))", SyntaxRefused),
        ("t (a)", SyntaxRefused),
        ("t (a) MEASURES ()", SyntaxRefused),
        ("t (a + 1) MEASURES (count(*))", SyntaxRefused),
        ("t (a) MEASURES (sum(x + 1))", SyntaxRefused),
        ("t (a, b AS a) MEASURES (count(*))", InvalidParameter),
        ("t (a WIDTH 1.5) MEASURES (count(*))", InvalidParameter),
        ("t (a WIDTH x) MEASURES (count(*))", SyntaxRefused),
        ("t (a) MEASURES (count(*)) WITH", SyntaxRefused),
        ("t (f(a) MEASURES (count(*))", SyntaxRefused),
    ],
)
def test_what_is_none_is_refused(text: str, error: type[Exception]):
    with pytest.raises(error):
        read(text)


def test_a_declaration_is_dumped_as_it_was_declared():
    sql = "CREATE PRIVACY CUBE c ON t (a, b WIDTH 5) MEASURES (count(*)) WITH (charge = research, epsilon = 0.5)"
    assert is_privacy_statement(sql)
    statement = parse(sql)
    assert isinstance(statement, CreateView)
    assert protected_view(definition(statement)) == sql
