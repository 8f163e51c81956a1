"""One client's socket: hostile bytes, early leave, read-ahead, backpressure, padding."""

import asyncio
import os
import select
import socket
import struct
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import wraps
from typing import ParamSpec

import psycopg
import pytest
from msgspec.structs import replace

from dpproxy.algebra.plan import Answer, Caller, Notice, Settings
from dpproxy.algebra.request import Prepared, Request
from dpproxy.server import client as module
from dpproxy.server.client import ClientOutput, first_of
from dpproxy.server.listener import Options, Server
from dpproxy.values.grid import start_time
from tests.fake_engine import FakeEngine, FakeUsers, next_result

PADDING = 0.5
Given = ParamSpec("Given")


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def port(engine: FakeEngine) -> Iterator[int]:
    with Server(Options(port=0, padding=0, login_timeout=0.5), engine, FakeUsers()).running() as port:
        yield port


def connect(port: int) -> psycopg.Connection:
    return psycopg.connect(
        host="127.0.0.1", port=port, user="alice", password="ecila", dbname="main", autocommit=True
    )


def all_that_comes(raw: socket.socket) -> bytes:
    raw.settimeout(5)
    said = b""
    try:
        while data := raw.recv(65536):
            said += data
    except ConnectionResetError:
        pass
    return said


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack("!II", 1 << 30, 0x30000),
        struct.pack("!II", 8, 0x20000),
        struct.pack("!II", 3, 0),
        b"Q\0\0\0\x0dSELECT 1\0",
        struct.pack("!II", 8, 80877103) + b"\x16\x03\x01",
        struct.pack("!II", 22, 0x30000) + b"user\0alice\0\0\0" + b"Q\0\0\0\x0dSELECT 1\0",
        bytes(64),
    ],
)
def test_hostile_bytes_close_their_own_connection_only(port: int, data: bytes):
    with connect(port) as other, socket.create_connection(("127.0.0.1", port)) as raw:
        raw.sendall(data)
        said = all_that_comes(raw)
        assert b"C08P01" in said
        assert b"SFATAL" in said
        assert other.execute("SELECT 1").fetchone() == (1,)


def test_a_login_that_takes_too_long_is_closed(port: int):
    with socket.create_connection(("127.0.0.1", port)) as raw, connect(port) as other:
        start = time.monotonic()
        assert all_that_comes(raw) == b""
        assert 0.3 < time.monotonic() - start < 4
        assert other.execute("SELECT 1").fetchone() == (1,)


def test_hostile_bytes_after_the_login(port: int, engine: FakeEngine):
    connection = connect(port)
    with socket.socket(fileno=connection.fileno()) as raw:
        raw.setblocking(True)  # noqa: FBT003 - the only form there is
        raw.sendall(b"Q\xff\xff\xff\xff")
        assert b"C08P01" in all_that_comes(raw)
        raw.detach()
    connection.close()
    assert engine.closed.wait(5)


def test_a_client_that_leaves_interrupts_its_statement(port: int, engine: FakeEngine):
    connection = connect(port)
    connection.pgconn.send_query(b"SELECT slow")
    assert engine.started.wait(5)
    connection.close()
    assert engine.cancelled.wait(5)
    assert engine.closed.wait(5)
    assert engine.log[-2:] == ["cancel", "close alice"]


def sqlstate_of(connection: psycopg.Connection) -> bytes | None:
    """Of the next result, which ends its query."""
    result = next_result(connection.pgconn)
    assert result is not None
    assert next_result(connection.pgconn) is None
    return result.error_field(psycopg.pq.DiagnosticField.SQLSTATE)


@pytest.fixture
def padded(engine: FakeEngine) -> Iterator[psycopg.Connection]:
    """A client of a server with a padding of ``PADDING``."""
    options = Options(port=0, padding=PADDING)
    with Server(options, engine, FakeUsers()).running() as port, connect(port) as connection:
        yield connection


