"""Who is let in."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from dpproxy.errors import CannotConnectNow, TooManyConnections
from dpproxy.options import Options
from dpproxy.service import RESERVED, Service
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
