"""Dates and timestamps: fields, units, arithmetic and bounds."""

# ruff: noqa: DTZ001, E501 - the type has no time zone, tables of cases

from datetime import date, datetime

import duckdb
import pytest
from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.dates import FIELDS, UNITS, starts
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.scopes import ExpressionLevel, Parameters, Scope
from dpproxy.analysis.typed import Typed
from dpproxy.sql import grammar
from dpproxy.values.errors import NumberOutOfRange, Refusal, UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import DATE, INT4, NUMERIC, TIMESTAMP, TIMESTAMPTZ, SqlType
from tests.analysis.rows import compiled, connect, value_of, values_of


@pytest.fixture(scope="module")
def rows():
    connection = connect()
    yield connection
    connection.close()


def on_rows(rows: duckdb.DuckDBPyConnection, text: str) -> tuple[list[object], Typed]:
    typed = compiled(text)
    return [value_of(v, typed) for v in values_of(rows, typed.sql)], typed


@pytest.mark.parametrize("column", ["born", "seen"])
@pytest.mark.parametrize("field", [*FIELDS, "nonsense"])
def test_a_field_is_inside_its_bounds(rows: duckdb.DuckDBPyConnection, column: str, field: str):
    try:
        values, typed = on_rows(rows, f"extract({field} from {column})")
    except Unsupported:
        assert field == "nonsense" or FIELDS[field].of_time
        return
    assert all(v is None or typed.low <= v <= typed.high for v in values)


@pytest.mark.parametrize(
    ("text", "value"),
    [("extract(year from seen)", 2010), ("extract(month from seen)", 5), ("extract(isodow from seen)", 3), ("extract(dow from seen)", 3),
     ("extract(doy from seen)", 125), ("extract(quarter from seen)", 2), ("extract(century from seen)", 21), ("extract(decade from seen)", 201),
     ("extract(week from seen)", 18), ("extract(minute from seen)", 2), ("extract(microseconds from seen)", 3000004),
     ("date_trunc('week', seen)", datetime(2010, 5, 3)), ("date_trunc('quarter', seen)", datetime(2010, 4, 1)),
     ("date_trunc('hour', seen)", datetime(2010, 5, 5, 1)), ("seen::date", date(2010, 5, 5)), ("seen::date + 30", date(2010, 6, 4)),
     ("seen::date - 5", date(2010, 4, 30)), ("seen::date - date '2010-01-01'", 124), ("seen::date::timestamp", datetime(2010, 5, 5)),
     ("seen + interval '1 month 3 hours'", datetime(2010, 6, 5, 4, 2, 3, 4))],
)  # fmt: skip
def test_a_value_is_postgresqls(rows: duckdb.DuckDBPyConnection, text: str, value: object):
    seen, _ = on_rows(rows, "seen")
    assert on_rows(rows, text)[0][seen.index(datetime(2010, 5, 5, 1, 2, 3, 4))] == value


@pytest.mark.parametrize("column", ["born", "seen"])
@pytest.mark.parametrize("unit", UNITS)
def test_a_truncated_value_is_a_start_inside_its_bounds(
    rows: duckdb.DuckDBPyConnection, column: str, unit: str
):
    values, typed = on_rows(rows, f"date_trunc('{unit.lower()}', {column})")
    assert all(v is None or typed.first <= v <= typed.last for v in values)
    listed = starts(typed.first, typed.last, unit, 50_000)
    assert listed is None or set(values) - {None} <= set(listed)
    assert (listed is None) == (unit in ("HOUR", "MINUTE", "SECOND"))


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [("born + 1", date(1900, 1, 2), date(2030, 1, 2)), ("born - age", date(1899, 9, 13), date(2030, 1, 1)),
     ("seen - interval '1 year'", datetime(1999, 1, 1), datetime(2029, 1, 1)), ("coalesce(born, date '1800-01-01')", date(1800, 1, 1), date(2030, 1, 1)),
     ("CASE WHEN flag THEN born ELSE seen END", datetime(1900, 1, 1), datetime(2030, 1, 1)), ("coalesce(born, NULL)", date(1900, 1, 1), date(2030, 1, 1)),
     ("date '1998-12-01' - interval '90' day", datetime(1998, 9, 2), datetime(1998, 9, 2))],
)  # fmt: skip
def test_bounds_follow(text: str, first: date, last: date):
    typed = compiled(text)
    assert (typed.first, typed.last) == (first, last)


