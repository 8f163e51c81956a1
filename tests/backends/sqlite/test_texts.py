"""Texts in SQLite: by characters, without regard to what SQLite itself makes of case."""

import sqlite3

import pytest

from dpproxy.algebra import nodes
from dpproxy.backends.servers.dialect import Value, ValueKind
from dpproxy.backends.sqlite.dialect import FUNCTIONS, OPERATORS
from dpproxy.backends.sqlite.functions import register
from dpproxy.values.errors import Unsupported


def text(value: str) -> Value:
    return Value("'" + value.replace("'", "''") + "'", ValueKind.TEXT, constant=value)


def place(value: int) -> Value:
    return Value(str(value), ValueKind.WHOLE, constant=str(value))


def computed(value: Value) -> object:
    with sqlite3.connect(":memory:") as connection:
        register(connection)
        [found] = connection.execute(f"SELECT {value.sql}").fetchone()
    connection.close()
    return found


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("lower", [text("ÀB")], "àb"), ("upper", [text("éa")], "ÉA"), ("length", [text("é😀")], 2),
        ("substring", [text("héllo"), place(2), place(3)], "éll"), ("left", [text("abc"), place(-1)], "ab"),
        ("right", [text("abc"), place(0)], ""), ("right", [text("abc"), place(9)], "abc"),
        ("strpos", [text("abcb"), text("b")], 2), ("starts_with", [text("Abc"), text("a")], 0),
        ("replace", [text("aab"), text("a"), text("c")], "ccb"), ("trim", [text("xxaxx"), text("x")], "a"),
        ("translate", [text("banana"), text("ana"), text("xy")], "bxyxyx"),
        ("split_part", [text("a-b-c"), text("-"), place(2)], "b"),
        ("split_part", [text("a-b"), text("-"), place(-2)], "a"),
        ("split_part", [text("a-b"), text("-"), place(3)], ""), ("split_part", [text("a-b"), text("-"), place(-3)], ""),
        ("concat", [text("a"), Value("NULL", ValueKind.NULL), text("b")], "ab"),
    ],
)  # fmt: skip
def test_functions_of_texts(name: str, given: list[Value], wanted: object):
    assert computed(FUNCTIONS[name].rule(nodes.Call(name, ()), given)) == wanted


def test_like_regards_case_and_ilike_does_not():
    for word, wanted in (("LIKE", 0), ("ILIKE", 1), ("NOT LIKE", 1), ("NOT ILIKE", 0)):
        node = nodes.Binary(word, nodes.Null(), nodes.Null())
        assert computed(OPERATORS[word].rule(node, [text("ÄB"), text("ä%")])) == wanted, word


def test_places_are_constants_from_the_first_character_on():
    with pytest.raises(Unsupported):
        FUNCTIONS["substring"].rule(nodes.Call("substring", ()), [text("a"), place(-1), place(1)])
    with pytest.raises(Unsupported):
        FUNCTIONS["left"].rule(nodes.Call("left", ()), [text("a"), Value("x", ValueKind.WHOLE)])
