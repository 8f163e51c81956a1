"""What CHECK constraints say of one column, as the engine writes them down."""

from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from dpproxy.policy.checks import Limits, limits


@pytest.mark.parametrize(
    ("kind", "check", "expected"),
    [
        ("INTEGER", "c BETWEEN 0 AND 110", Limits(0, 110)),
        ("INTEGER", "C >= 0 AND c <= 5 AND c <> 3", Limits(0, 5)),
        ("INTEGER", "c > -4", Limits(-4)),
        ("INTEGER", "0 <= c AND 10 > c", Limits(0, 10)),
        ("DECIMAL(5,2)", "c >= -1.5 AND c <= 9.25", Limits(Fraction(-3, 2), Fraction(37, 4))),
        ("DOUBLE", "c < 1e3 AND c > -1.0e-2", Limits(Fraction(-1, 100), 1000)),
        ("DATE", "c >= DATE '1900-01-01' AND c < '2020-01-01'", Limits("1900-01-01", "2020-01-01")),
        ("INTEGER", "c IN (1, 2, -3)", Limits(values=(1, 2, -3))),
        ("VARCHAR", "c IN ('it''s', 'b') AND length(c) < 9", Limits(values=("it's", "b"))),
        ("INTEGER", "c = 1", Limits(values=(1,))),
        # Of these nothing follows for every row, or nothing that is looked for.
        ("VARCHAR", "c IN ('a', NULL)", Limits()),
        ("VARCHAR", "c = 'a' OR c = 'b'", Limits()),
        ("INTEGER", "NOT (c < 0)", Limits()),
        ("INTEGER", "c <> 3", Limits()),
        ("INTEGER", "c < 3 OR c > 9", Limits()),
        ("INTEGER", "c > d AND c < d + 1", Limits()),
        ("INTEGER", "c BETWEEN 0 AND d", Limits()),
        ("INTEGER", "c + 1 BETWEEN 0 AND 9", Limits()),
        ("INTEGER", "d BETWEEN 0 AND 9", Limits()),
        ("VARCHAR", "CAST(c AS INTEGER) BETWEEN 1 AND 4", Limits()),
        ("INTEGER", "c < CAST('7.5' AS INTEGER)", Limits()),
        ("BOOLEAN", "c", Limits()),
    ],
)
def test_what_follows_from_a_check(tmp_path: Path, kind: str, check: str, expected: Limits):
    with duckdb.connect(tmp_path / "data.duckdb") as connection:
        connection.execute(f"CREATE TABLE t (c {kind}, d INTEGER, CHECK ({check}))")
        rows = connection.execute("SELECT expression FROM duckdb_constraints()").fetchall()
    assert limits([text for (text,) in rows], "c") == expected


def test_several_checks_say_their_part():
    assert limits(["(c >= 1)", "(c <= 9)", "(c IN (2, 3))"], "c") == Limits(1, 9, (2, 3))
    assert limits([], "c") == limits(["(", "c <"], "c") == Limits()


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("((c >= '-5'::integer) AND (c <= 110))", Limits(-5, 110)),
        ("((c >= '-1.5'::numeric) AND (c < (7)::numeric))", Limits(Fraction(-3, 2), 7)),
        (
            "((c >= ('-0.5'::numeric)::double precision) AND (c <= '1000'::numeric))",
            Limits(Fraction(-1, 2), 1000),
        ),
        ("((c >= '2020-01-01'::date) AND (c < '2021-01-01'::date))", Limits("2020-01-01", "2021-01-01")),
        ("(c > '2020-01-01 00:00:00'::timestamp without time zone)", Limits("2020-01-01 00:00:00")),
        ("(c = ANY (ARRAY[1, 2, '-3'::integer]))", Limits(values=(1, 2, -3))),
        ("(c = ANY (ARRAY['a'::text, 'b'::text]))", Limits(values=("a", "b"))),
        ("(c = ANY (ARRAY['a'::bpchar, 'b'::bpchar]))", Limits(values=("a", "b"))),
        (
            "((c)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[]))",
            Limits(values=("a", "b")),
        ),
        ("((c)::text = 'q'::text)", Limits(values=("q",))),
        ("(c = 'a'::mood)", Limits(values=("a",))),
        ("(c = ANY (ARRAY['a'::text, NULL::text]))", Limits()),
        ("(c = ANY ('{1,2}'::integer[]))", Limits()),
        ("((c)::text >= '1'::text)", Limits()),
    ],
)
def test_what_follows_from_a_check_as_postgresql_writes_it(check: str, expected: Limits):
    assert limits([check], "c") == expected
