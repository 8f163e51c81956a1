"""The engine by itself: what is free, what is paid by whom, what a policy change and a failure do."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import NoReturn

import pytest

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Answer, Caller
from dpproxy.algebra.request import Request
from dpproxy.config.settings import DEFAULTS, PRESENT, moments
from dpproxy.engine.engine import Engine
from dpproxy.planner.refusals import GENERAL
from dpproxy.values.errors import (
    BoundsMissing,
    BudgetExceeded,
    Cancelled,
    Internal,
    InvalidParameter,
    NotGranted,
    Refusal,
    UndefinedColumn,
    UndefinedObject,
    UndefinedTable,
    Unsupported,
)
from tests.proxies import started, write_home
from tests.reading import words

pytestmark = pytest.mark.usefixtures("in_process")

DDL = (
    "CREATE TABLE t AS SELECT CAST(i % 50 AS INTEGER) AS x, ['a', 'b'][1 + i % 2] AS k, i AS y FROM range(500) AS r(i)",
    "CREATE TABLE u AS SELECT i AS x FROM range(10) AS r(i)",
)
POLICY = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 3;
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 49;
ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN IN ('a', 'b');
CREATE PRIVACY BUDGET b LIMIT EPSILON 2 USER LIMIT EPSILON 1.5 SESSION LIMIT EPSILON 1
  MAX EPSILON 1 DEFAULT EPSILON 0.1;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
ALTER TABLE u SET PRIVACY KEY ROW;
"""
ANN = Caller("ann", frozenset({"analyst"}), "session of ann")
BOB = Caller("bob", frozenset({"analyst"}), "session of bob")
ROOT = Caller("root", frozenset({"admin"}), "session of root")
COUNT = "SELECT count(*) FROM t"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with started(write_home(tmp_path, DDL, POLICY)) as found:
        for caller in (ANN, BOB, ROOT):
            found.open(caller)
        yield found


def ask(
    engine: Engine, sql: str, caller: Caller = ANN, values: Sequence[object] = (), **settings: str
) -> Answer:
    given = {**DEFAULTS, **{f"dp.{name}": value for name, value in settings.items()}}
    return engine.run(Request(caller, engine.prepare(caller, sql, (), given), values, given))


def accounts(engine: Engine) -> Mapping[str, Decimal]:
    """What was paid so far, by kind and name."""
    found: dict[str, Decimal] = {}
    for entry in engine._ledger.entries():
        for posting in entry.postings:
            name = f"{posting.account.kind.value} {posting.account.member or posting.account.name}"
            found[name] = found.get(name, Decimal(0)) + Decimal(entry.nano) / 10**9
    return found


def left(engine: Engine, caller: Caller = ANN) -> str:
    return engine.show(caller, "dp.budget_remaining", DEFAULTS)


def test_preparing_and_explaining_spend_nothing(engine: Engine):
    for _ in range(20):
        prepared = engine.prepare(ANN, COUNT, (), DEFAULTS)
        ask(engine, f"EXPLAIN (PRIVACY) {COUNT}")
    assert prepared.charged
    assert not engine.prepare(ANN, "SELECT 1", (), DEFAULTS).charged
    assert not engine.prepare(ANN, f"{COUNT} LIMIT 0", (), DEFAULTS).charged
    assert ask(engine, f"{COUNT} LIMIT 0").rows == []
    assert engine._ledger.entries() == []
    assert left(engine) == "1"


def test_a_question_is_paid_once(engine: Engine):
    first = ask(engine, COUNT)
    assert engine.show(ANN, "dp.last_cost", DEFAULTS) == "0.1"
    assert ask(engine, "SELECT count(*) AS n FROM t ORDER BY n").rows == first.rows
    assert engine.show(ANN, "dp.last_cost", DEFAULTS) == "0"
    assert len(engine._ledger.entries()) == 1
    assert left(engine) == "0.9"