def test_days_between_dates_are_bounded():
    typed = compiled("born - date '2000-01-01'")
    assert (typed.low, typed.high) == (-36524, 10958)


@pytest.mark.parametrize(
    ("text", "kind"),
    [("born + 1", DATE), ("born - born", INT4), ("born + interval '1 day'", TIMESTAMP), ("date_trunc('year', born)", TIMESTAMP),
     ("extract(year from born)", NUMERIC), ("NULL::date + 3", DATE), ("NULL::date - interval '3 days'", TIMESTAMP)],
)  # fmt: skip
def test_the_type_is_postgresqls(text: str, kind: SqlType):
    assert compiled(text).type == kind


@pytest.mark.parametrize(
    "text",
    ["born + big", "born + 4000000", "born + interval '8000 years'", "seen - interval '2100 years'", "date '0001-01-01' - 1",
     "date_trunc('decade', date '0005-01-01')", "(born - interval '1800 years') - interval '200 years'"],
)  # fmt: skip
def test_what_could_leave_the_range_is_refused(text: str):
    with pytest.raises(NumberOutOfRange):
        compiled(text)


@pytest.mark.parametrize(
    "text",
    ["seen - seen", "born + 1.5", "born + name", "1 - born", "seen + 1", "extract(year from age)", "date_trunc('year', name)",
     "age + interval '1 day'"],
)  # fmt: skip
def test_other_types_are_refused(text: str):
    with pytest.raises(UndefinedFunction) as refused:
        compiled(text)
    assert refused.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "date_trunc('century', born)",
        "extract(hour from born)",
        "extract(timezone from seen)",
        "interval '1 day'",
    ],
)
def test_other_units_are_refused(text: str):
    with pytest.raises(Unsupported):
        compiled(text)


@pytest.mark.parametrize("text", ["current_date", "now()", "current_timestamp", "localtimestamp"])
def test_the_present_is_no_constant(text: str):
    with pytest.raises(Refusal) as refused:
        compiled(text)
    assert "constant" in str(refused.value.hint)


def test_a_null_date_is_null(rows: duckdb.DuckDBPyConnection):
    for text in (
        "extract(year from NULL::date) + 1",
        "NULL::date - interval '1 day'",
        "NULL::date + 30",
        "DATE '2024-01-01' - NULL::int",
        "date_trunc('day', NULL)",
    ):
        assert set(on_rows(rows, text)[0]) == {None}


def test_a_day_is_compared_with_a_moment(rows: duckdb.DuckDBPyConnection):
    days, _ = on_rows(rows, "born")
    early = date(2000, 2, 29)
    for text in ("born <= date '2000-05-29' - interval '90' day", "born <= timestamp '2000-02-29 12:00:00'"):
        assert on_rows(rows, text)[0] == [None if d is None else d <= early for d in days]


def test_an_interval_that_is_taken_away_is_named_so():
    with pytest.raises(UndefinedFunction, match=r"^- interval does not take"):
        compiled("age - interval '1 day'")


def test_seconds_of_a_moment_with_a_zone():
    """Where nothing is private."""
    [node] = grammar.parse("SELECT extract(epoch FROM tz)")[0].selects
    moment = Typed(duck.column("tz"), TIMESTAMPTZ)
    leaf = {exp.column("tz"): moment}.get
    found = compile_expression(node, Scope(ExpressionLevel.RELEASED, leaf, Parameters()))
    assert (duck.text(found.sql), found.type, found.scale) == ('EPOCH_US("tz")', NUMERIC, 6)
    [other] = grammar.parse("SELECT tz + interval '1 day'")[0].selects
    with pytest.raises(UndefinedFunction) as refused:
        compile_expression(other, Scope(ExpressionLevel.RELEASED, leaf, Parameters()))
    assert "extract(epoch FROM x)" in str(refused.value.hint)


def test_a_field_of_a_constant_null_is_a_whole_number():
    """As a DOUBLE it would round the number beside it."""
    typed = compiled("coalesce(unsigned, extract(month FROM nullif('2000-02-29'::date, '2000-02-29'::date)))")
    connection = connect()
    kinds = connection.execute(f"SELECT DISTINCT typeof({duck.text(typed.sql)}) FROM t").fetchall()
    assert kinds == [("HUGEINT",)]
    connection.close()
