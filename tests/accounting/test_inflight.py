import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from dpproxy.accounting.inflight import InFlight
from dpproxy.values.errors import Cancelled

KEY = b"key"


def ask(
    flights: InFlight[int],
    release: Callable[[], int],
    timeout: float | None = None,
    cancelled: Callable[[], bool] = bool,
):
    with flights.claim(KEY, timeout, cancelled) as claim:
        if claim.owner:
            claim.resolve(release())
        return claim.result


def test_of_many_at_once_one_releases():
    flights: InFlight[int] = InFlight()
    started = threading.Barrier(16)
    releases = []

    def release() -> int:
        time.sleep(0.05)
        releases.append(1)
        return 42

    def one(_: int) -> int | None:
        started.wait()
        return ask(flights, release)

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(one, range(16)))
    assert answers == [42] * 16
    assert len(releases) == 1


def test_another_question_does_not_wait():
    flights: InFlight[int] = InFlight()
    with flights.claim(b"one"), flights.claim(b"two", timeout=0) as claim:
        assert claim.owner


def test_an_owner_is_told_whether_somebody_answered_the_question_lately():
    flights: InFlight[int] = InFlight()
    with flights.claim(KEY) as claim:
        assert claim.is_first  # and leaves without an answer
    with flights.claim(KEY) as claim:
        assert claim.is_first
        claim.resolve(1)
    for key, is_first in ((KEY, False), (b"another", True)):
        with flights.claim(key) as claim:
            assert claim.owner
            assert claim.is_first is is_first


def test_who_has_waited_for_an_owner_without_an_answer_is_not_first():
    flights: InFlight[int] = InFlight()
    with ThreadPoolExecutor(1) as pool:
        with flights.claim(KEY):
            waiting = pool.submit(_first, flights)
            while not flights._flights[KEY].waiting:
                time.sleep(0.001)
        assert waiting.result() == (True, False)


def _first(flights: InFlight[int]) -> tuple[bool, bool]:
    with flights.claim(KEY) as claim:
        return claim.owner, claim.is_first


def test_when_owners_fail_the_next_one_tries():
    flights: InFlight[int] = InFlight()
    attempts = []

    def release() -> int:
        attempts.append(1)
        while flights._flights[KEY].waiting < 8 - len(attempts):  # all others
            time.sleep(0.001)
        if len(attempts) < 3:
            raise RuntimeError("no")
        return 7

    def one(_: int) -> int | None:
        try:
            return ask(flights, release)
        except RuntimeError:
            return None

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(one, range(8)))
    assert sorted(answers, key=str) == [7] * 6 + [None] * 2
    assert len(attempts) == 3


def test_a_waiting_caller_gives_up_in_time():
    flights: InFlight[int] = InFlight()
    with flights.claim(KEY), pytest.raises(Cancelled), flights.claim(KEY, timeout=0.03):
        pass


def test_a_waiting_caller_can_be_cancelled():
    flights: InFlight[int] = InFlight()
    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool, flights.claim(KEY):
        waiting = pool.submit(ask, flights, lambda: 1, cancelled=stop.is_set)
        stop.set()
        with pytest.raises(Cancelled):
            waiting.result(timeout=5)


def test_nothing_is_remembered_afterwards():
    flights: InFlight[int] = InFlight()
    ask(flights, lambda: 1)
    with pytest.raises(Cancelled), flights.claim(KEY), flights.claim(KEY, timeout=0):
        pass
    assert ask(flights, lambda: 2) == 2
    assert not flights._flights


def seen(end: float, offsets: Sequence[float], instant: float) -> list[float]:
    """When those who ask so long after the owner began see its end, which is at ``end``; relative to the instant."""
    flights: InFlight[int] = InFlight()
    start = time.monotonic()

    def ask_later(offset: float) -> float:
        time.sleep(offset)
        with flights.claim(KEY) as claim:
            found = time.monotonic() - start - instant
            if claim.owner:
                claim.resolve(1)
        return found

    with ThreadPoolExecutor(len(offsets)) as pool:
        with flights.claim(KEY, seen_from=lambda: start + instant) as claim:
            asking = [pool.submit(ask_later, offset) for offset in offsets]
            time.sleep(end)
            claim.resolve(1)
        return [future.result() for future in asking]


@pytest.mark.parametrize("end", [0.02, 0.11, 0.19])
def test_when_the_owner_ended_is_seen_by_nobody(end: float):
    """Whoever asks before the owner's instant sees the instant, whether the owner had ended by then or not."""
    early = seen(end, [0.01, 0.05, 0.09, 0.13, 0.17], 0.3)
    assert all(late >= 0 for late in early)


def test_that_the_owner_failed_is_seen_at_its_instant_too():
    flights: InFlight[int] = InFlight()
    instant = time.monotonic() + 0.2
    with pytest.raises(ZeroDivisionError), flights.claim(KEY, seen_from=lambda: instant):
        _ = 1 / 0
    with flights.claim(KEY) as claim:
        assert claim.owner
        assert time.monotonic() >= instant
