"""Limits, lines over time and forecasts."""

from datetime import date, timedelta

import pytest

from dpproxy.web.accounts import Days, account, budgets, ceilings, forecast

TODAY = date(2026, 3, 31)


def row(name: str, kind: str, **more: str | None) -> dict[str, str | None]:
    return {
        "name": name, "kind": kind, "user": None, "accountant": "BASIC", "limit_epsilon": "10", "spent": "4",
        "remaining": "6", "refresh": "NEVER", "refills_at": None, **more,
    }  # fmt: skip


def spent(*days: tuple[int, str]) -> Days:
    return Days.read(
        {"ceiling": "t", "day": str(TODAY - timedelta(days=ago)), "spent": amount} for ago, amount in days
    )


def test_users_stand_below_their_budget():
    listed = [row("a", "budget"), row("a", "user", user="ann"), row("b", "budget"), row("t", "ceiling")]
    assert [(one.account.name, [u.user for u in one.users]) for one in budgets(listed)] == [
        ("a", ["ann"]),
        ("b", []),
    ]


def test_a_limit_may_be_missing():
    assert account(row("a", "user", limit_epsilon=None, remaining=None)).percent == 0
    assert account(row("a", "budget")).percent == 60


def test_a_ceiling_is_a_line_of_what_was_spent():
    [found] = ceilings([row("t", "ceiling")], spent((30, "1"), (15, "3")), TODAY)
    assert found.path == "M0 100 H0.0 V90.0 H50.0 V60.0 H100"
    assert found.words == "4 of 10 epsilon were spent from 2026-03-01 to 2026-03-31."


def test_sums_of_epsilon_say_nothing_under_another_accountant():
    [found] = ceilings([row("t", "ceiling", accountant="ZCDP")], spent((1, "1")), TODAY)
    assert (found.path, found.outlook) == ("", "")


@pytest.mark.parametrize(
    ("days", "left", "outlook"),
    [
        (((0, "4"),), "6", "A forecast needs 7 days of questions."),
        (((29, "4"),), "6", "At the pace of the last 30 days it ends about 2026-05-15."),
        (((40, "4"),), "6", "At the pace of the last 30 days it lasts for more than ten years."),
        (((29, "10"),), "0", "It is used up: nobody gets a new answer."),
    ],
)
def test_the_outlook(days: tuple[tuple[int, str], ...], left: str, outlook: str):
    [found] = ceilings([row("t", "ceiling", remaining=left)], spent(*days), TODAY)
    assert found.outlook == outlook


def test_no_forecast_of_what_is_far_away():
    assert forecast({TODAY: 0.001}, 10.0, TODAY) is None
    assert forecast({}, 10.0, TODAY) is None
