"""The same expression without FROM, over a public table and over released rows: one answer, a real PostgreSQL's."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest
from psycopg.pq import ExecStatus
from sqlglot import exp

from dpproxy.aggregates.table import AGGREGATES
from dpproxy.algebra.plan import Caller
from dpproxy.algebra.request import SelectStatement
from dpproxy.analysis.expressions import RULES
from dpproxy.analysis.functions import FUNCTIONS
from dpproxy.analysis.present import write_present
from dpproxy.analysis.windows import WINDOWS
from dpproxy.config import settings
from dpproxy.engine.engine import Engine
from dpproxy.planner.accept import parse
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import NUMERIC
from dpproxy.wire.styles import styled_columns
from dpproxy.wire.values import encode_value
from tests.postgres import Server
from tests.proxies import started, write_home

pytestmark = pytest.mark.external

HERE = Path(__file__).parent
WITHOUT_FROM = HERE.parent / "pgcatalog" / "expressions.sql"
EXPRESSIONS = [
    line
    for line in (HERE / "expressions.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]
COLUMNS = {
    "i": ("integer", "7"),
    "h": ("numeric(4,1)", "2.5"),
    "d": ("double precision", "0.25::float8"),
    "t": ("text", "'Ada b'"),
    "f": ("boolean", "true"),
    "day": ("date", "DATE '2024-02-29'"),
    "m": ("timestamp", "TIMESTAMP '2024-02-29 13:45:10.5'"),
    "z": ("integer", "NULL::integer"),
}
DDL = [
    f"CREATE TABLE things ({', '.join(f'{name} {kind}' for name, (kind, _) in COLUMNS.items())})",
    f"INSERT INTO things VALUES ({', '.join(value for _, value in COLUMNS.values())})",
    "CREATE TABLE people (id bigint)",
    "INSERT INTO people SELECT x FROM generate_series(1, 50) AS s(x)",
]
POLICY = """
ALTER TABLE people SET PRIVACY KEY (id);
ALTER TABLE people SET PRIVACY CEILING EPSILON 1000 DELTA 0.001;
ALTER TABLE things SET PRIVACY PUBLIC;
CREATE PRIVACY BUDGET all_of_it LIMIT EPSILON 1000 DELTA 0.0001 DEFAULT EPSILON 0.01;
GRANT SELECT ON people TO analyst WITH PRIVACY BUDGET all_of_it;
"""
RELEASED = (
    f"(SELECT {', '.join(f'{value}::{kind} AS {name}' for name, (kind, value) in COLUMNS.items())} "
    "FROM (SELECT count(*) AS n FROM people) AS c) AS r"
)
CONSTANTS = {name: value for name, (_, value) in COLUMNS.items()}
NAMES = {name: name for name in COLUMNS}
SHAPES = {
    "no FROM": (CONSTANTS, ""),
    "public": (NAMES, " FROM things"),
    "released": (NAMES, f" FROM {RELEASED}"),
}
Shown = tuple[object, ...]
OF_THE_CATALOGUE = frozenset({
    "format('%s has %s', {t}, {i})", "quote_literal({t})", "quote_ident({t})",
    "{t} SIMILAR TO 'A%'", "{t}::char(3)", "pg_typeof(now())",
    "version() IS NOT NULL", "current_user IS NOT NULL", "pg_typeof({i})", "pg_typeof({t})",
    "(ARRAY[1, {i}])[1]", "array_length(ARRAY[1, 2], 1)", "string_to_array({t}, ' ')",
})  # fmt: skip
"""Answered without FROM alone, by the compiler of statements about the catalogue."""
OTHERWISE = {
    "sqrt({h})": "of a numeric it is of double precision here",
    "date_trunc('month', {day})": "of a date it has no time zone here",
    "current_database()": "it is another one",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY {d})": "the engine orders by no constant",
    "percentile_cont(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY {i})": "the same",
    "percentile_disc(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY {i})": "the same",
    "mode() WITHIN GROUP (ORDER BY {i})": "the same",
}
"""What is not PostgreSQL's value and type everywhere, and why."""


