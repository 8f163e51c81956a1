"""A load that costs its own process little: statements on many connections, each asked when the last one is answered.

    python -m tests.bench.load < request.json

The request is a ``Load`` as JSON, the answer a ``Waited``. libpq logs in; from then on the bytes of simple queries are
written and read here, so that it is the server's time that is measured.
"""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count

from psycopg import pq

READY = b"Z\x00\x00\x00\x05I"
"""What ends an answer: ready for a query, outside a transaction."""
ROOM = 1 << 16


@dataclass(frozen=True, slots=True)
class Load:
    """What to ask. ``{}`` in the statement becomes a number that no other statement of this load has."""

    urls: Sequence[str]
    """The connections are shared out among these."""
    sql: str
    connections: int
    seconds: float
    warm: float
    """Seconds beforehand that are not counted."""
    first: int = 1
    """The first of the numbers."""


@dataclass(frozen=True, slots=True)
class Waited:
    """Seconds of each answer of each connection; how long all took; the processor time of the client."""

    waits: Sequence[Sequence[float]]
    seconds: float
    client: float
    warm: int
    """Answers before those that are counted."""

    @property
    def answers(self) -> int:
        return sum(map(len, self.waits))

    @property
    def rate(self) -> float:
        """Answers per second."""
        return self.answers / self.seconds

    def milliseconds(self, share: float) -> float:
        """The wait that this share of all answers did not pass."""
        return 1000 * within([wait for own in self.waits for wait in own], share)

    @property
    def starved(self) -> float:
        """The worst connection's 99th percentile over its own median; infinite if one was never answered."""
        if not all(self.waits):
            return float("inf")
        return max(within(own, 0.99) / within(own, 0.5) for own in self.waits)


def within(waits: Sequence[float], share: float) -> float:
    """What this share of them did not pass."""
    ordered = sorted(waits)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Asker:
    """One connection that has logged in; libpq keeps the socket and is not asked again."""

    def __init__(self, url: str) -> None:
        self.connection = pq.PGconn.connect(url.encode())
        if self.connection.status != pq.ConnStatus.OK:
            raise ConnectionError(self.connection.get_error_message())
        self.file = self.connection.socket
        os.set_blocking(self.file, True)
        self.begun = 0.0
        self.received = b""
        self.waits: list[float] = []

    def ask(self, sql: str) -> None:
        """Send a statement."""
        text = sql.encode() + b"\0"
        self.begun, self.received = time.perf_counter(), b""
        os.write(self.file, b"Q" + (len(text) + 4).to_bytes(4, "big") + text)

    def answered(self) -> bool:
        """Read what is there; whether the answer is whole, and no error."""
        part = os.read(self.file, ROOM)
        if not part:
            raise ConnectionError("the server has closed the connection")
        self.received += part
        if not self.received.endswith(READY):
            return False
        if self.received[:1] == b"E":
            raise RuntimeError(f"refused: {self.received!r}")
        self.waits.append(time.perf_counter() - self.begun)
        return True


def run(load: Load) -> Waited:
    """Ask in this process."""
    askers = [Asker(load.urls[n % len(load.urls)]) for n in range(load.connections)]
    statements = (load.sql.format(number) for number in count(load.first))
    poll = select.epoll()
    places = {asker.file: asker for asker in askers}
    for file in places:
        poll.register(file, select.EPOLLIN)
    _drive(poll, places, statements, load.warm)
    warm = sum(len(asker.waits) for asker in askers)
    for asker in askers:
        asker.waits.clear()
    begun, before = time.perf_counter(), time.process_time()
    _drive(poll, places, statements, load.seconds)
    waited = Waited(
        [asker.waits for asker in askers], time.perf_counter() - begun, time.process_time() - before, warm
    )
    for asker in askers:
        asker.connection.finish()
    return waited


def _drive(poll: select.epoll, places: dict[int, Asker], statements: Iterator[str], seconds: float) -> None:
    """Keep every connection asking for so long, and wait until all are answered."""
    until = time.perf_counter() + seconds
    for asker in places.values():
        asker.ask(next(statements))
    waiting = len(places)
    while waiting:
        for file, _ in poll.poll(30):
            asker = places[file]
            if asker.answered():
                if time.perf_counter() < until:
                    asker.ask(next(statements))
                else:
                    waiting -= 1


def apart(load: Load) -> Waited:
    """Ask from a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.load"],
        input=json.dumps(asdict(load)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Waited(**json.loads(done.stdout))


if __name__ == "__main__":
    json.dump(asdict(run(Load(**json.load(sys.stdin)))), sys.stdout)