def test_another_user_pays_the_budget_but_not_the_ceiling(engine: Engine):
    first = ask(engine, COUNT)
    assert ask(engine, COUNT, BOB).rows == first.rows
    assert ask(engine, COUNT, BOB).rows == first.rows
    paid = accounts(engine)
    assert paid["user ann"] == paid["user bob"] == Decimal("0.1")
    assert [e.who for e in engine._ledger.entries()] == ["ann", "bob"]
    ceilings = [p for e in engine._ledger.entries() for p in e.postings if p.account.kind.value == "ceiling"]
    assert len(ceilings) == 1


def test_a_more_accurate_answer_serves_a_cheaper_request(engine: Engine):
    first = ask(engine, COUNT, epsilon="0.5")
    assert ask(engine, COUNT, epsilon="0.2").rows == first.rows
    assert left(engine) == "0.5"
    assert ask(engine, COUNT, epsilon="0.2", intervals="columns").rows[0][0] == first.rows[0][0]
    ask(engine, COUNT, BOB, epsilon="0.2")  # who did not pay gets what they ask for, and pays that
    assert accounts(engine)["user bob"] == Decimal("0.2")
    better = ask(engine, COUNT, epsilon="0.4", intervals="columns")
    assert better.rows[0][0] == first.rows[0][0]
    ask(engine, COUNT, epsilon="0.5")
    assert len(engine._ledger.entries()) == 2


def test_a_cheaper_answer_does_not_serve_a_more_accurate_request(engine: Engine):
    ask(engine, COUNT, epsilon="0.2")
    ask(engine, COUNT, epsilon="0.5")
    assert left(engine) == "0.3"


def test_a_change_of_policy_counts_at_once(engine: Engine):
    with pytest.raises(UndefinedColumn):
        ask(engine, "SELECT avg(y) FROM t")
    prepared = engine.prepare(ANN, COUNT, (), DEFAULTS)
    ask(engine, "ALTER TABLE t ALTER COLUMN y SET PRIVACY DOMAIN BETWEEN 0 AND 10", ROOT)
    assert len(ask(engine, "SELECT avg(y) FROM t").rows) == 1
    ask(engine, "REVOKE SELECT ON t FROM analyst", ROOT)
    with pytest.raises(UndefinedTable):
        engine.run(Request(ANN, prepared, (), DEFAULTS))
    with pytest.raises(UndefinedTable):
        ask(engine, COUNT)


def test_a_change_of_a_domain_is_another_question(engine: Engine):
    ask(engine, "SELECT sum(x) FROM t")
    ask(engine, "ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 20", ROOT)
    ask(engine, "SELECT sum(x) FROM t")
    assert len(engine._ledger.entries()) == 2


def test_a_new_version_of_the_data_is_another_question(engine: Engine):
    ask(engine, COUNT)
    ask(engine, "ADVANCE PRIVACY DATA VERSION", ROOT)
    ask(engine, COUNT)
    assert [e.data_version for e in engine._ledger.entries()] == [1, 2]
    assert left(engine) == "0.8"


def test_the_session_limits_itself(engine: Engine):
    ask(engine, COUNT, session_epsilon="0.1")
    with pytest.raises(BudgetExceeded):
        ask(engine, "SELECT sum(x) FROM t", session_epsilon="0.1")
    ask(engine, "SELECT sum(x) FROM t", session_epsilon="0.5")


def test_limits_of_session_user_budget_and_ceiling(engine: Engine):
    ask(engine, COUNT, epsilon="1")
    with pytest.raises(BudgetExceeded, match="session"):
        ask(engine, "SELECT sum(x) FROM t")
    again = Caller("ann", ANN.roles, "another session of ann")
    ask(engine, "SELECT sum(x) FROM t", again, epsilon="0.5")
    with pytest.raises(BudgetExceeded, match=r"user|you"):
        ask(engine, "SELECT avg(x) FROM t", again)
    ask(engine, "SELECT avg(x) FROM t", BOB, epsilon="0.5")
    with pytest.raises(BudgetExceeded, match='budget "b"'):
        ask(engine, "SELECT k, count(*) FROM t GROUP BY k", BOB)
    with pytest.raises(InvalidParameter, match="above the most"):
        ask(engine, COUNT, BOB, epsilon="1.5")


