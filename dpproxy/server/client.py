"""One client's socket: bytes to messages, work to threads, answers to the padding grid.

Charged work always runs to its end: a cancel, or a client that leaves, only changes the outcome that is sent to 57014.
That leaves at the first point of the padding grid after the cancel, whether or not the work has ended. The session's
next work, and the reuse of a closed connection's place, wait for the grid point after the work's own end. Work that is
not charged is interrupted at once.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

from dpproxy.algebra.plan import Caller
from dpproxy.server.service import Service, address_of, farewell, origin_of
from dpproxy.session.session import LongCall, Session
from dpproxy.session.timeouts import PATIENCE, idle_limit, statement_limit
from dpproxy.session.work import Outcome, attempt, outcome
from dpproxy.values.errors import Cancelled, Refusal
from dpproxy.values.grid import instant
from dpproxy.wire import messages as m
from dpproxy.wire.connection import Connection

T = TypeVar("T")
Watch = Callable[[], Coroutine[Any, Any, None]]
"""Reads ahead from the client's socket, to notice when it closes."""

READ_SIZE: Final = 1 << 16
MOST_AHEAD: Final = 1 << 20
"""Bytes read ahead while a statement runs."""
AGAIN: Final = 0.1
"""Seconds between two interrupts of one statement."""
NEWS: Final = 0.5
"""Seconds between two checks for notices of a running statement."""
FAREWELL: Final = 1.0
"""Seconds that a client gets to receive the last bytes."""
FLUSH_SIZE: Final = 1 << 18
"""Bytes that are collected before they are written to the socket."""
WRITE_BUFFER: Final = 1 << 21
"""Bytes in the socket's write buffer above which the client is awaited."""
WATCH_DELAY: Final = 0.05
"""Seconds that a statement runs before its client's socket is watched."""
_LOG: Final = logging.getLogger(__name__)


