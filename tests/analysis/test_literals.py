"""Constants and parameters become exact values of a type, or are refused."""

from datetime import date, datetime
from fractions import Fraction

import pytest

from dpproxy.analysis import duck
from dpproxy.analysis.literals import from_value
from dpproxy.analysis.scopes import Parameters
from dpproxy.values.errors import InvalidText, NumberOutOfRange, UndefinedParameter, Unsupported
from dpproxy.values.pgtypes import BOOL, DATE, FLOAT8, INT2, INT4, INT8, NUMERIC, TEXT, TIMESTAMP, SqlType
from dpproxy.wire.values import decode
from tests.analysis.rows import compiled, node_of, row_scope


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [
        ("5", 5, INT4),
        ("3000000000", 3 * 10**9, INT8),
        ("0.10", Fraction("0.1"), NUMERIC),
        ("1e3", 1000, NUMERIC),
        ("7.0", 7, NUMERIC),
        ("-7", -7, INT4),
    ],
)
def test_a_number_is_exact(text: str, value: object, kind: SqlType):
    typed = compiled(text)
    assert (typed.constant, typed.type) == (value, kind)


@pytest.mark.parametrize("text", ["1e400", "9" * 70, "1e-301"])
def test_a_number_out_of_every_range_is_refused(text: str):
    with pytest.raises(NumberOutOfRange):
        compiled(text)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (5, INT2),
        (5, INT8),
        (5, NUMERIC),
        (5, FLOAT8),
        ("x", TEXT),
        (True, BOOL),
        (Fraction(5, 2), NUMERIC),
        (None, INT4),
    ],
)
def test_a_parameter_keeps_its_declared_type(value: object, kind: SqlType):
    """Else numeric 5 would divide as an integer."""
    assert from_value(value, kind).type == kind


@pytest.mark.parametrize(("value", "kind"), [(2**15, INT2), (2**31, INT4), (-(2**63) - 1, INT8)])
def test_a_parameter_out_of_its_type_is_refused(value: int, kind: SqlType):
    with pytest.raises(OverflowError):
        from_value(value, kind)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("age > $1", INT4),
        ("price + $1 > 0", NUMERIC.with_precision(9, 2)),
        ("name LIKE $1", TEXT),
        ("$1 IS TRUE", BOOL),
        ("CAST($1 AS bigint) > 0", INT8),
    ],
)
def test_an_open_parameter_takes_the_type_beside_it(text: str, kind: SqlType):
    parameters = Parameters()
    compiled(text, parameters)
    assert parameters.types[1].is_same(kind)


@pytest.mark.parametrize("text", ["$0", "$1001", "$2"])
def test_a_parameter_that_is_not_there_is_refused(text: str):
    with pytest.raises(UndefinedParameter):
        compiled(f"age = {text}", Parameters(values=(1,)))


@pytest.mark.parametrize(
    "text",
    [
        "age = '1.5'",
        "age = '\u0661'",
        "price = '1/2'",
        "price = '1/0'",
        "born = 'today'",
        "flag = 'maybe'",
    ],
)
def test_a_quoted_literal_that_does_not_read_is_refused(text: str):
    with pytest.raises(InvalidText):
        compiled(text)


@pytest.mark.parametrize(
    "text", ["real8 = 'inf'", "real8 = 'NaN'", "born = 'infinity'", "seen > '-Infinity'"]
)
def test_what_has_no_end_is_refused_by_its_name(text: str):
    with pytest.raises(Unsupported, match="NaN and infinity"):
        compiled(text)


MOMENTS = [
    "2024-01-02",
    "20240102",
    "2024-01-02T00:00:00Z",
    "2024-01-02T00:00:00.000Z",
    "2024-01-02 03:04:05+02",
    "2024-01-02 03:04:05.0000005",
    " 2024-01-02 03:04 ",
    "2024-W01-1",
    "2024-01-02 03",
    "2024-01-02 03:04+16",
    "today",
]


@pytest.mark.parametrize("kind", [DATE, TIMESTAMP])
@pytest.mark.parametrize("text", MOMENTS)
def test_a_quoted_moment_reads_as_a_bound_one(text: str, kind: SqlType):
    """Which reads as a PostgreSQL does: tests/wire/test_against_postgres.py."""
    written = [f"CAST('{text}' AS {kind.name})", f"{kind.name} '{text}'", f"'{text}'::{kind.shown}"]
    try:
        bound = from_value(decode(kind, text.encode(), 0), kind)
    except InvalidText:
        for quoted in written:
            with pytest.raises(InvalidText):
                compiled(quoted)
    else:
        assert {duck.text(compiled(quoted).sql) for quoted in written} == {duck.text(bound.sql)}


def test_the_zone_of_a_timestamp_and_the_time_of_a_date_are_let_go():
    assert compiled("TIMESTAMP '2024-01-02T03:04:05+02'").constant == datetime(2024, 1, 2, 3, 4, 5)  # noqa: DTZ001
    assert compiled("DATE '2024-01-02T23:59:59Z'").constant == date(2024, 1, 2)


def test_a_nul_character_never_reaches_the_engine():
    with pytest.raises(NumberOutOfRange):
        compiled("name = $1", Parameters({1: TEXT}, ("a\x00b",)))


def test_a_refusal_says_nothing_of_a_parameters_value():
    with pytest.raises(NumberOutOfRange) as refused:
        compiled("age = $1", Parameters({1: INT4}, (123456789012,)))
    assert "123456789012" not in f"{refused.value.message}{refused.value.hint}{refused.value.detail}"


def test_the_scope_of_rows_knows_its_columns():
    assert row_scope().leaf(node_of("age")) is not None
