"""The server over real sockets and with real clients."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psycopg
import psycopg2
import pytest

from dpproxy.server import service
from dpproxy.server.listener import Options, Server
from dpproxy.server.service import LOCAL, LOGGING_IN, RESERVED
from dpproxy.system.attempts import FIRST
from dpproxy.values.errors import StartupError
from dpproxy.wire.messages import CancelRequest
from tests.fake_engine import RATIO_ROWS, FakeEngine, FakeUsers, next_result

PADDING = 0.5


@pytest.fixture(scope="module")
def users() -> FakeUsers:
    return FakeUsers()


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def port(engine: FakeEngine, users: FakeUsers) -> Iterator[int]:
    with Server(Options(port=0, padding=0, max_connections=3), engine, users).running() as port:
        yield port


def dsn(port: int, **more: str) -> str:
    parts = {
        "host": "127.0.0.1",
        "port": port,
        "user": "alice",
        "password": "ecila",
        "dbname": "main",
        **more,
    }
    return " ".join(f"{key}={value}" for key, value in parts.items())


@pytest.fixture
def connection(port: int) -> Iterator[psycopg.Connection]:
    with psycopg.connect(dsn(port), autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg_reads_text_and_binary(connection: psycopg.Connection, *, binary: bool):
    cursor = connection.execute("SELECT region", binary=binary)
    assert cursor.fetchall() == list(RATIO_ROWS)
    assert [(c.name, c.type_code) for c in cursor.description or ()] == [
        ("region", 25), ("n", 20), ("mean", 701), ("total", 1700),
    ]  # fmt: skip


def test_psycopg_sends_parameters(connection: psycopg.Connection):
    for number in range(8):  # from the sixth on under a name, and with the number as int2
        cursor = psycopg.RawCursor(connection).execute("SELECT $1", [number, "é"])
        assert cursor.fetchone() == (number, "é")


def test_psycopg_pipelines_and_transactions(connection: psycopg.Connection):
    with connection.pipeline():
        cursors = [connection.execute("SELECT many") for _ in range(10)]
    assert [len(cursor.fetchall()) for cursor in cursors] == [10] * 10
    with pytest.raises(psycopg.errors.UndefinedColumn), connection.transaction():  # noqa: PT012
        connection.execute("SET application_name = 'x'")
        connection.execute("SELECT nothing")
    assert connection.execute("SHOW application_name").fetchone() == ("",)


def test_psycopg_tells_what_was_refused(connection: psycopg.Connection):
    with pytest.raises(psycopg.errors.UndefinedColumn) as caught:
        connection.execute("SELECT nothing")
    diagnostics = caught.value.diag
    assert (diagnostics.message_primary, diagnostics.message_hint) == ("no such column", "try SELECT 1")
    assert diagnostics.statement_position == "8"
    with pytest.raises(psycopg.DatabaseError) as caught_too:
        connection.execute("SELECT dear")
    assert caught_too.value.sqlstate == "PD001"


def test_psycopg2_queries(port: int):
    connection = psycopg2.connect(dsn(port))
    with connection.cursor() as cursor:
        cursor.execute("SELECT region")
        assert cursor.fetchall() == list(RATIO_ROWS)
        assert [notice.strip() for notice in connection.notices] == ["NOTICE:  cost 0.1"]
        connection.commit()
        cursor.execute("SET dp.epsilon = %s; SELECT epsilon", ("0.3",))
        assert cursor.fetchall() == [("0.3",)]
        connection.rollback()
        cursor.execute("SHOW dp.epsilon")
        assert cursor.fetchall() == [("",)]
    connection.close()


@pytest.mark.external
@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
def test_psql_queries(port: int):
    def psql(*commands: str) -> subprocess.CompletedProcess[str]:
        arguments = [part for command in commands for part in ("-c", command)]
        environment = {**os.environ, "LC_ALL": "C", "PGOPTIONS": "-c dp.epsilon=0.05"}
        called = ["psql", "-XAt", dsn(port), *arguments]
        return subprocess.run(  # noqa: PLW1510 - the status is looked at
            called, capture_output=True, text=True, encoding="utf-8", env=environment, timeout=20
        )

    done = psql("SELECT region", "SHOW dp.epsilon", r"SELECT 1; SELECT many", "SHOW client_encoding")
    digits = [str(i) for i in range(10)]
    assert done.stdout.splitlines() == [
        "north|10|1.5|12.30",
        "süd|-3|Infinity|",
        "0.05",
        "1",
        *digits,
        "UTF8",
    ]
    assert "NOTICE:  cost 0.1" in done.stderr
    failed = psql("SELECT nothing")
    assert failed.returncode == 1
    assert "HINT:  try SELECT 1" in failed.stderr
    assert "LINE 1: SELECT nothing\n               ^" in failed.stderr


def test_a_wrong_password_and_an_unknown_user_are_told_the_same(port: int):
    told = []
    for user, password in (("alice", "x"), ("mallory", "x"), ("mallory", "yrollam")):
        with pytest.raises(psycopg.OperationalError) as caught:
            psycopg.connect(dsn(port, user=user, password=password))
        told.append(str(caught.value).replace(user, "U"))
    assert told[0] == told[1] == told[2]
    assert 'password authentication failed for user "U"' in told[0]


def test_an_unknown_database_is_refused(port: int):
    with pytest.raises(psycopg.OperationalError, match='database "other" does not exist'):
        psycopg.connect(dsn(port, dbname="other"))


def test_connections_are_limited_and_freed(port: int):
    held = [psycopg.connect(dsn(port)) for _ in range(3)]
    with pytest.raises(psycopg.OperationalError, match="too many connections"):
        psycopg.connect(dsn(port))
    held.pop().close()
    for _ in range(100):
        try:
            held.append(psycopg.connect(dsn(port)))
            break
        except psycopg.OperationalError:
            time.sleep(0.02)
    assert len(held) == 3
    for connection in held:
        connection.close()


def log_in_when_there_is_room(port: int) -> psycopg.Connection:
    for _ in range(250):
        with suppress(psycopg.OperationalError):
            return psycopg.connect(dsn(port), autocommit=True)
        time.sleep(0.02)
    raise AssertionError("no place was given back")


def start_login(port: int) -> tuple[socket.socket, bytes]:
    """A client that begins to log in, and what it is told."""
    raw = socket.create_connection(("127.0.0.1", port), timeout=5)
    raw.sendall(b"\0\0\0\x22\0\x03\0\0user\0alice\0database\0main\0\0")
    return raw, raw.recv(1000)


def test_clients_in_their_login_take_no_place(
    engine: FakeEngine, users: FakeUsers, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(service, "PATIENT", 1000.0)
    limit = LOGGING_IN + LOCAL
    server = Server(Options(port=0, padding=0, max_connections=1), engine, users)
    with server.running() as port, ExitStack() as stack:
        held: list[socket.socket] = []
        for most in (limit - 1, limit):
            while len(held) < most:  # one that has just left may still count
                raw, told = start_login(port)
                stack.callback(raw.close)
                if told.startswith(b"R"):
                    held.append(raw)
            if most < limit:
                told_late = pytest.raises(psycopg.OperationalError, match="too many connections")
                with log_in_when_there_is_room(port), told_late:
                    psycopg.connect(dsn(port))
        raw, told = start_login(port)
        raw.close()
        assert b"SFATAL\0" in told
        assert b"C53300\0" in told
        for raw in held:
            raw.close()
        log_in_when_there_is_room(port).close()


def test_a_left_client_keeps_its_place_and_thread_until_its_work_has_ended(
    engine: FakeEngine, users: FakeUsers
):
    with Server(Options(port=0, padding=0, max_connections=1), engine, users).running() as port:
        connection = psycopg.connect(dsn(port))
        connection.pgconn.send_query(b"SELECT heavy")
        assert engine.started.wait(5)
        connection.close()
        for _ in range(3):
            time.sleep(0.05)
            with pytest.raises(psycopg.OperationalError, match="too many connections"):
                psycopg.connect(dsn(port), connect_timeout=5)
        assert not engine.closed.is_set()
        engine.finish.set()
        log_in_when_there_is_room(port).close()
    assert engine.log[:5] == [
        "open alice", "prepare SELECT heavy", "run SELECT heavy", "end SELECT heavy", "close alice",
    ]  # fmt: skip


def test_cancel_interrupts_the_statement_of_the_right_session(
    connection: psycopg.Connection, engine: FakeEngine, port: int
):
    process = connection.pgconn.backend_pid
    connection.pgconn.send_query(b"SELECT slow")
    assert engine.started.wait(5)
    with socket.create_connection(("127.0.0.1", port)) as raw:
        raw.sendall(b"\0\0\0\x10\x04\xd2\x16\x2e" + process.to_bytes(4, "big") + bytes(4))
        assert raw.recv(1) == b""
    assert not engine.cancelled.is_set()
    connection.cancel_safe()
    result = next_result(connection.pgconn)
    assert result is not None
    assert result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) == b"57014"
    assert next_result(connection.pgconn) is None
    assert connection.execute("SELECT 1").fetchone() == (1,)


def test_cancel_of_nothing_does_nothing(engine: FakeEngine, users: FakeUsers, connection: psycopg.Connection):
    connection.cancel_safe()
    Server(Options(), engine, users)._service.cancel(CancelRequest(1, b"1234"))
    assert connection.execute("SELECT 1").fetchone() == (1,)
    assert not engine.cancelled.is_set()


def test_outcomes_of_charged_statements_leave_on_the_grid(engine: FakeEngine, users: FakeUsers):
    def timed(sql: bytes) -> float:
        start = time.monotonic()
        connection.pgconn.exec_(sql)
        return time.monotonic() - start

    options = Options(port=0, padding=PADDING)
    with Server(options, engine, users).running() as port, psycopg.connect(dsn(port)) as connection:
        assert timed(b"SELECT 1") < PADDING
        assert timed(b"SELECT nothing") < PADDING
        assert PADDING <= timed(b"SELECT region") < 2 * PADDING
        assert PADDING <= timed(b"SELECT dear") < 2 * PADDING
        threading.Timer(1.2 * PADDING, connection.cancel_safe).start()
        assert 2 * PADDING <= timed(b"SELECT heavy") < 4 * PADDING
        assert not engine.finish.is_set()


def certificate(folder: Path) -> tuple[Path, Path]:
    paths = folder / "server.crt", folder / "server.key"
    made = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost "
        f"-addext subjectAltName=DNS:localhost -keyout {paths[1]} -out {paths[0]}"
    )
    subprocess.run(made.split(), check=True, capture_output=True, timeout=20)
    return paths


@pytest.mark.external
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_tls(tmp_path: Path, engine: FakeEngine, users: FakeUsers):
    crt, key = certificate(tmp_path)
    options = Options(port=0, padding=0, tls_certificate=crt, tls_key=key)
    with Server(options, engine, users).running() as port:
        tls = dsn(port, host="localhost", sslmode="verify-full", sslrootcert=str(crt))
        with psycopg.connect(tls) as connection:
            assert connection.pgconn.ssl_in_use
            assert len(connection.execute("SELECT big").fetchall()) == 30_000
            connection.pgconn.send_query(b"SELECT slow")
            assert engine.started.wait(5)
            connection.cancel_safe()
            assert next_result(connection.pgconn) is not None
            assert next_result(connection.pgconn) is None
            connection.rollback()
        with psycopg.connect(dsn(port, sslmode="disable")) as connection:
            assert not connection.pgconn.ssl_in_use
        with socket.create_connection(("127.0.0.1", port)) as raw:
            raw.sendall(b"\0\0\0\x08\x04\xd2\x16\x2f" + b"\0\0\0\x08\x04\xd2\x16\x2fearly")
            assert b"C08P01" in raw.recv(1000)
        with socket.create_connection(("127.0.0.1", port)) as raw:
            raw.sendall(b"\0\0\0\x08\x04\xd2\x16\x2f")
            assert raw.recv(1) == b"S"
            raw.sendall(b"no handshake" * 100)
            assert b"C0" not in raw.recv(1000)


class Chosen(FakeUsers):
    """Of whom bob administers."""

    def roles(self, name: str) -> frozenset[str]:
        return frozenset({"admin"}) if name == "bob" else super().roles(name)


@pytest.mark.external
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
@pytest.mark.parametrize("mode", ["require", "disable"])
def test_where_all_places_are_taken_administrators_get_in(tmp_path: Path, engine: FakeEngine, mode: str):
    crt, key = certificate(tmp_path)
    options = Options(port=0, padding=0, tls_certificate=crt, tls_key=key, max_connections=2)
    with Server(options, engine, Chosen()).running() as port, ExitStack() as stack:
        bob = {"user": "bob", "password": "bob", "sslmode": mode}
        for _ in range(2):
            stack.enter_context(psycopg.connect(dsn(port, sslmode=mode)))
        with pytest.raises(psycopg.OperationalError, match="too many connections"):
            psycopg.connect(dsn(port, sslmode=mode))
        for _ in range(RESERVED):
            stack.enter_context(psycopg.connect(dsn(port, **bob)))
        with pytest.raises(psycopg.OperationalError, match="too many connections"):
            psycopg.connect(dsn(port, **bob))


def test_tls_is_refused_where_there_is_no_certificate(port: int):
    with pytest.raises(psycopg.OperationalError, match="SSL"):
        psycopg.connect(dsn(port, sslmode="require"))


def test_reasons_not_to_start_are_one_line(tmp_path: Path, engine: FakeEngine, users: FakeUsers, port: int):
    missing, broken = tmp_path / "missing.crt", tmp_path / "broken.crt"
    broken.write_text("no certificate")
    for options, reason in (
        (Options(port=port), f"cannot listen on 127.0.0.1:{port}: Address already in use"),
        (
            Options(port=0, tls_certificate=missing),
            f"cannot use TLS certificate {missing}: No such file or directory",
        ),
        (
            Options(port=0, tls_certificate=broken),
            f"cannot use TLS certificate {broken}: expected a certificate, and in server.tls_key its key",
        ),
    ):
        with pytest.raises(StartupError) as caught, Server(options, engine, users).running():
            pass
        assert str(caught.value) == reason


@pytest.mark.parametrize("sql", [b"SELECT slow", b"SELECT heavy"])
def test_a_stopping_server_says_goodbye(engine: FakeEngine, users: FakeUsers, sql: bytes):
    server = Server(Options(port=0, padding=0), engine, users)
    with server.running() as port:
        idle, busy = (psycopg.connect(dsn(port)) for _ in range(2))
        busy.pgconn.send_query(sql)
        assert engine.started.wait(5)
    with pytest.raises(psycopg.errors.AdminShutdown):
        idle.execute("SELECT 1")
    result = next_result(busy.pgconn)
    assert result is not None
    assert result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) == b"57P01"
    assert engine.log.count("close alice") == 2
    idle.close()
    busy.close()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(dsn(port))


SERVE = """
from tests.fake_engine import FakeEngine, FakeUsers
from dpproxy.server.listener import Options, Server
import sys, threading
engine = FakeEngine()
threading.Thread(target=lambda: (sys.stdin.readline(), engine.finish.set()), daemon=True).start()
options = Options(port=0, padding=0, drain=float(sys.argv[1]))
Server(options, engine, FakeUsers()).run(lambda port: print(port, flush=True))
print(" ".join(engine.log))
"""
"""A line to it lets ``SELECT heavy`` finish."""


@contextmanager
def process(drain: float) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A server in a process of its own, and its port."""
    root = Path(__file__).parents[2]
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", SERVE, str(drain)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=root) as found:
        assert found.stdout is not None
        try:
            yield found, int(found.stdout.readline())
        finally:
            found.kill()


