"""Over the 20,000 rows of a public table ``p``, of which 2,000 share each value of ``tens``."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpproxy.algebra.plan import Caller
from dpproxy.algebra.request import Request
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.engine import Engine
from dpproxy.values.errors import TooComplex
from tests.proxies import started, write_home

DDL = (
    "CREATE TABLE p AS SELECT CAST(i AS INTEGER) AS n, i % 10 AS tens, 'a' AS word FROM range(20000) AS r(i)",
    "CREATE TABLE q AS SELECT CAST(i AS INTEGER) AS n, i % 1000 AS m FROM range(2000) AS r(i)",
    "CREATE TABLE none AS SELECT 1 AS n WHERE false",
)
POLICY = "".join(
    f"ALTER TABLE {t} SET PRIVACY PUBLIC; GRANT SELECT ON {t} TO analyst;" for t in ("p", "q", "none")
)
ANN = Caller("ann", frozenset({"analyst"}), "session of ann")
WIDE = ", ".join(f"'{'c' * 900}{n}'" for n in range(4))
"""3,600 characters: 17,000 rows are too many."""


T = "WITH t AS (SELECT n, tens, max(CAST(n AS float8)) AS h, count(*) AS c FROM p GROUP BY n, tens)"
ROWS = "WITH t AS (SELECT n, tens, row_number() OVER (PARTITION BY tens ORDER BY n) AS r FROM p)"
RANKED = "WITH t AS (SELECT n, tens, rank() OVER (PARTITION BY tens ORDER BY n) AS r FROM p GROUP BY n, tens)"
GROUPS = "FROM p GROUP BY n, tens"
TAGGED = f"WITH t AS (SELECT n, tens, 's' AS k {GROUPS} UNION ALL SELECT n, tens, 'c' {GROUPS})"
ALIKE = TAGGED.replace("'c'", "'s'")
TIED = RANKED.replace("ORDER BY n", "ORDER BY tens")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    home: Path = tmp_path_factory.mktemp("home")
    with started(write_home(home, DDL, POLICY)) as found:
        found.open(ANN)
        yield found


@pytest.mark.parametrize(
    "sql",
    [
        # the first two have nothing in common; the third brings them together
        "SELECT count(*) FROM p a, p b, p c WHERE a.n = c.n AND b.n = c.n",
        "SELECT count(*) FROM p a CROSS JOIN p b JOIN p c ON a.n = c.n AND b.n = c.n",
        "SELECT count(*) FROM q LEFT JOIN p a ON a.n = q.n, p b, p c WHERE q.n = c.n AND b.n = c.n",
        "SELECT count(*) FROM p a, p b JOIN q ON q.n = b.n LEFT JOIN p c ON c.n = q.n WHERE a.n = b.n",
        "SELECT count(*) FROM p a, p b WHERE a.tens = 3 AND b.tens = '4'",
        "SELECT count(*) FROM p a JOIN p b ON b.tens = CAST(7 AS int) WHERE a.tens = 3",
        "SELECT count(*) FROM q LEFT JOIN p b ON b.n = 7",
        f"{T} SELECT a.c - b.c FROM t a JOIN t b ON a.tens = b.tens AND a.n = b.n + 1",
        f"{T} SELECT a.c - b.c FROM t a LEFT JOIN t b ON b.tens = a.tens AND a.n - 52 = b.n",
        f"{ROWS} SELECT 1 FROM t a, t b, t c WHERE a.tens = b.tens AND b.tens = c.tens AND a.r = b.r + 1 AND b.r = c.r",
        f"{RANKED} SELECT a.n FROM t a JOIN t b ON a.tens = b.tens AND 1 + b.r = a.r",
        f"{TAGGED} SELECT a.n FROM t a, t b WHERE a.n = b.n AND a.tens = b.tens AND a.k = 's' AND b.k = 'c'",
        f"SELECT tens, word, {WIDE} FROM p GROUP BY tens, word",
        f"SELECT a.tens, q.m, {WIDE} FROM p a LEFT JOIN q ON a.n = q.n GROUP BY a.tens, q.m",
        f"SELECT tens, {WIDE} FROM p GROUP BY ROLLUP (tens)",
    ],
)
def test_joins_on_keys_and_few_groups_are_no_multiples(engine: Engine, sql: str):
    assert engine.prepare(ANN, sql, (), DEFAULTS)


@pytest.mark.parametrize(
    "sql",
    [
        # two doubles may have one sum; ranks may tie; both sides have one constant
        f"{T} SELECT a.c FROM t a JOIN t b ON a.tens = b.tens AND a.h = b.h + 1",
        f"{TIED} SELECT a.n FROM t a JOIN t b ON a.tens = b.tens AND a.r = b.r + 1",
        f"{ROWS} SELECT a.n FROM t a JOIN t b ON a.r = b.r + 1",
        f"{ALIKE} SELECT a.n FROM t a, t b WHERE a.n = b.n AND a.tens = b.tens AND a.k = b.k",
        f"{TAGGED} SELECT a.n FROM t a, t b WHERE a.n = b.n AND a.tens = b.tens",
        "SELECT count(*) FROM p a, p b, p c WHERE a.n = b.n",
        "SELECT count(*) FROM p a, p b, p c WHERE a.tens = b.tens AND b.n = c.n",
        "SELECT count(*) FROM p a, p b, none",
        "SELECT count(*) FROM none, p a, p b",
        "SELECT count(*) FROM p a, p b LEFT JOIN p c ON a.n = c.n AND b.n = c.n",
        "SELECT count(*) FROM p a LEFT JOIN p b ON a.tens = b.tens, p c WHERE b.n = c.n",
        "SELECT count(*) FROM p a JOIN p b ON a.n < b.n",
        "SELECT count(*) FROM p a, LATERAL (SELECT b.n FROM p b WHERE b.n = a.n) x",
        "SELECT count(*) FROM q a, LATERAL (SELECT b.tens FROM p b GROUP BY tens) x, p c WHERE c.tens = x.tens",
        "SELECT count(*) FROM p a, p b WHERE a.tens = abs(b.n) AND b.tens < 3",
        f"SELECT n, {WIDE} FROM p GROUP BY n",
        f"SELECT n + 1, {WIDE} FROM p GROUP BY n + 1",
    ],
)
def test_what_does_multiply_is_refused(engine: Engine, sql: str):
    with pytest.raises(TooComplex):
        engine.prepare(ANN, sql, (), DEFAULTS)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT count(*) FROM p a, p b, q WHERE a.n = q.n AND b.n = q.n", [(2000,)]),
        ("SELECT count(*) FROM p a, p b JOIN q ON q.n = b.n LEFT JOIN p c ON c.n = q.n WHERE a.n = b.n", [(2000,)]),
    ],
)  # fmt: skip
def test_the_order_is_the_engines(engine: Engine, sql: str, rows: list[tuple[object, ...]]):
    assert engine.run(Request(ANN, engine.prepare(ANN, sql, (), DEFAULTS), (), DEFAULTS)).rows == rows
