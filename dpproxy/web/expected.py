"""What answers about a table will be worth: the error and the price of a few questions, for each role that may ask."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from dpproxy.sql.quoting import identifier, table_text
from dpproxy.web.accounts import account
from dpproxy.web.analyst import described
from dpproxy.web.logins import Login
from dpproxy.web.prices import Price, price
from dpproxy.web.wire import Rows

MOST_ROLES: Final = 3
MOST_OF_KIND: Final = 2
"""Questions by a list of values, and averages of numbers."""

Record = Mapping[str, str | None]


class Expectation(Struct, frozen=True):
    """A question as one role asks it."""

    role: str
    words: str
    error: str
    epsilon: float
    more: int | None
    """How many such questions the ceiling and the budget have left; None where they are free."""


def questions(table: str, declared: Sequence[Record]) -> Iterator[tuple[str, str]]:
    """A few questions about a table, in words and as statements."""
    columns = [described(one["column"] or "", "", one["declaration"]) for one in declared if one["column"]]
    name = table_text(table)
    yield "a count", f"SELECT count(*) AS n FROM {name}"  # noqa: S608 - quoted
    for column in [c for c in columns if c.values][:MOST_OF_KIND]:
        key = identifier(column.name)
        words = f"a count by {column.name}, {len(column.values)} groups"
        yield words, f"SELECT {key}, count(*) AS n FROM {name} GROUP BY {key}"  # noqa: S608 - quoted
    for column in [c for c in columns if " to " in c.domain and not c.values][:MOST_OF_KIND]:
        average = f"SELECT avg({identifier(column.name)}) AS n FROM {name}"  # noqa: S608 - quoted
        yield f"an average of {column.name}", average


async def expected(
    login: Login, table: str, declared: Sequence[Record], grants: Sequence[Record], limits: Sequence[Record]
) -> list[Expectation]:
    """What each role that may ask about the table has to expect; nothing for questions that are refused."""
    roles = sorted({one["role"] or "" for one in grants if one["privilege"] == "SELECT"})[:MOST_ROLES]
    left = {(one.kind, one.name): one.left for one in map(account, limits) if one.kind != "user"}
    found = []
    for role in roles:
        explain = f"EXPLAIN (PRIVACY, DRAFT, ROLE {identifier(role)}, FORMAT JSON) "
        for words, sql in questions(table, declared):
            answer = await login.ask(explain + sql)
            if isinstance(answer, Rows):
                found.append(_expectation(role, words, price(answer), left))
    return found


def _expectation(
    role: str, words: str, known: Price, left: Mapping[tuple[str, str], float | None]
) -> Expectation:
    error = known.measures[0].error if known.measures else "exact"
    limits = [left.get(("budget", known.budget or "")), left.get(("ceiling", known.ceiling or ""))]
    least = min((limit for limit in limits if limit is not None), default=None)
    more = None if least is None or not known.epsilon else int(max(0.0, least) / known.epsilon + 1e-9)
    return Expectation(role, words, error, known.epsilon, more)
