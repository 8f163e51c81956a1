"""Who is let in."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from dpproxy.server.options import Options
from dpproxy.server.service import (
    LOCAL,
    LOGGING_IN,
    PATIENT,
    RESERVED,
    Service,
    address_of,
    farewell,
    is_local,
)
from dpproxy.session.session import LongCall, Session
from dpproxy.values.errors import CannotConnectNow, ShuttingDown, TooManyConnections
from tests.fake_engine import ALICE, FakeEngine, FakeUsers

ROOT = replace(ALICE, user="root", roles=frozenset({"admin"}))


@pytest.fixture
def service() -> Service:
    return Service(Options(max_connections=2), FakeEngine(), FakeUsers(), ThreadPoolExecutor(1), None)


def test_a_few_places_are_kept_for_administrators(service: Service):
    for number in range(2):
        service.admit(replace(ALICE, process=number))
    with pytest.raises(TooManyConnections, match="too many connections"):
        service.admit(replace(ALICE, process=2))
    for number in range(2, 2 + RESERVED):
        service.admit(replace(ROOT, process=number))
    with pytest.raises(TooManyConnections):
        service.admit(replace(ROOT, process=9))
    service.leave(0)
    service.admit(replace(ROOT, process=9))


def test_logins_have_a_limit_of_their_own(service: Service):
    service.check_startup(crowded=service.is_crowded("10.0.0.1"))
    with pytest.raises(TooManyConnections):
        service.check_startup(crowded=True)


def test_nobody_comes_into_a_server_that_stops(service: Service):
    service.is_draining = True
    with pytest.raises(CannotConnectNow):
        service.check_startup(crowded=False)
    with pytest.raises(CannotConnectNow):
        service.admit(ROOT)


def test_charged_work_leaves_no_sooner_than_the_padding(service: Service):
    for padding, declared, due in ((0.01, 0.0, 0.01), (0.01, 3.0, 3.0), (0.0, 3.0, 0.0)):
        service.options = Options(padding=padding)
        assert service.deadline(LongCall(lambda: None, charged=True, deadline=declared)) == due


def test_a_client_is_told_why_it_has_to_leave():
    assert farewell(is_admitted=False, is_ended=True).sqlstate == "57P03"
    assert "administrator" in farewell(is_admitted=True, is_ended=True).message
    assert farewell(is_admitted=True, is_ended=False).sqlstate == "57P01"


class Waiting:
    """A client in its login, as far as the service looks at it."""

    def __init__(self, address: str, since: float, *, has_spoken: bool = False) -> None:
        self.session = Session(FakeEngine(), FakeUsers())
        self.address, self.silent_since, self.has_spoken = address, since, has_spoken
        self.parted = self.ended = False

    def abandon(self) -> None:
        self.parted = True

    def end(self) -> None:
        self.ended = True

    cancel = drain = stop = abandon


def test_who_is_silent_for_longest_makes_room(service: Service):
    here, spoken, old, new = peers = (
        Waiting("127.0.0.1", 1),
        Waiting("10.0.0.1", 0, has_spoken=True),
        Waiting("10.0.0.1", 5),
        Waiting("10.0.0.2", 6),
    )
    service.clients = dict(enumerate(peers))  # type: ignore[arg-type]
    for peer in (old, new, spoken, here):
        assert service.make_room(PATIENT + 1)
        assert [p for p in peers if p.parted] == [peer]
        peer.parted = False
        assert peer not in service.clients.values()
    assert not service.make_room(PATIENT + 1)


def test_a_login_that_goes_on_and_a_session_make_no_room(service: Service):
    busy, session = Waiting("10.0.0.1", 2, has_spoken=True), Waiting("10.0.0.1", 0)
    session.session.caller = ALICE
    service.clients = {1: busy, 2: session}  # type: ignore[dict-item]
    assert not service.make_room(PATIENT + 1)
    assert not busy.parted
    assert not session.parted


def test_some_places_to_log_in_are_for_the_own_machine(service: Service):
    service.clients = {n: Waiting("10.0.0.1", n) for n in range(2 * LOGGING_IN)}  # type: ignore[misc]
    assert service.is_crowded("10.0.0.1")
    assert not service.is_crowded("127.0.0.1")
    assert not service.is_crowded("::1")
    service.clients = {n: Waiting("127.0.0.1", n) for n in range(2 * LOGGING_IN + LOCAL)}  # type: ignore[misc]
    assert service.is_crowded("127.0.0.1")


def test_addresses():
    assert (address_of(("1.2.3.4", 5)), address_of(("::1", 5, 0, 0)), address_of("")) == (
        "1.2.3.4",
        "::1",
        "",
    )
    assert [is_local(a) for a in ("127.9.0.1", "::1", "", "10.0.0.1", "fe80::1%eth0", "x")] == [
        True, True, True, False, False, False,
    ]  # fmt: skip


def test_sessions_end_with_their_user_and_with_a_role(service: Service):
    kept, gone, poorer = (Waiting("", 0) for _ in range(3))
    kept.session.caller = ALICE
    gone.session.caller = replace(ALICE, user="carol")
    poorer.session.caller = replace(ALICE, roles=frozenset({"analysts", "admin"}))
    service.clients = {1: kept, 2: gone, 3: poorer, 4: Waiting("", 0)}  # type: ignore[dict-item]
    service.end_revoked()
    assert (kept.ended, gone.ended, poorer.ended) == (False, True, True)
    service.check_user(kept.session)
    with pytest.raises(ShuttingDown):
        service.check_user(poorer.session)
