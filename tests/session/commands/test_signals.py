"""Another session is cancelled or ended by those who may, with no finer clock than a CancelRequest has."""

import time
from collections.abc import Iterator
from contextlib import suppress

import psycopg
import pytest

from dpproxy.server.listener import Server
from dpproxy.server.options import Options
from dpproxy.session.commands.signals import Signal, read_signal
from dpproxy.session.messages import Words, split
from dpproxy.values.errors import InvalidText, UndefinedFunction
from dpproxy.values.pgtypes import DATE, INT4, INT8, TEXT
from tests.fake_engine import FakeEngine, FakeUsers, next_result

PADDING = 0.5


def read(sql: str) -> Signal | None:
    words = Words(split(sql)[0])
    words.expect("select")
    return read_signal(words)


@pytest.mark.parametrize(
    ("sql", "process", "ends", "title"),
    [
        ("SELECT pg_cancel_backend(7)", 7, False, "pg_cancel_backend"),
        ("select pg_catalog.pg_terminate_backend( '7'::int , 100 ) AS Done;", 7, True, "done"),
        ('SELECT pg_cancel_backend(NULL) "Done"', None, False, "Done"),
        ("SELECT pg_cancel_backend(7::pg_catalog.int4) x", 7, False, "x"),
    ],
)
def test_a_call_is_read(sql: str, process: int | None, ends: bool, title: str):  # noqa: FBT001
    signal = read(sql)
    assert signal is not None
    assert (signal.process, signal.ends, signal.columns[0].name, signal.parameters) == (
        process,
        ends,
        title,
        (),
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity",
        "SELECT pg_cancel_backend(7), 1",
        "SELECT pg_cancel_backend(7) WHERE false",
        "SELECT pg_cancel_backend('seven')",
        "SELECT pg_cancel_backend(-7)",
        "SELECT my.pg_cancel_backend(7)",
        "SELECT 'pg_cancel_backend(7)'",
        "SELECT 1",
    ],
)
def test_all_else_is_the_engines(sql: str):
    assert read(sql) is None


def test_the_process_may_be_a_parameter():
    signal = read("SELECT pg_cancel_backend($1)")
    assert signal is not None
    sent: list[tuple[int, bool]] = []

    def send(process: int, ends: bool) -> bool:  # noqa: FBT001
        sent.append((process, ends))
        return True

    assert signal.typed(()).parameters == signal.typed((0,)).parameters == (INT4,)
    assert signal.typed((INT8.oid,)).parameters == (INT8,)
    assert signal.run(send, (7,)).rows == ((True,),)
    assert signal.typed((TEXT.oid,)).run(send, ("8",)).rows == ((True,),)
    assert signal.run(send, (None,)).rows == ((None,),)
    assert sent == [(7, False), (8, False)]
    with pytest.raises(InvalidText):
        signal.run(send, ("eight",))
    with pytest.raises(UndefinedFunction):
        signal.typed((DATE.oid,))


def test_what_does_not_exist_is_told_by_a_warning_as_postgres_does():
    signal = read("SELECT pg_terminate_backend(7)")
    assert signal is not None
    answer = signal.run(lambda _process, _ends: False, ())
    assert answer.rows == ((False,),)
    assert [(n.severity, n.message) for n in answer.notices] == [
        ("WARNING", "PID 7 is not a PostgreSQL backend process")
    ]


# --- with clients


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def port(engine: FakeEngine) -> Iterator[int]:
    with Server(Options(port=0, padding=PADDING), engine, FakeUsers()).running() as found:
        yield found


def connect(port: int, user: str = "alice") -> psycopg.Connection:
    return psycopg.connect(
        host="127.0.0.1", port=port, user=user, password=user[::-1], dbname="main", autocommit=True
    )


def outcome(connection: psycopg.Connection) -> bytes | None:
    """The SQLSTATE of the result that comes next, which ends its query."""
    result = next_result(connection.pgconn)
    assert result is not None
    with suppress(psycopg.OperationalError):  # the session may have ended with it
        assert next_result(connection.pgconn) is None
    return result.error_field(psycopg.pq.DiagnosticField.SQLSTATE)


