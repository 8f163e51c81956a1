"""From the engine's values to the client's."""

from datetime import UTC, date, datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

from dpproxy.algebra.plan import Output
from dpproxy.engine.output import Portions, convert
from dpproxy.values.errors import NumberOutOfRange
from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    NUMERIC,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    Column,
    SqlType,
    array_of,
)
from dpproxy.wire.intervals import Interval
from dpproxy.wire.times import END_OF_DAY
from tests.empty import empty


def shown(value: object, kind: SqlType, scale: int | None = None, floor: int | None = None) -> object:
    ((found,),) = convert([Output(Column("c", kind), scale, floor)], [(value,)])
    return found


@pytest.mark.parametrize(
    ("value", "kind", "found"),
    [
        (7, INT8, 7), (-7, INT8, -7), (2**70, INT8, 2**63 - 1), (-(2**70), INT8, -(2**63)),
        (2**40, INT4, 2**31 - 1), (-(2**40), INT2, -(2**15)), (0.25, FLOAT8, 0.25), (True, BOOL, True),
        ("a", TEXT, "a"), (date(2020, 1, 2), DATE, date(2020, 1, 2)), (None, INT8, None), (None, NUMERIC, None),
    ],
)  # fmt: skip
def test_values_in_the_type_of_their_column(value: object, kind: SqlType, found: object):
    assert shown(value, kind) == found
    assert type(shown(value, kind)) is type(found)


def test_a_count_is_kept_at_zero_or_above():
    assert shown(-3, INT8, floor=0) == 0
    assert shown(3, INT8, floor=0) == 3


@pytest.mark.parametrize("kind", [pa.int64(), pa.int8(), pa.decimal128(38, 0)])
def test_a_count_of_different_values_is_kept_at_what_is_declared(kind: pa.DataType):
    outputs = (Output(Column("n", INT8), 0, 0, ceiling=2), Output(Column("n", INT8), 0, 0, ceiling=2**63))
    table = pa.table([pa.array([-1, 1, 12, None], kind)] * 2, ["c0", "c1"])
    assert list(Portions(outputs, table)) == [(0, 0), (1, 1), (2, 12), (None, None)]
    held = [[v if v is None else int(v) for v in column] for column in _lists(Portions(outputs, table))]
    assert held == [[0, 1, 2, None], [0, 1, 12, None]]


def _lists(rows: Portions) -> list[list[object]]:
    return [c if isinstance(c, list) else c.to_pylist() for c in rows.arrays()]


def test_numerics_are_exact_where_they_were_integers():
    assert shown(12345, NUMERIC, scale=2) == Decimal("123.45")
    assert shown(-(10**37) - 1, NUMERIC, scale=5) == Decimal("-100000000000000000000000000000000.00001")
    assert str(shown(1e300, NUMERIC.with_precision(38, 10))) == "1" + "0" * 300 + "." + "0" * 10
    assert str(shown(1e20, NUMERIC)) == "100000000000000000000"
    assert str(shown(0.1 + 0.2, NUMERIC)) == "0.3"
    assert str(shown(2.345, NUMERIC.with_precision(10, 1))) == "2.3"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_numeric_that_is_no_number_is_refused(value: float):
    with pytest.raises(NumberOutOfRange):
        shown(value, NUMERIC)


def test_portions_are_made_where_they_are_asked_for():
    outputs = (Output(Column("n", INT8), 0), Output(Column("pay", NUMERIC), 2))
    table = pa.table({"c0": [1, 2, None], "c1": [150, None, 3]})
    rows = Portions(outputs, table)
    assert len(rows) == 3
    assert list(rows[1:5]) == [(2, None), (None, Decimal("0.03"))]
    assert rows[0] == (1, Decimal("1.50"))
    assert list(rows) == [rows[0], rows[1], rows[-1]] == list(rows[:])
    assert list(rows[3:9]) == []
    assert list(rows[::-1]) == [rows[2], rows[1], rows[0]]
    assert list(rows[1::-1]) == [rows[1], rows[0]]
    assert list(rows[2:0:-1][1:]) == [rows[1]]
    assert list(rows[0:2:-1]) == []
    assert 0 < rows[1:].nbytes < rows.nbytes