def test_a_cancel_leaves_charged_work_alone_and_the_next_waits_for_it(
    padded: psycopg.Connection, engine: FakeEngine
):
    start = time.monotonic()
    padded.pgconn.send_query(b"SELECT heavy")
    assert engine.started.wait(5)
    padded.cancel_safe()
    assert sqlstate_of(padded) == b"57014"
    assert time.monotonic() - start >= PADDING
    padded.pgconn.send_query(b"SELECT many")
    padded.cancel_safe()
    assert sqlstate_of(padded) == b"57014"
    padded.pgconn.send_query(b"SELECT 1")
    time.sleep(0.1)
    assert engine.log == ["open alice", "prepare SELECT heavy", "run SELECT heavy"]
    engine.finish.set()
    assert sqlstate_of(padded) is None
    # The work ended after the first point of its grid: it shows at the second at the soonest.
    assert time.monotonic() - start >= 2 * PADDING
    assert engine.log[3:] == ["end SELECT heavy", "prepare SELECT 1", "run SELECT 1"]


def test_a_cancel_reaches_what_charged_work_waits_for_before_its_charge(
    padded: psycopg.Connection, engine: FakeEngine
):
    padded.pgconn.send_query(b"SELECT heavy")
    assert engine.started.wait(5)
    padded.cancel_safe()
    assert engine.let_go.wait(5)
    assert sqlstate_of(padded) == b"57014"
    assert "cancel" not in engine.log
    engine.finish.set()


def test_a_statement_that_waits_for_the_one_before_has_a_timeout(
    padded: psycopg.Connection, engine: FakeEngine
):
    padded.execute("SET statement_timeout = '300ms'")
    for _ in range(2):
        padded.pgconn.send_query(b"SELECT heavy")
        assert sqlstate_of(padded) == b"57014"
    engine.finish.set()


def test_a_session_command_waits_for_no_charged_work(padded: psycopg.Connection, engine: FakeEngine):
    """Nor does it end at a timeout: a client can always roll back."""
    padded.execute("SET statement_timeout = '300ms'")
    padded.execute("BEGIN")
    padded.pgconn.send_query(b"SELECT heavy")
    assert sqlstate_of(padded) == b"57014"
    padded.execute("ROLLBACK")
    padded.pgconn.exec_params(b"SET statement_timeout = '1ms'", [])
    for command in ("BEGIN", "COMMIT", "DISCARD TEMP"):
        padded.execute(command)
    assert "end SELECT heavy" not in engine.log
    engine.finish.set()


def test_the_engine_knows_when_the_clients_grid_begins(
    padded: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
):
    """Charged work that has to wait for a thread began before that; other work begins when it does."""
    moments = []

    def late_outcome(call: Callable[[], object], start: float | None) -> object:
        time.sleep(0.2)  # as if no thread had been free
        now = time.monotonic()
        return real(lambda: (moments.append((start, start_time(), now)), call())[1], start)

    real = module.outcome
    monkeypatch.setattr(module, "outcome", late_outcome)
    padded.execute("SELECT region")
    (_, prepared, ready), (start, run, late) = moments
    assert prepared >= ready
    assert start == run <= late - 0.2


@pytest.mark.parametrize("cancelled", [False, True])
def test_a_deadline_later_than_the_padding_is_kept(
    padded: psycopg.Connection, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch, *, cancelled: bool
):
    prepare = engine.prepare
    deadline = 2.5 * PADDING

    def late(*given: object, only_at_hand: bool = False) -> Prepared | None:
        return None if only_at_hand else replace(prepare(*given), deadline=deadline)

    monkeypatch.setattr(engine, "prepare", late)
    engine.finish.set()
    start = time.monotonic()
    padded.pgconn.send_query(b"SELECT heavy")
    if cancelled:
        while "end SELECT heavy" not in engine.log:
            time.sleep(0.005)
        padded.cancel_safe()
    assert sqlstate_of(padded) == (b"57014" if cancelled else None)
    assert time.monotonic() - start >= deadline


def test_a_cancel_shows_the_same_of_work_that_has_ended(padded: psycopg.Connection, engine: FakeEngine):
    start = time.monotonic()
    engine.finish.set()
    padded.pgconn.send_query(b"SELECT heavy")
    while "end SELECT heavy" not in engine.log:
        time.sleep(0.005)
    padded.cancel_safe()
    assert sqlstate_of(padded) == b"57014"
    assert time.monotonic() - start >= PADDING
    assert padded.execute("SELECT 1").fetchone() == (1,)
    assert "cancel" not in engine.log


