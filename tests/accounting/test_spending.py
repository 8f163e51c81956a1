"""What is listed of limits: spent, left, when it refills, how many more."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from dpproxy.accounting import spending
from dpproxy.accounting.canonical import digest
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.limits import tightest
from dpproxy.accounting.model import NANO, Charge, Cost
from dpproxy.accounting.spending import Asker
from dpproxy.policy.apply import apply
from dpproxy.policy.model import Policy
from dpproxy.policy.store import change_of
from dpproxy.values.pgtypes import Column
from tests.accounting.conftest import Home

ANN = Asker("ann", "s1", Cost.of(NANO // 10))
NOW = datetime(2026, 11, 21, tzinfo=UTC).timestamp()
DECEMBER = datetime(2026, 12, 1, tzinfo=UTC).replace(tzinfo=None)
STATEMENTS = (
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people SET PRIVACY CEILING EPSILON 3 DELTA 1e-5 ACCOUNTANT {accountant}",
    "ALTER TABLE visits SET PRIVACY KEY (id) REFERENCES people (id) MAX ROWS 3",
    """CREATE PRIVACY BUDGET b LIMIT EPSILON 2 DELTA 1e-6 USER LIMIT EPSILON 1.5 SESSION LIMIT EPSILON 1
       MAX EPSILON 0.5 REFRESH EVERY '1 month'""",
    "CREATE PRIVACY BUDGET idle LIMIT EPSILON 1",
    "GRANT SELECT ON visits, people TO analyst WITH PRIVACY BUDGET b",
)


def policy(accountant: str = "BASIC") -> Policy:
    found = Policy()
    for sql in STATEMENTS:
        found = apply(found, change_of(sql.format(accountant=accountant)), None)
    return found


@pytest.fixture
def spend(home: Home) -> Callable[..., Ledger]:
    """A ledger in which ann paid 0.1 twice and bob 0.2 once."""

    def run(declared: Policy) -> Ledger:
        ledger = home.open(clock=lambda: int(NOW * 1e9))
        for number, (who, nano) in enumerate((("ann", NANO // 10), ("ann", NANO // 10), ("bob", NANO // 5))):
            debits = tuple(spending.debits(declared, declared.budgets["b"], Asker(who, f"{who}'s")))
            key = digest(number)
            ledger.reserve(
                Charge(who, key, 1, 1, "", nano, debits, key, "count(*) on visits", Fraction(1, 10**8))
            )
        return ledger

    return run


def named(rows: spending.Rows, columns: tuple[Column, ...]) -> list[dict[str, object]]:
    return [dict(zip((c.name for c in columns), row, strict=True)) for row in rows]


@pytest.mark.parametrize(
    ("nano", "shown"),
    [(None, "None"), (0, "0"), (100_000_000, "0.1"), (1, "1E-9"), (10**10, "10"), (15 * 10**8, "1.5")],
)
def test_nano_epsilon_as_a_decimal(nano: int | None, shown: str):
    assert str(spending.epsilon(nano)) == shown


def test_a_users_own_view(spend: Callable[..., Ledger]):
    declared = policy()
    with spend(declared) as ledger:
        [row] = named(spending.own_rows(declared, ledger, [declared.budgets["b"]], ANN), spending.OWN)
    expected = {
        "accountant": "BASIC", "limit_epsilon": 2, "spent": Decimal("0.4"), "remaining": Decimal("1.6"),
        "user_limit": Decimal("1.5"), "user_spent": Decimal("0.2"), "user_remaining": Decimal("1.3"),
        "session_limit": 1, "session_spent": 0, "session_remaining": 1, "ceiling_remaining": Decimal("2.6"),
        "limit_delta": Decimal("0.000001"), "delta_spent": Decimal("0.00000003"), "refresh": "EVERY 1 month",
        "refills_at": DECEMBER, "more_like_last": 10, "tables": "people, visits", "shares_releases": False,
    }  # fmt: skip
    assert {name: row[name] for name in expected} == expected


def test_under_zcdp_what_was_spent_is_converted_and_what_is_left_is_of_one_statement(
    spend: Callable[..., Ledger],
):
    declared = policy("ZCDP")
    with spend(declared) as ledger:
        [row] = named(spending.own_rows(declared, ledger, [declared.budgets["b"]], ANN), spending.OWN)
        debit = spending.debits(declared, declared.budgets["b"], ANN)[0]
    rho = Fraction(1, 200) * 2 + Fraction(4, 200)
    assert debit.rho_limit is not None
    assert (row["accountant"], row["limit_epsilon"]) == ("ZCDP", 2)
    assert 1 < Decimal(str(row["spent"])) < 2  # of rho 0.03 at delta 5e-7; the epsilons are 0.4 in all
    left = Fraction(str(row["remaining"]))
    assert left**2 / 2 <= debit.rho_limit - rho < (left + Fraction(1, NANO)) ** 2 / 2
    assert row["more_like_last"] == 4  # of the session, whose limit of 1 is rho 0.0229


def test_everybody_for_the_administrator(spend: Callable[..., Ledger]):
    declared = policy()
    with spend(declared) as ledger:
        rows = named(spending.all_rows(declared, ledger), spending.ALL)
    assert [(r["name"], r["kind"], r["user"], str(r["spent"])) for r in rows] == [
        ("b", "budget", None, "0.4"),
        ("b", "user", "ann", "0.2"),
        ("b", "user", "bob", "0.2"),
        ("idle", "budget", None, "0"),
        ("people", "ceiling", None, "0.4"),
    ]
    assert [str(r["remaining"]) for r in rows] == ["1.6", "1.3", "1.3", "1", "2.6"]
    assert [r["refills_at"] is None for r in rows] == [False, False, False, True, True]
    assert spending.all_rows(declared, None) == []


def test_what_is_left_is_that_of_the_tightest_limit(spend: Callable[..., Ledger]):
    declared = policy()
    with spend(declared) as ledger:
        for asker, left in ((ANN, NANO), (Asker("ann", "ann's"), 8 * NANO // 10)):
            limited = spending.debits(declared, declared.budgets["b"], asker)
            assert tightest(ledger.standings(*limited)) == left


def test_the_ceilings_of_a_budget_are_those_of_the_owners():
    declared = policy()
    assert [t.name for t in spending.ceilings(declared, declared.budgets["b"])] == ["people"]
    assert spending.ceilings(declared, declared.budgets["idle"]) == []
