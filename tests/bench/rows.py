"""``python -m tests.bench.rows [--rows N] [--rounds 5] [--only TEXT] [--write]``: many rows beside a real PostgreSQL.

Six columns of a protected view and of a public table, by each way a client fetches them, from the proxy and from a
PostgreSQL on this machine that holds the same rows, in turns, both by TCP. The times are medians of a client that
throws the rows away, the processor time is the server's, and the memory is what the proxy and its worker had at most
above what they had before.
"""

import argparse
import math
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import psycopg
from adbc_driver_postgresql import dbapi as adbc
from psycopg import pq

from tests.bench.report import conditions, number
from tests.bench.results import Result, write
from tests.bench.soak import family
from tests.postgres import running
from tests.proxies import PASSWORD, spawned, write_home

MOST = 1.5
"""The target: how many times PostgreSQL's time."""
DDL = """
CREATE TABLE people AS SELECT
  CAST(hash(i) % 91 AS INTEGER) AS age,
  'region ' || lpad(CAST(hash(i + 1) % 20 AS VARCHAR), 2, '0') AS region,
  CAST(hash(i + 2) % 1000000 AS DOUBLE) / 7 AS income,
  CAST(hash(i + 3) % 100000 AS BIGINT) AS spend,
  DATE '2000-01-01' + CAST(hash(i + 4) % 9000 AS INTEGER) AS born,
  TIMESTAMP '2020-01-01' + INTERVAL 1 SECOND * CAST(hash(i + 5) % 100000000 AS BIGINT) AS seen
FROM range({rows}) AS r(i)
"""
POSTGRES = """
CREATE TABLE {table} (age integer, region text, income double precision, spend bigint, born date, seen timestamp)
"""
REGIONS = ", ".join(f"'region {n:02d}'" for n in range(20))
POLICY = f"""
ALTER TABLE people SET PRIVACY KEY ROW;
ALTER TABLE people SET PRIVACY CEILING EPSILON 10;
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 90;
ALTER TABLE people ALTER COLUMN region SET PRIVACY DOMAIN IN ({REGIONS});
ALTER TABLE people ALTER COLUMN income SET PRIVACY DOMAIN BETWEEN 0 AND 150000;
ALTER TABLE people ALTER COLUMN spend SET PRIVACY DOMAIN BETWEEN 0 AND 100000;
ALTER TABLE people ALTER COLUMN born SET PRIVACY DOMAIN BETWEEN DATE '2000-01-01' AND DATE '2025-01-01';
ALTER TABLE people ALTER COLUMN seen SET PRIVACY DOMAIN
  BETWEEN TIMESTAMP '2020-01-01 00:00:00' AND TIMESTAMP '2024-01-01 00:00:00';
ALTER TABLE listed SET PRIVACY PUBLIC;
CREATE PROTECTED VIEW protected WITH (method = dp_kdtree, epsilon = 1) AS
  SELECT age, region, income, spend, born, seen FROM people;
GRANT SELECT ON protected TO analyst;
"""
SOURCES = {"protected view": "protected", "public table": "listed"}
HEADER = (
    "rows of a", "fetched by", "proxy", "PostgreSQL", "ratio", "target", "proxy's processor",
    "PostgreSQL's", "ratio", "proxy grew by", "worker grew by",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """A server: its URL and its first process."""

    url: str
    process: int


@dataclass(frozen=True, slots=True)
class Run:
    """Seconds of a fetch, processor seconds of the server, and the bytes that its processes grew by at most."""

    seconds: float
    processor: float
    grew: tuple[int, ...]


class Refused(Exception):
    """What a server said in place of the rows."""


Fetch = Callable[[str, str], None]
"""Fetch all of a table from a URL."""


def psql(sql: str) -> Fetch:
    """``{}`` is the table."""

    def fetch(url: str, table: str) -> None:
        words = ["psql", url, "-AtXq", "-v", "ON_ERROR_STOP=1", "-c", sql.format(table)]
        done = subprocess.run(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
        )
        if done.returncode:
            raise Refused(done.stderr.splitlines()[0])

    return fetch


def libpq_binary(url: str, table: str) -> None:
    """The extended protocol, binary results, no row as an object of Python."""
    connection = pq.PGconn.connect(url.encode())
    result = connection.exec_params(f"SELECT * FROM {table}".encode(), None, result_format=pq.Format.BINARY)
    if result.status != pq.ExecStatus.TUPLES_OK:
        raise Refused(result.error_message.decode().splitlines()[0])
    result.clear()
    connection.finish()


def arrow(url: str, table: str) -> None:
    """A table of Arrow, as pandas and polars get it."""
    with adbc.connect(url) as connection, connection.cursor() as cursor:
        try:
            cursor.execute(f"SELECT * FROM {table}")
            cursor.fetch_arrow_table()
        except adbc.Error as error:
            raise Refused(str(error).splitlines()[0]) from error


WAYS: dict[str, Fetch] = {
    "psql, text": psql("SELECT * FROM {}"),
    "libpq, binary": libpq_binary,
    "COPY, text": psql("COPY (SELECT * FROM {}) TO STDOUT"),
    "COPY, csv": psql("COPY (SELECT * FROM {}) TO STDOUT (FORMAT csv)"),
    "COPY, binary": psql("COPY (SELECT * FROM {}) TO STDOUT (FORMAT binary)"),
    "ADBC": arrow,
}


def processor(process: int) -> float:
    """Seconds that a process and all below it have computed so far, those that ended too."""
    total = 0
    for one in family(process):
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def most(process: int) -> int:
    """The most memory a process held since it was last told to forget, in bytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def forget(process: int) -> int:
    """Let the most memory be what is held now, and give it."""
    Path(f"/proc/{process}/clear_refs").write_text("5")
    return most(process)


def measured(place: Place, fetch: Fetch, table: str, watched: Sequence[int] = ()) -> Run:
    """One fetch; the memory of the ``watched`` processes."""
    held, before = [forget(process) for process in watched], processor(place.process)
    begun = time.perf_counter()
    fetch(place.url, table)
    seconds = time.perf_counter() - begun
    time.sleep(0.05)  # a backend's time is known when it has been reaped
    grew = tuple(max(0, most(process) - size) for process, size in zip(watched, held, strict=True))
    return Run(seconds, processor(place.process) - before, grew)


@contextmanager
def proxied(folder: Path, rows: int) -> Iterator[Place]:
    """The proxy over the data; the view is built when it starts. The public table is in ``listed.csv`` as well."""
    kept = f"COPY listed TO '{folder / 'listed.csv'}' (HEADER false)"
    home = write_home(folder, (DDL.format(rows=rows), "CREATE TABLE listed AS FROM people", kept), POLICY)
    with spawned(home) as proxy:
        assert proxy.process is not None
        secret = PASSWORD.replace(" ", "%20")
        yield Place(f"postgresql://ann:{secret}@127.0.0.1:{proxy.port}/main", proxy.process.pid)


@contextmanager
def beside(proxy: Place, folder: Path) -> Iterator[Place]:
    """A PostgreSQL by TCP that holds what the proxy shows."""
    with running() as server, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        server.stop()
        options = f"-c listen_addresses=127.0.0.1 -c unix_socket_directories={server.folder} -p {port}"
        data = str(server.folder / "data")
        server.run("pg_ctl", "start", "-w", "-D", data, "-l", str(server.folder / "log"), "-o", options)
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        with psycopg.connect(proxy.url) as giver:
            query = f"COPY (SELECT * FROM {SOURCES['protected view']}) TO STDOUT (FORMAT csv)"
            with giver.cursor().copy(query.encode()) as parts:
                fill(url, SOURCES["protected view"], map(bytes, parts))
        with (folder / "listed.csv").open("rb") as file:
            fill(url, SOURCES["public table"], iter(lambda: file.read(1 << 20), b""))
        process = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
        yield Place(url, process)


def fill(url: str, table: str, parts: Iterator[bytes]) -> None:
    """A table, from the parts of a CSV."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(POSTGRES.format(table=table).encode())
        with connection.cursor().copy(f"COPY {table} FROM STDIN (FORMAT csv)".encode()) as into:
            for part in parts:
                into.write(part)
        connection.execute(f"VACUUM (FREEZE, ANALYZE) {table}".encode())


@dataclass(frozen=True, slots=True)
class Line:
    """One way to fetch one table: of each server every run."""

    source: str
    way: str
    proxy: Sequence[Run]
    postgres: Sequence[Run]
    refused: str = ""

    @property
    def ratio(self) -> float:
        """Of the clients' times."""
        if self.refused:
            return math.inf
        return seconds(self.proxy) / seconds(self.postgres)

    @property
    def row(self) -> list[str]:
        """Cells for ``HEADER``."""
        if self.refused:
            return [self.source, self.way, f"refused: {self.refused}", *[""] * (len(HEADER) - 3)]
        spent = [statistics.median(run.processor for run in runs) for runs in (self.proxy, self.postgres)]
        grew = [max(run.grew[0] for run in self.proxy), max(sum(run.grew[1:]) for run in self.proxy)]
        return [
            self.source,
            self.way,
            f"{number(seconds(self.proxy))} s",
            f"{number(seconds(self.postgres))} s",
            f"{self.ratio:.2f}x",
            f"<= {MOST}x" + ("" if self.ratio <= MOST else ", missed"),
            *(f"{number(one)} s" for one in spent),
            f"{spent[0] / max(spent[1], 0.01):.2f}x",
            *(f"{size / 2**20:.0f} MiB" for size in grew),
        ]


def seconds(runs: Sequence[Run]) -> float:
    """The median."""
    return statistics.median(run.seconds for run in runs)


def measure(folder: Path, rows: int, rounds: int, only: str = "") -> Iterator[Line]:
    """Every way of every source whose names together contain ``only``, the servers in turns."""
    with proxied(folder, rows) as proxy, beside(proxy, folder) as postgres:
        watched = family(proxy.process)
        for (source, table), (way, fetch) in product(SOURCES.items(), WAYS.items()):
            if only not in f"{source}, {way}":
                continue
            own, other = [], []
            try:
                for _ in range(rounds):
                    own.append(measured(proxy, fetch, table, watched))
                    other.append(measured(postgres, fetch, table))
            except Refused as refused:
                yield Line(source, way, (), (), str(refused))
            else:
                yield Line(source, way, own, other)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 where a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.rows", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", metavar="TEXT", help="as in 'protected view, psql' or 'COPY'")
    parser.add_argument("--write", action="store_true", help="store the table for docs/measured.md")
    options = parser.parse_args(arguments)
    before, found = os.getloadavg()[0], []
    with tempfile.TemporaryDirectory(prefix="dpproxy-rows-") as name:
        for line in measure(Path(name), options.rows, options.rounds, options.only):
            sys.stderr.write(" | ".join(line.row) + "\n")
            found.append(line)
    told = f"{options.rows:,} rows of 6 columns. {conditions(before)}."
    result = Result(told, [list(HEADER), *(line.row for line in found)])
    sys.stdout.write(f"{result}\n")
    if options.write:
        write("rows", result)
    return 0 if all(line.ratio <= MOST for line in found) else 1


if __name__ == "__main__":
    sys.exit(main())
