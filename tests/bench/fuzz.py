"""``python -m tests.bench.fuzz [--minutes 10] [--connections 8] [--connects 10000] [--seed N]``: hostile bytes.

Conversations that make sense are cut, flipped, doubled, mixed and sent with lengths that lie, to a proxy in a process
of its own, before a login and after it, by clients that hang up when they like; then so many connections come and go.
Status 1 where the proxy tells of a fault of its own, in an answer or in its log, where it stops to answer others, or
where memory, files or threads stay taken.
"""

import argparse
import os
import random
import socket
import struct
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg

from tests.assurance.raw import Raw
from tests.bench.soak import Reading, Report, reading, say
from tests.proxies import Proxy, spawn, write_home

DDL = (
    "CREATE TABLE people AS SELECT i AS id, 20 + i % 60 AS age, ['n', 's'][1 + i % 2] AS town FROM range(500) AS r(i)",
    """CREATE TABLE towns AS SELECT 'town ' || i AS name, i AS n, i / 8.0 AS x, i % 2 = 0 AS b
      FROM range(200000) AS r(i)""",
)
POLICY = """
ALTER TABLE people SET PRIVACY KEY (id);
ALTER TABLE people SET PRIVACY CEILING EPSILON 1000000;
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110;
ALTER TABLE people ALTER COLUMN town SET PRIVACY DOMAIN IN ('n', 's');
ALTER TABLE towns SET PRIVACY PUBLIC;
CREATE PRIVACY BUDGET lab LIMIT EPSILON 1000000 MAX EPSILON 1 DEFAULT EPSILON 0.1;
GRANT SELECT ON people TO analyst WITH PRIVACY BUDGET lab;
GRANT SELECT ON towns TO analyst;
"""
USERS = {"ann": ["analyst"]}
WARM = 0.4
"""The share of the time in which memory may grow: each thread has its own, and caches fill."""
GROWTH = 64 << 20
"""Bytes that the processes may grow by afterwards."""
SPARE = 24
"""Files and threads that may stay: lanes and threads are kept for the next statement."""
SILENCE = 0.05
"""Seconds without a byte after which a client goes on."""
OWN_FAULTS = (b"CXX000\0", b"CXX001\0")

Message = tuple[bytes, bytes]
"""Type and body."""


def text(sql: str) -> bytes:
    return sql.encode() + b"\0"


def parse(sql: str, name: str = "", types: Sequence[int] = ()) -> Message:
    return b"P", text(name) + text(sql) + struct.pack(f"!H{len(types)}I", len(types), *types)


def bind(values: Sequence[bytes | None] = (), portal: str = "", name: str = "", form: int = 0) -> Message:
    given = b"".join(struct.pack("!i", -1) if v is None else struct.pack("!i", len(v)) + v for v in values)
    head = text(portal) + text(name) + struct.pack("!HH", 1, form) + struct.pack("!H", len(values))
    return b"B", head + given + struct.pack("!HH", 1, form)


def execute(limit: int = 0, portal: str = "") -> Message:
    return b"E", text(portal) + struct.pack("!I", limit)


SYNC: Message = (b"S", b"")
COUNT = "SELECT town, count(*) FROM people GROUP BY town"
CONVERSATIONS: tuple[tuple[Message, ...], ...] = (
    ((b"Q", text("SELECT 1; SHOW server_version; SELECT count(*) FROM towns")),),
    ((b"Q", text(COUNT)), (b"Q", text("SELEC")), (b"Q", text(""))),
    ((b"Q", text("SELECT * FROM towns")), (b"Q", text("SELECT * FROM towns ORDER BY n LIMIT 3"))),
    ((b"Q", text("COPY (SELECT name, n FROM towns LIMIT 5000) TO STDOUT (FORMAT csv, HEADER)")),),
    ((b"Q", text("COPY towns TO STDOUT (FORMAT binary)")), (b"d", b"rows"), (b"c", b""), (b"f", text("no"))),
    (
        (b"Q", text("BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT * FROM towns; FETCH 10 FROM c")),
        (b"Q", text("MOVE 30000 IN c; FETCH ALL FROM c")),
        (b"Q", text("COMMIT; CLOSE c")),
    ),
    (parse(COUNT), (b"D", b"S\0"), bind(), (b"D", b"P\0"), execute(), SYNC),
    (
        parse("SELECT * FROM towns WHERE n > $1 AND name <> $2", "one", (20, 25)),
        bind((struct.pack("!q", 7), b"town 9"), "p", "one", 1),
        execute(10, "p"), (b"H", b""), execute(5000, "p"), (b"C", b"Pp\0"), execute(1, "p"), SYNC,
        (b"C", b"Sone\0"), SYNC,
    ),
    (parse("SELECT n FROM towns WHERE n = ANY ($1)", "", (1016,)), bind((b"{1,2,3}",)), execute(), SYNC),
    (parse("SELECT nothing FROM towns"), bind(), execute(), SYNC, (b"Q", text("SELECT 1"))),
    ((b"Q", text("SELECT relname, relkind FROM pg_class ORDER BY 1")), (b"Q", text("SELECT * FROM dp.budgets"))),
    ((b"Q", text("SET statement_timeout = '1s'; SET x.y = 'z'; SHOW x.y; RESET ALL; DISCARD ALL")),),
    ((b"Q", text("PREPARE q (int) AS SELECT n FROM towns WHERE n = $1")), (b"Q", text("EXECUTE q (4)"))),
    ((b"Q", text("EXPLAIN (PRIVACY) " + COUNT)), (b"X", b"")),
)  # fmt: skip
GREETING = (
    struct.pack("!II", 8, 80877103), struct.pack("!II", 8, 80877104), struct.pack("!IIII", 16, 80877102, 7, 9),
    struct.pack("!II", 41, 196608) + b"user\0ann\0database\0main\0opt\0v\0\0" + b"\0" * 3,
    struct.pack("!II", 33, 196610) + b"user\0ann\0database\0main\0\0",
    b"p" + struct.pack("!I", 54) + b"SCRAM-SHA-256\0" + struct.pack("!I", 32) + b"n,,n=,r=0123456789012345678901234",
    b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
)  # fmt: skip