class ClientOutput:
    """The bytes that are sent to one client. A slow client holds up its own session, not the server's memory."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._held = bytearray()
        self.limit()

    @property
    def is_full(self) -> bool:
        """Whether it is time to ``flush``."""
        return len(self._held) > FLUSH_SIZE

    def limit(self) -> None:
        """Limit the transport's write buffer to ``WRITE_BUFFER``; to be called again for the transport of TLS."""
        self._writer.transport.set_write_buffer_limits(WRITE_BUFFER)

    def add(self, data: bytes) -> None:
        """Add bytes, which leave with the next ``flush``."""
        self._held += data

    async def flush(self, *, is_awaited: bool = False) -> None:
        """Send, and wait until the write buffer is below its limit.

        Where ``is_awaited``, since a query waits with its rows, raises ``TimeoutError`` after ``PATIENCE`` seconds in
        which the client has received nothing.
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
        """Send, and wait until the client has received everything. Raises ``TimeoutError`` after ``PATIENCE``."""
        async with asyncio.timeout(PATIENCE):
            await self.flush()
            self._writer.transport.set_write_buffer_limits(0)
            await self._writer.drain()


class Client:
    """One client's socket and the session behind it."""

    def __init__(
        self, service: Service, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, process: int
    ) -> None:
        self.session = Session(
            service.engines, service.users, process=process, mock_key=service.options.mock_key
        )
        self.session.admit = self._admit
        self.session.signal = service.signal
        self._service = service
        self._reader = reader
        self._writer = writer
        self._connection = Connection()
        self._task = asyncio.current_task()
        self.address = address_of(writer.get_extra_info("peername"))
        self._is_page = False
        """Whether it is a login at the page, whose address is then the browser's."""
        self.silent_since = asyncio.get_running_loop().time()
        self.has_spoken = False
        self._crowded = service.is_crowded(self.address) and not service.make_room(self.silent_since)
        self._deadline = asyncio.timeout(FAREWELL if self._crowded else service.options.login_timeout)
        self._out = ClientOutput(writer)
        self._ahead = bytearray()
        self._future: asyncio.Future[Outcome] | None = None
        """The call that runs in a thread for the session."""
        self._padded: asyncio.Future[Outcome] | None = None
        """Charged work until the grid point after its end, even after its client has cancelled or left."""
        self._cancelled: asyncio.Future[float | None] | None = None
        """Resolved with the time of a cancel, while charged work runs that it does not interrupt."""
        self._until: float | None = None
        """When the current statement reaches its timeout."""
        self._timed_out = self._is_cancelled = False
        """Whether the timeout, or a cancel request, has cancelled it."""
        self._admitted = self._reading = self._gone = self._leaving = False
        self._stopping = self._hurried = self._ended = False

    # --- from outside

    def cancel(self) -> None:
        """Cancel the session's statement; charged work ends for its client only."""
        self._is_cancelled = True
        self._interrupt(partial(self.session.cancel, only_unpaid=self._padded is not None))
        if self._cancelled is not None and not self._cancelled.done():
            self._cancelled.set_result(asyncio.get_running_loop().time())

    def _interrupt(self, how: Callable[[], None]) -> None:
        """Interrupt the session's work, again and again until it ends: work that has hardly begun misses the first."""
        if self._future is not None and not self._future.done():
            how()
            self._future.get_loop().call_later(AGAIN, self._interrupt_still, self._future, how)

    def _interrupt_still(self, future: asyncio.Future[Outcome], how: Callable[[], None]) -> None:
        if future is self._future:
            self._interrupt(how)

    def end(self) -> None:
        """End the session; charged work runs to its end, as it does when a client leaves."""
        self._ended = True
        self.cancel()
        self.drain()

    def drain(self) -> None:
        """The server stops: dismiss an idle client at once, a busy one after its answer."""
        self._stopping = True
        if self._reading and self._task is not None:
            self._reading = False  # once
            self._task.cancel()

    def stop(self) -> None:
        """The server stops now: interrupt the statement and dismiss the client."""
        self._hurried = True
        self._interrupt(self.session.cancel)
        if self._leaving and isinstance(self._padded, asyncio.Task):
            self._padded.cancel()
        self.drain()

    def abandon(self) -> None:
        """Close the socket: the client has not left in time."""
        self._writer.transport.abort()
        if self._task is not None:
            self._task.cancel()

    # --- life

    async def run(self) -> None:
        """Serve the client until it leaves or the server stops."""
        try:
            async with self._deadline:
                await self._converse()
        except (OSError, TimeoutError):
            _LOG.debug("client %d lost", self.session.process)
        except Exception as error:  # noqa: BLE001 - other clients go on; the text may hold a value
            _LOG.error("client %d: %s", self.session.process, type(error).__name__)
        finally:
            await self._leave()

    async def _leave(self) -> None:
        try:
            self._leaving = True
            self._connection.close()
            (self.stop if self._hurried else self.cancel)()
            await self._settle()
            if self.session.caller is not None:
                await self._outside(self.session.close)
        finally:
            self._service.leave(self.session.process)
        self._writer.close()
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(FAREWELL):
                await self._writer.wait_closed()
        self._writer.transport.abort()

    async def _converse(self) -> None:
        try:
            while not self._is_over():
                data = await self._read()
                if not data:
                    return
                for message in self._connection.receive(data):
                    await self._answer(message)
                    if self._is_over():
                        break
                await self._flush()
        except Refusal as refusal:
            await self._dismiss(refusal)

    def _is_over(self) -> bool:
        return self.session.finished or self._gone

    async def _read(self) -> bytes:
        if self._stopping:
            raise farewell(is_admitted=self._admitted, is_ended=self._ended)
        if self._ahead:
            data = bytes(self._ahead)
            self._ahead.clear()
            return data
        self._reading = True
        limit, refusal = idle_limit(self.session.transaction)
        try:
            if self.session.is_reading and limit > PATIENCE:
                limit -= PATIENCE
                with suppress(TimeoutError):
                    async with asyncio.timeout(PATIENCE):
                        return await self._reader.read(READ_SIZE)
                self.session.let_go()
            async with asyncio.timeout(limit):
                return await self._reader.read(READ_SIZE)
        except TimeoutError:
            raise refusal from None
        except asyncio.CancelledError:
            if self._reading or self._task is None or self._task.uncancel():
                raise
            raise farewell(is_admitted=self._admitted, is_ended=self._ended) from None  # ``drain`` it was
        finally:
            self._reading = False

    async def _flush(self) -> None:
        await self._out.flush(is_awaited=self.session.is_reading)

    async def _dismiss(self, refusal: Refusal) -> None:
        self._say(m.ErrorResponse(refusal.sqlstate, refusal.message, hint=refusal.hint, severity="FATAL"))
        await self._out.finish()
        self._writer.close()  # at once: charged work may still run

    def _say(self, message: m.Backend) -> None:
        self._out.add(self._connection.send(message))

    # --- messages

    async def _answer(self, message: m.Frontend) -> None:
        self.silent_since, self.has_spoken = asyncio.get_running_loop().time(), True
        match message:
            case m.SSLRequest():
                await self._encrypt()
            case m.GSSENCRequest():
                self._connection.tls_refused()
                self._say(m.EncryptionAnswer(accepted=False))
            case m.CancelRequest():
                self._service.cancel(message)
                self.session.finished = True
            case m.Startup():
                self._service.check_startup(crowded=self._crowded)
                message, origin = origin_of(message, self._service.options.page_key)
                self._is_page, self.address = origin is not None, origin or self.address
                await self._drive(message)
            case m.SASLResponse():
                attempt = self._service.begin_attempt
                await asyncio.sleep(attempt(self.session, self.address, is_of_page=self._is_page))
                await self._drive(message)
            case _:
                self._service.check_user(self.session)
                await self._drive(message)

    async def _encrypt(self) -> None:
        if self._service.tls is None:
            self._connection.tls_refused()
            self._say(m.EncryptionAnswer(accepted=False))
            return
        self._connection.tls_accepted()
        self._say(m.EncryptionAnswer(accepted=True))
        await self._flush()
        self.session.binding = self._service.binding
        await self._writer.start_tls(
            self._service.tls, ssl_handshake_timeout=self._service.options.login_timeout
        )
        self._out.limit()

    def _admit(self, caller: Caller) -> None:
        self._service.admit(caller)
        self._admitted = True

    async def _drive(self, message: m.Frontend) -> None:
        self._until = None
        steps = self.session.receive(message)
        value: object = None
        error: Exception | None = None
        while True:
            try:
                step = steps.send(value) if error is None else steps.throw(error)
            except StopIteration:
                return
            value = error = None
            if isinstance(step, LongCall):
                value, error = await self._work(step)
            else:
                await self._tell(step)

    async def _tell(self, message: m.Backend) -> None:
        self._say(message)
        if isinstance(message, m.AuthenticationOk):
            self._connection.login_done()
            self._deadline.reschedule(None)
            if self._is_page:
                self._service.end_attempt(self.session, self.address)
        if isinstance(message, m.ErrorResponse):
            self._connection.error_sent()
            self._service.record_error(self.session, message.sqlstate, self.address, is_of_page=self._is_page)
        if isinstance(message, m.ReadyForQuery) or self._out.is_full:
            await self._flush()

    # --- work

    async def _work(self, work: LongCall) -> Outcome:
        if self._ended and self.session.caller is not None:
            raise farewell(is_admitted=self._admitted, is_ended=self._ended)
        loop = asyncio.get_running_loop()
        if self._until is None or not work.continues:
            self._until = loop.time() + statement_limit(self.session.transaction)
            self._timed_out = self._is_cancelled = False
        elif loop.time() >= self._until:
            self._time_out()
        if self._is_cancelled:  # while rows were being sent
            return None, self._reply_error(None, work)
        timer = loop.call_at(self._until, self._time_out)
        try:
            found, error = await self._in_turn(work)
        finally:
            timer.cancel()
        return found, self._reply_error(error, work)

    async def _in_turn(self, work: LongCall) -> Outcome:
        """Do the work, after earlier charged work whose client has cancelled it has ended."""
        if self._padded is not None:
            if await self._cancelled_before(self._padded) is not None:
                return None, _cancelled()
            await self._settle()
        found, error = self._at_hand(work)
        if found is not None or error is not None:
            await asyncio.sleep(0)  # a client that sends many statements at once lets others in between
            return found, error
        return await (self._charged(work) if work.charged else self._outside(work.call, work.notices))

    def _at_hand(self, work: LongCall) -> Outcome:
        """Try to do the work on the event loop, which is faster than a thread; not where padding hides the time."""
        if work.charged and self._service.options.padding:
            return None, None
        return attempt(work.at_hand)

    def _reply_error(self, error: Exception | None, work: LongCall) -> Exception | None:
        """The error to send for work that ended with ``error``; decides who has cancelled it."""
        if not isinstance(error, Cancelled) and not (work.continues and self._is_cancelled):
            return error
        if self._hurried or self._ended:
            raise farewell(is_admitted=self._admitted, is_ended=self._ended)
        if self._timed_out:
            return Cancelled("canceling statement due to statement timeout")
        return error or _cancelled()

    def _time_out(self) -> None:
        self._timed_out = True
        self.cancel()

    async def _charged(self, work: LongCall) -> Outcome:
        loop = asyncio.get_running_loop()
        start = loop.time()
        is_padded = self._service.deadline(work) > 0
        self._padded = (
            loop.create_task(self._pad(work, start)) if is_padded else self._begin(work.call, start)
        )
        moment = await self._cancelled_before(self._padded)
        if moment is None:
            outcome = self._padded.result()
            await self._settle()
            return outcome
        due = start + instant(moment - start, self._service.deadline(work))
        await asyncio.sleep(due - loop.time())
        return None, _cancelled()

    async def _pad(self, work: LongCall, start: float) -> Outcome:
        loop = asyncio.get_running_loop()
        future = self._begin(work.call, start)
        await asyncio.wait({future})
        elapsed = loop.time() - start
        await asyncio.sleep(instant(elapsed, self._service.deadline(work)) - elapsed)
        return future.result()

    async def _settle(self) -> None:
        """Wait until cancelled charged work has ended, on the grid: going on sooner would reveal when it did."""
        for future in (self._padded, self._future):
            if future is not None and not future.done():
                await asyncio.wait({future})
        self._padded = self._future = None

    async def _cancelled_before(self, work: asyncio.Future[Outcome]) -> float | None:
        """Wait for the work; returns the time at which the client cancels or leaves, if that comes first."""
        self._cancelled = asyncio.get_running_loop().create_future()
        try:
            return await first_of(work, self._cancelled, self._watch)
        finally:
            self._cancelled = None

    async def _outside(
        self, call: Callable[[], object], notices: Callable[[], Iterable[m.Backend]] | None = None
    ) -> Outcome:
        """Make a call in a thread, and send its ``notices`` meanwhile; a client that leaves interrupts it."""
        future = self._begin(call)
        while notices is not None and not future.done():
            await wait_watching((future,), self._watch, NEWS)
            for message in notices():
                self._say(message)
            await self._flush()
        await wait_watching((future,), self._watch)
        self._future = None
        return future.result()

    def _begin(self, call: Callable[[], object], start: float | None = None) -> asyncio.Future[Outcome]:
        loop = asyncio.get_running_loop()
        self._future = loop.run_in_executor(self._service.executor, outcome, call, start)
        return self._future

    async def _watch(self) -> None:
        """Read ahead from the socket, to notice when the client leaves."""
        while len(self._ahead) < MOST_AHEAD and not self._gone:
            try:
                data = await self._reader.read(READ_SIZE)
            except OSError:
                data = b""
            if data:
                self._ahead += data
            else:
                self._gone = True
                self.cancel()


