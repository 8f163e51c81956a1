"""Many rows by real drivers: in parts, cancelled, timed out, left alone and lost midway."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tests.assurance.raw import Raw
from tests.bench.soak import family, reading
from tests.proxies import Proxy, spawned, write_home

ROWS = 300_000
DDL = (
    f"""CREATE TABLE p AS SELECT i AS id, i % 97 AS n, 'town ' || i % 1000 AS town, i / 7.0 AS x,
      DATE '2020-01-01' + CAST(i % 1000 AS INTEGER) AS d, i % 3 = 0 AS b FROM range({ROWS}) AS r(i)""",
    "CREATE TABLE h AS SELECT i AS id FROM range(3000000) AS r(i)",
    "CREATE TABLE q AS SELECT i AS n FROM range(3) AS r(i)",
)
POLICY = """
ALTER TABLE p SET PRIVACY PUBLIC;
ALTER TABLE h SET PRIVACY PUBLIC;
ALTER TABLE q SET PRIVACY PUBLIC;
GRANT SELECT ON p, h, q TO analyst;
"""
pytestmark = pytest.mark.external
Connection = psycopg.Connection[tuple[object, ...]]


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with spawned(write_home(tmp_path_factory.mktemp("home"), DDL, POLICY)) as found:
        yield found


@pytest.fixture
def connection(proxy: Proxy) -> Iterator[Connection]:
    with psycopg.connect(proxy.dsn(), autocommit=True) as found:
        yield found


def soon(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 15
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


def processes(proxy: Proxy) -> list[int]:
    assert proxy.process is not None
    return family(proxy.process.pid)


def seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("binary", [False, True])
def test_every_row_comes_once(connection: Connection, *, binary: bool):
    cursor = connection.execute("SELECT * FROM p", binary=binary)
    rows = cursor.fetchall()
    assert cursor.statusmessage == f"SELECT {ROWS}"
    assert [row[0] for row in rows] == list(range(ROWS))
    assert rows[7][1:3] == (7, "town 7")


def test_a_cursor_of_the_server_reads_in_parts(connection: Connection):
    with connection.transaction(), connection.cursor("c") as cursor:
        cursor.itersize = 5_000
        cursor.execute("SELECT id FROM p")
        assert [n for (n,), _ in zip(cursor, range(12_000), strict=False)] == list(range(12_000))
        cursor.scroll(100)
        assert cursor.fetchone() == (15_100,)
    with connection.transaction():  # GDAL asks so for the columns, before it reads
        connection.execute("DECLARE c CURSOR FOR SELECT id, town FROM p")
        for forward in ("0 IN", "RELATIVE 0 FROM"):
            cursor = connection.execute(f"FETCH {forward} c".encode())
            assert cursor.description is not None
            assert ([column.name for column in cursor.description], cursor.fetchall()) == (["id", "town"], [])
        assert connection.execute("FETCH 1 c").fetchall() == [(0, "town 0")]
        assert len(connection.execute("FETCH ALL c").fetchall()) == ROWS - 1
        assert connection.execute("FETCH 0 c").fetchall() == []
        assert connection.execute("MOVE 0 c").statusmessage == "MOVE 0"
        connection.execute("DECLARE d CURSOR FOR SELECT id FROM p")
        connection.execute("FETCH d")
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState), connection.transaction():
            connection.execute("FETCH 0 d")
    with connection.transaction(), connection.cursor("c", scrollable=True) as cursor:
        cursor.execute("SELECT id FROM p")
        cursor.scroll(ROWS - 1, mode="absolute")
        assert cursor.fetchone() == (ROWS - 1,)
        cursor.scroll(5, mode="absolute")
        assert cursor.fetchone() == (5,)


def test_copy_is_read_as_it_comes(connection: Connection):
    with connection.cursor().copy("COPY (SELECT id, town FROM p) TO STDOUT") as parts:
        lines = b"".join(map(bytes, parts)).splitlines()
    assert lines == [b"%d\ttown %d" % (n, n % 1000) for n in range(ROWS)]
    with connection.cursor().copy("COPY p TO STDOUT (FORMAT binary)") as parts:
        assert sum(1 for _ in parts.rows()) == ROWS


def test_a_held_cursor_outlives_its_transaction(connection: Connection):
    with connection.transaction():
        connection.execute("DECLARE h CURSOR WITH HOLD FOR SELECT id FROM p")
        assert connection.execute("FETCH 2 FROM h").fetchall() == [(0,), (1,)]
    connection.execute("SELECT 1")
    assert connection.execute("FETCH 2 FROM h").fetchall() == [(2,), (3,)]
    moved = connection.execute(f"MOVE {ROWS - 5} IN h")
    assert moved.statusmessage == f"MOVE {ROWS - 5}"
    assert connection.execute("FETCH ALL FROM h").fetchall() == [(ROWS - 1,)]
    connection.execute("CLOSE h")


HUGE = "SELECT * FROM h CROSS JOIN q"
"""More rows than any socket holds."""


def silent(proxy: Proxy) -> Raw:
    """A client that asks for more than anybody holds, and takes none of it yet."""
    client = Raw(proxy)
    client.send("Q", HUGE.encode() + b"\0")
    assert client._message().kind == "T"
    return client


def test_a_client_that_takes_nothing_stops_the_engine(proxy: Proxy, connection: Connection):
    with silent(proxy):
        time.sleep(0.5)
        before = [seconds(one) for one in processes(proxy)]
        memory = reading(processes(proxy)[0], 0.0).memory
        time.sleep(1.0)
        used = sum(seconds(one) for one in processes(proxy)) - sum(before)
        assert used < 0.5  # to make all the rows would take several seconds of each of two cores
        now = reading(processes(proxy)[0], 0.0)
        assert now.memory < memory + 30_000_000
        assert connection.execute("SELECT count(*) FROM q").fetchone() == (3,)
        files = reading(processes(proxy)[0], 0.0).files
    soon(lambda: reading(processes(proxy)[0], 0.0).files < files)


@pytest.mark.parametrize("end", ["close", "cancel", "timeout", "kill"])
def test_a_stream_ends_at_once_and_cleanly(proxy: Proxy, end: str):
    """Midway, while the client reads slowly; the next statement has its answer."""
    with psycopg.connect(proxy.dsn(), autocommit=True) as connection:
        before = processes(proxy)[1:]
        if end == "timeout":
            connection.execute("SET statement_timeout = '1s'")
        connection.pgconn.send_query(HUGE.encode())
        connection.pgconn.set_single_row_mode()
        assert connection.pgconn.get_result() is not None
        if end == "close":
            connection.pgconn.finish()
        elif end == "kill":
            os.kill(before[0], signal.SIGKILL)
        elif end == "cancel":
            connection.cancel_safe()
        begun, state = time.monotonic(), None
        while end != "close" and (result := connection.pgconn.get_result()) is not None:
            state = result.error_field(psycopg.pq.DiagnosticField.SQLSTATE)
        assert time.monotonic() - begun < 20
        assert state == {"close": None, "kill": b"XX000"}.get(end, b"57014")
        if end != "close":
            connection.execute("SET statement_timeout = 0")
            assert connection.execute("SELECT count(*) FROM q").fetchone() == (3,)
    soon(lambda: idle(proxy))


def idle(proxy: Proxy) -> bool:
    """Whether neither the proxy nor the engine does anything."""
    before = [seconds(one) for one in processes(proxy)]
    time.sleep(0.3)
    return sum(seconds(one) for one in processes(proxy)) - sum(before) < 0.1


def test_a_closed_portal_frees_the_engine_at_once(proxy: Proxy):
    with Raw(proxy) as client:
        client.query("SELECT 1")
        files = reading(processes(proxy)[0], 0.0).files
        for round_ in range(20):
            client.send("P", b"\0" + HUGE.encode() + b"\0\0\0")
            client.send("B", b"p\0\0\0\0\0\0\0\0")
            client.send("E", b"p\0" + (100).to_bytes(4, "big"))
            if round_ % 2:
                client.send("C", b"Pp\0")
            client.send("S")
            kinds = "".join(message.kind for message in client.until_ready())
            assert kinds == "12" + "D" * 100 + "s" + ("3" if round_ % 2 else "") + "Z"
        soon(lambda: reading(processes(proxy)[0], 0.0).files <= files + 4)
    soon(lambda: idle(proxy))


def test_an_error_in_a_stream_skips_to_sync(proxy: Proxy):
    with Raw(proxy) as client:
        late = f"SELECT CASE WHEN id > {ROWS - 100} THEN d + CAST(id AS integer) * 100000 ELSE d END FROM p"
        client.send("P", b"\0" + late.encode() + b"\0\0\0")
        client.send("B", b"\0\0\0\0\0\0\0\0")
        client.send("E", b"\0" + bytes(4))
        client.send("E", b"\0" + bytes(4))
        client.send("S")
        said = client.until_ready()
        kinds = "".join(message.kind for message in said)
        assert kinds.strip("D") == "12" + kinds[2:-2] + "EZ"
        assert kinds.count("E") == 1
        assert said[-2].fields()["C"] in ("22003", "22012")
        assert client.value("SELECT count(*) FROM q") == "3"


def test_memory_is_flat(proxy: Proxy, connection: Connection):
    """Both processes, for a hundred times more rows than fill a portion."""

    def took(rows: int) -> int:
        for one in processes(proxy):
            Path(f"/proc/{one}/clear_refs").write_text("5")
        held = reading(processes(proxy)[0], 0.0).memory
        with connection.cursor().copy(f"COPY (SELECT * FROM h LIMIT {rows}) TO STDOUT") as parts:
            assert sum(len(part) > 0 for part in parts) == rows
        peaks = [Path(f"/proc/{one}/status").read_text().partition("VmHWM:")[2] for one in processes(proxy)]
        return sum(int(peak.split()[0]) * 1024 for peak in peaks) - held

    took(300_000)
    small, large = took(300_000), took(3_000_000)
    assert large < small + 25_000_000