# --- bytes


def framed(message: Message) -> bytes:
    return message[0] + struct.pack("!I", len(message[1]) + 4) + message[1]


def flipped(data: bytes, chance: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(chance.randint(1, 6)):
        if found:
            found[chance.randrange(len(found))] = chance.choice(
                (0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256))
            )
    return bytes(found)


def cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randint(0, len(data))]


def gap(data: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    return data[:at] + data[at + chance.randint(1, 12) :]


def stuffed(data: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    return data[:at] + chance.randbytes(chance.choice((1, 4, 60, 5000))) + data[at:]


def doubled(data: bytes, chance: random.Random) -> bytes:
    at, size = chance.randint(0, len(data)), chance.randint(1, 40)
    return data[: at + size] + data[at:]


def longer(data: bytes, chance: random.Random) -> bytes:
    """A length that lies, of a message or of something in it."""
    if len(data) < 5:
        return data
    at = chance.choice((1, chance.randint(0, len(data) - 4)))
    lie = chance.choice((0, 3, 4, 5, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 24, chance.getrandbits(16)))
    return data[:at] + struct.pack("!I", lie) + data[at + 4 :]


def same(data: bytes, _: random.Random) -> bytes:
    return data


CHANGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    same, same, flipped, flipped, cut, gap, stuffed, doubled, longer,
)  # fmt: skip


def conversation(chance: random.Random) -> bytes:
    """The messages of one or two conversations, some changed, some in another order."""
    messages = [
        m for _ in range(chance.randint(1, 2)) for m in CONVERSATIONS[chance.randrange(len(CONVERSATIONS))]
    ]
    if chance.random() < 0.3:
        chance.shuffle(messages)
    sent = [chance.choice(CHANGES)(framed(m), chance) for m in messages]
    return chance.choice(CHANGES)(b"".join(sent), chance)


def greeting(chance: random.Random) -> bytes:
    parts = [chance.choice(GREETING) for _ in range(chance.randint(1, 3))]
    return b"".join(chance.choice(CHANGES)(part, chance) for part in parts)


# --- clients


def pieces(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """As one, or cut at any places."""
    while data:
        size = len(data) if chance.random() < 0.5 else chance.randint(1, len(data))
        yield data[:size]
        data = data[size:]


def exchange(raw: socket.socket, data: bytes, chance: random.Random, report: Report) -> None:
    """Send, read what comes until there is silence, hang up in one of several ways."""
    said = b""
    raw.settimeout(5.0)
    with suppress(OSError):
        for piece in pieces(data, chance):
            raw.sendall(piece)
        raw.settimeout(SILENCE)
        while chance.random() < 0.95 and (more := raw.recv(65536)):
            said = said[-100:] + more
            if any(fault in said for fault in OWN_FAULTS):
                report.fault(f"an answer tells of a fault: {data!r}"[:2000])
    if chance.random() < 0.3:
        with suppress(OSError):
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def hostile(proxy: Proxy, seed: int, until: float, report: Report) -> None:
    """One client after another."""
    chance = random.Random(seed)
    while time.monotonic() < until:
        if chance.random() < 0.3:
            with suppress(OSError), socket.create_connection(("127.0.0.1", proxy.port), timeout=5) as raw:
                exchange(raw, greeting(chance), chance, report)
            report.add("before the login")
            continue
        try:
            with Raw(proxy) as client:
                exchange(client._socket, conversation(chance), chance, report)
        except OSError as error:
            report.fault(f"a login failed: {error}")
        report.add("after the login")


def honest(proxy: Proxy, until: float, report: Report) -> None:
    """Somebody who is to notice nothing."""
    while time.monotonic() < until:
        try:
            with psycopg.connect(proxy.dsn(), autocommit=True, connect_timeout=20) as connection:
                for _ in range(20):
                    if connection.execute("SELECT n FROM towns WHERE n = 7").fetchall() != [(7,)]:
                        report.fault("a wrong answer")
                    time.sleep(0.02)
        except psycopg.Error as error:
            report.fault(f"an honest client: {error}".splitlines()[0])
        report.add("honest")


def come_and_go(proxy: Proxy, connects: int, report: Report) -> None:
    """So many connections in a row, of which few say anything and fewer log in."""
    startup = struct.pack("!II", 33, 196608) + b"user\0ann\0database\0main\0\0"
    for number in range(connects):
        if number % 50 == 0:
            Raw(proxy).close()
        else:
            with socket.create_connection(("127.0.0.1", proxy.port), timeout=20) as raw:
                raw.sendall((b"", startup, startup[:9], GREETING[0])[number % 4])
                if number % 3 == 0 and number % 4:
                    with suppress(OSError):
                        raw.settimeout(SILENCE)
                        raw.recv(100)
        report.add("came and went")


# --- the whole


@contextmanager
def watched(file: Path, report: Report) -> Iterator[Proxy]:
    """A proxy whose log is read: it has nothing to say."""
    proxy = spawn(file)
    assert proxy.process is not None
    stream, said = proxy.process.stderr, proxy.process.stdout
    assert stream is not None
    assert said is not None
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(stream), daemon=True)
    reader.start()
    try:
        yield proxy
    finally:
        if proxy.process.poll() is None:
            proxy.process.terminate()
        status = proxy.process.wait(60)
        reader.join()
        stream.close()
        said.close()
        if status:
            report.fault(f"exit status {status}")
        for line in lines:
            if "prepar" not in line:  # a table, as at every start
                report.fault(f"the log: {line.rstrip()}")


def left_behind(before: Reading, after: Reading) -> list[str]:
    """What is held that was not before, beyond what is kept for the next."""
    found = [
        f"{after.memory - before.memory} bytes more" if after.memory > before.memory + GROWTH else "",
        f"{after.files - before.files} files more" if after.files > before.files + SPARE else "",
        f"{after.threads - before.threads} threads more" if after.threads > before.threads + SPARE else "",
    ]
    return [one for one in found if one]


def settled(process: int, before: Reading) -> Reading:
    """What is held once those who left are forgotten."""
    until = time.monotonic() + 15
    while left_behind(before, now := reading(process, 0.0)) and time.monotonic() < until:
        time.sleep(0.2)
    return now


def fuzz(folder: Path, minutes: float, connections: int, connects: int, seed: int) -> Report:
    """Let them at a proxy of their own."""
    report = Report()
    with watched(write_home(folder, DDL, POLICY, users=USERS, padding="1ms"), report) as proxy:
        assert proxy.process is not None
        process = proxy.process.pid
        begun = time.monotonic()
        crowd(proxy, connections, begun + minutes * 60 * WARM, seed, report)
        before = settled(process, reading(process, 0.0))
        crowd(proxy, connections, begun + minutes * 60, seed + connections, report)
        middle = settled(process, before)
        come_and_go(proxy, connects, report)
        after = settled(process, middle)
        report.readings += [before, middle, after]
        if proxy.process.poll() is not None:
            report.fault("the proxy has ended")
        report.faults += [f"after the fuzzing: {one}" for one in left_behind(before, middle)]
        report.faults += [f"after the connections: {one}" for one in left_behind(middle, after)]
    return report


def crowd(proxy: Proxy, connections: int, until: float, seed: int, report: Report) -> None:
    with ThreadPoolExecutor(connections + 1) as pool:
        pool.submit(honest, proxy, until, report)
        for number in range(connections):
            pool.submit(hostile, proxy, seed + number, until, report)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, report; 1 where there was a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fuzz")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--connects", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    options = parser.parse_args(arguments)
    say(f"seed {options.seed}")
    with tempfile.TemporaryDirectory(prefix="dpproxy-fuzz-") as folder:
        report = fuzz(Path(folder), options.minutes, options.connections, options.connects, options.seed)
    say(", ".join(f"{name} {number}" for name, number in report.told.most_common()))
    for one in report.readings:
        sizes = " + ".join(f"{size / 2**20:.1f}" for size in one.each)
        say(f"{sizes} MiB  {one.files} files  {one.threads} threads")
    for fault, times in Counter(report.faults).most_common(10):
        say(f"FAULT {times} times: {fault}")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
