import pytest
import sqlglot
from sqlglot import exp

from dpproxy.backends.dialect import Kind, Value
from dpproxy.backends.standard import (
    changed_letters,
    check_comparable,
    constructs,
    counted,
    in_utc,
    summed,
    utc_text,
)
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


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2024-03-31 02:30:00+02:00", "'2024-03-31 00:30:00'"),
        ("2024-03-31 00:00:00.25-05:30", "'2024-03-31 05:30:00.250000'"),
        ("0001-01-01 00:00:00+00:00", "'0001-01-01 00:00:00'"),
    ],
)
def test_a_moment_of_ours_is_written_in_utc(text: str, utc: str):
    node = sqlglot.parse_one(f"CAST('{text}' AS TIMESTAMPTZ)", read="duckdb")
    assert utc_text(node, Value("x", Kind.TEXT, constant=text)) == utc


def test_a_moment_without_its_offset_and_what_is_no_constant_are_refused():
    for sql in ("CAST('2024-03-31 02:30:00' AS TIMESTAMPTZ)", "CAST(x AS TIMESTAMPTZ)"):
        with pytest.raises(Unsupported):
            utc_text(sqlglot.parse_one(sql, read="duckdb"), Value("x", Kind.TEXT))
    assert utc_text(sqlglot.parse_one("CAST(NULL AS TIMESTAMPTZ)"), Value("NULL", Kind.NULL)) == "NULL"


def test_a_moment_is_the_timestamp_of_utc():
    rule, utc = in_utc("an engine"), Value("'UTC'", Kind.TEXT, constant="UTC")
    assert rule(exp.Null(), [utc, Value("x", Kind.INSTANT)]) == Value("x", Kind.TIMESTAMP)
    assert rule(exp.Null(), [utc, Value("x", Kind.TIMESTAMP)]) == Value("x", Kind.INSTANT)
    for parts in ([Value("z", Kind.TEXT), Value("x", Kind.INSTANT)], [utc, Value("x", Kind.DATE)]):
        with pytest.raises(Unsupported, match="an engine"):
            rule(exp.Null(), parts)
