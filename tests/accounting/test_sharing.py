"""Budgets that share: who reads whose releases, at what price, and what is on record of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpproxy.accounting.model import NANO, Account, LedgerEntry
from dpproxy.algebra.plan import Answer, Caller
from dpproxy.algebra.request import Request
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.engine import Engine
from dpproxy.values.errors import Refusal
from tests.proxies import started, write_home

DDL = (
    "CREATE TABLE t (k VARCHAR, x INTEGER NOT NULL)",
    "INSERT INTO t SELECT CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END, i % 100 FROM range(1000) r (i)",
    "CREATE VIEW halves AS SELECT x FROM t WHERE k = 'a'",
)
POLICY = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 100;
ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN IN ('a', 'b');
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 99;
CREATE PRIVACY BUDGET lab LIMIT EPSILON 5 USER LIMIT EPSILON 2 SHARE RELEASES;
CREATE PRIVACY BUDGET course LIMIT EPSILON 50;
GRANT SELECT ON t TO researcher WITH PRIVACY BUDGET lab;
GRANT SELECT ON halves TO assistant WITH PRIVACY BUDGET lab;
GRANT SELECT ON t TO student WITH PRIVACY BUDGET course;
"""
ANN, BOB = (Caller(name, frozenset({"researcher"}), f"session of {name}") for name in ("ann", "bob"))
CAT = Caller("cat", frozenset({"assistant"}), "session of cat")
DAN, EVE = (Caller(name, frozenset({"student"}), f"session of {name}") for name in ("dan", "eve"))
ROOT = Caller("root", frozenset({"admin"}), "session of root")
BY_K = "SELECT k, count(*) FROM t GROUP BY k"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with started(write_home(tmp_path, DDL, POLICY)) as found:
        for caller in (ANN, BOB, CAT, DAN, EVE, ROOT):
            found.open(caller)
        yield found


def ask(engine: Engine, sql: str, caller: Caller, epsilon: str = "1", **settings: str) -> Answer:
    given = {**DEFAULTS, "dp.epsilon": epsilon, **settings}
    return engine.run(Request(caller, engine.prepare(caller, sql, (), given), (), given))


def spent(engine: Engine, account: Account) -> float:
    return engine._ledger.spent(account) / NANO


def reads(engine: Engine) -> list[LedgerEntry]:
    return [entry for entry in engine._ledger.entries() if entry.kind == "read"]


def test_the_first_pays_and_all_read(engine: Engine):
    first = ask(engine, BY_K, ANN)
    again = ask(engine, BY_K, BOB)
    assert again.rows == first.rows
    assert again.nano == 0
    assert again.notices[0].message == "cost 0, 2 left in budget lab"
    assert "to users of budget lab" in str(again.notices[0].detail)
    accounts = {Account.user("lab", "ann"): 1, Account.user("lab", "bob"): 0, Account.budget("lab"): 1}
    assert {account: spent(engine, account) for account in accounts} == accounts
    assert spent(engine, Account.ceiling("t")) == 1


def test_what_follows_is_read_too_and_less_epsilon_is_enough(engine: Engine):
    rows = dict(ask(engine, BY_K, ANN).rows)
    assert ask(engine, "SELECT count(*) FROM t WHERE k = 'a'", BOB, "0.1").rows[0][0] == rows["a"]
    assert ask(engine, "SELECT count(*) FROM t WHERE k IN ('a', 'b')", BOB).rows[0][0] == sum(rows.values())  # type: ignore[arg-type]
    assert spent(engine, Account.user("lab", "bob")) == 0
    priced = str(ask(engine, f"EXPLAIN (PRIVACY) {BY_K}", BOB).rows[0][0])
    assert priced == "Price: epsilon 0 (epsilon 1 but for stored releases)"


