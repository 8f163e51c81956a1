import pytest
from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.backends.servers.dialect import Value, ValueKind
from dpproxy.backends.servers.standard import (
    EVERY,
    IN_UTC,
    TEXTS,
    WHOLES,
    Operation,
    Texts,
    arithmetic,
    as_double,
    changed_letters,
    check_comparable,
    clamped,
    constructs,
    counted,
    is_ours,
    is_rounded,
    of,
    rounded,
    scale_of,
    spans,
    summed,
    utc_text,
    whole_digits,
)
from dpproxy.values.errors import Unsupported
from tests.reading import read

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


def test_a_double_is_rounded_to_constant_digits():
    rule, node = (
        rounded(lambda value, digits: replace(value, sql=f"{value.sql}, {digits}")),
        nodes.Call("round"),
    )
    value, two = Value("x", ValueKind.DOUBLE), Value("2", ValueKind.WHOLE, constant="2")
    assert [rule(node, parts).sql for parts in ([value], [value, two], [NULL])] == ["x, 0", "x, 2", "NULL"]
    for wrong in ([NUMBER], [value, NUMBER]):
        with pytest.raises(Unsupported, match="round of this type"):
            rule(node, wrong)


def test_texts_of_ours_are_constants_and_parameters():
    cast, known = nodes.Cast(nodes.ColumnRef("s"), "DATE"), Value("'x'", ValueKind.TEXT, constant="x")
    assert is_ours(cast, known)
    assert is_ours(nodes.Cast(nodes.Paren(nodes.Parameter(2)), "DATE"), TEXT)
    assert not is_ours(cast, TEXT)
    assert not is_ours(cast, Value("5", ValueKind.WHOLE, constant="5"))
    assert scale_of(nodes.Cast(nodes.Null(), "DECIMAL(18, 2)")) == 2


def test_values_of_two_types_are_not_compared():
    check_comparable([NUMBER, Value("NULL", ValueKind.NULL), Value("d", ValueKind.DECIMAL, scale=2)])
    with pytest.raises(Unsupported, match="two types"):
        check_comparable([NUMBER, TEXT])


def test_counts_and_sums_are_of_one_value():
    rule = counted(lambda value: f"same({value.sql})")
    assert rule(nodes.Call("count"), []).sql == "count(*)"
    distinct = nodes.Call("count", distinct=True)
    assert rule(distinct, [TEXT]).sql == "count(DISTINCT same(s))"
    with pytest.raises(Unsupported, match="several"):
        rule(distinct, [TEXT, TEXT])
    total = summed(lambda value: f"wide({value.sql})", "NUMERIC")
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
    rule, utc = IN_UTC.rule, Value("'UTC'", ValueKind.TEXT, constant="UTC")
    assert rule(nodes.Null(), [utc, Value("x", ValueKind.INSTANT)]) == Value("x", ValueKind.TIMESTAMP)
    assert rule(nodes.Null(), [utc, Value("x", ValueKind.TIMESTAMP)]) == Value("x", ValueKind.INSTANT)
    for parts in (
        [Value("z", ValueKind.TEXT), Value("x", ValueKind.INSTANT)],
        [utc, Value("x", ValueKind.DATE)],
    ):
        with pytest.raises(Unsupported):
            rule(nodes.Null(), parts)


BOUNDED = "CASE WHEN a < 1 THEN 1 WHEN a > -5 THEN -5 ELSE a END"
INSIDE = "CASE WHEN a >= 1 AND a <= b THEN a END"


@pytest.mark.parametrize(
    ("sql", "ends"),
    [(BOUNDED, (1.0, -5.0, True)), (INSIDE, (1.0, None, False)), (BOUNDED.replace("ELSE a", "ELSE b"), None),
     (INSIDE.replace("THEN a", "THEN b"), None)],
)  # fmt: skip
def test_a_clamp_is_known_by_its_form(sql: str, ends: tuple[float | None, float | None, bool] | None):
    node = next(iter(read(f"SELECT {sql} AS v FROM t").find_all(nodes.Case)))
    truth, low, high, value = (
        Value("x", ValueKind.TRUTH),
        *(Value(text, ValueKind.WHOLE, constant=text) for text in ("1", "-5")),
        Value("a", ValueKind.WHOLE),
    )
    found = clamped(node, [truth, low, truth, high, value] if "ELSE" in sql else [truth, value])
    assert (None if found is None else (found.low, found.high, found.moved)) == ends
    assert found is None or found.value == value


def test_what_is_rounded_is_a_whole_number():
    def rounded(sql: str) -> bool:
        select = read(f"SELECT {sql} AS v FROM t")
        assert isinstance(select, nodes.Select)
        return is_rounded(next(iter(select.items[0].parts())))

    assert all(
        map(rounded, ("round(a, 0)", "-(floor(a))", "CASE WHEN a > 1 THEN 2 ELSE ceil(a) END", "NULL"))
    )
    assert not any(map(rounded, ("a", "1.5", "CASE WHEN a > 1 THEN a ELSE 1 END")))


def test_arithmetic_is_by_the_types_of_its_operands():
    def of(name: str) -> Operation:
        return lambda sign, a, b: Value(f"{name}({a.sql} {sign} {b.sql})", ValueKind.WHOLE)

    rule = arithmetic(of("double"), of("exact"), of("time"), "because")["-"].rule
    day, double = Value("y", ValueKind.DATE), Value("d", ValueKind.DOUBLE)
    for a, b, wanted in (
        (NUMBER, double, "double(n - d)"), (NUMBER, NUMBER, "exact(n - n)"), (day, day, "time(y - y)"),
        (day, NULL, "NULL"),
    ):  # fmt: skip
        assert rule(nodes.Call("f"), [a, b]).sql == wanted
    assert as_double(double, lambda _: double) == double
    with pytest.raises(Unsupported, match="two types"):
        as_double(day, lambda _: double)


def test_functions_of_texts_take_constant_places():
    rows = Texts().functions({"left": "left({all})"}, from_first=("left",))
    one = Value("1", ValueKind.WHOLE, constant="1")
    assert rows["left"].rule(nodes.Call("left"), [TEXT, one]).sql == "left(s, 1)"
    for given in ([NUMBER, one], [TEXT, NUMBER], [TEXT, Value("-1", ValueKind.WHOLE, constant="-1")]):
        with pytest.raises(Unsupported):
            rows["left"].rule(nodes.Call("left"), given)


def test_a_pattern_is_constant():
    rows = Texts().likes("{} {} {}".format, "small({})".format)
    pattern = Value("'a%'", ValueKind.TEXT, constant="a%")
    assert rows["NOT ILIKE"].rule(nodes.Call("f"), [TEXT, pattern]).sql == "small(s) NOT LIKE small('a%')"
    with pytest.raises(Unsupported, match="no constant"):
        rows["LIKE"].rule(nodes.Call("f"), [TEXT, TEXT])


def test_a_length_of_time_is_a_whole_number_of_units():
    rows = spans(*[lambda a: replace(a, kind=ValueKind.SPAN)] * 3)
    assert rows["to_days"].rule(nodes.Call("to_days"), [NUMBER]).kind is ValueKind.SPAN
    with pytest.raises(Unsupported):
        rows["to_months"].rule(nodes.Call("to_months"), [TEXT])