def test_several_budgets_need_a_choice(engine: Engine):
    both = Caller("ann", frozenset({"analyst", "teacher"}), "session of a teacher")
    ask(engine, "CREATE PRIVACY BUDGET c LIMIT EPSILON 1", ROOT)
    ask(engine, "GRANT SELECT ON t TO teacher WITH PRIVACY BUDGET c", ROOT)
    with pytest.raises(InvalidParameter, match="several budgets") as caught:
        ask(engine, COUNT, both)
    assert caught.value.hint == "Choose one: SET dp.budget = 'b';"
    ask(engine, COUNT, both, budget="c")
    with pytest.raises(UndefinedObject):
        ask(engine, COUNT, both, budget="d")
    assert left(engine, both) == "b=1, c=0.9"  # what a session pays is counted for each budget
    assert engine.show(both, "dp.budget_remaining", {**DEFAULTS, "dp.budget": "c"}) == "0.9"
    ask(engine, COUNT)


def test_a_unit_without_a_ceiling_gets_no_answers(engine: Engine):
    ask(engine, "ALTER TABLE u ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 9", ROOT)
    ask(engine, "GRANT SELECT ON u TO analyst WITH PRIVACY BUDGET b", ROOT)
    with pytest.raises(BoundsMissing, match="ceiling"):
        ask(engine, "SELECT count(*) FROM u")


def test_the_ledger_shows_an_analyst_the_own_rows_only(engine: Engine):
    ask(engine, COUNT)
    ask(engine, "SELECT sum(x) FROM t", BOB)
    who = "SELECT who, epsilon FROM dp.ledger ORDER BY sequence"
    assert ask(engine, who).rows == [("ann", Decimal("0.1"))]
    assert ask(engine, who, BOB).rows == [("bob", Decimal("0.1"))]
    assert [row[0] for row in ask(engine, who, ROOT).rows] == ["ann", "bob"]
    assert ask(engine, "SELECT count(*) FROM dp.ledger WHERE who = 'bob'").rows == [(0,)]
    assert ask(engine, "SELECT budget, user_spent FROM dp.budgets").rows == [("b", Decimal("0.1"))]


def test_analysts_do_not_administer(engine: Engine):
    for sql in ("SHOW PRIVACY BUDGETS", "ALTER TABLE t SET PRIVACY PUBLIC", "ADVANCE PRIVACY DATA VERSION"):
        with pytest.raises(NotGranted):
            ask(engine, sql)
    assert engine.policy.version == 1


