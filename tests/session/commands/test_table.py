import pytest

from dpproxy.session.commands.table import recognise
from dpproxy.session.messages import split
from dpproxy.values.errors import (
    SyntaxRefused,
    Unsupported,
)


@pytest.mark.parametrize(
    "sql",
    ["SELECT 1", '"begin"', "EXPLAIN (PRIVACY) SELECT 1", "SHOW PRIVACY BUDGETS", "ALTER TABLE t SET PRIVACY PUBLIC"],
)  # fmt: skip
def test_all_else_is_the_engines(sql: str):
    assert recognise(split(sql)[0]) is None


@pytest.mark.parametrize(("sql", "position"), [("DECLARE c BINARY CURSOR FOR SELECT 1", 10)])
def test_what_is_refused_says_where(sql: str, position: int):
    with pytest.raises(Unsupported) as caught:
        recognise(split(sql)[0])
    assert caught.value.position == position
    assert caught.value.hint


@pytest.mark.parametrize(
    "sql", ["BEGIN x", "COMMIT x", "START", "SAVEPOINT", "SAVEPOINT 'a'", "RELEASE a b", "DISCARD",
            "DISCARD x", "DEALLOCATE", "DEALLOCATE ALL x", "BEGIN ISOLATION LEVEL x", "BEGIN READ", "CLOSE ALL x"],
)  # fmt: skip
def test_what_does_not_read_is_a_syntax_error(sql: str):
    with pytest.raises(SyntaxRefused):
        recognise(split(sql)[0])
