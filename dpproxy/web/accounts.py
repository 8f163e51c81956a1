"""What was spent and what is left, as administrators see it, with forecasts of when ceilings and budgets end."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import Final

from msgspec import Struct, field

Record = Mapping[str, str | None]

WINDOW: Final = 30
"""Days whose spending is the pace of a forecast."""
LEAST: Final = 7
"""Days of questions without which there is no forecast."""
FARTHEST: Final = 3650
"""Days beyond which a forecast says nothing."""


class Account(Struct, frozen=True):
    """A ceiling, a budget, or a user's part of a budget."""

    name: str
    kind: str
    user: str | None
    limit: float | None
    spent: float
    left: float | None
    accountant: str
    delta: float
    refresh: str | None
    refills: str | None
    shares: bool = False
    """Whether what one user of a budget has paid for is free to the others."""

    @property
    def percent(self) -> float:
        """What is left of the limit."""
        return round(max(0.0, min(100.0, 100 * (self.left or 0.0) / self.limit)), 2) if self.limit else 0.0


class BudgetBar(Struct, frozen=True):
    """What was spent of a budget on one day, in percent of the dearest day."""

    at: float
    height: float
    text: str


class Budget(Struct, frozen=True):
    """A budget with those who have spent from it, and what was spent on each of the last days."""

    account: Account
    users: tuple[Account, ...] = ()
    bars: tuple[BudgetBar, ...] = ()
    outlook: str = ""
    """When nothing is left, in words."""


class Ceiling(Struct, frozen=True):
    """A ceiling with what was spent of it day by day; places are in percent of the days and of the limit."""

    account: Account
    path: str = ""
    """The line of what was spent in all, as an SVG path."""
    first: date | None = None
    last: date | None = None
    outlook: str = ""
    words: str = ""


def account(row: Record) -> Account:
    """A row of SHOW PRIVACY BUDGETS."""
    return Account(
        row["name"] or "",
        row["kind"] or "",
        row["user"],
        _number(row["limit_epsilon"]),
        _number(row["spent"]) or 0.0,
        _number(row["remaining"]),
        row["accountant"] or "",
        _number(row["delta"]) or 0.0,
        row["refresh"],
        row["refills_at"],
        row.get("shares_releases") == "t",
    )


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


Amounts = dict[date, float]
"""What was spent on each day: epsilon, or rho where the account adds up concentrated losses."""


class Days(Struct):
    """What was spent of each ceiling and of each budget on each day, by kind and name."""

    epsilon: dict[tuple[str, str], Amounts] = field(default_factory=dict)
    rho: dict[tuple[str, str], Amounts] = field(default_factory=dict)

    @classmethod
    def read(cls, rows: Iterable[Record]) -> "Days":
        """Rows with ``day``, ``ceiling``, ``budget``, ``spent`` and ``rho``."""
        found = cls()
        for row in rows:
            day = date.fromisoformat((row["day"] or "")[:10])
            for kind in ("ceiling", "budget"):
                for held, amount in ((found.epsilon, row["spent"]), (found.rho, row["rho"])):
                    of = held.setdefault((kind, row[kind] or ""), {})
                    of[day] = of.get(day, 0.0) + float(amount or 0)
        return found

    def of(self, one: Account) -> Amounts:
        """The amounts of an account, in the unit that it adds up."""
        return (self.rho if _is_concentrated(one) else self.epsilon).get((one.kind, one.name), {})


def _is_concentrated(one: Account) -> bool:
    return one.accountant == "ZCDP" and 0 < one.delta < 1


def _amount(one: Account, epsilon: float) -> float:
    """An epsilon of an account in the unit that it adds up: the rho that has it at the account's delta."""
    if not _is_concentrated(one):
        return epsilon
    level = math.log(1 / one.delta)
    return (math.sqrt(level + epsilon) - math.sqrt(level)) ** 2


