"""A table of extreme rows, its policy, and the interpreter that says what an expression over it should be."""

# ruff: noqa: DTZ001 - the type has no time zone

import math
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from functools import cache
from typing import Any

import duckdb
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.domains import read_column
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.scopes import ExpressionLevel, Parameters, Scope
from dpproxy.analysis.totality import check_total
from dpproxy.analysis.typed import Typed
from dpproxy.planner.accept import accept, parse
from dpproxy.policy.model import Between, Domain, Members, Outside
from dpproxy.system.confinement import LOCKED
from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    Column,
    SqlType,
)

Value = Any
INF, NAN = float("inf"), float("nan")
WHOLE = [0, 1, -1, 7]
DOUBLES = [0.0, -0.0, 1.5, -1e308, 1e308, 5e-324, INF, -INF, NAN]


@dataclass(frozen=True)
class Made:
    """One column: its engine type, our type, its domain and values at the edges."""

    engine: str
    type: SqlType
    domain: Domain
    values: tuple[object, ...]
    not_null: bool = False


def number(text: str) -> Fraction:
    return Fraction(text)


COLUMNS: dict[str, Made] = {
    "tiny": Made("UTINYINT", INT2, Between(-5, 300), (0, 255, 7)),
    "small": Made("SMALLINT", INT2, Between(-(2**15), 2**15 - 1), (-(2**15), 2**15 - 1, *WHOLE)),
    "age": Made("INTEGER", INT4, Between(0, 110), (-(2**31), 2**31 - 1, *WHOLE), not_null=True),
    "odd": Made("INTEGER", INT4, Members((3, None, -3)), (3, -3, 5)),
    "never": Made("INTEGER", INT4, Members((None,)), (3, -3, 5)),
    "big": Made("BIGINT", INT8, Between(-(2**63), 2**63 - 1), (-(2**63), 2**63 - 1, *WHOLE)),
    "unsigned": Made("UBIGINT", NUMERIC.with_precision(20, 0), Between(-1, 2**64 - 1), (2**64 - 1, 0, 1)),
    "huge": Made("HUGEINT", NUMERIC.with_precision(38, 0), Between(-(10**36), 10**36), (-(2**127), 2**127 - 1, 5)),
    "wide": Made("DECIMAL(38,0)", NUMERIC.with_precision(38, 0), Between(-5, 10**30), (10**38 - 1, -(10**38) + 1, 3)),
    "price": Made(
        "DECIMAL(9,2)", NUMERIC.with_precision(9, 2), Between(number("-0.5"), number("9999.99")),
        (number("0.05"), number("-9999999.99"), number("9999999.99"), number("2.5"), number("-0.45")),
    ),
    "rate": Made(
        "DECIMAL(18,6)", NUMERIC.with_precision(18, 6), Between(-1, 1, Outside.NULL),
        (number("0.000001"), number("0.5"), number("-1"), number("999999999999.999999")),
    ),
    "grade": Made(
        "DECIMAL(4,1)", NUMERIC.with_precision(4, 1), Members((number("1.5"), number("-2.7"), 3)),
        (number("1.5"), number("-2.7"), 3, number("999.9")),
    ),
    "real4": Made("FLOAT", FLOAT4, Between(-1000, 1000), tuple(v for v in DOUBLES if abs(v) != 1e308)),
    "real8": Made("DOUBLE", FLOAT8, Between(number("-1e300"), number("1e300")), tuple(DOUBLES)),
    "unit8": Made("DOUBLE", FLOAT8, Between(number("0.1"), 1, Outside.NULL), (0.1, 0.5, *DOUBLES)),
    "name": Made("VARCHAR", TEXT, Members(("ada", "Ådå%_'", "", " x\t", None)), ("ada", "Ådå%_'", "", " x\t", "other")),
    "flag": Made("BOOLEAN", BOOL, Members((True, False)), (True, False)),
    "born": Made(
        "DATE", DATE, Between(date(1900, 1, 1), date(2030, 1, 1)),
        ("infinity", "-infinity", "5881580-07-10", date(2000, 2, 29), date(1, 1, 1)),
    ),
    "seen": Made(
        "TIMESTAMP", TIMESTAMP, Between(datetime(2000, 1, 1), datetime(2030, 1, 1)),
        ("infinity", "-infinity", "290309-12-22 (BC) 00:00:00", datetime(2010, 5, 5, 1, 2, 3, 4)),
    ),
}  # fmt: skip

