"""What a client is sent, at its pace."""

import asyncio
from contextlib import suppress
from typing import Final

from dpproxy.session.timeouts import PATIENCE

MOST: Final = 1 << 18
"""Bytes collected before they are written and the client's pace is awaited."""
AHEAD: Final = 1 << 21
"""Bytes that may wait for the client while more is made."""


class Outgoing:
    """Bytes on their way to one client; so many are held, whatever it does."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._held = bytearray()
        self.limit()

    @property
    def is_full(self) -> bool:
        """Whether it is time to ``flush``."""
        return len(self._held) > MOST

    def limit(self) -> None:
        """Wait for the client where more than ``AHEAD`` is under way: for a new transport, once it is there."""
        self._writer.transport.set_write_buffer_limits(AHEAD)

    def add(self, data: bytes) -> None:
        """Say this with what comes next."""
        self._held += data

    async def flush(self, *, is_awaited: bool = False) -> None:
        """Send, and wait until the client has taken most of it.

        Where the engine waits as well, a client that takes nothing at all is left: raises ``TimeoutError``.
        """
        if not self._held:
            return
        self._writer.write(self._held)
        self._held = bytearray()
        if not is_awaited:
            await self._writer.drain()
            return
        left, before = self._writer.transport.get_write_buffer_size(), -1
        while left != before:
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self._writer.drain()
                return
            left, before = self._writer.transport.get_write_buffer_size(), left
        raise TimeoutError

    async def finish(self) -> None:
        """Send, and wait until the client has taken all of it. Raises ``TimeoutError`` after ``PATIENCE``."""
        async with asyncio.timeout(PATIENCE):
            await self.flush()
            self._writer.transport.set_write_buffer_limits(0)
            await self._writer.drain()
