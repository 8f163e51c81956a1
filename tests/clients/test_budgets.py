"""Budgets over the wire: windows, resets, several of them, concentrated accounting, blocks, and what refusals tell."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.proxies import Proxy, serving, write_home

pytestmark = pytest.mark.external
DDL = (
    """CREATE TABLE people AS SELECT CAST(i AS INTEGER) AS id, ['north', 'south', 'west'][1 + i % 3] AS region,
       CAST(20 + i % 50 AS INTEGER) AS age FROM range(600) AS r(i)""",
    "CREATE TABLE members AS SELECT * FROM people",
)
PEOPLE = """
ALTER TABLE people SET PRIVACY KEY (id);
ALTER TABLE people SET PRIVACY CEILING EPSILON 2;
ALTER TABLE people ALTER COLUMN region SET PRIVACY DOMAIN IN ('north', 'south', 'west');
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100;
ALTER TABLE people SET PRIVACY BLOCKS BY (region);
"""
POLICY = f"""{PEOPLE}
{PEOPLE.replace("people", "members").replace("EPSILON 2", "EPSILON 2 DELTA 1e-5 ACCOUNTANT ZCDP")}
CREATE PRIVACY BUDGET monthly LIMIT EPSILON 1 USER LIMIT EPSILON 0.6 REFRESH EVERY '1 month';
CREATE PRIVACY BUDGET spare LIMIT EPSILON 100;
CREATE PRIVACY BUDGET many LIMIT EPSILON 2 DELTA 1e-6;
GRANT SELECT ON people TO analyst WITH PRIVACY BUDGET monthly;
GRANT SELECT ON people TO analyst WITH PRIVACY BUDGET spare;
GRANT SELECT ON members TO analyst WITH PRIVACY BUDGET many;
"""
NEW_YEAR = datetime(2027, 1, 1, tzinfo=UTC).replace(tzinfo=None)
Ask = Callable[..., list[dict[str, object]]]


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    with serving(write_home(tmp_path, DDL, POLICY)) as found:
        yield found


@pytest.fixture
def ask(proxy: Proxy) -> Iterator[Ask]:
    """``ask("SELECT ...", user="bob")``: each user keeps one connection, which pays from the monthly budget."""
    connections: dict[str, psycopg.Connection[dict[str, object]]] = {}

    def run(sql: str, user: str = "ann") -> list[dict[str, object]]:
        if user not in connections:
            connections[user] = psycopg.connect(proxy.dsn(user), autocommit=True, row_factory=dict_row)
            connections[user].execute("SET dp.budget = 'monthly'")
        cursor = connections[user].execute(sql)
        return cursor.fetchall() if cursor.description is not None else []

    yield run
    for connection in connections.values():
        connection.close()


def set_clock(proxy: Proxy, text: str) -> None:
    """The host's clock, as the ledger sees it."""
    now = int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1e9)
    assert proxy.engine is not None
    ledger = proxy.engine._ledger
    ledger._clock = ledger.writer._database._clock = lambda: now


def count(number: int, *conditions: str) -> str:
    """A question of its own for each number, asked at epsilon 0.3."""
    where = " AND ".join((f"age > {number}", *conditions))
    return f"/*+ dp(epsilon=0.3) */ SELECT count(*) FROM people WHERE {where}"


def refusal(ask: Ask, sql: str, user: str = "ann") -> psycopg.errors.Diagnostic:
    with pytest.raises(psycopg.Error) as caught:
        ask(sql, user)
    assert caught.value.sqlstate == "PD001"
    return caught.value.diag


def test_a_user_spends_again_after_the_first_of_the_month_and_no_clock_gives_it_back_earlier(
    proxy: Proxy, ask: Ask
):
    set_clock(proxy, "2026-11-20")
    first = ask(count(1))
    ask(count(2))
    said = refusal(ask, count(3))
    assert said.message_primary == (
        'user "ann" of privacy budget "monthly" has 0 epsilon left, the statement asks for 0.3'
    )
    assert "It refills at 2026-12-01 00:00 UTC. Your dearest statements: count(*) on people, 0.6" in str(
        said.message_detail
    )
    set_clock(proxy, "2026-11-30 23:59")
    refusal(ask, count(3))
    set_clock(proxy, "2026-12-01")
    ask(count(3))
    ask(count(4))
    set_clock(proxy, "2026-11-20")  # back in the month before
    refusal(ask, count(5))
    assert ask(count(1)) == first  # was paid for, whatever the month
    [row] = ask("SELECT * FROM dp.budgets WHERE budget = 'monthly'")
    assert (row["user_spent"], row["user_remaining"]) == (Decimal("0.6"), 0)
    assert (row["refresh"], row["refills_at"], row["more_like_last"]) == (
        "EVERY 1 month",
        NEW_YEAR,
        0,
    )
    assert row["ceiling_remaining"] == Decimal("0.8")  # never refills


def test_users_together_reach_the_budget_and_budgets_together_the_ceiling(ask: Ask):
    ask(count(1))
    ask(count(2))
    ask(count(3), "bob")
    said = refusal(ask, count(4), "bob")
    assert said.message_primary == 'privacy budget "monthly" has 0.1 epsilon left, the statement asks for 0.3'
    assert "Your dearest statements: count(*) on people, 0.3 epsilon. What others spent: 0.6 epsilon." in str(
        said.message_detail
    )
    for number, user in enumerate(("ann", "bob", "boss"), 10):
        ask("SET dp.budget = 'spare'", user)
        ask(count(number), user)
    said = refusal(ask, count(20))
    assert (
        said.message_primary
        == 'the privacy ceiling of "people" has 0.2 epsilon left, the statement asks for 0.3'
    )
    told = ask("SHOW PRIVACY BUDGETS", "root")
    assert [(r["kind"], r["name"], r["user"], r["spent"]) for r in told if r["spent"]] == [
        ("budget", "monthly", None, Decimal("0.9")),
        ("user", "monthly", "ann", Decimal("0.6")),
        ("user", "monthly", "bob", Decimal("0.3")),
        ("budget", "spare", None, Decimal("0.9")),
        ("user", "spare", "ann", Decimal("0.3")),
        ("user", "spare", "bob", Decimal("0.3")),
        ("user", "spare", "boss", Decimal("0.3")),
        ("ceiling", "people", None, Decimal("1.8")),
    ]


