"""Random statements through the planner: whatever is typed, the answer is a plan or a refusal that teaches."""

# ruff: noqa: DTZ001, E501 - the type has no time zone, tables of cases

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpproxy.algebra.plan import Caller
from dpproxy.analysis.scopes import Parameters
from dpproxy.config.settings import DEFAULTS
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.access import Context
from dpproxy.planner.query import plan_query
from dpproxy.policy.model import Budget, Ceiling, ColumnPolicy, Exposure, Grant, Policy, TablePolicy, Unit
from dpproxy.values.errors import Internal, Refusal
from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOAT8,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    Column,
    Schema,
    SqlType,
)
from tests.analysis import grammar
from tests.analysis.rows import COLUMNS, columns

CHECKS = settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)

TABLE = TablePolicy(
    "t", Exposure.PROTECTED, Unit("id", max_rows=3),
    {name: ColumnPolicy(made.domain) for name, made in COLUMNS.items()}, Ceiling(Fraction(100)),
)  # fmt: skip
POLICY = Policy(
    tables={"t": TABLE}, budgets={"b": Budget("b", limit=Fraction(50))}, grants=(Grant("t", "r", "b"),)
)
ID = Column("id", INT8, not_null=True)
CONTEXT = Context(
    POLICY, Schema({"t": (ID, *columns().values())}), Caller("u", frozenset({"r"}), "s"), DEFAULTS
)


def plan(sql: str, parameters: Parameters | None = None) -> object:
    """The plan or the refusal; any other exception is a fault of ours, and so is ``Internal``."""
    refusal: Refusal
    try:
        return plan_query(accept(parse(sql)), CONTEXT, parameters or Parameters())
    except Internal:
        raise
    except Refusal as error:
        refusal = error
    assert type(refusal) is not Refusal
    assert refusal.position is None or 0 <= refusal.position <= len(sql)
    return refusal


@st.composite
def statements(draw: st.DrawFn) -> str:
    calls = [
        f"{draw(st.sampled_from(['sum', 'avg', 'count']))}({draw(grammar.drawn(draw(st.sampled_from('infbt')), 3)).text})"
        for _ in range(draw(st.integers(1, 2)))
    ]
    key = draw(st.sampled_from(KEYS) | grammar.drawn(draw(st.sampled_from("ibtd")), 2).map(repr))
    parts = [f"SELECT {', '.join([key, *calls] if key else calls)} FROM t"]
    if draw(st.booleans()):
        parts.append(f"WHERE {draw(grammar.drawn('b', 3)).text}")
    if key:
        parts.append(f"GROUP BY {key}")
    if draw(st.booleans()):
        parts.append(f"HAVING {calls[0]} > {draw(st.sampled_from(['0', 'NULL', '1e9', 'count(*)']))}")
    return " ".join(parts)


KEYS = [
    "",
    "odd",
    "flag",
    "grade",
    "name",
    "age",
    "age / 10",
    "date_trunc('year', seen)",
    "floor(real4 / 100)",
]
WORDS = [
    "NULL", "(", ")", ",", "'", "''", "'x'", "$1", "$99", "-", "*", "||", "::int", "::numeric(40,2)", "1e999", "1e400",
    "-" * 40, "CASE", "END", "WHEN", "THEN", "IN", "LIKE", "'%\\_'", "BETWEEN", "count(*)", "sum(", "avg(DISTINCT age)",
    "dp.ci_low(count(*))", "id", "t.age", "u.age", "GROUP BY", "ORDER BY 1", "LIMIT", "IS", "UNKNOWN", "NOT", "\x00", "é", "9" * 70,
    "OVER ()", "FILTER (WHERE TRUE)", "[1]", "ARRAY[1]", "ROW(1,2)", "INTERVAL '1 day'", "E'\\x'", "U&'\\0061'", "--", "/*", ";",
]  # fmt: skip


@CHECKS
@given(sql=statements())
def test_a_statement_of_the_grammar_is_planned_or_refused(sql: str):
    plan(sql)


