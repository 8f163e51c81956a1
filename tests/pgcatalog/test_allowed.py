import pytest
from sqlglot import exp, parse_one

from dpproxy.pgcatalog import allowed
from dpproxy.values.errors import Refusal, TooComplex, Unsupported


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM pg_class FOR UPDATE",
        "SELECT * FROM pg_class TABLESAMPLE SYSTEM (10)",
        "SELECT random()",
        "SELECT repeat('a', 10)",
        "SELECT lpad('a', 10)",
        "SELECT * FROM read_csv('x')",
        "SELECT list_transform(a, x -> x) FROM t",
        "SELECT columns('a') FROM pg_class",
        "DELETE FROM pg_class",
        "COPY pg_class TO 'x'",
        "CREATE TABLE x (a int)",
        "SET a = 1",
    ],
)
def test_what_is_not_listed_is_refused(sql: str):
    with pytest.raises(Unsupported):
        allowed.check(parse_one(sql, read="postgres"))


def test_a_refusal_says_where():
    with pytest.raises(Refusal) as caught:
        allowed.check(parse_one("SELECT 1, repeat('a', 2)", read="postgres"))
    assert caught.value.position == 10
    assert "repeat" in caught.value.message


def test_a_huge_statement_is_refused():
    long = exp.Tuple(expressions=[exp.Literal.number(1) for _ in range(allowed.MAX_NODES + 1)])
    with pytest.raises(TooComplex):
        allowed.check(long)
