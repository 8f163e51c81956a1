import pytest

from dpproxy.algebra import nodes
from dpproxy.backends.servers.dialect import Value, ValueKind
from dpproxy.backends.servers.standard import (
    EVERY,
    TEXTS,
    WHOLES,
    changed_letters,
    check_comparable,
    constructs,
    counted,
    in_utc,
    is_ours,
    of,
    scale_of,
    summed,
    utc_text,
    whole_digits,
)
from dpproxy.values.errors import Unsupported

COLUMNS = tuple(map(nodes.ColumnRef, "abc"))
NULL = Value("NULL", ValueKind.NULL)
NUMBER, TEXT = Value("n", ValueKind.WHOLE), Value("s", ValueKind.TEXT)


@pytest.mark.parametrize(
    ("node", "sql"),
    [
        (nodes.TRUE, "TRUE"),
        (nodes.Null(), "NULL"),
        (nodes.And(COLUMNS), "(a AND b AND c)"),
        (nodes.Or(COLUMNS), "(a OR b OR c)"),
        (nodes.Not(nodes.ColumnRef("a")), "(NOT a)"),
        (nodes.IsNull(nodes.ColumnRef("a")), "(a IS NULL)"),
    ],
)
def test_the_text_is_that_of_the_standard(node: nodes.Expr, sql: str):
    parts = [Value(name, ValueKind.TRUTH) for name in "abc"]
    assert constructs()[type(node)].rule(node, parts).sql == sql


def test_truth_is_aggregated():
    assert EVERY["bool_or"].rule(nodes.Call("bool_or"), [Value("a", ValueKind.TRUTH)]).sql == "bool_or(a)"


def test_a_rule_is_over_operands_of_its_kinds():
    rule, node = of(lambda a: Value(f"f({a.sql})", ValueKind.WHOLE), WHOLES), nodes.Call("f")
    assert rule(node, [NUMBER]).sql == "f(n)"
    assert rule(node, [NULL]) == NULL
    for wrong in ([TEXT], [NUMBER, NUMBER], []):
        with pytest.raises(Unsupported, match="these types"):
            rule(node, wrong)
    with pytest.raises(Unsupported):
        of(lambda a: a, TEXTS)(node, [NULL])


def test_rounding_is_to_whole_numbers():
    rule, node = whole_digits(of(lambda a: a, WHOLES)), nodes.Call("round")
    assert rule(node, [NUMBER]) == rule(node, [NUMBER, Value("0", ValueKind.WHOLE, constant="0")]) == NUMBER
    with pytest.raises(Unsupported):
        rule(node, [NUMBER, Value("1", ValueKind.WHOLE, constant="1")])


def test_texts_of_ours_are_constants_and_parameters():
    cast, known = nodes.Cast(nodes.ColumnRef("s"), "DATE"), Value("'x'", ValueKind.TEXT, constant="x")
    assert is_ours(cast, known)
    assert is_ours(nodes.Cast(nodes.Paren(nodes.Parameter(2)), "DATE"), TEXT)
    assert not is_ours(cast, TEXT)
    assert not is_ours(cast, Value("5", ValueKind.WHOLE, constant="5"))
    assert scale_of(nodes.Cast(nodes.Null(), "DECIMAL(18, 2)")) == 2


def test_values_of_two_types_are_not_compared():
    check_comparable([NUMBER, Value("NULL", ValueKind.NULL), Value("d", ValueKind.DECIMAL, scale=2)], "Other")
    with pytest.raises(Unsupported, match="two types"):
        check_comparable([NUMBER, TEXT], "Other")


def test_counts_and_sums_are_of_one_value():
    rule = counted(lambda value: f"same({value.sql})", "Other")
    assert rule(nodes.Call("count"), []).sql == "count(*)"
    distinct = nodes.Call("count", distinct=True)
    assert rule(distinct, [TEXT]).sql == "count(DISTINCT same(s))"
    with pytest.raises(Unsupported, match="several"):
        rule(distinct, [TEXT, TEXT])
    total = summed(lambda value: f"wide({value.sql})", "NUMERIC", "Other")
    assert total(nodes.Call("sum"), [NUMBER]).sql == "sum(wide(n))::NUMERIC"
    with pytest.raises(Unsupported, match="sum of this type"):
        total(nodes.Call("sum"), [TEXT])


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
    node = nodes.Cast(nodes.Paren(nodes.Text(text)), "TIMESTAMPTZ")
    assert utc_text(node, Value("x", ValueKind.TEXT, constant=text)) == utc


def test_a_moment_without_its_offset_and_what_is_no_constant_are_refused():
    for value in (nodes.Text("2024-03-31 02:30:00"), nodes.ColumnRef("x")):
        with pytest.raises(Unsupported):
            utc_text(nodes.Cast(value, "TIMESTAMPTZ"), Value("x", ValueKind.TEXT))
    assert utc_text(nodes.Cast(nodes.Null(), "TIMESTAMPTZ"), NULL) == "NULL"


def test_a_moment_is_the_timestamp_of_utc():
    rule, utc = in_utc("an engine"), Value("'UTC'", ValueKind.TEXT, constant="UTC")
    assert rule(nodes.Null(), [utc, Value("x", ValueKind.INSTANT)]) == Value("x", ValueKind.TIMESTAMP)
    assert rule(nodes.Null(), [utc, Value("x", ValueKind.TIMESTAMP)]) == Value("x", ValueKind.INSTANT)
    for parts in (
        [Value("z", ValueKind.TEXT), Value("x", ValueKind.INSTANT)],
        [utc, Value("x", ValueKind.DATE)],
    ):
        with pytest.raises(Unsupported):
            rule(nodes.Null(), parts)
