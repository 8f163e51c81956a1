"""EXPLAIN (PRIVACY): stored releases, several statements and their split; nothing is spent."""

import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpproxy.accounting.model import Account
from dpproxy.algebra.plan import Caller
from dpproxy.algebra.request import Request
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.engine import Engine
from dpproxy.engine.pricing import _shared
from dpproxy.values.errors import InvalidParameter, Refusal, SyntaxRefused, Unsupported
from tests.proxies import started, write_home

DDL = (
    "CREATE TABLE t (k VARCHAR, x INTEGER, y INTEGER NOT NULL)",
    "INSERT INTO t SELECT 'a', i % 100, i % 5 FROM range(1000) r (i)",
    "CREATE TABLE open (n INTEGER)",
)
POLICY = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 100;
ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN IN ('a', 'b');
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 99;
ALTER TABLE t ALTER COLUMN y SET PRIVACY DOMAIN BETWEEN 0 AND 4;
ALTER TABLE open SET PRIVACY PUBLIC;
CREATE PRIVACY BUDGET b LIMIT EPSILON 50 USER LIMIT EPSILON 10 MAX EPSILON 1;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
GRANT SELECT ON open TO analyst;
"""
ANN = Caller("ann", frozenset({"analyst"}), "session of ann")
BOB = Caller("bob", frozenset({"analyst"}), "session of bob")
FINE = "SELECT y, count(*) FROM t GROUP BY y"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("pricing")
    with started(write_home(folder, DDL, POLICY)) as found:
        yield found


def run(engine: Engine, sql: str, caller: Caller = ANN, **settings: str) -> list[str]:
    given = {**DEFAULTS, **{f"dp.{name}": value for name, value in settings.items()}}
    return [
        str(row[0])
        for row in engine.run(Request(caller, engine.prepare(caller, sql, (), given), (), given)).rows
    ]


def spent(engine: Engine, caller: Caller = ANN) -> int:
    return engine._ledger.spent(Account.user("b", caller.user))


def document(engine: Engine, sql: str, caller: Caller = ANN) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(engine, sql, caller)[0])
    return found


def column(engine: Engine, sql: str, name: str, caller: Caller) -> dict[str, Any]:
    columns = document(engine, f"EXPLAIN (PRIVACY, FORMAT JSON) {sql}", caller)["columns"]
    [found] = [c for c in columns if c["name"] == name]
    return found  # type: ignore[no-any-return]


def test_several_statements_are_priced_in_their_turn_and_nothing_is_spent(engine: Engine):
    lines = run(
        engine,
        f"EXPLAIN (PRIVACY) ({FINE}; SELECT count(*) FROM t; SELECT sum(x) FROM t;\n "
        "SELECT count(*), y FROM t GROUP BY 2 ORDER BY 1; SELECT n FROM open; "
        "SELECT count(*) FROM t WHERE false; SELECT count(*) FROM t WHERE y = 3)",
    )
    assert [line.split(",")[0] for line in lines if line.startswith("Statement")] == [
        "Statement 1: epsilon 0.1",
        "Statement 2: free (follows from statement 1)",
        "Statement 3: epsilon 0.1",
        "Statement 4: free (follows from statement 1)",
        "Statement 5: free (public)",
        "Statement 6: free (follows from the policy)",
        "Statement 7: free (follows from statement 1)",
    ]
    assert lines[-1] == "Total: epsilon 0.2; 10 left in budget b"
    assert spent(engine) == 0


def test_a_price_is_what_asking_costs(engine: Engine):
    """One after the other, in the order in which they were priced; and afterwards nothing."""
    statements = (
        FINE,
        "SELECT count(*) FROM t",
        "SELECT k, sum(x) FROM t GROUP BY k",
        "SELECT y, count(*) FROM t GROUP BY ROLLUP (y)",
    )
    listed = "; ".join(statements)
    priced = document(engine, f"EXPLAIN (PRIVACY, FORMAT JSON) ({listed})", BOB)
    for statement in statements:
        run(engine, statement, BOB)
    assert float(str(priced["epsilon"])) * 1e9 == pytest.approx(spent(engine, BOB))
    again = document(engine, f"EXPLAIN (PRIVACY, FORMAT JSON) ({listed})", BOB)
    assert again["epsilon"] == 0
    assert (
        run(engine, f"EXPLAIN (PRIVACY) {FINE}", BOB)[0]
        == "Price: epsilon 0 (epsilon 0.1 but for stored releases)"
    )
    assert document(engine, f"EXPLAIN (PRIVACY, FORMAT JSON) {FINE}", BOB)["stored"] == [0]
    assert run(engine, f"EXPLAIN (PRIVACY) {FINE}")[0] == "Price: epsilon 0.1"  # who has not paid, pays


def test_an_explained_roll_up_tells_the_error_of_its_sum(engine: Engine):
    caller = Caller("cat", frozenset({"analyst"}), "session of cat")
    run(engine, FINE, caller)
    [line] = [
        one for one in run(engine, "EXPLAIN (PRIVACY) SELECT count(*) FROM t", caller) if "noise sd" in one
    ]
    [single] = [one for one in run(engine, f"EXPLAIN (PRIVACY) {FINE}", caller) if "noise sd" in one]
    sds = [float(text.split("noise sd ")[1].split(",")[0]) for text in (line, single)]
    assert sds[0] == pytest.approx(sds[1] * 5**0.5, rel=1e-4)


def test_the_half_width_of_an_average_is_a_number_once_its_count_is_released(engine: Engine):
    caller, sql = (
        Caller("eva", frozenset({"analyst"}), "session of eva"),
        "SELECT y, avg(x) FROM t GROUP BY y",
    )
    before = column(engine, sql, "avg", caller)
    assert before["half_width"] is None
    run(engine, sql, caller)
    after = column(engine, sql, "avg", caller)
    top = float(before["half_width_formula"].split()[1])
    # The noise of a count of 200 rows has sd 20 at most: off by more than 150 less than once in 1e9.
    assert top / 350 < after["half_width"] < top / 50
    assert any("in the smallest group of" in line for line in run(engine, f"EXPLAIN (PRIVACY) {sql}", caller))


def test_a_split_adds_up_and_makes_errors_alike(engine: Engine):
    listed = (
        "SELECT sum(x) FROM t; SELECT k, count(*) FROM t GROUP BY k; SELECT x, count(*) FROM t GROUP BY x"
    )
    found = document(engine, f"EXPLAIN (PRIVACY, FORMAT JSON, BUDGET 0.9) ({listed})")
    statements = found["statements"]
    assert isinstance(statements, list)
    shares = [s["proposed"] for s in statements]
    assert 0.88 < sum(shares) <= 0.9
    assert shares == sorted(shares)
    errors = []
    for share, reach, sql in zip(shares, (99, 1, 1), listed.split(";"), strict=True):
        explained = json.loads(run(engine, f"EXPLAIN (PRIVACY, FORMAT JSON) {sql}", epsilon=str(share))[0])
        halves = [c["half_width"] / reach for c in explained["columns"] if c.get("half_width")]
        errors.append(max(halves) * explained["keys"])
    assert max(errors) < 2 * min(errors)
    assert statements[0]["hinted"] == f"/*+ dp(epsilon={shares[0]:.9g}) */ SELECT sum(x) FROM t;"


def test_a_split_respects_the_most_of_one_statement_and_tells_what_is_left(engine: Engine):
    lines = run(engine, "EXPLAIN (PRIVACY, BUDGET 3) (SELECT sum(x) FROM t; SELECT sum(y) FROM t)")
    assert lines[-3:] == [
        "  /*+ dp(epsilon=1) */ SELECT sum(x) FROM t;",
        "  /*+ dp(epsilon=1) */ SELECT sum(y) FROM t;",
        "Left of it: epsilon 1",
    ]


def test_what_follows_from_another_stays_free_in_a_split(engine: Engine):
    caller = Caller("dan", frozenset({"analyst"}), "session of dan")
    lines = run(
        engine,
        f"EXPLAIN (PRIVACY, BUDGET 0.02) ({FINE}; SELECT count(*) FROM t; SELECT sum(x) FROM t)",
        caller,
    )
    first, second, _ = (line.split("epsilon=")[1].split(")")[0] for line in lines if "/*+" in line)
    assert first == second


def test_a_budget_may_be_given_for_one_statement(engine: Engine):
    assert (
        "/*+ dp(epsilon=0.5) */ SELECT sum(x) FROM t;"
        in run(engine, "EXPLAIN (PRIVACY, BUDGET 0.5) (SELECT sum(x) FROM t)")[-2]
    )


@pytest.mark.parametrize(
    ("sql", "kind", "message"),
    [
        (
            "EXPLAIN (PRIVACY, BUDGET 0.001) (SELECT sum(x) FROM t; SELECT sum(y) FROM t)",
            InvalidParameter,
            "too little",
        ),
        ("EXPLAIN (PRIVACY, BUDGET 2) SELECT sum(x) FROM t", SyntaxRefused, "parentheses"),
        ("EXPLAIN (PRIVACY) (SELECT sum(x) FROM t; SHOW PRIVACY BUDGETS)", Refusal, ""),
        (
            "EXPLAIN (PRIVACY) (SELECT sum(x) FROM t; EXPLAIN (PRIVACY) SELECT 1)",
            Unsupported,
            "prices queries",
        ),
        ("EXPLAIN (PRIVACY) (SELECT sum(x) FROM t; SELECT nothing FROM t)", Refusal, "nothing"),
        ("EXPLAIN (PRIVACY) (SELECT sum(x) FROM t WHERE x > $1; SELECT 1)", Refusal, ""),
    ],
)
def test_what_cannot_be_priced_is_refused(engine: Engine, sql: str, kind: type[Refusal], message: str):
    with pytest.raises(kind) as caught:
        run(engine, sql)
    assert message in caught.value.message


def test_shares_above_a_cap_go_to_the_others():
    caps = [Fraction(1, 2), None, None]
    assert _shared([8.0, 1.0, 1.0], caps, Fraction(2)) == [Fraction(1, 2), Fraction(3, 4), Fraction(3, 4)]
    assert _shared([0.0, 0.0], [None, None], Fraction(1)) == [Fraction(1, 2), Fraction(1, 2)]
