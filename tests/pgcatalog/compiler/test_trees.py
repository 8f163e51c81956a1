import pytest
from sqlglot import exp

from dpproxy.pgcatalog.compiler.trees import call, cast, null, oid, spoken, text


@pytest.mark.parametrize(
    ("tree", "sql"),
    [
        (text("it's"), "'it''s'"),
        (spoken(None), "CAST(NULL AS TEXT)"),
        (null(), "CAST(NULL AS TEXT)"),
        (oid(23), "CAST(23 AS UINTEGER)"),
        (cast(exp.column("a"), "DECIMAL(38,20)[]"), "CAST(a AS DECIMAL(38, 20)[])"),
        (call("list_append", exp.column("a"), text("b")), "LIST_APPEND(a, 'b')"),
    ],
)
def test_the_engines_sql(tree: exp.Expr, sql: str):
    assert tree.sql("duckdb") == sql
