import pytest

from dpproxy.algebra import nodes
from dpproxy.backends.postgres import logic
from dpproxy.backends.postgres.dialect import dialect
from dpproxy.backends.servers.dialect import Value, ValueKind, stored
from dpproxy.values.errors import Unsupported
from tests.backends.statements import transpiled

COLUMNS = {
    "x": stored(ValueKind.DOUBLE),
    "y": stored(ValueKind.DOUBLE),
    "i": stored(ValueKind.WHOLE),
    "s": stored(ValueKind.TEXT),
    "d": stored(ValueKind.DATE),
}


def value(sql: str) -> Value:
    query = transpiled(f"SELECT {sql} AS v FROM t", dialect("public"), lambda _, __: COLUMNS)
    return query.columns[0].value


@pytest.mark.parametrize(
    ("sql", "low", "high", "finite"),
    [
        ("CASE WHEN x < 1e0 THEN 1e0 WHEN x > 9e0 THEN 9e0 ELSE x END", 1.0, 9.0, True),
        ("CASE WHEN x >= (-1e0) AND x <= 9e0 THEN x END", -1.0, 9.0, True),
        ("LEAST(GREATEST(x, 1e0), 9e0)", 1.0, 9.0, True),
        ("CASE WHEN i < 0 THEN 0 WHEN i > 110 THEN 110 ELSE i END", 0.0, 110.0, True),
    ],
)
def test_what_is_clamped_has_bounds_from_there_on(sql: str, low: float, high: float, *, finite: bool):
    reach = value(sql).reach
    assert (reach.low, reach.high, reach.is_finite) == (low, high, finite)


NARROW = "CASE WHEN x < (-1e0) THEN (-1e0) WHEN x > 1e0 THEN 1e0 ELSE x END"


@pytest.mark.parametrize(
    ("sql", "low", "high"),
    [
        (f"GREATEST({NARROW}, -700e0)", -700.0, 1.0),  # of NULL it is the literal
        (f"LEAST({NARROW}, 700e0)", -1.0, 700.0),
        ("CASE WHEN x < 700e0 THEN 700e0 WHEN x > 9e0 THEN 9e0 ELSE x END", 9.0, 700.0),
    ],
)
def test_bounds_hold_what_a_literal_adds_to_them(sql: str, low: float, high: float):
    reach = value(sql).reach
    assert (reach.low, reach.high, reach.is_finite) == (low, high, True)


@pytest.mark.parametrize(
    "sql",
    [
        "CASE WHEN x < 1e0 THEN 1e0 WHEN x > 9e0 THEN 8e0 ELSE x END",
        "CASE WHEN x > 9e0 THEN 9e0 WHEN x < 1e0 THEN 1e0 ELSE x END",
        "CASE WHEN x < y THEN y WHEN x > y THEN y ELSE x END",
        "CASE WHEN i < 0 THEN 0e0 ELSE x END",
        "CASE WHEN x <= 9e0 AND x >= 1e0 THEN x END",
        "GREATEST(x, 1e0)",
    ],
)
def test_what_only_looks_like_it_has_none(sql: str):
    assert not value(sql).reach.is_finite


@pytest.mark.parametrize(
    "sql", ["s = 1", "d > 'a'", "i = x", "x IN (1, 2)", "nullif(s, 1)", "coalesce(s, i)"]
)
def test_no_value_is_converted_to_be_compared(sql: str):
    with pytest.raises(Unsupported):
        value(sql)


def test_texts_are_ordered_by_their_bytes():
    parts = [Value("a", ValueKind.TEXT), Value("b", ValueKind.TEXT)]
    node = nodes.Binary("<", nodes.ColumnRef("a"), nodes.ColumnRef("b"))
    assert logic.comparison("<")(node, parts).sql == '(a COLLATE "C" < b)'
    assert logic.comparison("=")(node, parts).sql == "(a = b)"
