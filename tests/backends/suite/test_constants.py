"""Extreme constants, planned for every engine without a server: an expression is answered or refused, none fails."""

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Plan, PreparedTable
from dpproxy.analysis.scopes import Parameters
from dpproxy.backends.postgres import dialect as postgres_dialect
from dpproxy.backends.postgres.schema import _TYPES
from dpproxy.backends.servers.dialect import Dialect, Value
from dpproxy.backends.servers.printer import Tables, statement
from dpproxy.backends.spark import dialect as spark_dialect
from dpproxy.backends.spark.schema import readers
from dpproxy.backends.sqlite import dialect as sqlite_dialect
from dpproxy.backends.sqlite.schema import reading
from dpproxy.config.settings import DEFAULTS
from dpproxy.planner.accept import parse
from dpproxy.planner.access import Context
from dpproxy.planner.routing import plan_routed
from dpproxy.values.errors import Refusal, Unsupported
from tests.golden.world import ANALYST, build

WORLD = build(
    [
        "CREATE TABLE people (id INT NOT NULL, age INT, pay DECIMAL(8,2), height DOUBLE, city VARCHAR, born DATE)",
        "ALTER TABLE people SET PRIVACY KEY (id)",
        "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110",
        "ALTER TABLE people ALTER COLUMN pay SET PRIVACY DOMAIN BETWEEN 0 AND 9999.99",
        "ALTER TABLE people ALTER COLUMN height SET PRIVACY DOMAIN BETWEEN 0 AND 2.5",
        "ALTER TABLE people ALTER COLUMN city SET PRIVACY DOMAIN IN ('a', 'b')",
        "ALTER TABLE people ALTER COLUMN born SET PRIVACY DOMAIN BETWEEN '2000-01-01' AND '2000-03-01'",
    ]
)
COLUMNS = WORLD.schema.tables["people"]
SQLITE = ("INTEGER", "INTEGER", "DECIMAL(8,2)", "REAL", "TEXT", "DATE")


def _of_sqlite(declared: str) -> Value:
    found = reading(declared)
    assert found is not None
    return found[1]


READ = {
    "PostgreSQL": {c.name: _TYPES[c.type.name](c.type.modifier)[1] for c in COLUMNS},
    "Spark": readers(COLUMNS),
    "SQLite": {c.name: _of_sqlite(kind) for c, kind in zip(COLUMNS, SQLITE, strict=True)},
}


def _tables(engine: str) -> Tables:
    return lambda database, name: None if database or name != "people" else READ[engine]


DIALECTS: Sequence[tuple[Dialect, Tables]] = (
    (postgres_dialect.dialect("public"), _tables("PostgreSQL")),
    (spark_dialect.dialect(lambda _, name: name), _tables("Spark")),
    (sqlite_dialect.dialect({"people": READ["SQLite"]}), _tables("SQLite")),
)


def planned(sql: str) -> tuple[str, ...]:
    """The engines that answer; anything but a refusal is raised."""
    answered = []

    def check(query: nodes.Query, _: Sequence[PreparedTable]) -> None:
        for dialect, tables in DIALECTS:
            try:
                statement(query, dialect, tables)
            except Unsupported:
                continue
            answered.append(dialect.engine)

    context = Context(WORLD.policy, WORLD.schema, ANALYST, DEFAULTS, facts=WORLD.facts, check=check)
    try:
        plan = plan_routed(parse(sql), context, Parameters(), lambda _: None)
    except Refusal:
        return ()
    assert isinstance(plan, Plan)
    return ("DuckDB", *answered)


