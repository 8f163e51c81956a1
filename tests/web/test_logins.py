"""Logins: whose they are, how they end, how failures delay the next."""

import asyncio

import pytest
from msgspec.structs import replace

from dpproxy.web import logins
from dpproxy.web.logins import MOST_OF_ADDRESS, MOST_OF_USER, MOST_OUTCOMES, Login, Logins, Outcome
from dpproxy.web.options import Options
from dpproxy.web.prices import Price
from dpproxy.web.wire import Notice, Refused, Rows
from tests.proxies import PASSWORD
from tests.web.pages import BY_WARD, Site


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def held(shared: Site, clock: Clock) -> Logins:
    options = Options("127.0.0.1", 1, "127.0.0.1", shared.proxy.port, "main", key=shared.proxy.page_key)
    return Logins(options, clock)


async def begin(
    held: Logins, user: str = "ann", password: str = PASSWORD, address: str = "10.0.0.1"
) -> Login:
    found = await held.begin(user, password, "main", address)
    assert isinstance(found, Login)
    return found


def test_a_login_ends_when_it_was_idle(shared: Site):
    async def run() -> None:
        clock = Clock()
        all_of_them = held(shared, clock)
        login = await begin(all_of_them)
        clock.now += 1700
        assert all_of_them.find(login.name) is login
        clock.now += 1700
        await all_of_them.sweep()
        assert all_of_them.find(login.name) is login
        clock.now += 1801
        assert all_of_them.find(login.name) is None
        await all_of_them.sweep()
        assert login.wire._connection.closed

    asyncio.run(run())


def test_names_and_tokens_differ_and_are_not_shown(shared: Site):
    async def run() -> None:
        all_of_them = held(shared, Clock())
        one, two = await begin(all_of_them), await begin(all_of_them)
        assert len({one.name, two.name, one.token, two.token}) == 4
        assert len(one.name) >= 43
        assert one.name not in repr(one)
        assert one.token not in repr(one)
        await all_of_them.close()
        assert all_of_them.find(one.name) is None

    asyncio.run(run())


def test_too_many_at_once_are_refused(shared: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(logins, "MOST_AT_ONCE", 0)
    found = asyncio.run(held(shared, Clock()).begin("ann", PASSWORD, "main", ""))
    assert isinstance(found, Refused)
    assert found.sqlstate == "53300"


def test_one_address_leaves_room_for_logins_of_others(shared: Site):
    async def run() -> None:
        all_of_them = held(shared, Clock())
        many = MOST_OF_ADDRESS + 3
        tried = await asyncio.gather(
            *(all_of_them.begin("nobody", "wrong", "main", "10.0.0.3") for _ in range(many)),
            begin(all_of_them, address="10.0.0.2"),
        )
        states = [one.sqlstate for one in tried if isinstance(one, Refused)]
        assert (states.count("53300"), states.count("28000")) == (3, MOST_OF_ADDRESS)
        assert isinstance(tried[-1], Login)
        assert isinstance(await all_of_them.begin("nobody", "wrong", "main", "10.0.0.3"), Refused)
        assert not all_of_them._trying
        await all_of_them.close()

    asyncio.run(run())


def test_the_oldest_of_too_many_logins_of_a_user_ends(shared: Site):
    async def run() -> None:
        clock = Clock()
        all_of_them = held(shared, clock)
        found = []
        for _ in range(MOST_OF_USER + 1):
            clock.now += 1
            found.append(await begin(all_of_them))
        other = await begin(all_of_them, "bob")
        assert all_of_them.find(found[0].name) is None
        assert all(all_of_them.find(login.name) for login in (*found[1:], other))
        await all_of_them.close()

    asyncio.run(run())


def test_administrators_are_known(shared: Site):
    async def run() -> None:
        all_of_them = held(shared, Clock())
        assert [(await begin(all_of_them, user)).is_admin for user in ("ann", "root", "boss", "eve")] == [
            False, True, True, False,
        ]  # fmt: skip
        await all_of_them.close()

    asyncio.run(run())


def test_a_newer_draft_takes_the_place_of_the_one_before(shared: Site):
    async def run() -> None:
        all_of_them = held(shared, Clock())
        login = await begin(all_of_them)
        drafts = [f"SELECT count(*) FROM visits WHERE age < {n}" for n in range(6)]
        found = await asyncio.gather(*map(login.price, drafts))
        assert isinstance(found[-1], Price)
        assert found[-1].epsilon == 0.1
        assert None in found
        outcome, price = await asyncio.gather(login.run(BY_WARD), login.price(drafts[0]))
        assert not isinstance(outcome.result, Refused)
        assert price is None or isinstance(price, Price)
        await all_of_them.close()

    asyncio.run(run())


def test_outcomes_are_remembered_for_a_while(shared: Site):
    async def run() -> None:
        all_of_them = held(shared, Clock())
        login = await begin(all_of_them)
        for _ in range(MOST_OUTCOMES + 2):
            await login.run("SELECT floor FROM wards")
        assert list(login.outcomes) == list(range(3, MOST_OUTCOMES + 3))
        await all_of_them.close()

    asyncio.run(run())


def test_long_answers_are_forgotten_sooner(shared: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(logins, "MOST_CHARACTERS", 7)

    async def run() -> None:
        all_of_them = held(shared, Clock())
        login = await begin(all_of_them)
        for _ in range(4):
            await login.run("SELECT floor FROM wards")  # three characters
        assert list(login.outcomes) == [3, 4]
        await all_of_them.close()

    asyncio.run(run())


def test_what_a_statement_sets_is_known(shared: Site):
    async def run() -> None:
        all_of_them = held(shared, Clock())
        login = await begin(all_of_them)
        await login.run("SET dp.epsilon = 0.3")
        assert login.epsilon == "0.3"
        await login.run("RESET ALL")
        assert login.epsilon == ""
        await all_of_them.close()

    asyncio.run(run())


def test_a_price_for_each_question(shared: Site):
    async def run() -> None:
        all_of_them = held(shared, Clock())
        login = await begin(all_of_them)
        assert await login.choose_epsilon("0.25") is None
        price = await login.price("SELECT sum(cost) FROM visits")
        assert isinstance(price, Price)
        assert price.epsilon == 0.25
        wrong = await login.choose_epsilon("a'; SELECT")
        assert isinstance(wrong, Refused)
        assert login.epsilon == "0.25"
        assert await login.choose_epsilon("") is None
        await all_of_them.close()

    asyncio.run(run())


def test_what_an_outcome_cost():
    found = Outcome(1, None, "", Refused("42601", ""))  # type: ignore[arg-type]
    assert found.cost is None
    paid = replace(found, result=Rows(notices=(Notice("cost 0.1 epsilon, 3.9 left in budget b"),)))
    assert paid.cost == "cost 0.1 epsilon"