@pytest.fixture(scope="module")
def real(postgres: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.url(postgres.database(name="shapes")), autocommit=True) as connection:
        connection.execute("SET timezone = 'UTC'")
        for statement in DDL:
            connection.execute(statement.encode())
        yield connection


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with started(write_home(tmp_path_factory.mktemp("shapes"), DDL, POLICY)) as opened:
        yield opened


def ours(engine: Engine, sql: str) -> Shown | None:
    """Names, types and texts of the columns, None where it is refused."""
    try:
        answer = engine.answer(Caller("ann", frozenset({"analyst"}), "one", process=7), sql)
    except Refusal:
        return None
    columns = styled_columns(answer.columns or (), settings.DEFAULTS)
    rows = [[encode_value(c.type, v, 0) for c, v in zip(columns, row, strict=True)] for row in answer.rows]
    return shown([(c.name, c.type.oid, c.type.modifier) for c in columns], rows)


def theirs(real: psycopg.Connection, sql: str) -> Shown | None:
    found = real.pgconn.exec_params(sql.encode(), None)
    if found.status != ExecStatus.TUPLES_OK:
        return None
    columns = range(found.nfields)
    rows = [[found.get_value(row, column) for column in columns] for row in range(found.ntuples)]
    return shown([((found.fname(c) or b"").decode(), found.ftype(c), found.fmod(c)) for c in columns], rows)


def shown(columns: list[tuple[str, int, int]], rows: Sequence[Sequence[bytes | None]]) -> Shown:
    """Numerics by their value: a column of them is shown with as many digits after the point as its widest one."""
    return columns, [
        [
            Decimal(v.decode()) if c[1] == NUMERIC.oid and v is not None else v
            for c, v in zip(columns, row, strict=True)
        ]
        for row in rows
    ]


def asked(expression: str, shape: str) -> str:
    names, source = SHAPES[shape]
    for name, value in names.items():
        expression = expression.replace("{" + name + "}", value)
    return f"SELECT {expression}{source}"


def test_one_answer(real: psycopg.Connection, engine: Engine):
    assert len(EXPRESSIONS) > 250
    wrong = []
    for expression in EXPRESSIONS:
        found = {shape: ours(engine, asked(expression, shape)) for shape in SHAPES}
        right = {shape: theirs(real, asked(expression, shape)) for shape in SHAPES}
        if expression in OF_THE_CATALOGUE:
            right.update(dict.fromkeys(("public", "released")))
        is_alike = found == right or all(answer is None for answer in found.values())
        if is_alike is (expression in OTHERWISE):
            wrong.append((expression, found, right))
    assert not wrong, "\n".join(map(str, wrong))


NOT_COMPARED = {exp.Parameter, exp.CountIf, exp.Median, "geometric_mean", exp.PercentileCont, exp.Mode}
"""A parameter has no value in a text; what orders a constant is in ``OTHERWISE``; others are none of PostgreSQL's."""


def test_every_row_of_the_tables_is_compared(engine: Engine):
    """Functions, operators, casts and constants, aggregates and window functions: an answered expression has each."""
    found = set[type[exp.Expr]]()
    for expression in EXPRESSIONS:
        sql = asked(expression, "no FROM")
        if expression not in OTHERWISE and ours(engine, sql) is not None:
            found |= {type(node) for node in write_present(parse(sql)).walk()}
    assert {*FUNCTIONS, *RULES, *AGGREGATES, *WINDOWS} - found == NOT_COMPARED


def test_what_is_written_without_from_is_answered_as_postgres_does(real: psycopg.Connection, engine: Engine):
    """Names too: by the planner's compiler, and by the catalogue's what that does not know."""
    lines = [s for s in WITHOUT_FROM.read_text(encoding="utf-8").splitlines() if " FROM " not in s]
    assert len(lines) > 800
    assert [s for s in lines if ours(engine, s) != theirs(real, s)] == []


def test_one_compiler_first(engine: Engine):
    for sql in ("SELECT sqrt(2)", "SELECT 1", "SELECT now()", "VALUES (1), (2)", "SELECT 'a' ~ '^a'"):
        prepared = engine.prepare(Caller("ann", frozenset({"analyst"}), "one"), sql, (), settings.DEFAULTS)
        assert prepared is not None
        assert isinstance(prepared.statement, SelectStatement), sql
