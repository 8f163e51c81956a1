"""Where a node stands in the text."""

from dpproxy.analysis.position import position
from dpproxy.planner.accept import parse


def test_the_leftmost_token_counts():
    tree = parse("SELECT   age + 5 FROM t")
    assert position(tree.expressions[0]) == 9
    assert position(tree.expressions[0].expression) == 15


def test_nothing_stands_nowhere():
    assert position(None) is None
    assert position(parse("SELECT NULL").expressions[0]) is None
