import pytest
import sqlglot
from sqlglot import exp

from dpproxy.backends.dialect import Kind, Value
from dpproxy.backends.standard import changed_letters, check_comparable, constructs, counted, summed
from dpproxy.values.errors import Unsupported

NUMBER, TEXT = Value("n", Kind.WHOLE), Value("s", Kind.TEXT)


@pytest.mark.parametrize(
    "sql", ["TRUE", "NULL", "(a AND b)", "(a OR b)", "(NOT a)", "(a IS NULL)", "BOOL_OR(a)"]
)
def test_the_text_is_that_of_the_standard(sql: str):
    node = sqlglot.parse_one(sql, read="duckdb").unnest()
    parts = [Value(name, Kind.TRUTH) for name in ("a", "NULL" if isinstance(node, exp.Is) else "b")]
    assert constructs("Other")[type(node)].rule(node, parts).sql.upper() == sql.upper()


def test_what_follows_is_is_a_truth_or_null():
    with pytest.raises(Unsupported, match="IS is not answered over Other"):
        constructs("Other")[exp.Is].rule(sqlglot.parse_one("a IS b"), [TEXT, TEXT])


def test_values_of_two_types_are_not_compared():
    check_comparable([NUMBER, Value("NULL", Kind.NULL), Value("d", Kind.DECIMAL, scale=2)], "Other")
    with pytest.raises(Unsupported, match="two types"):
        check_comparable([NUMBER, TEXT], "Other")


def test_counts_and_sums_are_of_one_value():
    rule = counted(lambda value: f"same({value.sql})", "Other")
    assert rule(exp.Count(this=exp.Star()), []).sql == "count(*)"
    distinct = exp.Count(this=exp.Distinct(expressions=[exp.column("s")]))
    assert rule(distinct, [TEXT]).sql == "count(DISTINCT same(s))"
    with pytest.raises(Unsupported, match="several"):
        rule(distinct, [TEXT, TEXT])
    total = summed(lambda value: f"wide({value.sql})", "NUMERIC", "Other")
    assert total(exp.Sum(this=exp.column("n")), [NUMBER]).sql == "sum(wide(n))::NUMERIC"
    with pytest.raises(Unsupported, match="sum of this type"):
        total(exp.Sum(this=exp.column("s")), [TEXT])


def test_letters_that_change_are_paired():
    before, after = changed_letters("lower", 1)
    assert dict(zip(before, after, strict=True))["A"] == "a"
    beyond, small = changed_letters("lower", 128)
    assert "A" not in beyond
    assert dict(zip(beyond, small, strict=True))["É"] == "é"
