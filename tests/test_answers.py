"""Statements of several releases: what is paid, stored and shown, part by part."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpproxy.accounting.model import NANO, Account
from dpproxy.engine import Engine
from dpproxy.errors import BudgetExceeded
from dpproxy.plan import Answer, Caller
from dpproxy.settings import DEFAULTS
from tests.proxies import started, write_home

DDL = (
    "CREATE TABLE t (k VARCHAR, x INTEGER)",
    "INSERT INTO t SELECT CASE WHEN range % 2 = 0 THEN 'a' ELSE 'b' END, range % 100 FROM range(1000)",
)
POLICY = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 100;
ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN IN ('a', 'b');
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 99;
CREATE PRIVACY BUDGET b LIMIT EPSILON 50 USER LIMIT EPSILON 10 MAX EPSILON 5;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""
ANN = Caller("ann", frozenset({"analyst"}), "session of ann")
BOB = Caller("bob", frozenset({"analyst"}), "session of bob")
ROLLUP = "SELECT k, count(*) FROM t GROUP BY ROLLUP (k)"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with started(write_home(tmp_path, DDL, POLICY)) as found:
        found.open(ANN)
        found.open(BOB)
        yield found


def ask(engine: Engine, sql: str, caller: Caller = ANN, epsilon: str = "4") -> Answer:
    settings = {**DEFAULTS, "dp.epsilon": epsilon}
    return engine.run(caller, engine.prepare(caller, sql, (), settings), (), settings)


def spent(engine: Engine, caller: Caller = ANN) -> float:
    return engine._ledger.spent(Account.user("b", caller.user)) / NANO


def test_parts_share_what_the_statement_costs(engine: Engine):
    rows = ask(engine, ROLLUP).rows
    assert [k for k, _ in rows] == ["a", "b", None]
    assert spent(engine) == 4
    assert engine.show(ANN, "dp.last_cost", DEFAULTS) == "4"


def test_a_part_that_was_paid_for_is_free_elsewhere(engine: Engine):
    total = ask(engine, "SELECT count(*) FROM t", epsilon="2").rows[0][0]
    shown = dict(ask(engine, ROLLUP).rows)
    assert shown[None] == total
    assert spent(engine) == 4  # the groups cost the other half
    ask(engine, ROLLUP, BOB)
    assert spent(engine, BOB) == 4
    assert engine._ledger.spent(Account.ceiling("t")) / NANO == 4


def test_what_does_not_fit_is_refused_before_the_first_part_is_paid(engine: Engine):
    ask(engine, "SELECT sum(x) FROM t", epsilon="5")
    ask(engine, "SELECT avg(x) FROM t", epsilon="2")
    with pytest.raises(BudgetExceeded):
        ask(engine, ROLLUP)
    assert spent(engine) == 7


def test_a_value_is_released_once_and_then_a_constant(engine: Engine):
    sql = "SELECT count(*) FROM t WHERE x > (SELECT avg(x) FROM t)"
    first = ask(engine, sql).rows
    assert ask(engine, sql).rows == first
    assert spent(engine) == 4
    assert abs(int(str(first[0][0])) - 500) < 60  # false alarm below 1e-9: the noise has sd 0.7


def test_one_subquery_in_two_places_is_one_release(engine: Engine):
    shares = "WITH n AS (SELECT k, count(*) AS c FROM t GROUP BY k) SELECT n.k, n.c - m.c FROM n JOIN n AS m USING (k)"
    assert {difference for _, difference in ask(engine, shares).rows} == {0}
    assert spent(engine) == 4