def test_portions_by_column_are_the_same_values():
    outputs = (
        Output(Column("i", INT4), None),
        Output(Column("n", INT8), 0, floor=0),
        Output(Column("huge", INT8), 0),
        Output(Column("pay", NUMERIC), 2),
        Output(Column("mean", NUMERIC), None),
        Output(Column("x", FLOAT8), None),
        Output(Column("t", TEXT), None),
        Output(Column("d", DATE), None),
    )
    table = pa.table({
        "c0": pa.array([1, None, -3], pa.int32()),
        "c1": [-5, None, 3],
        "c2": pa.array([Decimal(2**70), Decimal(-7), None], pa.decimal128(38, 0)),
        "c3": pa.array([Decimal(150), None, Decimal(-3)], pa.decimal128(38, 0)),
        "c4": [1.5, 0.1, None],
        "c5": [1.5, None, float("inf")],
        "c6": ["a", None, ""],
        "c7": pa.array([date(2020, 1, 1), None, date(1, 1, 1)]),
    })  # fmt: skip
    for rows in (Portions(outputs, table), Portions(outputs, table)[1:]):
        held = [array if isinstance(array, list) else array.to_pylist() for array in rows.arrays()]
        assert list(zip(*held, strict=True)) == list(rows)


@pytest.mark.parametrize(
    ("kind", "sql"),
    [
        (DATE, "(DATE 'infinity'), (DATE '-infinity'), (DATE '2020-02-29'), (NULL), (DATE '0001-01-01')"),
        (
            TIMESTAMP,
            "(TIMESTAMP 'infinity'), (TIMESTAMP '-infinity'), (TIMESTAMP '2020-02-29 01:02:03.5'), (NULL)",
        ),
    ],
)
def test_moments_are_those_of_few_rows(kind: SqlType, sql: str):
    """Rows that are held by column, beside rows that the engine gives as values."""
    output = Output(Column("d", kind), None)
    with empty() as connection:
        table = connection.sql(f"SELECT d FROM (VALUES {sql}) AS v (d)").to_arrow_table()
        few = connection.execute(f"SELECT d FROM (VALUES {sql}) AS v (d)").fetchall()
        [array] = Portions([output], table).arrays()
        assert [(value,) for value in array.to_pylist()] == convert([output], few)
        assert list(Portions([output], table)) == convert([output], few)
        [plain] = Portions([output], table.slice(2)).arrays()
        assert plain.equals(array.slice(2))
        far = connection.sql("SELECT DATE '2020-01-01' - 1000000 AS d UNION ALL SELECT NULL").to_arrow_table()
    if kind is DATE:
        with pytest.raises(NumberOutOfRange):
            Portions([output], far).arrays()


def test_types_that_arrow_does_not_hold_whole():
    table = (
        duckdb.connect()
        .sql(
            "SELECT INTERVAL '14 months' AS i, TIME '24:00:00' AS t, [TIMESTAMPTZ '2024-01-02 03:00:00+00'] AS l"
        )
        .to_arrow_table()
    )
    kinds = (INTERVAL, TIME, array_of(TIMESTAMPTZ))
    rows = Portions([Output(Column("c", kind), None) for kind in kinds], table)
    moment = datetime(2024, 1, 2, 3, tzinfo=UTC)
    assert list(rows) == [(Interval(14), END_OF_DAY, [moment])]
    assert rows.arrays() == [[Interval(14)], [END_OF_DAY], [[moment]]]


def test_a_moment_without_a_date_here():
    table = pa.table({"m": pa.array([2**62], pa.timestamp("us", "UTC"))})
    rows = Portions([Output(Column("m", TIMESTAMPTZ), None)], table)
    for read in (rows.arrays, lambda: list(rows)):
        with pytest.raises(NumberOutOfRange):
            read()