SIZE = 40


def columns() -> dict[str, Column]:
    return {name: Column(name, made.type, made.not_null) for name, made in COLUMNS.items()}


def connect(path: str = "") -> duckdb.DuckDBPyConnection:
    """A database with the table ``t``: a new one at a path, else one in memory that serves all who only read it.

    Each column walks over its edges, in steps of its own.
    """
    return _made(path) if path else _in_memory().cursor()


@cache
def _in_memory() -> duckdb.DuckDBPyConnection:
    return _made(":memory:")


def _made(path: str) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(path, config=LOCKED)
    parts = ", ".join(f"{n} {m.engine}{' NOT NULL' if m.not_null else ''}" for n, m in COLUMNS.items())
    connection.execute(f"CREATE TABLE t (i INTEGER, {parts})")
    marks = ", ".join(f"CAST(? AS {m.engine})" for m in COLUMNS.values())
    for row in range(SIZE):
        connection.execute(f"INSERT INTO t VALUES ({row}, {marks})", list(map(_cell, raw_row(row).values())))
    return connection


def raw_row(row: int) -> dict[str, object]:
    """What a row holds before any domain."""
    cells: dict[str, object] = {}
    for step, (name, made) in enumerate(COLUMNS.items(), 1):
        values = made.values if made.not_null else (*made.values, None)
        cells[name] = values[(row + step + row // len(values) * step) % len(values)]
    return cells


def _cell(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        return value
    whole, part = divmod(abs(int(value * 10**6)), 10**6)
    return f"{'-' if value < 0 else ''}{whole}.{part:06d}" if part else str(int(value))


def row_scope(parameters: Parameters | None = None) -> Scope:
    """Rows of ``t``, each column read through its domain."""
    known = columns()

    def leaf(node: exp.Expr) -> Typed | None:
        return read_column(known[node.name], COLUMNS[node.name].domain) if type(node) is exp.Column else None

    return Scope(ExpressionLevel.ROW, leaf, parameters or Parameters())


def node_of(text: str) -> exp.Expr:
    """The expression as it comes past the parser."""
    return accept(parse(f"SELECT {text} FROM t")).expressions[0]


def compiled(text: str, parameters: Parameters | None = None) -> Typed:
    return compile_expression(node_of(text), row_scope(parameters))


def values_of(connection: duckdb.DuckDBPyConnection, sql: nodes.Expr) -> list[Any]:
    """The expression on every row, in order, checked as the exact stage is checked."""
    text = duck.text(sql)
    check_total(nodes.Select((sql,), nodes.Table("t")))
    return [v for (v,) in connection.execute(f"SELECT {text} FROM t ORDER BY i").fetchall()]


def value_of(held: Value, typed: Typed) -> Value:
    """An engine's value in its own unit: a Fraction for exact numbers."""
    if held is None or typed.scale is None or not typed.is_number:
        return held
    return Fraction(int(held), 10**typed.scale)


def mapped(name: str, row: int) -> Value:
    """What a column means on a row: its domain applied, in exact numbers."""
    made = COLUMNS[name]
    value = raw_row(row)[name]
    if value is None:
        return None
    match made.domain:
        case Members(values):
            return value if value in values else None
        case Between(low, high, outside):
            return _between(value, low, high, outside)


def _between(value: Value, low: Value, high: Value, outside: Outside) -> Value:
    if isinstance(value, str):  # the engine's infinities and what no Python date holds
        below = value.startswith("-") or "BC" in value
        return (low if below else high) if outside is Outside.CLAMP else None
    if isinstance(value, float) and not math.isfinite(value):
        above = math.isnan(value) or value > 0
        return (high if above else low) if outside is Outside.CLAMP else None
    inside = low <= value <= high
    if outside is Outside.NULL:
        return value if inside else None
    return min(max(value, low), high)
