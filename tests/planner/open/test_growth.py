"""Texts of a public table, put together through subqueries; the table has 100 of them, 2,000 characters each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpproxy.algebra.plan import Caller
from dpproxy.algebra.request import Request
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.engine import Engine
from dpproxy.planner.open.growth import MOST_COPIES
from dpproxy.values.errors import TooComplex
from tests.hospital import all_rows
from tests.proxies import started, write_home

DDL = ("CREATE TABLE p AS SELECT i AS n, repeat('x', 2000) AS word, 'y' AS more FROM range(100) AS r(i)",)
POLICY = "ALTER TABLE p SET PRIVACY PUBLIC; GRANT SELECT ON p TO analyst;"
ANN = Caller("ann", frozenset({"analyst"}), "session of ann")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    home: Path = tmp_path_factory.mktemp("home")
    with started(write_home(home, DDL, POLICY)) as found:
        found.open(ANN)
        yield found


def rows(engine: Engine, sql: str) -> list[tuple[object, ...]]:
    answer = engine.run(Request(ANN, engine.prepare(ANN, sql, (), DEFAULTS), (), DEFAULTS))
    assert answer is not None
    return all_rows(answer)


def nested(levels: int, step: str) -> str:
    sql = "SELECT word AS a, more AS b, n FROM p"
    for level in range(levels):
        sql = f"SELECT {step} AS a, b, n FROM ({sql}) AS t{level}"
    return f"SELECT length(a) FROM ({sql}) AS t WHERE n = 0"


@pytest.mark.parametrize(
    ("step", "levels"),
    [
        ("a || a", 27),
        ("upper(a || a)", 27),
        ("coalesce(a || a, a)", 27),
        ("concat(a, '', a)", 27),
        ("CASE WHEN n > 3 THEN a ELSE trim(a || a) END", 27),
        ("replace(a, 'x', 'xx')", 3),
        ("replace(a, 'x', b)", 3),
        ("(SELECT max(b || word) FROM p) || (SELECT max(b || word) FROM p) || a", 3),
        ("max(a || a) OVER (PARTITION BY n)", 27),
        ("(SELECT max(t0.a || t0.a || p.word) FROM p)", 1),
        ("(SELECT a || b)", 1),
    ],
)
def test_no_text_doubles_with_each_subquery(engine: Engine, step: str, levels: int):
    with pytest.raises(TooComplex, match="texts of the table"):
        rows(engine, nested(levels, step))


def test_not_through_lateral(engine: Engine):
    for sql in (
        "SELECT length(u.a) FROM p, LATERAL (SELECT p.word || p.word AS a) AS u",
        "SELECT u.a || u.a FROM p, LATERAL (SELECT p.word AS a) AS u",
        "SELECT u.a || u.a FROM p, LATERAL (VALUES (p.word)) AS u (a)",
    ):
        with pytest.raises(TooComplex, match="texts of the table"):
            rows(engine, sql)
    assert rows(engine, "SELECT length(u.a) FROM p, LATERAL (SELECT p.word AS a) AS u WHERE n = 0") == [
        (2000,)
    ]


def test_not_through_a_union_a_common_table_or_using(engine: Engine):
    both = f"SELECT n, {' || '.join(['word'] * 40)} AS a FROM p"
    for sql in (
        f"SELECT a || a FROM ({both} UNION ALL SELECT n, word FROM p) AS t",
        f"WITH t AS ({both}) SELECT a || a FROM t",
        f"SELECT a || a FROM ({both}) AS t FULL JOIN (SELECT word AS a FROM p) AS u USING (a)",
    ):
        with pytest.raises(TooComplex, match="texts of the table"):
            rows(engine, sql)


def test_so_many_are_put_together(engine: Engine):
    many = " || ".join(["word"] * MOST_COPIES)
    assert rows(engine, f"SELECT length(a) FROM (SELECT n, {many} AS a FROM p) AS t WHERE n = 0") == [
        (128_000,)
    ]
    assert rows(engine, nested(6, "a || a")) == [(128_000,)]
    assert rows(engine, nested(40, "CASE WHEN n > 3 THEN a ELSE b END")) == [(1,)]
    assert rows(engine, nested(40, "replace(upper(a), 'X', 'x')")) == [(2_000,)]
    assert rows(engine, nested(40, "CAST(a || a AS varchar(20))")) == [(20,)]
