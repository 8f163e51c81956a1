from itertools import product

import duckdb
import psycopg
import pytest

from dpproxy.algebra import nodes, printing
from dpproxy.backends.postgres.dialect import dialect
from dpproxy.backends.servers.dialect import ValueKind, stored
from dpproxy.backends.servers.implied import MOST_LISTED, with_implied
from dpproxy.backends.servers.printer import statement
from tests.postgres import Server
from tests.reading import read

CLAMPED = "(CASE WHEN {0} < {1} THEN {1} WHEN {0} > {2} THEN {2} ELSE {0} END)"
INSIDE = "(CASE WHEN {0} >= {1} AND {0} <= {2} THEN {0} ELSE NULL END)"
MAPPED = [
    CLAMPED.format("x", 2, 6),
    INSIDE.format("x", 2, 6),
    f"coalesce({CLAMPED.format('x', 2, 6)}, 4)",
    "(CASE WHEN x IN (2, 6) THEN x ELSE NULL END)",
    "(CASE WHEN x > 6 THEN 2 WHEN x < 2 THEN 6 ELSE x END)",  # turned around
    "(CASE WHEN y > 3 THEN x WHEN y < 1 THEN 5 ELSE -3 END)",
    "(CASE WHEN x > 4 THEN y ELSE x END)",
]
CONDITIONS = [
    *(f"{{0}} {sign} {value}" for sign, value in product(("=", "<", "<=", ">", ">=", "<>"), (1, 2, 4, 6, 7))),
    *(f"{value} {sign} {{0}}" for sign, value in product(("=", "<", "<=", ">", ">="), (2, 3))),
    "{0} IN (1, 2, 4)",
    "({0} >= 3 AND ({0} < 6)) AND y > 0",
    "({0} >= 3 OR {0} < 1)",
    "NOT {0} > 3",
]


def condition(sql: str) -> nodes.Expr:
    query = read(f"SELECT x FROM t WHERE {sql}")
    assert isinstance(query, nodes.Select)
    assert query.where is not None
    return query.where


@pytest.fixture(scope="module")
def rows() -> duckdb.DuckDBPyConnection:
    """All pairs of small numbers and NULL, on both sides of the bounds."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (x BIGINT, y BIGINT)")
    values = [*range(-1, 10), None]
    connection.executemany("INSERT INTO t VALUES (?, ?)", list(product(values, values)))
    return connection


@pytest.mark.parametrize("mapped", MAPPED)
def test_the_same_rows_are_left(rows: duckdb.DuckDBPyConnection, mapped: str):
    for form in CONDITIONS:
        where = condition(form.format(mapped))
        texts = [printing.text(where), printing.text(with_implied(where))]
        one, other = (rows.execute(f"SELECT * FROM t WHERE {text} ORDER BY ALL").fetchall() for text in texts)
        assert one == other, texts


@pytest.mark.parametrize(
    ("sql", "implied"),
    [
        (f"{CLAMPED.format('x', 2, 6)} >= 3", "(x >= 3 OR (x < 2 AND 2 >= 3) OR (x > 6 AND 6 >= 3))"),
        (f"3 > {CLAMPED.format('x', 2, 6)}", "(3 > x OR (x < 2 AND 3 > 2) OR (x > 6 AND 3 > 6))"),
        ("(CASE WHEN y > 6 THEN 2 ELSE x END) = 3", "(x = 3 OR 2 = 3)"),
        (f"{INSIDE.format('x', 2, 6)} > 3", "x > 3"),
        ("(CASE WHEN x IN ('a', 'b') THEN x ELSE NULL END) IN ('a', 'c')", "x IN ('a', 'c')"),
        ("x > 3", None),
        (f"{CLAMPED.format('x', 2, 6)} > y", None),
        (f"{CLAMPED.format('x', 2, 6)} > 2.5", None),
        (f"{CLAMPED.format('x', 2.5, 6)} > 3", None),
        (f"{CLAMPED.format('x', 2, 6)} IN ({', '.join(map(str, range(MOST_LISTED + 1)))})", None),
        ("(CASE WHEN y > 4 THEN y ELSE x END) = 1", None),
        ("(CASE WHEN y > 4 THEN 1 ELSE 2 END) = 1", None),
    ],
)
def test_what_is_implied(sql: str, implied: str | None):
    where = condition(sql)
    found = with_implied(where)
    if implied is None:
        assert found == where
    else:
        assert isinstance(found, nodes.And)
        assert found.conditions[0] == where
        assert printing.text(found.conditions[1]) == implied


DAY = CLAMPED.format("day", "CAST('2024-01-02' AS DATE)", "CAST('2024-01-06' AS DATE)")
COUNT = "SELECT CAST(count(*) AS INT128) AS n FROM t WHERE {}"


@pytest.mark.parametrize(
    ("sql", "parts"),
    [
        (f"{DAY} = CAST('2024-01-03' AS DATE)", {"t3"}),
        (f"{DAY} <= CAST('2024-01-02' AS DATE)", {"t1", "t2", "rest"}),
        (f"{DAY} = CAST('2024-01-06' AS DATE)", {"t6", "t7", "rest"}),
        (f"{DAY} >= CAST('2024-01-05' AS DATE)", {"t5", "t6", "t7", "rest"}),
    ],
)
def test_partitions_beside_it_are_not_read(postgres: Server, sql: str, parts: set[str]):
    with psycopg.connect(postgres.url(postgres.database()), autocommit=True) as connection:
        connection.execute("CREATE TABLE t (day date) PARTITION BY RANGE (day)")
        connection.execute("CREATE TABLE rest PARTITION OF t DEFAULT")
        for day in range(1, 8):
            ends = f"FROM ('2024-01-0{day}') TO ('2024-01-0{day + 1}')"
            connection.execute(f"CREATE TABLE t{day} PARTITION OF t FOR VALUES {ends}".encode())
        connection.execute("INSERT INTO t SELECT date '2023-12-31' + i % 12 FROM generate_series(1, 60) AS i")
        connection.execute("INSERT INTO t VALUES (NULL), ('infinity'), ('-infinity')")
        columns = {"day": stored(ValueKind.DATE)}
        made = statement(read(COUNT.format(sql)), dialect("public"), lambda *_: columns)
        shown = connection.execute(f"EXPLAIN {made.sql}".encode()).fetchall()
        read_parts = {
            name for name in (*(f"t{day}" for day in range(1, 8)), "rest") if f" on {name} " in str(shown)
        }
        assert read_parts == parts
        counted = connection.execute(made.sql.encode()).fetchone()
        plain = sql.replace("CAST('", "('").replace(" AS DATE)", "::date)")
        assert counted == connection.execute(f"SELECT count(*) FROM t WHERE {plain}".encode()).fetchone()
