import pytest
import sqlglot

from dpproxy.backends.operands import parts
from dpproxy.values.errors import Unsupported


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a + b", ["a", "b"]),
        ("NOT a", ["a"]),
        ("a AND b", ["a", "b"]),
        ("a IN (b, c)", ["a", "b", "c"]),
        ("CASE WHEN a THEN b WHEN c THEN d ELSE e END", ["a", "b", "c", "d", "e"]),
        ("CASE WHEN a THEN b END", ["a", "b"]),
        ("CAST(a AS BIGINT)", ["a"]),
        ("COUNT(*)", []),
        ("COUNT(DISTINCT a)", ["a"]),
        ("SUM(a)", ["a"]),
        ("GREATEST(a, b, c)", ["a", "b", "c"]),
        ("SUBSTRING(a, 1, 2)", ["a", "1", "2"]),
        ("5", []),
        ("NULL", []),
    ],
)
def test_operands_are_found_in_their_order(text: str, found: list[str]):
    assert [part.sql() for part in parts(sqlglot.parse_one(text, read="duckdb"))] == found


@pytest.mark.parametrize("text", ["a[1]", "(SELECT 1)", "CASE a WHEN 1 THEN 2 END"])
def test_other_constructs_are_refused(text: str):
    with pytest.raises(Unsupported):
        list(parts(sqlglot.parse_one(text, read="duckdb")))
