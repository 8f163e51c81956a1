"""generate_series after FROM, against a real PostgreSQL: alone, joined with public and released rows."""

from collections.abc import Iterator

import psycopg
import pytest

from dpproxy.algebra.plan import Caller
from dpproxy.algebra.request import Request, SelectStatement
from dpproxy.config import settings
from dpproxy.engine.engine import Engine
from dpproxy.values.errors import (
    AmbiguousFunction,
    InvalidParameter,
    Refusal,
    TooComplex,
    UndefinedColumn,
    Unsupported,
)
from dpproxy.wire.styles import styled_columns
from dpproxy.wire.values import encode_value
from tests.postgres import Server
from tests.proxies import started, write_home

pytestmark = pytest.mark.external

DDL = [
    "CREATE TABLE things (n integer, day date)",
    "INSERT INTO things VALUES (1, DATE '2024-02-28'), (3, DATE '2024-03-01'), (3, NULL)",
    "CREATE TABLE people (id bigint, day date)",
    "INSERT INTO people SELECT x, DATE '2024-01-01' + CAST(x % 3 AS integer) FROM generate_series(1, 3000) AS s(x)",
]
POLICY = """
ALTER TABLE people SET PRIVACY KEY (id);
ALTER TABLE people SET PRIVACY CEILING EPSILON 1000;
ALTER TABLE people ALTER COLUMN day SET PRIVACY DOMAIN BETWEEN '2024-01-01' AND '2024-01-03';
ALTER TABLE things SET PRIVACY PUBLIC;
CREATE PRIVACY BUDGET all_of_it LIMIT EPSILON 1000 DEFAULT EPSILON 100;
GRANT SELECT ON people TO analyst WITH PRIVACY BUDGET all_of_it;
"""
ANN = Caller("ann", frozenset({"analyst"}), "one")
ASKED = """
SELECT * FROM generate_series(1, 5)
SELECT g FROM generate_series(5, 1, -2) AS g
SELECT x * 2 AS y FROM generate_series(1, 9, 4) AS g(x) ORDER BY y DESC
SELECT * FROM generate_series(3, 1)
SELECT generate_series(1, 3)
SELECT n + 1 FROM (SELECT (generate_series(1, 9, 4) + 1) * 2 AS n, 'a' AS a) AS t ORDER BY n DESC
WITH c AS (SELECT generate_series('2023-12-31'::date, '2024-01-04'::date, '1 day')::date AS day)
  SELECT c.day, count(p.id) FROM c LEFT JOIN people AS p USING (day) GROUP BY c.day ORDER BY 1
SELECT count(*) FROM people WHERE day IN (SELECT generate_series(date '2024-01-02', date '2024-01-09', '1 day')::date)
SELECT * FROM generate_series(1, 3000000000, 1000000000)
SELECT * FROM generate_series(NULL::integer, 3)
SELECT * FROM generate_series(date '2024-01-30', date '2024-02-02', interval '1 day')
SELECT * FROM generate_series('2024-01-31'::date, '2024-06-01'::date, '1 month'::interval) AS m
SELECT d::date FROM generate_series(timestamp '2024-02-28', '2024-03-02', '1 day') AS d
SELECT * FROM generate_series(timestamp '2024-02-28 10:00', timestamp '2024-02-28 08:00', interval '-45 minutes')
SELECT * FROM generate_series(timestamptz '2024-03-30 12:00+00', '2024-04-01 12:00+00', '12 hours') AS t
SELECT count(*), min(d), max(d) FROM generate_series(date '2020-01-01', date '2024-12-31', interval '1 day') AS s(d)
SELECT date_trunc('month', d) AS m, count(*) FROM generate_series(date '2024-01-15', date '2024-03-14', '1 day') d
  GROUP BY 1 ORDER BY 1
SELECT g, count(t.n) FROM generate_series(0, 4) AS g LEFT JOIN things AS t ON t.n = g GROUP BY g ORDER BY g
SELECT d::date, n FROM generate_series(date '2024-02-27', date '2024-03-02', '1 day') AS d
  LEFT JOIN things ON day = d::date ORDER BY 1
SELECT a, b FROM generate_series(1, 2) AS a, generate_series(1, 2) AS b ORDER BY 1, 2
SELECT n FROM things WHERE n IN (SELECT g FROM generate_series(2, 4) AS g)
SELECT * FROM generate_series('2024-01-30', '2024-02-02', interval '1 day')
SELECT * FROM generate_series('1', '3', 2)
SELECT * FROM generate_series(1, '7', '3')
SELECT d FROM generate_series('2024-01-30 10:00', '2024-01-30 12:00', '1 hour'::interval) AS d
SELECT d::date, count(n) FROM generate_series('2024-02-27', '2024-03-02', interval '1 day') AS d LEFT JOIN things
  ON day = d::date GROUP BY 1 ORDER BY 1
SELECT current_date - d::date AS n FROM generate_series(current_date - 2, current_date, interval '1 day') AS d
WITH c AS (SELECT d::date AS day FROM generate_series('2023-12-31'::date, '2024-01-04', '1 day') AS d)
  SELECT c.day, coalesce(v.n, 0) AS n FROM c LEFT JOIN (SELECT day, count(*) AS n FROM people GROUP BY day) AS v
  ON v.day = c.day ORDER BY 1
SELECT c.d::date AS day, count(p.id) FROM generate_series(date '2024-01-01', date '2024-01-01' + 2, '1 day') AS c(d)
  LEFT JOIN people AS p ON p.day = c.d::date GROUP BY 1 ORDER BY 1
SELECT d::date AS day, count(p.id) FROM generate_series('2024-01-01'::date, '2024-01-03', '1 day') AS d
  LEFT JOIN people AS p ON p.day = d::date GROUP BY 1 ORDER BY 1
SELECT d::date, d FROM generate_series('2024-01-01'::date, '2024-01-03'::date, '1 day'::interval) AS d
SELECT count(*) FROM people
  WHERE day IN (SELECT d::date FROM generate_series(timestamp '2024-01-02', '2024-01-03', '1 day') AS d)
"""


