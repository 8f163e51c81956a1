"""Values have the text that PostgreSQL gives them."""

import random
import struct
from collections.abc import Iterator

import psycopg
import pytest

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.written import FLOAT4, FLOAT8, INTERVAL, NUMERIC, written
from dpproxy.engine.output import _decimal
from tests.empty import empty, opened
from tests.postgres import Server

FLOATS = [
    0.0, -0.0, 1e15, -1e15, 999999999999999.9, 123456789012345.6, 1234567890123456.7, 1e16, 1e100, 1e-4, 1e-5, 0.1,
    5e-324, 1.7e308, 100000.0, 1e22, float("inf"), float("-inf"), float("nan"),
]  # fmt: skip
_WORDS = random.Random(7)
DRAWN = [struct.unpack("d", _WORDS.randbytes(8))[0] for _ in range(500)]
DRAWN += [_WORDS.uniform(-1, 1) * 10 ** _WORDS.randint(-8, 15) for _ in range(500)]
REALS = [0.0, 1e6, 999999.0, 123456.0, 1234567.0, -2.5, 1e-4, 1e-5, 1.5e20, 16777216.0]
INTERVALS = [
    (months, days, seconds)
    for months in (0, 1, -1, 12, -14, 25)
    for days in (0, 1, -1, 40, -3)
    for seconds in (0, 1, -3600, 7325, -90061)
]


@pytest.fixture(scope="module")
def real(postgres: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.url(postgres.database()), autocommit=True) as connection:
        yield connection


def ours(template: str, kind: str, values: list[float]) -> list[str]:
    text = duck.text(written(template, duck.cast(duck.column("v"), kind)))
    with empty() as connection:
        rows = connection.execute(f"SELECT {text} FROM (SELECT unnest(?) AS v)", [values]).fetchall()
    return [row[0] for row in rows]


@pytest.mark.parametrize(
    ("template", "kind", "named", "values"),
    [(FLOAT8, "DOUBLE", "float8", FLOATS), (FLOAT4, "FLOAT", "float4", REALS)],
)
def test_floats_are_written_alike(
    real: psycopg.Connection, template: str, kind: str, named: str, values: list[float]
):
    sql = f"SELECT v::{named}::text FROM unnest(%s::float8[]) WITH ORDINALITY AS u(v, n) ORDER BY n"
    expected = [row[0] for row in real.execute(sql.encode(), (values,)).fetchall()]
    assert ours(template, kind, values) == expected


def test_every_float_reads_back_alike_and_has_the_length_of_postgres(real: psycopg.Connection):
    sql = "SELECT v::text FROM unnest(%s::float8[]) WITH ORDINALITY AS u(v, n) ORDER BY n"
    expected = [row[0] for row in real.execute(sql, (DRAWN,)).fetchall()]
    shown = ours(FLOAT8, "DOUBLE", DRAWN)
    assert [repr(float(text)) for text in shown] == [repr(value) for value in DRAWN]
    # Beyond 2^53 two texts can be equally short: the engine may choose the other one.
    others = [(mine, theirs) for mine, theirs in zip(shown, expected, strict=True) if mine != theirs]
    assert all(abs(float(theirs)) > 2**53 for _, theirs in others)
    assert len(others) < 20


def test_a_numeric_has_the_digits_of_its_answer():
    finite = [value for value in (*FLOATS, *DRAWN) if abs(value) < float("inf")]
    expected = [str(format(_decimal(None)(value), "f")) for value in finite]
    shown = ours(NUMERIC, "DOUBLE", finite)
    assert [text if text != "-0" else "0" for text in expected] == shown


def test_intervals_are_written_alike(real: psycopg.Connection):
    engine = opened()
    for months, days, seconds in INTERVALS:
        value = f"to_months({months}) + to_days({days}) + to_seconds({seconds})"
        text = duck.text(written(INTERVAL, nodes.Formula((value,))))
        found = engine.execute(f"SELECT {text}").fetchone()
        parts = (months, days, seconds)
        assert (
            found
            == real.execute(
                "SELECT make_interval(months => %s, days => %s, secs => %s)::text", parts
            ).fetchone()
        ), parts


def test_null_stays_null():
    assert ours(FLOAT8, "DOUBLE", [None]) == ours(NUMERIC, "DOUBLE", [None]) == [None]  # type: ignore[list-item]
