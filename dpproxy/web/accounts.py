"""What was spent and what is left, as administrators see it, with a forecast of when a ceiling ends."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Final

Record = Mapping[str, str | None]

WINDOW: Final = 30
"""Days whose spending is the pace of a forecast."""
LEAST: Final = 7
"""Days of questions without which there is no forecast."""
FARTHEST: Final = 3650
"""Days beyond which a forecast says nothing."""


@dataclass(frozen=True, slots=True)
class Account:
    """A ceiling, a budget, or a user's part of a budget."""

    name: str
    kind: str
    user: str | None
    limit: float | None
    spent: float
    left: float | None
    accountant: str
    refresh: str | None
    refills: str | None

    @property
    def percent(self) -> float:
        """What is left of the limit."""
        return round(max(0.0, min(100.0, 100 * (self.left or 0.0) / self.limit)), 2) if self.limit else 0.0


@dataclass(frozen=True, slots=True)
class Budget:
    """A budget with those who have spent from it."""

    account: Account
    users: tuple[Account, ...] = ()


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A ceiling with what was spent of it day by day; places are in percent of the days and of the limit."""

    account: Account
    path: str = ""
    """The line of what was spent in all, as an SVG path."""
    first: date | None = None
    last: date | None = None
    outlook: str = ""
    """When nothing is left, in words."""
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
        row["refresh"],
        row["refills_at"],
    )


def _number(text: str | None) -> float | None:
    return None if text is None else float(text)


def budgets(rows: Iterable[Record]) -> list[Budget]:
    """The budgets of SHOW PRIVACY BUDGETS, each with its users."""
    found = [account(row) for row in rows]
    of: defaultdict[str, list[Account]] = defaultdict(list)
    for one in found:
        if one.kind == "user":
            of[one.name].append(one)
    return [Budget(one, tuple(of[one.name])) for one in found if one.kind == "budget"]


@dataclass(slots=True)
class Days:
    """What was spent of each ceiling on each day."""

    spent: dict[str, dict[date, float]] = field(default_factory=dict)

    @classmethod
    def read(cls, rows: Iterable[Record]) -> "Days":
        """Rows with ``ceiling``, ``day`` and ``spent``."""
        found = cls()
        for row in rows:
            day = date.fromisoformat((row["day"] or "")[:10])
            found.spent.setdefault(row["ceiling"] or "", {})[day] = float(row["spent"] or 0)
        return found


def ceilings(rows: Iterable[Record], days: Days, today: date) -> list[Ceiling]:
    """The ceilings of SHOW PRIVACY BUDGETS with their lines and forecasts."""
    found = [account(row) for row in rows]
    return [_ceiling(one, days.spent.get(one.name, {}), today) for one in found if one.kind == "ceiling"]


def _ceiling(one: Account, spent: Mapping[date, float], today: date) -> Ceiling:
    if not spent or not one.limit or one.accountant != "BASIC":
        return Ceiling(one)
    first, total, points = min(spent), 0.0, ["M0 100"]
    whole = max(1, (today - first).days)
    for day in sorted(spent):
        at = round(100 * max(0, (day - first).days) / whole, 2)
        points.append(f"H{at}")
        total += spent[day]
        points.append(f"V{round(100 - min(100.0, 100 * total / one.limit), 2)}")
    points.append("H100")
    words = f"{total:g} of {one.limit:g} epsilon were spent from {first} to {today}."
    return Ceiling(one, " ".join(points), first, today, _outlook(spent, one.left or 0.0, today), words)


def _outlook(spent: Mapping[date, float], left: float, today: date) -> str:
    if left <= 0:
        return "It is used up: nobody gets a new answer."
    if (today - min(spent)).days < LEAST - 1:
        return f"A forecast needs {LEAST} days of questions."
    ends = forecast(spent, left, today)
    pace = f"At the pace of the last {WINDOW} days it"
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