def test_a_reset_gives_a_user_or_a_budget_a_new_start_and_the_ceiling_none(ask: Ask):
    ask(count(1))
    ask(count(2))
    refusal(ask, count(3))
    ask("RESET PRIVACY BUDGET monthly FOR USER ann REASON 'a mistaken query'", "root")
    ask(count(3))
    refusal(ask, count(4))  # the budget: 0.9 of 1
    ask("RESET PRIVACY BUDGET monthly REASON 'the second study'", "root")
    ask(count(4))
    ask(count(5))
    kept = ask("SELECT who, kind, what, reason, epsilon FROM dp.ledger WHERE kind = 'reset'", "root")
    assert kept == [
        {"who": "root", "kind": "reset", "what": "reset budget monthly for user ann", "reason": "a mistaken query",
         "epsilon": 0},
        {"who": "root", "kind": "reset", "what": "reset budget monthly", "reason": "the second study", "epsilon": 0},
    ]  # fmt: skip
    ask("RESET PRIVACY BUDGET monthly REASON 'again'", "root")
    said = refusal(ask, f"{count(6)} AND age > 3".replace("0.3", "0.6"))
    assert str(said.message_primary).startswith('the privacy ceiling of "people" has 0.5 epsilon left')


@pytest.mark.parametrize(
    ("sql", "user", "state"),
    [
        ("RESET PRIVACY BUDGET monthly REASON 'please'", "ann", "42501"),
        ("RESET PRIVACY BUDGET none REASON 'please'", "root", "42704"),
        ("RESET PRIVACY BUDGET monthly FOR USER nobody REASON 'please'", "root", "42704"),
        ("RESET PRIVACY BUDGET monthly", "root", "42601"),
        ("RESET PRIVACY BUDGET monthly REASON ''", "root", "22023"),
    ],
)
def test_a_reset_is_an_administrators_and_has_a_reason(ask: Ask, sql: str, user: str, state: str):
    with pytest.raises(psycopg.Error) as caught:
        ask(sql, user)
    assert caught.value.sqlstate == state


def test_disjoint_people_pay_one_ceiling_each_and_budgets_add_up(ask: Ask):
    ask("SET dp.budget = 'spare'")
    for region in ("north", "south", "west"):
        for number in range(6):
            ask(count(number, f"region = '{region}'"))
    said = refusal(ask, count(9, "region IN ('south', 'west')"))
    assert (
        said.message_primary
        == 'the privacy ceiling of "people" has 0.2 epsilon left, the statement asks for 0.3'
    )
    refusal(ask, count(9))
    [row] = ask("SELECT * FROM dp.budgets WHERE budget = 'spare'")
    assert (row["spent"], row["ceiling_remaining"]) == (Decimal("5.4"), Decimal("0.2"))
    ask(
        "ADVANCE PRIVACY DATA VERSION", "root"
    )  # may divide people anew: what one paid at most counts for all
    refusal(ask, count(0, "region = 'north'"))
    ask("/*+ dp(epsilon=0.2) */ SELECT count(*) FROM people WHERE age > 0 AND region = 'north'")


def test_small_statements_add_up_by_rho(proxy: Proxy):
    sql = "SELECT count(*) FROM members WHERE age > {} AND region = 'north'"
    with psycopg.connect(
        proxy.dsn(options="'-c dp.epsilon=0.01'"), autocommit=True, row_factory=dict_row
    ) as ann:
        told: list[tuple[str | None, str | None]] = []
        ann.add_notice_handler(lambda said: told.append((said.message_primary, said.message_detail)))
        for number in range(30):
            ann.execute(sql.format(number))
        message, detail = [one for one in told if str(one[0]).startswith("cost")][-1]
        assert str(message).startswith("cost 0.01 epsilon (rho 5e-5), 0.4")
        assert "The budget so far: epsilon 0.2" in str(detail)
        [row] = ann.execute("SELECT * FROM dp.budgets WHERE budget = 'many'").fetchall()
        assert (row["accountant"], row["limit_epsilon"]) == ("ZCDP", 2)
        assert row["more_like_last"] > 1000  # by the plain sum 170 would be left
        explained = ann.execute(f"EXPLAIN (PRIVACY) {sql.format(99)}").fetchall()
        assert explained[0]["QUERY PLAN"] == (
            "Price: epsilon 0.01, rho 5e-5 under ZCDP: by itself epsilon 0.0388 with delta 5e-7"
        )
        [kept] = ann.execute("SELECT DISTINCT epsilon, rho, delta FROM dp.ledger").fetchall()
        assert kept == {"epsilon": Decimal("0.01"), "rho": Decimal("0.00005"), "delta": 0}
        ann.execute("SET dp.epsilon = 0.5")
        with pytest.raises(psycopg.Error) as caught:
            ann.execute(sql.format(200))
        assert caught.value.sqlstate == "PD001"
        assert "Its limit is 2 epsilon with delta 1e-6 over all statements" in str(
            caught.value.diag.message_detail
        )