def test_a_client_that_leaves_does_not_interrupt_charged_work(port: int, engine: FakeEngine):
    connection = connect(port)
    connection.pgconn.send_query(b"SELECT heavy; SELECT 1")
    assert engine.started.wait(5)
    connection.close()
    assert not engine.closed.wait(0.2)
    engine.finish.set()
    assert engine.closed.wait(5)
    assert engine.log[-3:] == ["run SELECT heavy", "end SELECT heavy", "close alice"]


def test_messages_sent_ahead_of_a_long_statement_are_answered_after_it(port: int, engine: FakeEngine):
    with connect(port) as connection:
        pgconn = connection.pgconn
        pgconn.enter_pipeline_mode()
        for sql in (b"SELECT slow", b"SELECT many"):
            pgconn.send_query_params(sql, None)
            pgconn.pipeline_sync()
            pgconn.flush()
            assert engine.started.wait(5)
            time.sleep(0.1)
        connection.cancel_safe()
        results = [next_result(pgconn) for _ in range(6)]
        states = [result.status if result else None for result in results]
        ends = [psycopg.pq.ExecStatus.PIPELINE_SYNC]
        assert states == [
            psycopg.pq.ExecStatus.FATAL_ERROR, None, *ends, psycopg.pq.ExecStatus.TUPLES_OK, None, *ends,
        ]  # fmt: skip
        assert results[3] is not None
        assert results[3].ntuples == 10
        pgconn.exit_pipeline_mode()


def test_a_slow_reader_gets_it_all(port: int):
    with connect(port) as connection:
        connection.pgconn.send_query(b"SELECT big")
        time.sleep(0.2)
        result = next_result(connection.pgconn)
        assert result is not None
        assert result.ntuples == 30_000
        assert next_result(connection.pgconn) is None


def test_what_a_long_statement_has_to_say_comes_while_it_runs(port: int, engine: FakeEngine):
    engine.waiting += [Notice("half"), Notice("nearly")]
    heard: list[str] = []
    connection = connect(port)
    connection.add_notice_handler(lambda notice: heard.append(notice.message_primary or ""))
    connection.pgconn.send_query(b"SELECT slow")
    until = time.monotonic() + 10
    while len(heard) < 2 and time.monotonic() < until:
        select.select([connection.fileno()], [], [], 0.1)
        connection.pgconn.consume_input()
        connection.pgconn.is_busy()
    assert heard == ["half", "nearly"]
    assert not engine.cancelled.is_set()
    connection.cancel_safe()
    connection.close()


def test_a_byte_at_a_time_is_enough(port: int):
    with connect(port) as slow, connect(port) as other, socket.socket(fileno=os.dup(slow.fileno())) as raw:
        raw.setblocking(True)  # noqa: FBT003 - the only form there is
        for byte in b"Q\0\0\0\x0dSELECT 1\0":
            raw.sendall(bytes([byte]))
            time.sleep(0.02)
            assert other.execute("SELECT 1").fetchone() == (1,)
        assert b"SELECT 1\0" in raw.recv(1000)


def test_many_who_come_and_go_leave_nothing(port: int):
    with connect(port) as other:
        before = len(os.listdir("/proc/self/fd"))
        for number in range(300):
            with socket.create_connection(("127.0.0.1", port)) as raw:
                raw.sendall(
                    (b"", b"\0\0", struct.pack("!II", 22, 0x30000) + b"user\0alice\0\0\0")[number % 3]
                )
        until = time.monotonic() + 10
        while len(os.listdir("/proc/self/fd")) > before:
            assert time.monotonic() < until
            time.sleep(0.02)
        assert other.execute("SELECT 1").fetchone() == (1,)


