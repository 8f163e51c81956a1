"""The table of functions: a reason for each, and where its arguments stand."""

from dpproxy.analysis.functions import FUNCTIONS
from tests.analysis.rows import node_of


def test_each_function_gives_a_reason():
    assert all(f.reason for f in FUNCTIONS.values())


def test_arguments_come_in_the_order_of_the_rule():
    node = node_of("substring(name from 2 for 3)")
    assert [a.name for a in FUNCTIONS[type(node)].arguments(node)] == ["name", "2", "3"]
    node = node_of("concat(name, 'a', 'b')")
    assert [a.name for a in FUNCTIONS[type(node)].arguments(node)] == ["name", "a", "b"]
