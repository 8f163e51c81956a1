"""Proposals for domains."""

from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from dpproxy.policy.apply import apply
from dpproxy.policy.model import Policy
from dpproxy.policy.store import change_of
from dpproxy.policy.suggest_column import ColumnLimits, column_proposals, limits
from dpproxy.values.pgtypes import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT8,
    INT2,
    INT4,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    CheckConstraint,
    Column,
    Constraint,
    ForeignKey,
    Schema,
    SqlType,
    UniqueKey,
)

OTHER = (Column("code", TEXT),)


def texts(name: str, kind: SqlType, *constraints: Constraint, public: bool = False) -> list[str]:
    schema = Schema({"t": (Column(name, kind),), "codes": OTHER}, constraints)
    policy = Policy()
    if public:
        policy = apply(policy, change_of("ALTER TABLE codes SET PRIVACY PUBLIC"), schema)
    found = list(column_proposals(policy, schema, "t", schema.tables["t"][0]))
    for one in found:
        assert one.reason
        assert ("/* fill in */" in one.statement) == ("fill" in one.reason) == (one.unbounded == name)
    prefix = f"ALTER TABLE t ALTER COLUMN {name} SET PRIVACY "
    return [one.statement.removeprefix(prefix) for one in found]


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("smokes", BOOL, "DOMAIN IN (TRUE, FALSE);"),
        ("town", TEXT, "DOMAIN DISCOVERED;"),
        ("last_name", TEXT, "CLASS IDENTIFIER;"),
        ("note", TEXT, "HIDDEN;"),
        ("visit_id", INT4, "CLASS IDENTIFIER;"),
        ("age_in_years", INT2, "DOMAIN BETWEEN 0 AND 120 /* fill in */;"),
        ("rooms", INT4, "DOMAIN BETWEEN 0 AND 1000 /* fill in */;"),
        ("lat", FLOAT8, "DOMAIN BETWEEN -90 AND 90 /* fill in */;"),
        ("rate", NUMERIC, "DOMAIN BETWEEN 0 AND 1000 /* fill in */;"),
        ("rate", NUMERIC.with_precision(4, 2), "DOMAIN BETWEEN 0 AND 99.99 /* fill in */;"),
        ("lat", NUMERIC.with_precision(2, 1), "DOMAIN BETWEEN -9.9 AND 9.9 /* fill in */;"),
        ("born", DATE, "DOMAIN BETWEEN '1900-01-01' AND '2099-12-31' /* fill in */;"),
        ("seen", TIMESTAMPTZ, "DOMAIN BETWEEN '1900-01-01' AND '2099-12-31' /* fill in */;"),
        ("seen", TIMESTAMP, "DOMAIN BETWEEN '1900-01-01' AND '2099-12-31' /* fill in */;"),
        ("photo", BYTEA, "HIDDEN;"),
    ],
)
def test_by_type_and_name(name: str, kind: SqlType, text: str):
    assert texts(name, kind)[0] == text
    assert texts(name, kind)[-1] == "HIDDEN;"


def test_every_placeholder_applies():
    kinds = [
        INT2,
        INT4,
        FLOAT8,
        NUMERIC,
        NUMERIC.with_precision(1, 1),
        DATE,
        TIMESTAMP,
        TIMESTAMPTZ,
        BOOL,
        TEXT,
    ]
    for kind in kinds:
        schema = Schema({"t": (Column("lat", kind),)})
        proposal = next(column_proposals(Policy(), schema, "t", schema.tables["t"][0]))
        assert apply(Policy(), change_of(proposal.statement), schema).tables["t"].columns["lat"].domain


def test_what_a_check_says_comes_before_the_type():
    assert (
        texts("age", INT4, CheckConstraint("t", "(age BETWEEN 16 AND 99)"))[0] == "DOMAIN BETWEEN 16 AND 99;"
    )
    assert texts("age", INT4, CheckConstraint("u", "(age BETWEEN 16 AND 99)"))[0].startswith(
        "DOMAIN BETWEEN 0 AND 120"
    )
    assert (
        texts("age", INT4, CheckConstraint("t", "(age >= 16)"))[0]
        == "DOMAIN BETWEEN 16 AND 120 /* fill in */;"
    )
    assert (
        texts("age", INT4, CheckConstraint("t", "(age < 90)"))[0] == "DOMAIN BETWEEN 0 AND 90 /* fill in */;"
    )
    assert texts("sex", TEXT, CheckConstraint("t", "(sex IN ('f', 'm', 'f'))"))[0] == "DOMAIN IN ('f', 'm');"


def test_a_foreign_key_is_a_reference_where_the_table_is_public():
    key = ForeignKey("t", ("code",), "codes", ("code",))
    assert texts("code", TEXT, key, public=True)[0] == "DOMAIN REFERENCES codes (code);"
    assert texts("code", TEXT, key)[0] == "HIDDEN;"
    assert (
        texts("other", TEXT, ForeignKey("t", ("b",), "codes", ("code",)), public=True)[0]
        == "DOMAIN DISCOVERED;"
    )


