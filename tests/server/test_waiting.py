"""Waiting for work with an eye on its client."""

import asyncio

import pytest

from dpproxy.server import waiting
from dpproxy.server.waiting import first_of


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "UNWATCHED", 0.01)


class Watch:
    """A look at a client's socket that ends when it is told to."""

    def __init__(self) -> None:
        self.begun = self.cancelled = 0

    async def __call__(self) -> None:
        self.begun += 1
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


def scene(work_after: float, other_after: float | None) -> tuple[object, Watch, bool]:
    """What came first, how the client was watched, and whether the work was left alone."""

    async def play() -> tuple[object, Watch, bool]:
        loop = asyncio.get_running_loop()
        work: asyncio.Future[str] = loop.create_future()
        other: asyncio.Future[float | None] = loop.create_future()
        watch = Watch()
        loop.call_later(work_after, work.set_result, "done")
        if other_after is not None:
            loop.call_later(other_after, other.set_result, 7.0)
        found = await first_of(work, other, watch)
        return found, watch, not work.cancelled()

    return asyncio.run(play())


def test_short_work_is_not_watched():
    found, watch, is_left = scene(0.0, None)
    assert (found, watch.begun, is_left) == (None, 0, True)


def test_long_work_is_watched_until_it_ends():
    found, watch, is_left = scene(0.05, None)
    assert (found, watch.begun, watch.cancelled, is_left) == (None, 1, 1, True)


def test_what_comes_first_is_told_and_the_work_goes_on():
    found, watch, is_left = scene(0.2, 0.03)
    assert (found, watch.begun, watch.cancelled, is_left) == (7.0, 1, 1, True)


def test_work_that_has_ended_is_not_waited_for():
    async def play() -> object:
        loop = asyncio.get_running_loop()
        work: asyncio.Future[str] = loop.create_future()
        work.set_result("done")
        return await asyncio.wait_for(first_of(work, loop.create_future(), Watch()), 1)

    assert asyncio.run(play()) is None


def test_who_waits_may_be_cancelled():
    async def play() -> int:
        loop = asyncio.get_running_loop()
        watch = Watch()
        task = asyncio.create_task(first_of(loop.create_future(), loop.create_future(), watch))
        await asyncio.sleep(0.03)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return watch.cancelled

    assert asyncio.run(play()) == 1
