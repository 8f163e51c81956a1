"""Bytes to a client that takes them slowly, or not at all."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import ParamSpec

import pytest

from dpproxy.server import outgoing as module
from dpproxy.server.outgoing import Outgoing

Given = ParamSpec("Given")


def asynchronous(test: Callable[Given, Coroutine[None, None, None]]) -> Callable[Given, None]:
    @wraps(test)
    def run(*given: Given.args, **more: Given.kwargs) -> None:
        asyncio.run(test(*given, **more))

    return run


async def ends() -> tuple[Outgoing, asyncio.StreamWriter, socket.socket]:
    ours, theirs = socket.socketpair()
    _, writer = await asyncio.open_connection(sock=ours)
    return Outgoing(writer), writer, theirs


@asynchronous
async def test_what_is_said_leaves_together() -> None:
    out, writer, theirs = await ends()
    with theirs:
        out.add(b"one ")
        out.add(b"two")
        await out.flush()
        await out.flush()
        assert theirs.recv(100) == b"one two"
        out.add(bytes(module.MOST + 1))
        assert out.is_full
        writer.close()


@pytest.mark.parametrize("is_awaited", [False, True])
@asynchronous
async def test_the_clients_pace_is_awaited(monkeypatch: pytest.MonkeyPatch, *, is_awaited: bool) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    out, writer, theirs = await ends()
    size = 8_000_000
    with theirs:
        out.add(bytes(size))
        sent = asyncio.create_task(out.flush(is_awaited=is_awaited))
        received = 0
        while received < size:  # one that is slow is waited for longer than for one that is silent
            await asyncio.sleep(0.04)
            received += len(theirs.recv(800_000))
        await asyncio.wait_for(sent, 5)
        writer.close()


@asynchronous
async def test_who_takes_nothing_is_left_where_the_engine_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    out, writer, theirs = await ends()
    with theirs:
        out.add(bytes(8_000_000))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(out.flush(is_awaited=True), 5)
        out.add(b"more")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(out.flush(), 0.5)  # for anybody else there is no end of waiting
        writer.transport.abort()


@asynchronous
async def test_the_last_words_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    out, writer, theirs = await ends()
    size = module.AHEAD // 2
    with theirs:
        out.add(bytes(size))
        await asyncio.wait_for(out.flush(), 5)  # some of it may be under way
        ending = asyncio.create_task(out.finish())
        received = 0
        while received < size:
            await asyncio.sleep(0.01)
            assert received > size / 2 or not ending.done()
            received += len(theirs.recv(100_000))
        await asyncio.wait_for(ending, 5)
        out.add(bytes(4 * size))
        monkeypatch.setattr(module, "PATIENCE", 0.1)
        with pytest.raises(TimeoutError):
            await out.finish()
        writer.transport.abort()
