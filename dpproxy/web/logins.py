"""Logins: each holds a connection to the proxy, what was asked over it, and the secrets that prove whose it is."""

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct, field

from dpproxy.sql.quoting import literal
from dpproxy.values.structs import PartlyShown
from dpproxy.web.options import Options
from dpproxy.web.prices import EXPLAIN, Price, is_question, placed, price
from dpproxy.web.wire import Refused, Rows, Wire

MOST_OUTCOMES: Final = 40
MOST_CHARACTERS: Final = 12_000_000
"""Outcomes that a login remembers, and characters in all of their answers."""
MOST_OF_USER: Final = 8
"""Logins of one user; for another, the one unused for longest ends."""
MOST_AT_ONCE: Final = 32
MOST_OF_ADDRESS: Final = 8
"""Logins that are tried at one time, and of them those of one address: who guesses leaves room for others."""
_IS_ADMIN: Final = "SELECT count(*) FROM information_schema.applicable_roles WHERE role_name = 'admin'"
_CROWDED = Refused("53300", "too many people are logging in at this moment: try again")


class Outcome(Struct, frozen=True):
    """A statement of a login and what came of it."""

    number: int
    at: datetime
    statement: str
    result: Rows | Refused

    @property
    def size(self) -> int:
        """The characters of its answer."""
        return self.result.size if isinstance(self.result, Rows) else 0

    @property
    def cost(self) -> str | None:
        """What the proxy says that it cost; None where it says nothing."""
        if isinstance(self.result, Refused):
            return None
        said = (notice.message for notice in self.result.notices)
        return next((words.partition(",")[0] for words in said if words.startswith("cost ")), None)


class Login(PartlyShown, Struct):
    """One login of a user. Its statements run one after the other."""

    HIDDEN = frozenset({"name", "token", "outcomes", "_turn", "_cancelling"})

    user: str
    database: str
    wire: Wire
    used: float
    is_admin: bool = False
    epsilon: str = ""
    """What dp.epsilon is set to; empty for the budget's default."""
    name: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    """The secret in the cookie."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    """The secret in forms, which other sites cannot read."""
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _cancelling: asyncio.Lock = field(default_factory=asyncio.Lock)
    _is_drafting: bool = False
    _last: int = 0
    _drafts: int = 0

    async def ask(self, sql: str) -> Rows | Refused:
        """Run a statement of the page itself. Raises ``SessionEnded``."""
        async with self._turn:
            return await self.wire.ask(sql)

    async def run(self, statement: str) -> Outcome:
        """Run a statement of the user and remember its outcome. Raises ``SessionEnded``."""
        await self._end_draft()
        async with self._turn:
            result = await self.wire.ask(statement)
        self._last += 1
        outcome = Outcome(self._last, datetime.now(UTC), statement, result)
        self.outcomes[outcome.number] = outcome
        while (
            len(self.outcomes) > MOST_OUTCOMES
            or sum(o.size for o in self.outcomes.values()) > MOST_CHARACTERS
        ):
            self.outcomes.pop(min(self.outcomes))
        if not is_question(statement):
            await self.look_at_epsilon()
        return outcome

    async def look_at_epsilon(self) -> None:
        """Find out what a statement has set dp.epsilon to."""
        shown = await self.ask("SHOW dp.epsilon")
        self.epsilon = (shown.rows[0][0] or "") if isinstance(shown, Rows) else self.epsilon

    async def price(self, statement: str) -> Price | Refused | None:
        """The price of a statement; None where a newer draft came before it was told. Raises ``SessionEnded``."""
        mine = await self._end_draft()
        async with self._turn:
            if mine != self._drafts:
                return None
            self._is_drafting = True
            try:
                found = await self.wire.ask(EXPLAIN + statement)
            finally:
                async with self._cancelling:  # a cancel is never left to meet the statement after this one
                    self._is_drafting = False
        if isinstance(found, Rows):
            return price(found)
        return None if mine != self._drafts else placed(found)

    async def _end_draft(self) -> int:
        """Cancel the draft that is being priced, if any; the number of the draft that begins."""
        self._drafts += 1
        mine = self._drafts
        async with self._cancelling:
            if self._is_drafting:
                await self.wire.cancel()
        return mine

    async def choose_epsilon(self, wanted: str) -> Refused | None:
        """Let statements cost this much from now on; nothing for the budget's default."""
        if wanted == self.epsilon:
            return None
        answer = await self.ask(f"SET dp.epsilon = {literal(wanted)}" if wanted else "RESET dp.epsilon")
        if isinstance(answer, Refused):
            return answer
        self.epsilon = wanted
        return None


class Logins:
    """All logins of the page."""

    def __init__(self, options: Options, clock: Callable[[], float] = time.monotonic) -> None:
        self._options = options
        self._clock = clock
        self._logins: dict[str, Login] = {}
        self._trying = Counter[str]()

    async def begin(self, user: str, password: str, database: str, address: str) -> Login | Refused:
        """Log in to the proxy, which delays what comes after failures from this address, or of this user."""
        if self._trying.total() >= MOST_AT_ONCE or self._trying[address] >= MOST_OF_ADDRESS:
            return _CROWDED
        self._trying[address] += 1
        try:
            wire = await Wire.connect(self._options, database, user, password, address)
        finally:
            self._trying[address] -= 1
            self._trying += Counter[str]()  # forgets addresses of which none is left
        if isinstance(wire, Refused):
            return wire
        return await self._admit(Login(user, database, wire, self._clock()))

    async def _admit(self, login: Login) -> Login:
        admin = await login.ask(_IS_ADMIN)
        login.is_admin = isinstance(admin, Rows) and admin.rows[0][0] != "0"
        same = sorted(
            (one for one in self._logins.values() if one.user == login.user), key=lambda one: one.used
        )
        for one in same[: max(0, len(same) - MOST_OF_USER + 1)]:
            await self.end(one)
        self._logins[login.name] = login
        return login

    def find(self, name: str) -> Login | None:
        """The login of a cookie, which is in use from now on."""
        login = self._logins.get(name)
        if login is not None and self._clock() - login.used > self._options.idle:
            return None
        if login is not None:
            login.used = self._clock()
        return login

    async def end(self, login: Login) -> None:
        """Log out, and close the connection."""
        self._logins.pop(login.name, None)
        await login.wire.close()

    async def sweep(self) -> None:
        """End the logins that were not used for too long."""
        for login in list(self._logins.values()):
            if self._clock() - login.used > self._options.idle:
                await self.end(login)

    async def close(self) -> None:
        """End all logins."""
        for login in list(self._logins.values()):
            await self.end(login)