def test_who_read_what_for_nothing_is_on_record_once(engine: Engine):
    ask(engine, BY_K, ANN)
    ask(engine, f"EXPLAIN (PRIVACY) {BY_K}", BOB)
    assert reads(engine) == []
    for _ in range(3):
        ask(engine, BY_K, BOB)
        ask(engine, "SELECT count(*) FROM t WHERE k = 'a'", BOB)
        ask(engine, BY_K, ANN)
    [read] = reads(engine)
    assert (read.who, read.origin, read.nano, read.label) == ("bob", 1, 0, "count(*) by k on t")
    assert [(p.account, p.nano) for p in read.postings] == [(Account.user("lab", "bob"), 0)]
    kinds = "SELECT kind, who, epsilon, budget FROM dp.ledger ORDER BY sequence"
    assert [str(value) for value in ask(engine, kinds, BOB).rows[0]] == ["read", "bob", "0", "lab"]
    assert [row[1] for row in ask(engine, kinds, ROOT).rows] == ["ann", "bob"]
    assert engine._ledger.verify() == 2


def test_all_users_together_pay_no_more_than_the_limit(engine: Engine):
    """It bounds what each of them reads, who has nothing left of their own as well."""
    asked = [(ANN, "x"), (ANN, "abs(x - 1)"), (BOB, "abs(x - 2)"), (BOB, "x * x"), (CAT, "abs(x - 5)")]
    for caller, sum_of in asked:
        ask(engine, f"SELECT sum({sum_of}) FROM {'halves' if caller is CAT else 't'}", caller)
    with pytest.raises(Refusal, match=r'user "ann" of privacy budget "lab" has 0 epsilon left'):
        ask(engine, "SELECT sum(abs(x - 6)) FROM t", ANN)
    with pytest.raises(Refusal, match=r'budget "lab" has 0 epsilon left'):
        ask(engine, "SELECT sum(abs(x - 6)) FROM halves", CAT)
    for _, sum_of in asked[:4]:
        assert ask(engine, f"SELECT sum({sum_of}) FROM t", ANN).nano == 0


def test_a_reader_asks_only_what_they_are_granted(engine: Engine):
    """A view of some rows answers for these alone, for nothing where they follow from what was released."""
    rows = dict(ask(engine, BY_K, ANN).rows)
    assert ask(engine, "SELECT count(*) FROM halves", CAT).rows[0][0] == rows["a"]
    for sql in (BY_K, "SELECT count(*) FROM t", "SELECT count(*) FROM halves WHERE k = 'b'"):
        with pytest.raises(Refusal, match="does not exist"):
            ask(engine, sql, CAT)


def test_other_budgets_neither_read_nor_are_read(engine: Engine):
    inside = ask(engine, BY_K, ANN).rows
    assert ask(engine, BY_K, DAN).nano == NANO
    assert spent(engine, Account.ceiling("t")) == 2
    assert (
        ask(engine, BY_K, EVE).nano == NANO
    )  # a budget that does not share: the ceiling pays once, each user pays
    assert spent(engine, Account.ceiling("t")) == 2
    assert ask(engine, BY_K, BOB).rows == inside
    assert [entry.kind for entry in engine._ledger.entries()] == ["charge", "charge", "adopt", "read"]


def test_what_a_price_rests_on_is_ones_own(engine: Engine):
    """A predicted error tells a released number, and nobody would be on record as having read it."""
    predicted = "EXPLAIN (PRIVACY) SELECT count(*) FROM t WHERE k = 'a'"
    ask(engine, BY_K, ANN)
    with pytest.raises(Refusal, match="depends on how many rows there are"):
        ask(engine, predicted, BOB, **{"dp.target_error": "5 %"})
    ask(engine, BY_K, BOB)
    ask(engine, predicted, BOB, **{"dp.target_error": "5 %"})


def test_declared_or_taken_back_nothing_is_handed_on(engine: Engine):
    shared = ask(engine, BY_K, ANN).rows
    declared = "CREATE PRIVACY BUDGET lab LIMIT EPSILON 5 USER LIMIT EPSILON 2"
    told = ask(engine, declared, ROOT).notices
    assert "[stronger]" in told[0].message
    assert "USER LIMIT bounds what one user may learn" in told[0].message
    assert ask(engine, BY_K, BOB).nano == NANO
    told = ask(engine, f"{declared} SHARE RELEASES", ROOT).notices
    assert "[weaker]" in told[0].message
    assert "one user may learn its whole limit, epsilon 5" in told[0].message
    assert ask(engine, BY_K, BOB).rows == shared  # the pool is found again