@pytest.fixture
def known(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """Everything was asked before, and is at hand."""

    def prepare(
        caller: Caller, sql: str, types: Sequence[int], settings: Settings, *, only_at_hand: bool
    ) -> Prepared | None:
        assert only_at_hand
        return FakeEngine().prepare(caller, sql, types, settings)

    answered = engine.run

    def run(request: Request, *, only_at_hand: bool = False) -> Answer | None:
        if not only_at_hand:
            return answered(request)
        engine.log.append(f"again {request.caller.session}")
        time.sleep(0.001)
        return FakeEngine().run(request)

    monkeypatch.setattr(engine, "prepare", prepare)
    monkeypatch.setattr(engine, "run", run)
    return engine


def test_what_is_at_hand_takes_no_thread(port: int, known: FakeEngine):
    with connect(port) as client:
        assert client.execute("SELECT 1").fetchone() == (1,)
        assert client.execute("SELECT region").fetchall()
    assert [line for line in known.log if line.startswith(("prepare", "run"))] == []


def test_who_sends_many_statements_at_once_lets_others_in_between(port: int, known: FakeEngine):
    with connect(port) as greedy, connect(port) as other:
        greedy.pgconn.exec_(b"SELECT 1")
        (own,) = (line for line in known.log if line.startswith("again"))
        query = b"Q" + struct.pack("!I", 4 + len(b"SELECT 1\0")) + b"SELECT 1\0"
        os.write(greedy.fileno(), query * 300)
        while known.log.count(own) < 2:
            time.sleep(0.001)
        assert other.execute("SELECT 1").fetchone() == (1,)
        assert known.log.count(own) < 300


def test_what_leaves_on_the_grid_is_not_taken_from_what_is_at_hand(
    padded: psycopg.Connection, known: FakeEngine
):
    start = time.monotonic()
    padded.execute("SELECT region")
    assert time.monotonic() - start >= PADDING
    assert "run SELECT region" in known.log
    assert [line for line in known.log if line.startswith("again")] == []


# --- output, at the client's pace


def asynchronous(test: Callable[Given, Coroutine[None, None, None]]) -> Callable[Given, None]:
    @wraps(test)
    def run(*given: Given.args, **more: Given.kwargs) -> None:
        asyncio.run(test(*given, **more))

    return run


async def ends() -> tuple[ClientOutput, asyncio.StreamWriter, socket.socket]:
    ours, theirs = socket.socketpair()
    _, writer = await asyncio.open_connection(sock=ours)
    return ClientOutput(writer), writer, theirs


@asynchronous
async def test_what_is_said_leaves_together() -> None:
    out, writer, theirs = await ends()
    with theirs:
        out.add(b"one ")
        out.add(b"two")
        await out.flush()
        await out.flush()
        assert theirs.recv(100) == b"one two"
        out.add(bytes(module.FLUSH_SIZE + 1))
        assert out.is_full
        writer.close()


@pytest.mark.parametrize("is_awaited", [False, True])
@asynchronous
async def test_the_clients_pace_is_awaited(monkeypatch: pytest.MonkeyPatch, *, is_awaited: bool) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.5)
    out, writer, theirs = await ends()
    size = 8_000_000
    with theirs:
        out.add(bytes(size))
        sent = asyncio.create_task(out.flush(is_awaited=is_awaited))
        received = 0
        while received < size:  # one that is slow is waited for longer than for one that is silent
            await asyncio.sleep(0.08)
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
    size = module.WRITE_BUFFER // 2
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


# --- waiting for work


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


def watched(
    monkeypatch: pytest.MonkeyPatch, work_after: float, other_after: float | None
) -> tuple[object, Watch, bool]:
    """What came first, how the client was watched, and whether the work was left alone."""

    monkeypatch.setattr(module, "WATCH_DELAY", 0.01)

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


def test_short_work_is_not_watched(monkeypatch: pytest.MonkeyPatch):
    found, watch, is_left = watched(monkeypatch, 0.0, None)
    assert (found, watch.begun, is_left) == (None, 0, True)


def test_long_work_is_watched_until_it_ends(monkeypatch: pytest.MonkeyPatch):
    found, watch, is_left = watched(monkeypatch, 0.05, None)
    assert (found, watch.begun, watch.cancelled, is_left) == (None, 1, 1, True)


def test_what_comes_first_is_told_and_the_work_goes_on(monkeypatch: pytest.MonkeyPatch):
    found, watch, is_left = watched(monkeypatch, 0.2, 0.03)
    assert (found, watch.begun, watch.cancelled, is_left) == (7.0, 1, 1, True)


def test_work_that_has_ended_is_not_waited_for():
    async def play() -> object:
        loop = asyncio.get_running_loop()
        work: asyncio.Future[str] = loop.create_future()
        work.set_result("done")
        return await asyncio.wait_for(first_of(work, loop.create_future(), Watch()), 1)

    assert asyncio.run(play()) is None


def test_who_waits_may_be_cancelled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "WATCH_DELAY", 0.01)

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