@pytest.mark.parametrize(
    ("call", "told"), [("pg_cancel_backend", b"57014"), ("pg_terminate_backend", b"57P01")]
)
@pytest.mark.parametrize("ended", [False, True])
def test_charged_work_runs_on_and_its_client_is_told_on_the_grid(
    port: int,
    engine: FakeEngine,
    call: str,
    told: bytes,
    ended: bool,  # noqa: FBT001
):
    with connect(port) as one, connect(port) as other:
        start = time.monotonic()
        if ended:
            engine.finish.set()
        one.pgconn.send_query(b"SELECT heavy")
        assert engine.started.wait(5)
        while ended and "end SELECT heavy" not in engine.log:
            time.sleep(0.005)
        sent = other.execute(f"SELECT {call}({one.info.backend_pid})".encode()).fetchone()
        answered = time.monotonic() - start
        assert sent == (True,)
        assert outcome(one) == told
        # The first point of the grid after the signal, whether the work had ended by then or not.
        assert answered < PADDING <= time.monotonic() - start < 2 * PADDING
        assert "cancel" not in engine.log
        engine.finish.set()


def test_what_costs_nothing_is_interrupted(port: int, engine: FakeEngine):
    with connect(port) as one, connect(port) as other:
        one.pgconn.send_query(b"SELECT slow")
        assert engine.started.wait(5)
        assert other.execute("SELECT pg_cancel_backend(%s)", (one.info.backend_pid,)).fetchone() == (True,)
        assert outcome(one) == b"57014"
        assert one.execute("SELECT 1").fetchone() == (1,)


def test_a_silent_session_is_ended_and_a_pipeline_stops(port: int):
    with connect(port) as other:
        silent = connect(port)
        other.execute("SELECT pg_terminate_backend(%s)", (silent.info.backend_pid,))
        with pytest.raises(psycopg.errors.AdminShutdown, match="due to administrator command"):
            silent.execute("SELECT 1")
        assert silent.broken
        both = connect(port)
        sql = f"SELECT pg_terminate_backend({both.info.backend_pid}); SELECT 1"
        with pytest.raises(psycopg.errors.AdminShutdown):
            both.execute(sql.encode())
        assert other.execute("SELECT 1").fetchone() == (1,)


def test_another_users_session_is_left_alone_and_not_told_from_none(port: int, engine: FakeEngine):
    with connect(port) as one, connect(port, "bob") as other:
        one.pgconn.send_query(b"SELECT slow")
        assert engine.started.wait(5)
        told: list[tuple[str, str | None]] = []
        other.add_notice_handler(lambda notice: told.append((notice.sqlstate, notice.message_primary)))
        for call in ("pg_cancel_backend", "pg_terminate_backend"):
            for process in (one.info.backend_pid, 7_000_000):
                assert other.execute(f"SELECT {call}({process})".encode()).fetchone() == (False,)
                warned = f"PID {process} is not a PostgreSQL backend process"
                assert told.pop() == ("01000", warned)
        assert "cancel" not in engine.log
        one.cancel_safe()
        assert outcome(one) == b"57014"


def test_an_administrator_may_stop_everybody(port: int, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch):
    roles = {"bob": frozenset({"admin"})}
    monkeypatch.setattr(FakeUsers, "roles", lambda _self, name: roles.get(name, frozenset()))
    with connect(port) as one, connect(port, "bob") as admin:
        one.pgconn.send_query(b"SELECT slow")
        assert engine.started.wait(5)
        assert admin.execute("SELECT pg_cancel_backend(%s)", (one.info.backend_pid,)).fetchone() == (True,)
        assert outcome(one) == b"57014"
        terminated = one.execute("SELECT pg_terminate_backend(%s)", (admin.info.backend_pid,))
        assert terminated.fetchone() == (False,)
        assert admin.execute("SELECT 1").fetchone() == (1,)


def test_a_statement_that_is_only_looked_at_signals_nobody(port: int):
    with connect(port) as one, connect(port) as other:
        result = other.pgconn.prepare(b"p", f"SELECT pg_terminate_backend({one.info.backend_pid})".encode())
        assert result.status == psycopg.pq.ExecStatus.COMMAND_OK
        with pytest.raises(psycopg.errors.SyntaxError):
            other.execute(f"SELECT pg_terminate_backend({one.info.backend_pid}); FETCH".encode())
        assert one.execute("SELECT 1").fetchone() == (1,)