def _epsilon(one: Account, amount: float) -> float:
    """The other way round."""
    return amount + 2 * math.sqrt(amount * math.log(1 / one.delta)) if _is_concentrated(one) else amount


def budgets(rows: Iterable[Record], days: Days, today: date) -> list[Budget]:
    """The budgets of SHOW PRIVACY BUDGETS, each with its users and its last days."""
    found = [account(row) for row in rows]
    of: defaultdict[str, list[Account]] = defaultdict(list)
    for one in found:
        if one.kind == "user":
            of[one.name].append(one)
    return [
        Budget(one, tuple(of[one.name]), tuple(_bars(days, one, today)), _outlook(one, days.of(one), today))
        for one in found
        if one.kind == "budget"
    ]


def _bars(days: Days, one: Account, today: date) -> Iterator[BudgetBar]:
    spent = days.epsilon.get((one.kind, one.name), {})
    recent = [today - timedelta(days=n) for n in reversed(range(WINDOW))]
    most = max((spent.get(day, 0.0) for day in recent), default=0.0)
    for n, day in enumerate(recent):
        if amount := spent.get(day, 0.0):
            yield BudgetBar(round(100 * n / WINDOW, 2), round(100 * amount / most, 2), f"{day}: {amount:g}")


def ceilings(rows: Iterable[Record], days: Days, today: date) -> list[Ceiling]:
    """The ceilings of SHOW PRIVACY BUDGETS with their lines and forecasts."""
    found = [account(row) for row in rows]
    return [_ceiling(one, days.of(one), today) for one in found if one.kind == "ceiling"]


def _ceiling(one: Account, spent: Amounts, today: date) -> Ceiling:
    if not spent or not one.limit:
        return Ceiling(one)
    first, total, points = min(spent), 0.0, ["M0 100"]
    whole = max(1, (today - first).days)
    scale = 100 * one.spent / (one.limit * (_epsilon(one, sum(spent.values())) or 1.0))
    for day in sorted(spent):
        at = round(100 * max(0, (day - first).days) / whole, 2)
        total += spent[day]
        points += [f"H{at}", f"V{round(100 - min(100.0, scale * _epsilon(one, total)), 2)}"]
    points.append("H100")
    words = f"{one.spent:g} of {one.limit:g} epsilon were spent from {first} to {today}."
    return Ceiling(one, " ".join(points), first, today, _outlook(one, spent, today), words)


def _outlook(one: Account, spent: Amounts, today: date) -> str:
    if not spent:
        return "Nothing was spent of it yet."
    left = _amount(one, one.limit or 0.0) - _amount(one, one.spent)
    if (one.left or 0.0) <= 0:
        again = f", until it refills {one.refills}" if one.refills else ""
        return f"It is used up: nobody gets a new answer from it{again}."
    if (today - min(spent)).days < LEAST - 1:
        return f"A forecast needs {LEAST} days of questions."
    ends = forecast(spent, left, today)
    pace = f"At the pace of the last {WINDOW} days it"
    if one.refills and (ends is None or str(ends) >= one.refills[:10]):
        return f"{pace} lasts until it refills {one.refills}."
    return f"{pace} lasts for more than ten years." if ends is None else f"{pace} ends about {ends}."


def forecast(spent: Mapping[date, float], left: float, today: date) -> date | None:
    """The day on which nothing is left, at the pace of the last days; None where that is far away.

    >>> forecast({date(2026, 1, 1): 1.0, date(2026, 1, 10): 1.0}, 2.0, date(2026, 1, 10))
    datetime.date(2026, 1, 20)
    """
    begin = today - timedelta(days=WINDOW - 1)
    recent = sum(amount for day, amount in spent.items() if day >= begin)
    if not recent:
        return None
    days = min(WINDOW, (today - min(spent)).days + 1)
    wait = left * days / recent
    return None if wait > FARTHEST else today + timedelta(days=round(wait))
