"""Who is let in."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from dpproxy.errors import CannotConnectNow, TooManyConnections
from dpproxy.options import Options
from dpproxy.service import RESERVED, Service, farewell
from dpproxy.session import Work
from tests.fake_engine import FakeEngine, FakeUsers


@pytest.fixture
def service() -> Service:
    return Service(Options(max_connections=2), FakeEngine(), FakeUsers(), ThreadPoolExecutor(1), None)


def test_a_few_places_are_kept_for_administrators(service: Service):
    for _ in range(2):
        service.admit(is_admin=False)
    with pytest.raises(TooManyConnections, match="too many connections"):
        service.admit(is_admin=False)
    for _ in range(RESERVED):
        service.admit(is_admin=True)
    with pytest.raises(TooManyConnections):
        service.admit(is_admin=True)
    assert service.admitted == 2 + RESERVED


def test_logins_have_a_limit_of_their_own(service: Service):
    service.check_startup(crowded=service.is_crowded)
    with pytest.raises(TooManyConnections):
        service.check_startup(crowded=True)


def test_nobody_comes_into_a_server_that_stops(service: Service):
    service.is_draining = True
    with pytest.raises(CannotConnectNow):
        service.check_startup(crowded=False)
    with pytest.raises(CannotConnectNow):
        service.admit(is_admin=True)


def test_charged_work_leaves_no_sooner_than_the_padding(service: Service):
    for padding, declared, due in ((0.01, 0.0, 0.01), (0.01, 3.0, 3.0), (0.0, 3.0, 0.0)):
        service.options = Options(padding=padding)
        assert service.deadline(Work(lambda: None, charged=True, deadline=declared)) == due


def test_a_client_is_told_why_it_has_to_leave():
    assert farewell(is_admitted=False, is_ended=True).sqlstate == "57P03"
    assert "administrator" in farewell(is_admitted=True, is_ended=True).message
    assert farewell(is_admitted=True, is_ended=False).sqlstate == "57P01"