@CHECKS
@given(
    sql=statements(),
    edits=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 12), st.sampled_from(WORDS)), max_size=4),
)
def test_a_broken_statement_is_planned_or_refused(sql: str, edits: list[tuple[int, int, str]]):
    for start, length, word in edits:
        at = start % (len(sql) + 1)
        sql = f"{sql[:at]} {word} {sql[at + length :]}"
    plan(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(NULL) FROM t",
        "SELECT count(NULL) FROM t",
        "SELECT count(*) FROM t WHERE NULL",
        "SELECT sum(CASE WHEN flag THEN NULL ELSE NULL END) FROM t",
        "SELECT sum('5') FROM t",
        "SELECT sum('1/0') FROM t",
        "SELECT sum(-$1) FROM t",
        "SELECT sum(age + 'x') FROM t",
        "SELECT sum(price * '1/3') FROM t",
        "SELECT sum(real8 * 1e300) FROM t",
        "SELECT sum(real8 * real8 * real8) FROM t",
        "SELECT avg(real8 + 1) FROM t",
        "SELECT avg(exp(ln(real8))) FROM t",
        f"SELECT sum(age + {'9' * 400}) FROM t",
        f"SELECT sum(age + '{'9' * 5000}') FROM t",
        "SELECT sum(1e400) FROM t",
        "SELECT sum(1e-400) FROM t",
        "SELECT sum(age / 0) FROM t",
        "SELECT sum(big / -1) FROM t",
        "SELECT sum(huge) FROM t",
        "SELECT count(*) FROM t WHERE born > '0000-00-00'",
        "SELECT count(*) FROM t WHERE seen > '2000-01-01 00:00:00+02'",
        "SELECT count(*) FROM t WHERE born = '99999-01-01'",
        f"SELECT sum({'+'.join(['age'] * 3000)}) FROM t",
        f"SELECT count(*) FROM t WHERE {' OR '.join(['age = 1'] * 3000)}",
        f"SELECT count(*) FROM t WHERE age IN ({', '.join(map(str, range(9000)))})",
        f"SELECT count(*) FROM t WHERE {'(' * 400}age = 1{')' * 400}",
        f"SELECT sum(length({'name || ' * 100}name)) FROM t",
        f"SELECT sum({'nullif(' * 60}age{', 1)' * 60}) FROM t",
        f"SELECT sum({'CAST(sqrt(' * 40}age{') AS int)' * 40}) FROM t",
        f"SELECT sum({'abs(-' * 70}age{')' * 70}) FROM t",
        f"SELECT count(*) FROM t WHERE name = '{'x' * 90000}' || '{'y' * 9000}'",
        "SELECT sum(\ud800) FROM t",
    ],
)
def test_extreme_statements_are_planned_or_refused(sql: str):
    plan(sql)


@pytest.mark.parametrize("kind", [BOOL, INT4, INT8, NUMERIC, FLOAT8, TEXT, DATE, TIMESTAMP])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(age + $1) FROM t",
        "SELECT sum($1) FROM t",
        "SELECT count(*) FROM t WHERE name LIKE $1",
        "SELECT count(*) FROM t WHERE age BETWEEN $1 AND $1",
        "SELECT count(*) FROM t WHERE seen < $1 OR born = $1",
        "SELECT sum(price / $1) FROM t",
        "SELECT sum(round(price, $1)) FROM t",
        "SELECT count(*) FROM t LIMIT $1",
        "SELECT count(*) FROM t WHERE $1",
    ],
)
def test_any_parameter_value_is_planned_or_refused(sql: str, kind: SqlType):
    plan(sql, Parameters({1: kind}))
    for value in PARAMETERS:
        plan(sql, Parameters({1: kind}, (value,)))


PARAMETERS: list[object] = [
    None, True, 0, -1, 2**70, 10**400, -(10**5000), 1.5, float("nan"), float("inf"), 5e-324, 1e308, Decimal("NaN"),
    Decimal("sNaN"), Decimal("-Infinity"), Decimal("1e999999"), Decimal("1e-999999"), Decimal("0e999999"), Decimal("1.10"),
    "", "x", "a\x00b", "\ud800", "5", "%a\\", b"bytes", object(), [1], (1, 2),
    date(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999),
    datetime(2000, 1, 1, tzinfo=UTC), timedelta(1),
]  # fmt: skip
