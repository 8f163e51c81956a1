"""Many connections at once: a budget of ten statements answers ten, and one question is paid once."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from tests.proxies import Proxy, serving, write_home

DDL = ("CREATE TABLE t AS SELECT CAST(i % 100 AS INTEGER) AS x FROM range(200000) AS r(i)",)
POLICY = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 10;
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 100;
CREATE PRIVACY BUDGET b LIMIT EPSILON 1 DEFAULT EPSILON 0.1;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    with serving(write_home(tmp_path, DDL, POLICY)) as found:
        yield found


def ask_at_once(proxy: Proxy, asked: list[tuple[str, str]]) -> list[tuple[str, object]]:
    """(user, statement) pairs, each on a connection of its own, all sent together; SQLSTATE and row."""
    barrier = threading.Barrier(len(asked))

    def ask(connection: psycopg.Connection, sql: str) -> tuple[str, object]:
        barrier.wait()
        try:
            return "", connection.execute(sql).fetchone()
        except psycopg.Error as error:
            return str(error.sqlstate), None

    with ExitStack() as stack, ThreadPoolExecutor(len(asked)) as pool:
        open_ = [stack.enter_context(psycopg.connect(proxy.dsn(user), autocommit=True)) for user, _ in asked]
        return list(pool.map(ask, open_, [sql for _, sql in asked]))


def value(proxy: Proxy, sql: str, user: str = "root") -> object:
    with psycopg.connect(proxy.dsn(user), autocommit=True) as connection:
        row = connection.execute(sql).fetchone()
        assert row is not None
        return row[0]


def test_sixty_four_connections_race_for_ten_queries(proxy: Proxy):
    told = ask_at_once(proxy, [("ann", f"SELECT count(*) FROM t WHERE x < {n}") for n in range(64)])
    assert Counter(state for state, _ in told) == {"": 10, "PD001": 54}
    assert value(proxy, "SELECT count(*) FROM dp.ledger") == 10
    assert value(proxy, "SELECT remaining FROM dp.budgets") == 0


def test_the_same_question_from_many_is_released_once(proxy: Proxy):
    wordings = (
        "SELECT sum(x) FROM t",
        "SELECT sum(t.x) AS s FROM t ORDER BY 1",
        "SELECT sum(x) FROM t LIMIT 1",
    )
    told = ask_at_once(proxy, [("ann", wordings[n % 3]) for n in range(32)])
    assert {state for state, _ in told} == {""}
    assert len({row for _, row in told}) == 1
    assert value(proxy, "SELECT count(*) FROM dp.ledger") == 1
    assert str(value(proxy, "SHOW dp.budget_remaining", "ann")) == "0.9"


def test_two_users_pay_once_each_and_the_ceiling_once(proxy: Proxy):
    told = ask_at_once(proxy, [(("ann", "bob")[n % 2], "SELECT avg(x) FROM t") for n in range(32)])
    assert {state for state, _ in told} == {""}
    assert len({row for _, row in told}) == 1
    assert proxy.engine is not None
    charges = [(e.who, e.kind, e.nano) for e in proxy.engine._ledger.entries()]
    assert sorted(who for who, _, _ in charges) == ["ann", "bob"]
    paid = Counter(p.account.kind.value for e in proxy.engine._ledger.entries() for p in e.postings)
    assert paid["ceiling"] == 1
    assert paid["user"] == 2