def test_keys_stay_hidden():
    assert texts("town", TEXT, UniqueKey("t", ("town",)))[0] == "CLASS IDENTIFIER;"
    assert texts("town", TEXT, UniqueKey("t", ("town", "b")))[0] == "DOMAIN DISCOVERED;"


@pytest.mark.parametrize(
    ("kind", "check", "expected"),
    [
        ("INTEGER", "c BETWEEN 0 AND 110", ColumnLimits(0, 110)),
        ("INTEGER", "C >= 0 AND c <= 5 AND c <> 3", ColumnLimits(0, 5)),
        ("INTEGER", "c > -4", ColumnLimits(-4)),
        ("INTEGER", "0 <= c AND 10 > c", ColumnLimits(0, 10)),
        ("DECIMAL(5,2)", "c >= -1.5 AND c <= 9.25", ColumnLimits(Fraction(-3, 2), Fraction(37, 4))),
        ("DOUBLE", "c < 1e3 AND c > -1.0e-2", ColumnLimits(Fraction(-1, 100), 1000)),
        ("DATE", "c >= DATE '1900-01-01' AND c < '2020-01-01'", ColumnLimits("1900-01-01", "2020-01-01")),
        ("INTEGER", "c IN (1, 2, -3)", ColumnLimits(values=(1, 2, -3))),
        ("VARCHAR", "c IN ('it''s', 'b') AND length(c) < 9", ColumnLimits(values=("it's", "b"))),
        ("INTEGER", "c = 1", ColumnLimits(values=(1,))),
        # Of these nothing follows for every row, or nothing that is looked for.
        ("VARCHAR", "c IN ('a', NULL)", ColumnLimits()),
        ("VARCHAR", "c = 'a' OR c = 'b'", ColumnLimits()),
        ("INTEGER", "NOT (c < 0)", ColumnLimits()),
        ("INTEGER", "c <> 3", ColumnLimits()),
        ("INTEGER", "c < 3 OR c > 9", ColumnLimits()),
        ("INTEGER", "c > d AND c < d + 1", ColumnLimits()),
        ("INTEGER", "c BETWEEN 0 AND d", ColumnLimits()),
        ("INTEGER", "c + 1 BETWEEN 0 AND 9", ColumnLimits()),
        ("INTEGER", "d BETWEEN 0 AND 9", ColumnLimits()),
        ("VARCHAR", "CAST(c AS INTEGER) BETWEEN 1 AND 4", ColumnLimits()),
        ("INTEGER", "c < CAST('7.5' AS INTEGER)", ColumnLimits()),
        ("BOOLEAN", "c", ColumnLimits()),
    ],
)
def test_what_follows_from_a_check(tmp_path: Path, kind: str, check: str, expected: ColumnLimits):
    with duckdb.connect(tmp_path / "data.duckdb") as connection:
        connection.execute(f"CREATE TABLE t (c {kind}, d INTEGER, CHECK ({check}))")
        rows = connection.execute("SELECT expression FROM duckdb_constraints()").fetchall()
    assert limits([text for (text,) in rows], "c") == expected


def test_several_checks_say_their_part():
    assert limits(["(c >= 1)", "(c <= 9)", "(c IN (2, 3))"], "c") == ColumnLimits(1, 9, (2, 3))
    assert limits([], "c") == limits(["(", "c <"], "c") == ColumnLimits()


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("((c >= '-5'::integer) AND (c <= 110))", ColumnLimits(-5, 110)),
        ("((c >= '-1.5'::numeric) AND (c < (7)::numeric))", ColumnLimits(Fraction(-3, 2), 7)),
        (
            "((c >= ('-0.5'::numeric)::double precision) AND (c <= '1000'::numeric))",
            ColumnLimits(Fraction(-1, 2), 1000),
        ),
        (
            "((c >= '2020-01-01'::date) AND (c < '2021-01-01'::date))",
            ColumnLimits("2020-01-01", "2021-01-01"),
        ),
        ("(c > '2020-01-01 00:00:00'::timestamp without time zone)", ColumnLimits("2020-01-01 00:00:00")),
        ("(c = ANY (ARRAY[1, 2, '-3'::integer]))", ColumnLimits(values=(1, 2, -3))),
        ("(c = ANY (ARRAY['a'::text, 'b'::text]))", ColumnLimits(values=("a", "b"))),
        ("(c = ANY (ARRAY['a'::bpchar, 'b'::bpchar]))", ColumnLimits(values=("a", "b"))),
        (
            "((c)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[]))",
            ColumnLimits(values=("a", "b")),
        ),
        ("((c)::text = 'q'::text)", ColumnLimits(values=("q",))),
        ("(c = 'a'::mood)", ColumnLimits(values=("a",))),
        ("(c = ANY (ARRAY['a'::text, NULL::text]))", ColumnLimits()),
        ("(c = ANY ('{1,2}'::integer[]))", ColumnLimits()),
        ("((c)::text >= '1'::text)", ColumnLimits()),
    ],
)
def test_what_follows_from_a_check_as_postgresql_writes_it(check: str, expected: ColumnLimits):
    assert limits([check], "c") == expected