@pytest.fixture(scope="module", params=["UTC", "Europe/Madrid"])
def zone(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def real(postgres: Server, zone: str) -> Iterator[psycopg.Connection]:
    name = f"series_{zone[:3].lower()}"
    with psycopg.connect(postgres.url(postgres.database(name=name)), autocommit=True) as connection:
        connection.execute(f"SET timezone = '{zone}'".encode())
        for statement in DDL:
            connection.execute(statement.encode())
        yield connection


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with started(write_home(tmp_path_factory.mktemp("series"), DDL, POLICY)) as opened:
        yield opened


def statements() -> list[str]:
    return ASKED.replace("\n  ", " ").strip().splitlines()


@pytest.mark.parametrize("sql", statements())
def test_what_postgres_gives(real: psycopg.Connection, engine: Engine, zone: str, sql: str):
    values = {**settings.DEFAULTS, "timezone": zone}
    prepared = engine.prepare(ANN, sql, (), values)
    assert prepared is not None
    answer = engine.run(Request(ANN, prepared, (), values))
    assert answer is not None
    columns = styled_columns(answer.columns or (), values)
    rows = [[encode_value(c.type, v, 0) for c, v in zip(columns, row, strict=True)] for row in answer.rows]
    found = real.pgconn.exec_params(sql.encode(), None)
    names = [((found.fname(c) or b"").decode(), found.ftype(c)) for c in range(found.nfields)]
    assert [(c.name, c.type.oid) for c in columns] == names
    theirs = [[found.get_value(r, c) for c in range(found.nfields)] for r in range(found.ntuples)]
    assert rows == theirs


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM generate_series('1', '5', '2')",
        "SELECT * FROM generate_series('2024-01-30', '2024-02-02', '1 day')",
        "SELECT * FROM generate_series('1', '5')",
        "SELECT * FROM generate_series(date '2024-01-30', '2024-02-02', 'day one')",
    ],
)
def test_what_postgres_refuses(real: psycopg.Connection, engine: Engine, sql: str):
    with pytest.raises(psycopg.Error) as theirs:
        real.execute(sql.encode())
    with pytest.raises(Refusal) as ours:
        engine.prepare(ANN, sql, (), settings.DEFAULTS)
    assert ours.value.sqlstate == theirs.value.sqlstate
    assert ours.value.message == theirs.value.diag.message_primary.partition(":")[0]


def test_beside_rows_of_people_each_counts_as_often_as_there_are_values(engine: Engine):
    prepared = engine.prepare(
        ANN, "SELECT count(*) FROM people, generate_series(1, 7)", (), settings.DEFAULTS
    )
    assert prepared is not None
    assert isinstance(prepared.statement, SelectStatement)
    told = engine.answer(ANN, "EXPLAIN SELECT count(*) FROM people, generate_series(1, 7)")
    assert any("at most 7 rows" in str(row) for row in told.rows)


@pytest.mark.parametrize(
    ("sql", "refusal"),
    [
        ("SELECT * FROM generate_series(1, 5, 0)", InvalidParameter),
        ("SELECT * FROM generate_series('1', '5')", AmbiguousFunction),
        ("SELECT * FROM generate_series(1, 1000000000)", TooComplex),
        ("SELECT count(*) FROM people, generate_series(1, n) AS g", Refusal),
        ("SELECT * FROM things, generate_series(1, n) AS g", UndefinedColumn),
        ("SELECT generate_series(1, n) FROM things", Unsupported),
        ("SELECT g FROM generate_series(1, (SELECT count(*) FROM people)) AS g", Unsupported),
        (
            "SELECT * FROM things, generate_series(date '2020-01-01', date '2024-01-01', interval '1 minute')",
            TooComplex,
        ),
    ],
)
def test_refused(engine: Engine, sql: str, refusal: type[Refusal]):
    with pytest.raises(refusal):
        engine.answer(ANN, sql)