def test_a_failure_stays_charged_and_says_nothing(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    plan = engine._backend.run

    def broken(query: nodes.Query, *rest: object, **more: object) -> object:
        del query
        return plan(words("SELECT error(max(k)) FROM t"), *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(engine._backend, "run", broken)
    with pytest.raises(Internal) as caught:
        ask(engine, "SELECT sum(x) FROM t")
    refusal = caught.value
    assert "stays charged" in refusal.message
    assert (refusal.detail, refusal.position, refusal.__cause__, refusal.__suppress_context__) == (
        None,
        None,
        None,
        True,
    )
    assert left(engine) == "0.9"
    monkeypatch.undo()
    ask(engine, "SELECT sum(x) FROM t")
    assert left(engine) == "0.8"


def test_a_cancel_before_the_charge_costs_nothing_and_after_it_stays(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    prepared, query = engine.prepare(ANN, COUNT, (), DEFAULTS), engine._query
    monkeypatch.setattr(engine, "_query", lambda *given: (engine.cancel(ANN.session), query(*given))[1])
    with pytest.raises(Cancelled):
        engine.run(Request(ANN, prepared, (), DEFAULTS))
    monkeypatch.undo()
    assert left(engine) == "1"
    reserve = engine._ledger.reserve_once

    def slow(charge: object, **more: object) -> object:
        reservation = reserve(charge, **more)  # type: ignore[arg-type]
        engine.cancel(ANN.session)
        return reservation

    monkeypatch.setattr(engine._ledger, "reserve_once", slow)
    with pytest.raises(Cancelled):
        engine.run(Request(ANN, prepared, (), DEFAULTS))
    assert left(engine) == "0.9"
    monkeypatch.undo()
    assert len(engine.run(Request(ANN, prepared, (), DEFAULTS)).rows) == 1


def test_a_cancel_of_nothing_is_not_for_what_comes_next(engine: Engine):
    """As one that arrives while a session statement runs, which the engine knows nothing of."""
    engine.cancel(ANN.session)
    prepared = engine.prepare(ANN, COUNT, (), DEFAULTS)
    engine.cancel(ANN.session)
    assert engine.run(Request(ANN, prepared, (), DEFAULTS)).rows


def test_nothing_runs_where_the_ledger_does_not_reserve(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_given: object, **_more: object) -> NoReturn:
        raise BudgetExceeded("none left")

    def run(*_rest: object, **_more: object) -> NoReturn:
        raise AssertionError("data was touched")

    monkeypatch.setattr(engine._ledger, "reserve_once", refuse)
    monkeypatch.setattr(engine._backend, "run", run)
    with pytest.raises(BudgetExceeded):
        ask(engine, COUNT)


def test_parameters_are_typed_and_part_of_the_question(engine: Engine):
    sql = "SELECT count(*) FROM t WHERE x < $1 AND k = $2"
    prepared = engine.prepare(ANN, sql, (), DEFAULTS)
    assert [p.name for p in prepared.parameters] == ["int4", "text"]
    first = engine.run(Request(ANN, prepared, (10, "a"), DEFAULTS))
    engine.run(Request(ANN, prepared, (11, "a"), DEFAULTS))
    assert engine.run(Request(ANN, prepared, (10, "a"), DEFAULTS)).rows == first.rows
    assert ask(engine, "SELECT count(*) FROM t WHERE x < 10 AND k = 'a'").rows == first.rows
    assert left(engine) == "0.8"


def test_unknown_settings_and_strangers(engine: Engine):
    with pytest.raises(UndefinedObject):
        engine.show(ANN, "dp.nothing", DEFAULTS)
    stranger = Caller("eve", frozenset(), "session of eve")
    with pytest.raises(UndefinedTable):
        ask(engine, COUNT, stranger)
    assert left(engine, stranger) == ""
    engine.cancel("no session")
    engine.close(stranger)


def test_answers_survive_a_restart(tmp_path: Path):
    file = write_home(tmp_path, DDL, POLICY)
    with started(file) as engine:
        first = ask(engine, COUNT)
    with started(file) as engine:
        assert ask(engine, COUNT).rows == first.rows
        assert len(engine._ledger.entries()) == 1


def test_a_refusal_is_no_charge(engine: Engine):
    for sql in (
        "SELECT x FROM t",
        "SELECT nothing FROM t",
        "SELECT sum(k) FROM t",
        "SELECT count(*) FROM v",
        "x",
    ):
        with pytest.raises(Refusal):
            ask(engine, sql)
    assert engine._ledger.entries() == []


def test_a_cancel_while_a_statement_is_prepared_is_for_that_statement(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patched:
        patched.setattr(engine, "_prepare", lambda *_: engine.cancel(ANN.session))
        with pytest.raises(Cancelled, match="due to user request"):
            ask(engine, COUNT)
    assert ask(engine, COUNT).rows


def test_a_statement_prepared_as_free_is_not_charged_later(engine: Engine):
    prepared = engine.prepare(ROOT, "ALTER TABLE u SET PRIVACY PUBLIC", (), DEFAULTS)
    engine.run(Request(ROOT, prepared, (), DEFAULTS))
    public = engine.prepare(ANN, "SELECT count(*) FROM u", (), DEFAULTS)
    assert not public.charged
    for sql in (
        "ALTER TABLE u SET PRIVACY KEY ROW",
        "ALTER TABLE u SET PRIVACY CEILING EPSILON 3",
        "GRANT SELECT ON u TO analyst WITH PRIVACY BUDGET b",
    ):
        engine.run(Request(ROOT, engine.prepare(ROOT, sql, (), DEFAULTS), (), DEFAULTS))
    with pytest.raises(Unsupported):
        engine.run(Request(ANN, public, (), DEFAULTS))
    assert engine.prepare(ANN, "SELECT count(*) FROM u", (), DEFAULTS).charged


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM t FOR UPDATE",
        "SELECT count(*) FROM nope",
        "SELECT sum(sum(x)) FROM t",
        "SELECT sum(k) FROM t",
        "SELECT count(*) FROM t WHERE x = 'y'",
        "SELECT count(*) FROM t GROUP BY 7",
        "SELECT count(*) FROM t LIMIT -1",
        "VACUUM",
        "SELECT count(*) FROM read_csv('/etc/passwd')",
    ],
)
def test_every_refusal_says_where_and_what_instead(engine: Engine, sql: str):
    with pytest.raises(Refusal) as caught:
        engine.prepare(ANN, sql, (), DEFAULTS)
    assert caught.value.hint
    assert caught.value.position is not None


def test_a_hint_ends_with_a_statement_near_by_that_is_answered(engine: Engine):
    with pytest.raises(Unsupported) as caught:
        engine.prepare(ANN, "SELECT array_agg(x) FROM t WHERE x > $1", (23,), DEFAULTS)
    assert (caught.value.hint or "").endswith("This is answered: SELECT count(*) FROM t WHERE x > $1;")


def test_the_hint_for_a_missing_table_lists_the_tables(engine: Engine):
    statement = GENERAL["42P01"].split(";")[0]
    assert ("t",) in ask(engine, statement).rows


def test_settings_of_the_engine_are_told_in_the_catalogue_too(engine: Engine):
    ask(engine, COUNT)
    for name in ("dp.last_cost", "dp.budget_remaining"):
        told = engine.show(ANN, name, DEFAULTS)
        assert told
        assert ask(engine, f"SELECT current_setting('{name}')").rows == [(told,)]
        assert ask(engine, f"SELECT setting FROM pg_settings WHERE name = '{name}'").rows == [(told,)]


def test_the_present_is_that_of_each_execution(engine: Engine):
    """A statement prepared yesterday, or whose plan was kept, asks of today."""
    sql = "SELECT count(*) FROM t WHERE x > extract(hour FROM now())"
    asked = engine.prepare(ANN, sql, (), DEFAULTS)
    assert asked.is_of_present
    costs = []
    for hour in (1, 2, 1):
        moment = datetime(2024, 5, 1, hour, tzinfo=UTC)
        request = Request(ANN, asked, (), {**DEFAULTS, PRESENT: moments(moment, moment)})
        answer = engine.run(request, only_at_hand=True) or engine.run(request)
        costs.append(answer.nano)
    assert costs[0] > 0
    assert costs[0] == costs[1]
    assert costs[2] == 0


@pytest.mark.parametrize("beside", ["", " FROM generate_series(1, 1)", " FROM pg_class LIMIT 1", " FROM t"])
def test_there_is_one_present(engine: Engine, beside: str):
    """With and without tables of any kind, prepared once and run at another time."""
    sql = f"SELECT now() AS a, {'count(*)' if beside == ' FROM t' else '1'} AS b{beside}"
    asked = engine.prepare(ANN, sql, (), DEFAULTS)
    assert asked.is_of_present
    for hour in (1, 2):
        moment = datetime(2024, 5, 1, hour, tzinfo=UTC)
        [(told, _)] = engine.run(Request(ANN, asked, (), {**DEFAULTS, PRESENT: moments(moment, moment)})).rows
        assert told in (moment, moment.replace(tzinfo=None))


def test_a_statement_of_the_present_is_never_run_without_it(engine: Engine, monkeypatch: pytest.MonkeyPatch):
    seen: list[Request] = []
    monkeypatch.setattr(engine, "_query", seen.append)
    given = {**DEFAULTS, PRESENT: moments(*[datetime(2024, 5, 1, 12, tzinfo=UTC)] * 2)}
    asked = engine.prepare(ANN, "SELECT count(*) FROM t WHERE x > extract(hour FROM now())", (), DEFAULTS)
    other = engine.prepare(ANN, COUNT, (), DEFAULTS)
    for prepared, settings in ((asked, given), (asked, DEFAULTS), (asked, DEFAULTS), (other, DEFAULTS)):
        engine.run(Request(ANN, prepared, (), settings))
    assert seen[0].settings is given
    assert seen[1].settings[PRESENT] < seen[2].settings[PRESENT]
    assert seen[3].settings is DEFAULTS


def test_what_has_the_present_in_it_says_so(engine: Engine):
    moment = datetime(2024, 5, 1, 12, 30, 15, 123456, UTC)
    given = {PRESENT: moments(moment, moment)}
    fleeting = "SELECT count(*) FROM t WHERE x > extract(second FROM now())"
    answers = [
        engine.run(Request(ANN, engine.prepare(ANN, sql, (), DEFAULTS), (), {**DEFAULTS, **given}))
        for sql in (fleeting, "SELECT count(*) FROM t WHERE x > extract(day FROM now())", fleeting)
    ]
    told = [[n for n in answer.notices if "the present" in n.message] for answer in answers]
    assert [len(notices) for notices in told] == [1, 0, 0]  # the last was found again
    assert told[0][0].hint is not None
    assert "date_trunc('day', now())" in told[0][0].hint


def test_without_a_session_the_present_is_the_clock(engine: Engine):
    asked = engine.prepare(
        ANN, "SELECT count(*) FROM t WHERE x > extract(microseconds FROM now())", (), DEFAULTS
    )
    assert all(engine.run(Request(ANN, asked, (), DEFAULTS)).nano for _ in range(2))


def test_whether_there_are_rows_is_not_looked_at(engine: Engine):
    """What tools ask before anything else: free, on no grid, and for who may select only."""
    asked = "SELECT 1 AS a FROM t LIMIT 1"
    prepared = engine.prepare(ANN, asked, (), DEFAULTS)
    assert not prepared.charged
    answer = engine.run(Request(ANN, prepared, (), DEFAULTS))
    assert (list(answer.rows), answer.nano) == ([(1,)], 0)
    assert [n.message.split(",")[0] for n in answer.notices] == ["cost 0"]
    assert "is not looked at" in str(answer.notices[0].detail)
    with pytest.raises(UndefinedTable):
        ask(engine, "SELECT 1 FROM u LIMIT 1")
    with pytest.raises(NotGranted) as refused:
        ask(engine, "SELECT 1 FROM t WHERE x > 3 LIMIT 1")
    assert refused.value.hint == "SELECT COUNT(*) FROM t WHERE x > 3;"


def test_a_start_loads_only_what_each_statement_needs():
    program = "import sys, dpproxy.engine.engine; print([n for n in ('scipy', 'psycopg', 'numba') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_an_administrator_sees_the_price_of_a_role(engine: Engine):
    of_role = f"EXPLAIN (PRIVACY, ROLE analyst) {COUNT}"
    assert ask(engine, of_role, ROOT).rows == ask(engine, f"EXPLAIN (PRIVACY) {COUNT}", BOB).rows
    with pytest.raises(NotGranted, match="granted to none of your roles"):
        ask(engine, f"EXPLAIN (PRIVACY) {COUNT}", ROOT)
    for role in ("stranger", '"Analyst"'):
        with pytest.raises(UndefinedTable):
            ask(engine, f"EXPLAIN (PRIVACY, ROLE {role}) {COUNT}", ROOT)
    assert accounts(engine) == {}


def test_nobody_else_sees_the_price_of_a_role(engine: Engine):
    of_role = f"EXPLAIN (PRIVACY, ROLE analyst) {COUNT}"
    for _ in range(2):
        with pytest.raises(NotGranted, match="for administrators"):
            ask(engine, of_role, ANN)
        ask(engine, of_role, ROOT)  # whose plan is kept


@pytest.mark.parametrize("sql", [f"({COUNT}; {COUNT})", "ALTER TABLE t SET PRIVACY PUBLIC"])
def test_a_role_is_for_one_query(engine: Engine, sql: str):
    with pytest.raises(Unsupported, match="one query"):
        ask(engine, f"EXPLAIN (PRIVACY, ROLE analyst) {sql}", ROOT)