def refused(port: int) -> str | None:
    """The SQLSTATE that a new client is told; None where nobody listens."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as raw:
            raw.sendall(b"\0\0\0\x22\0\x03\0\0user\0alice\0database\0main\0\0")
            found = re.search(rb"\0C(.....)\0", raw.recv(1000))
            return None if found is None else found[1].decode()
    except ConnectionRefusedError:
        return None


def next_state(connection: psycopg.Connection) -> str:
    """Of the next result: its SQLSTATE, or how it went."""
    result = next_result(connection.pgconn)
    assert result is not None
    state = result.error_field(psycopg.pq.DiagnosticField.SQLSTATE)
    return psycopg.pq.ExecStatus(result.status).name if state is None else state.decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_running_statements_end_and_nobody_in(number: signal.Signals):
    with process(60.0) as (server, port):
        idle, block, busy, login = (psycopg.connect(dsn(port)) for _ in range(4))
        block.execute("SELECT 1")
        login.close()
        raw, _ = start_login(port)
        busy.pgconn.send_query(b"SELECT heavy")
        time.sleep(0.3)
        begun = time.monotonic()
        server.send_signal(number)
        for left in (idle, block):
            assert next_state_of_idle(left) == "57P01"
        assert b"C57P03" in raw.recv(1000)
        raw.close()
        assert refused(port) == "57P03"
        assert time.monotonic() - begun < 5
        assert server.stdin is not None
        server.stdin.write("\n")
        server.stdin.flush()
        assert next_state(busy) == "TUPLES_OK"
        assert next_result(busy.pgconn) is None
        with pytest.raises(psycopg.OperationalError):  # 57P01, where it was not read by now
            busy.execute("SELECT 1")
        assert server.wait(10) == 0
        assert server.stdout is not None
        assert "end SELECT heavy" in server.stdout.read()
        assert refused(port) is None
        for connection in (idle, block, busy):
            connection.close()


def next_state_of_idle(connection: psycopg.Connection) -> str:
    """What an idle client finds in its socket."""
    with socket.socket(fileno=os.dup(connection.fileno())) as raw:
        raw.settimeout(5)
        said = b""
        while data := raw.recv(1000):
            said += data
    found = re.search(rb"SFATAL\0VFATAL\0C(.....)\0", said)
    assert found is not None, said
    return found[1].decode()


@pytest.mark.parametrize(("drain", "signals"), [(0.3, 1), (60.0, 2)])
def test_what_takes_longer_is_cancelled_and_so_is_all_at_the_second_signal(drain: float, signals: int):
    with process(drain) as (server, port):
        busy, other = psycopg.connect(dsn(port)), psycopg.connect(dsn(port))
        busy.pgconn.send_query(b"SELECT heavy")
        other.pgconn.send_query(b"SELECT slow")
        time.sleep(0.3)
        begun = time.monotonic()
        for _ in range(signals):
            server.send_signal(signal.SIGTERM)
            time.sleep(0.1)
        assert [next_state(busy), next_state(other)] == ["57P01", "57P01"]
        assert server.wait(10) == 0
        assert min(drain, 0.1) <= time.monotonic() - begun < 8
        assert server.stdout is not None
        assert "end SELECT heavy" not in server.stdout.read()
        busy.close()
        other.close()


def test_silent_sockets_lock_nobody_out(users: FakeUsers):
    with ExitStack() as held:
        port = held.enter_context(
            Server(Options(port=0, padding=0, max_connections=2), FakeEngine(), users).running()
        )
        silent = [
            held.enter_context(socket.create_connection(("127.0.0.1", port)))
            for _ in range(3 * (LOGGING_IN * 2 + LOCAL))
        ]
        for _ in range(3):
            with psycopg.connect(dsn(port), connect_timeout=10) as connection:
                connection.execute("SELECT 1")
        silent[0].settimeout(10)
        with suppress(ConnectionResetError):
            assert silent[0].recv(1) == b""  # the oldest made room


def test_failed_logins_are_logged_audited_and_slowed(
    port: int, engine: FakeEngine, caplog: pytest.LogCaptureFixture
):
    begun = time.monotonic()
    for _ in range(3):
        with pytest.raises(psycopg.OperationalError, match="authentication failed"):
            psycopg.connect(dsn(port, password="wrong"))
    assert time.monotonic() - begun > FIRST + 2 * FIRST * 0.9
    assert [line for line in engine.log if line.startswith("login")] == [
        "login failed alice main 127.0.0.1"
    ] * 3
    told = [r.getMessage() for r in caplog.records if "login failed" in r.getMessage()]
    assert told == ["login failed: user 'alice', database 'main', from 127.0.0.1"] * 3
    with psycopg.connect(dsn(port)) as connection:  # slower, and let in: a name is never locked out
        connection.execute("SELECT 1")


def test_a_session_ends_with_its_user(engine: FakeEngine):
    own = FakeUsers()
    with (
        Server(Options(port=0, padding=0), engine, own).running() as port,
        psycopg.connect(dsn(port), autocommit=True) as alice,
        psycopg.connect(dsn(port, user="bob", password="bob"[::-1]), autocommit=True) as bob,
    ):
        alice.execute("SELECT 1")
        del own.secrets["alice"]
        with pytest.raises(psycopg.OperationalError, match="administrator command"):
            alice.execute("SELECT 1")
        bob.execute("SELECT 1")
        del own.secrets["bob"]
        end = time.monotonic() + 30
        while "close bob" not in engine.log and time.monotonic() < end:  # an idle one, too
            time.sleep(0.05)
        assert "close bob" in engine.log
