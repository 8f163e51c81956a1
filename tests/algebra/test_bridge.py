"""What the planner writes is read as nodes that are written alike."""

import re
from pathlib import Path

import pytest

from dpproxy.algebra import bridge, nodes, printing
from dpproxy.values.errors import Internal

GOLDEN = Path(__file__).parents[1] / "golden"
LINE = re.compile(r"(?:r\d+|answer|p\d+)\s+(SELECT .*)")
ANSWERS = ("list_value", "pow(")
"""Names of released values that the parser calls otherwise."""


def statements() -> set[str]:
    lines = (line for file in GOLDEN.glob("*.test") for line in file.read_text().splitlines())
    return {found[1].strip() for line in lines if (found := LINE.match(line))}


def test_what_is_planned_is_read_and_written_alike():
    texts = {t for t in statements() if not any(name in t.lower() for name in ANSWERS)}
    assert len(texts) > 60
    assert [t for t in texts if printing.text(bridge.read(t)) != t] == []


@pytest.mark.parametrize("sql", ["DROP TABLE t", "SELECT x & 1", "SELECT x[1]", "SELECT x IS TRUE"])
def test_what_nobody_plans_is_not_read(sql: str):
    with pytest.raises(Internal):
        bridge.read(sql)


def test_names_without_quotes_stay_so():
    found = bridge.read('SELECT g.k0, "a" FROM t AS g')
    assert [type(c.name) for c in found.find_all(nodes.Column)] == [nodes.Bare, str]