def _cancelled() -> Cancelled:
    return Cancelled("canceling statement due to user request")


async def first_of(work: asyncio.Future[Any], other: asyncio.Future[T | None], watch: Watch) -> T | None:
    """Wait for the work or the other future; returns the other's result, None where the work ended first."""
    loop = asyncio.get_running_loop()
    watches: list[asyncio.Task[None]] = []

    def ended(_: asyncio.Future[Any]) -> None:
        if not other.done():
            other.set_result(None)

    work.add_done_callback(ended)
    timer = loop.call_later(WATCH_DELAY, lambda: watches.append(loop.create_task(watch())))
    try:
        return await other
    finally:
        timer.cancel()
        work.remove_done_callback(ended)
        for one in watches:
            one.cancel()
            await asyncio.wait({one})


async def wait_watching(
    awaited: Iterable[asyncio.Future[Any]], watch: Watch, most: float | None = None
) -> None:
    """Wait for one of the futures, at most ``most`` seconds, and watch the client's socket meanwhile."""
    first = asyncio.FIRST_COMPLETED
    done, _ = await asyncio.wait(awaited, timeout=WATCH_DELAY, return_when=first)
    if not done:
        async with asyncio.TaskGroup() as tasks:
            seen = tasks.create_task(watch())
            await asyncio.wait(awaited, timeout=most, return_when=first)
            seen.cancel()
