"""Limits, lines over time and forecasts."""

import re
from datetime import date, timedelta

import pytest

from dpproxy.web.accounts import Days, account, budgets, ceilings, forecast

TODAY = date(2026, 3, 31)


def row(name: str, kind: str, **more: str | None) -> dict[str, str | None]:
    return {
        "name": name, "kind": kind, "user": None, "accountant": "BASIC", "limit_epsilon": "10", "spent": "4",
        "remaining": "6", "delta": "0", "refresh": "NEVER", "refills_at": None, **more,
    }  # fmt: skip


def spent(*days: tuple[int, str]) -> Days:
    return Days.read(
        {
            "ceiling": "t",
            "budget": "b",
            "day": str(TODAY - timedelta(days=ago)),
            "spent": amount,
            "rho": str(float(amount) ** 2 / 2),
        }
        for ago, amount in days
    )


def test_users_stand_below_their_budget():
    listed = [row("a", "budget"), row("a", "user", user="ann"), row("b", "budget"), row("t", "ceiling")]
    assert [(one.account.name, [u.user for u in one.users]) for one in budgets(listed, Days(), TODAY)] == [
        ("a", ["ann"]),
        ("b", []),
    ]


def test_a_limit_may_be_missing():
    assert account(row("a", "user", limit_epsilon=None, remaining=None)).percent == 0
    assert account(row("a", "budget")).percent == 60


def test_whether_a_budget_shares_its_releases():
    assert [account(row("a", "budget", shares_releases=one)).shares for one in ("t", "f", None)] == [
        True,
        False,
        False,
    ]


def test_a_ceiling_is_a_line_of_what_was_spent():
    [found] = ceilings([row("t", "ceiling")], spent((30, "1"), (15, "3")), TODAY)
    assert found.path == "M0 100 H0.0 V90.0 H50.0 V60.0 H100"
    assert found.words == "4 of 10 epsilon were spent from 2026-03-01 to 2026-03-31."


def test_concentrated_losses_are_added_up_as_they_are_charged():
    zcdp = row("t", "ceiling", accountant="ZCDP", delta="0.000001")
    [line] = ceilings([zcdp], spent((29, "0.1"), (14, "0.1")), TODAY)
    ends = [float(height) for height in re.findall(r"V([\d.]+)", line.path)]
    assert ends[-1] == 60  # as much as SHOW PRIVACY BUDGETS says
    assert 70 < ends[0] < 80  # twice the charges are less than twice the epsilon
    [basic] = ceilings([row("t", "ceiling")], spent((29, "2"), (14, "2")), TODAY)
    assert basic.outlook == "At the pace of the last 30 days it ends about 2026-05-15."
    year = int(line.outlook[-11:-7]) if "about" in line.outlook else 9999
    assert year > 2026


def test_the_last_days_of_a_budget():
    one, two = row("b", "budget"), row("b", "budget", refills_at="2026-04-01 00:00")
    [found] = budgets([one], spent((40, "9"), (29, "1"), (2, "4")), TODAY)
    assert [(bar.at, bar.height) for bar in found.bars] == [(0.0, 25.0), (90.0, 100.0)]
    assert found.bars[1].text == "2026-03-29: 4"
    assert found.outlook == "At the pace of the last 30 days it ends about 2026-05-06."
    [found] = budgets([two], spent((29, "1"), (2, "4")), TODAY)
    assert found.outlook == "At the pace of the last 30 days it lasts until it refills 2026-04-01 00:00."
    [found] = budgets([{**two, "remaining": "0"}], spent((0, "1")), TODAY)
    assert "until it refills 2026-04-01" in found.outlook


@pytest.mark.parametrize(
    ("days", "left", "outlook"),
    [
        (((0, "4"),), "6", "A forecast needs 7 days of questions."),
        (((29, "4"),), "6", "At the pace of the last 30 days it ends about 2026-05-15."),
        (((40, "4"),), "6", "At the pace of the last 30 days it lasts for more than ten years."),
        (((29, "10"),), "0", "It is used up: nobody gets a new answer from it."),
    ],
)
def test_the_outlook(days: tuple[tuple[int, str], ...], left: str, outlook: str):
    [found] = ceilings([row("t", "ceiling", remaining=left)], spent(*days), TODAY)
    assert found.outlook == outlook


def test_no_forecast_of_what_is_far_away():
    assert forecast({TODAY: 0.001}, 10.0, TODAY) is None
    assert forecast({}, 10.0, TODAY) is None
