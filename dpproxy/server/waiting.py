"""Waiting for a statement's work with an eye on its client, whose socket is watched where that takes long."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, Final, TypeVar

T = TypeVar("T")
Watch = Callable[[], Coroutine[Any, Any, None]]
"""Looks at the client's socket until there is nothing more to see."""

UNWATCHED: Final = 0.05
"""Seconds a statement runs before its client's socket is watched."""


async def first_of(work: asyncio.Future[Any], other: asyncio.Future[T | None], watch: Watch) -> T | None:
    """Wait for the work; the result of the other one, if that is there first."""
    loop = asyncio.get_running_loop()
    watches: list[asyncio.Task[None]] = []

    def ended(_: asyncio.Future[Any]) -> None:
        if not other.done():
            other.set_result(None)

    work.add_done_callback(ended)
    timer = loop.call_later(UNWATCHED, lambda: watches.append(loop.create_task(watch())))
    try:
        return await other
    finally:
        timer.cancel()
        work.remove_done_callback(ended)
        for one in watches:
            one.cancel()
            await asyncio.wait({one})


async def watching(awaited: Iterable[asyncio.Future[Any]], watch: Watch, most: float | None = None) -> None:
    """Wait for one of them, ``most`` seconds at most, and see the client leave meanwhile."""
    first = asyncio.FIRST_COMPLETED
    done, _ = await asyncio.wait(awaited, timeout=UNWATCHED, return_when=first)
    if not done:
        async with asyncio.TaskGroup() as tasks:
            seen = tasks.create_task(watch())
            await asyncio.wait(awaited, timeout=most, return_when=first)
            seen.cancel()