EXACT = [
    "0", "1", "-1", "3", "0.5", "-0.1", "1e3", "1e17", "1e300", "-1e300", "1e-300", "2147483647::bigint", "1e30",
    "9223372036854775807", f"{'9' * 38}", "1.00000000000000000000000000001", f"0.{'3' * 25}", "1e-30",
]  # fmt: skip
FLOATS = [
    "0.0::float8", "-0.0::float8", "1e300::float8", "-1e300::float8", "1e-300::float8", "1e154::float8",
    "-1e-162::float8", "700::float8", "-700::float8", "2.5::real", "NULL::float8", "NULL::numeric", "NULL::int",
]  # fmt: skip
COLUMN = ["age", "pay", "height"]
WRONG = [
    "9" * 60, "9" * 5000, "1e400", "1e-400", "1e99999999", f"1e{'9' * 5000}", "'1e5000000'::numeric", "'NaN'::float8",
    "'Infinity'::float8", "'99999999999'::int", "'x'::int", "TRUE", "city",
]  # fmt: skip
LEAF = st.one_of(
    *(st.sampled_from(found) for found in (EXACT, EXACT, FLOATS, COLUMN)), st.sampled_from(WRONG)
)
CONSTANT = st.sampled_from(EXACT + FLOATS)
TYPES = ["bigint", "int", "numeric", "numeric(38,10)", "numeric(5,2)", "float8", "real"]


def _more(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Forms of numbers over numbers."""
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/%"), inner),
        st.builds(
            "{}({})".format,
            st.sampled_from(["-", "sqrt", "ln", "log", "exp", "abs", "sign", "floor", "round", "trunc", "degrees"]),
            inner,
        ),
        st.builds("power({}, {})".format, inner, CONSTANT),
        st.builds("log({}, {})".format, CONSTANT, inner),
        st.builds("round({}, {})".format, inner, st.integers(-15, 15)),
        st.builds("width_bucket({}, {}, {}, {})".format, inner, CONSTANT, CONSTANT, st.sampled_from([1, 3, 100_000])),
        st.builds("{}({}, {})".format, st.sampled_from(["least", "greatest", "coalesce", "nullif"]), inner, inner),
        st.builds("CASE WHEN {} > {} THEN {} END".format, inner, inner, inner),
        st.builds("CAST({} AS {})".format, inner, st.sampled_from(TYPES)),
        st.builds("extract(epoch FROM born + {} * interval '1 day')".format, CONSTANT),
        st.builds("(DATE '2000-01-01' + {} - born)".format, CONSTANT),
    )  # fmt: skip


NUMBER = st.recursive(LEAF, _more, max_leaves=5)
FORMS = st.sampled_from(
    [
        "SELECT count(*) FROM people WHERE {} > {}",
        "SELECT sum({}) FROM people WHERE age IN ({}, 3)",
        "SELECT avg({}) FROM people WHERE pay BETWEEN {} AND 7",
        "SELECT {} + count(*) FROM people HAVING count(*) > {}",
        "SELECT {}, count(*) FROM people GROUP BY 1 ORDER BY {}",
        "SELECT median({}) FROM people WHERE height < {}",
    ]
)


@settings(
    max_examples=300,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(FORMS, NUMBER, NUMBER)
def test_no_constant_makes_planning_fail(form: str, first: str, second: str):
    planned(form.format(first, second))


@pytest.mark.parametrize(
    "text",
    [
        "power(power(1e-300::float8, -1), 2)",
        "power(3, 1e30)",
        "power(-9223372036854775808, 1e30)",
        "power(1e-300::float8, -1e300)",
        "log(1.00000000000000000000000001, 5)",
        "log(1.0000000000000001, height + 1)",
        "1e300 * 1e300 - 1e300 * 1e300 + height",
        "width_bucket(height, 1e-300, 1.0000000000000000000001e-300, 100000)",
        f"CAST(age AS numeric({'9' * 5000}))",
        f"CAST(age AS numeric(5, {'9' * 5000}))",
        f"round(pay, {'9' * 5000})",
        f"power(height, {'9' * 5000})",
        f"CAST('1e{'9' * 5000}' AS float8)",
    ],
)
def test_what_overflows_is_a_refusal_or_its_value(text: str):
    planned(f"SELECT sum({text}) FROM people")
    planned(f"SELECT count(*) FROM people WHERE {text} > 1")


def test_every_engine_answers_most_of_what_is_ordinary():
    for text in ("age * 2 + 1", "pay * 3", "height * 2.5", "CAST(round(height) AS int)", "greatest(pay, 5)"):
        assert planned(f"SELECT count(*) FROM people WHERE {text} > 1") == (
            "DuckDB",
            "PostgreSQL",
            "Spark",
            "SQLite",
        ), text
