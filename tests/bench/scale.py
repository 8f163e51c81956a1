"""``python -m tests.bench.scale [--rows N ...] [--source NAME] [--added] [--proxies] [--write]``: how cost grows.

For each number of rows: the first statement over a table, and charged statements beside the same on the source alone,
by the clock and by processor time. ``--added``: the first statements over files of 99 days, and of a day more.
``--proxies``: charges and replays per second of one proxy with its own ledger, and of one and two that share a ledger
in PostgreSQL, with the processor time of all that answers. ``--write`` stores the table for docs/measured.md.
"""

import argparse
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import psycopg

from dpproxy.backends.spark.server import Spark
from tests.bench.data import REGIONS
from tests.bench.load import Load, apart
from tests.bench.report import conditions, number
from tests.bench.results import Result, write
from tests.bench.rows import forget, most, processor
from tests.bench.soak import family
from tests.bench.throughput import CONNECTIONS
from tests.postgres import running
from tests.proxies import Proxy, spawned, write_home
from tests.spark import cluster

SIZES = (1_000_000, 10_000_000)
BUDGET = 100_000
PEOPLE = 10
"""Rows of a person, on average."""
ROUNDS = 3
DAYS = 100
"""Directories of a table in Parquet, or its partitions."""
MEMORY = "4GB"
"""Of the engine, over Parquet files."""
FEW_DAYS = 40
"""The same for Spark, with a task for some files each."""
ROWS = (
    "SELECT CAST(hash(i + 4) % {people} AS BIGINT) AS person, 'region ' || lpad(CAST(hash(i) % 20 AS VARCHAR), 2, '0') "
    "AS region, CAST(hash(i + 1) % 1000000 AS DOUBLE) / 7 AS income, CAST(hash(i + 2) % 1000 AS INTEGER) AS spend "
    "FROM range({rows}) AS r(i)"
)
BY_DAY = ROWS.replace(
    "FROM range({rows})",
    ", CAST(hash(i + 3) % 24 AS SMALLINT) AS hour, DATE '2026-01-01' + CAST(i * {days} // {rows} AS INTEGER) AS day "
    "FROM range({first}, {last})",
)
"""Two columns more, and rows in the order of days."""
DAY = "ALTER TABLE large ALTER COLUMN day SET PRIVACY DOMAIN BETWEEN '2026-01-01' AND '2026-12-31';\n"
COLUMNS = "(person BIGINT NOT NULL, region {text} NOT NULL, income {double} NOT NULL, spend INTEGER NOT NULL)"
TABLES = {"large": "KEY ROW", "visits": "KEY (person) MAX ROWS 12"}
STATEMENTS = {
    "one row a person": "SELECT region, count(*), avg(income), sum(spend) FROM large {where} GROUP BY region",
    "the same with a WHERE": (
        "SELECT region, count(*), avg(income), sum(spend) FROM large WHERE income > {n}.25 GROUP BY region"
    ),
    "12 rows a person": "SELECT region, count(*), sum(spend) FROM visits {where} GROUP BY region",
    "values of each person": (
        "SELECT count(*), avg(n), avg(s) FROM (SELECT person, count(*) AS n, sum(spend) AS s FROM visits {where} "
        "GROUP BY person) AS p"
    ),
}
OF_A_DAY = {
    "one day of a hundred": (
        "SELECT region, count(*), avg(income), sum(spend) FROM large "
        "WHERE day = DATE '2026-02-01' AND income > {n}.25 GROUP BY region"
    ),
}
ROW_HEADER = (
    "rows", "asked", "first time", "charged", "the source alone", "ratio", "processor", "the source alone", "ratio",
    "memory of the worker",
)  # fmt: skip
ADDED_HEADER = (
    "rows", "first asked", "99 days", "a day more", "ratio", "processor", "a day more", "ratio",
)  # fmt: skip
PROXY_HEADER = (
    "", "charged/s", "p99 ms", "processor ms", "replayed/s", "p99 ms", "processor ms",
)  # fmt: skip
TURNS = 5


def policy() -> str:
    """The declarations."""
    regions = ", ".join(f"'{region}'" for region in REGIONS)
    domains = {"region": f"IN ({regions})", "income": "BETWEEN 0 AND 150000", "spend": "BETWEEN 0 AND 1000"}
    lines = [f"CREATE PRIVACY BUDGET b LIMIT EPSILON {BUDGET} MAX EPSILON 1 DEFAULT EPSILON 0.1"]
    for table, unit in TABLES.items():
        lines.append(f"ALTER TABLE {table} SET PRIVACY {unit}")
        lines.append(f"ALTER TABLE {table} SET PRIVACY CEILING EPSILON {BUDGET}")
        lines += [f"ALTER TABLE {table} ALTER COLUMN {c} SET PRIVACY DOMAIN {d}" for c, d in domains.items()]
        lines.append(f"GRANT SELECT ON {table} TO analyst WITH PRIVACY BUDGET b")
    return ";\n".join(lines) + ";\n"


@dataclass(slots=True)
class Source:
    """Data somewhere: a proxy before it, and the way to ask it alone. Processor seconds of all that works on either."""

    proxy: Proxy
    alone: Callable[[str], object]
    spent: Callable[[], float]
    """Of the source alone."""
    is_inside: bool = False
    """The engine is a library in the proxy: its memory is the proxy's."""
    has_days: bool = False
    """Its tables have a column more by which they are divided."""
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    @property
    def process(self) -> int:
        assert self.proxy.process is not None
        return self.proxy.process.pid


@contextmanager
def in_duckdb(folder: Path, rows: int) -> Iterator[Source]:
    """A file; alone it is asked by this process."""
    columns = COLUMNS.format(text="VARCHAR", double="DOUBLE")
    made = ROWS.format(rows=rows, people=max(1, rows // PEOPLE))
    ddl = [f"CREATE TABLE {table} {columns}" for table in TABLES] + [
        f"INSERT INTO {t} {made}" for t in TABLES
    ]
    home = write_home(folder, ddl, policy())
    config = {"threads": str(os.cpu_count() or 1)}
    with (
        spawned(home) as proxy,
        closing(duckdb.connect(folder / "data.duckdb", read_only=True, config=config)) as own,
    ):
        yield Source(proxy, lambda sql: own.execute(sql).fetchall(), time.process_time)


def write_days(own: duckdb.DuckDBPyConnection, folder: Path, rows: int, days: int = DAYS) -> None:
    """Six columns in Parquet, in a directory for each day."""
    for day in range(days):
        file = folder / f"day={date(2026, 1, 1) + timedelta(day)}" / "part.parquet"
        file.parent.mkdir(parents=True)
        first, last = -(-rows * day // days), -(-rows * (day + 1) // days)
        sql = BY_DAY.format(people=max(1, rows // PEOPLE), rows=rows, days=days, first=first, last=last)
        own.execute(f"COPY ({sql}) TO '{file}' (FORMAT parquet)")


def write_tables(own: duckdb.DuckDBPyConnection, folder: Path, rows: int, days: int = DAYS) -> None:
    """The same rows in both tables, and one time on the disk."""
    first, *others = TABLES
    write_days(own, folder / first, rows, days)
    for other in others:
        shutil.copytree(folder / first, folder / other, copy_function=os.link)


@contextmanager
def in_parquet(folder: Path, rows: int) -> Iterator[Source]:
    """Six columns in a directory for each day, with 4 GB for the proxy's engine and for the one that is asked alone."""
    data = folder / "tables"
    with closing(duckdb.connect(config={"memory_limit": MEMORY})) as own:
        write_tables(own, data, rows)
        for table in TABLES:
            own.execute(f"CREATE VIEW {table} AS FROM read_parquet('{data}/{table}/**/*.parquet')")
        home, begun = in_days(folder), time.monotonic()
        with spawned(home) as proxy:
            assert proxy.process is not None
            peak = most(proxy.process.pid) / 2**20
            sys.stderr.write(
                f"{rows:,} rows in each table: imported in {time.monotonic() - begun:.0f} s, {peak:,.0f} MiB\n"
            )
            yield Source(proxy, lambda sql: own.execute(sql).fetchall(), time.process_time, has_days=True)


def in_days(folder: Path) -> Path:
    """The configuration of a proxy for directories of Parquet files, with 4 GB for its engine."""
    home = write_home(folder / "home", (), policy() + DAY)
    text = home.read_text(encoding="utf-8").replace('path = "data.duckdb"', f'path = "{folder / "tables"}"')
    home.write_text(f'{text}[limits]\nmemory = "{MEMORY}"\n', encoding="utf-8")
    return home


def added(folder: Path, rows: int) -> Iterator[list[str]]:
    """Cells for ``ADDED_HEADER``: the start and the first statements, with the files of all days but one and of all."""
    with closing(duckdb.connect(config={"memory_limit": MEMORY})) as own:
        write_tables(own, folder / "tables", rows)
    last = {table: max((folder / "tables" / table).iterdir()) for table in TABLES}
    for day in last.values():
        day.rename(folder / day.parent.name)
    home, times = in_days(folder), list[list[tuple[float, float]]]()
    for is_whole in (False, True):
        for table, day in last.items() if is_whole else ():
            (folder / table).rename(day)
        begun, proxies = time.perf_counter(), ExitStack()
        with proxies:
            proxy = proxies.enter_context(spawned(home))
            assert proxy.process is not None
            process = proxy.process.pid
            spent = [(time.perf_counter() - begun, processor(process))]
            with psycopg.connect(proxy.dsn(), autocommit=True, prepare_threshold=None) as client:
                for name in ("one row a person", "12 rows a person"):
                    client.execute(f"SET dp.epsilon = {0.1 + is_whole * 1e-6:.6f}".encode())
                    sql = STATEMENTS[name].format(where="").encode()
                    asked = partial(client.execute, sql)
                    spent.append(timed(asked, partial(processor, process)))
            times.append(spent)
    for name, first, then in zip(
        ("start and import", "one row a person", "12 rows a person"), *times, strict=True
    ):
        yield [
            f"{rows:,}", name, f"{number(first[0])} s", f"{number(then[0])} s", f"{then[0] / first[0]:.2f}x",
            f"{number(first[1])} s", f"{number(then[1])} s", f"{then[1] / max(first[1], 0.001):.2f}x",
        ]  # fmt: skip


def load_days(own: psycopg.Connection[Any], folder: Path, rows: int) -> None:
    """Both tables in a partition for each day; one that is made and filled at once needs no WAL."""
    six = COLUMNS.format(text="text", double="double precision").replace(
        ")", ", hour SMALLINT NOT NULL, day DATE NOT NULL)"
    )
    for table in TABLES:
        own.execute(f"CREATE TABLE {table} {six} PARTITION BY RANGE (day)".encode())
    csv = folder / "day.csv"
    with duckdb.connect(config={"threads": "1"}) as source:
        for day in range(DAYS):
            first, last = -(-rows * day // DAYS), -(-rows * (day + 1) // DAYS)
            made = BY_DAY.format(people=max(1, rows // PEOPLE), rows=rows, days=DAYS, first=first, last=last)
            source.execute(f"COPY ({made}) TO '{csv}' (HEADER false)")
            of = date(2026, 1, 1) + timedelta(day)
            for table in TABLES:
                with own.transaction(), csv.open("rb") as file:
                    own.execute(
                        f"CREATE TABLE {table}_{day} PARTITION OF {table} "
                        f"FOR VALUES FROM ('{of}') TO ('{of + timedelta(1)}')".encode()
                    )
                    copy = f"COPY {table}_{day} FROM STDIN (FORMAT csv, FREEZE)".encode()
                    with own.cursor().copy(copy) as into:
                        while part := file.read(1 << 20):
                            into.write(part)
    csv.unlink()
    for table in TABLES:
        own.execute(f"ANALYZE {table}".encode())


@contextmanager
def in_postgresql(folder: Path, rows: int) -> Iterator[Source]:
    """Six columns in a partition for each day, on a server on this machine; the proxy has no data of its own."""
    folder.chmod(0o755)
    with ExitStack() as stack:
        server = stack.enter_context(running(folder))
        url = server.url()
        with psycopg.connect(url, autocommit=True) as own:
            for setting in ("wal_level = minimal", "max_wal_senders = 0", "fsync = off"):
                own.execute(f"ALTER SYSTEM SET {setting}".encode())
        server.stop()
        server.start()
        own = stack.enter_context(psycopg.connect(url, autocommit=True))
        load_days(own, folder, rows)
        own.execute("CREATE ROLE reader LOGIN")
        own.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
        own.execute("CREATE SCHEMA prepared")
        own.execute("GRANT USAGE, CREATE ON SCHEMA prepared TO reader")
        home = write_home(folder / "home", (), policy() + DAY)
        text = home.read_text(encoding="utf-8").replace(
            'path = "data.duckdb"',
            f'url = "{url.replace("postgres@", "reader@")}"\nprepared_schema = "prepared"',
        )
        home.write_text(text, encoding="utf-8")
        proxy = stack.enter_context(spawned(home))
        postmaster = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
        yield Source(
            proxy,
            lambda sql: own.execute(sql.encode()).fetchall(),
            lambda: processor(postmaster),
            has_days=True,
        )


@contextmanager
def in_spark(folder: Path, rows: int) -> Iterator[Source]:
    """Six columns in Parquet in directories of days, behind a cluster of two workers on this machine."""
    data = folder / "data"
    with closing(duckdb.connect()) as connection:
        write_tables(connection, data, rows, FEW_DAYS)
    with cluster() as servers:
        url = f"sc://127.0.0.1:{servers.port}/;folder={data};tables={','.join(TABLES)}"
        home = write_home(folder / "home", (), policy() + DAY)
        text = home.read_text(encoding="utf-8").replace(
            'path = "data.duckdb"', f'url = "{url};prepared={folder}/prepared"'
        )
        home.write_text(text, encoding="utf-8")
        own = Spark(url, "main", 3600.0)
        spark = own._session().spark
        for number_of, table in enumerate(TABLES):
            spark.table(f"source_{number_of}").createOrReplaceTempView(table)
        with spawned(home) as proxy:
            yield Source(
                proxy,
                lambda sql: spark.sql(sql).toArrow(),
                lambda: sum(processor(process.pid) for process in servers.processes.values()),
                has_days=True,
            )
        own.close()


@contextmanager
def in_sqlite(folder: Path, rows: int) -> Iterator[Source]:
    """A file; alone it is asked by this process, as the proxy asks it in its own."""
    made = ROWS.format(rows=rows, people=max(1, rows // PEOPLE))
    file = folder / "data.sqlite"
    with closing(sqlite3.connect(file)) as own, duckdb.connect() as source:
        for table in TABLES:
            own.execute(f"CREATE TABLE {table} {COLUMNS.format(text='TEXT', double='REAL')}")
            source.execute(made)
            while part := source.fetchmany(10_000):
                own.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", part)
            own.commit()
        home = write_home(folder / "home", (), policy())
        text = home.read_text(encoding="utf-8").replace('path = "data.duckdb"', f'path = "{file}"')
        home.write_text(text, encoding="utf-8")
        with spawned(home) as proxy:
            yield Source(proxy, lambda sql: own.execute(sql).fetchall(), time.process_time, is_inside=True)


SOURCES = {
    "duckdb": in_duckdb,
    "parquet": in_parquet,
    "sqlite": in_sqlite,
    "postgresql": in_postgresql,
    "spark": in_spark,
}


def growth(source: Source, rows: int, rounds: int) -> Iterator[list[str]]:
    """Cells for ``ROW_HEADER``, of one number of rows."""
    server = source.spent if source.spent is not time.process_time else lambda: 0.0

    def behind() -> float:
        """Of the proxy, and of a server that works for it."""
        return processor(source.process) + server()

    with psycopg.connect(source.proxy.dsn(), autocommit=True, prepare_threshold=None) as client:
        for name, sql in (STATEMENTS | (OF_A_DAY if source.has_days else {})).items():

            def varied(sql: str = sql) -> str:
                """Different from all others, and more accurate, so that nothing is replayed."""
                n = next(source.numbers)
                client.execute(f"SET dp.epsilon = {0.1 + n * 1e-6:.6f}".encode())
                return sql.format(where="", n=n)

            workers = family(source.process)[0 if source.is_inside else 1 :]
            for worker in workers:
                forget(worker)
            first, _ = timed(lambda: client.execute(varied().encode()).fetchall(), behind)
            charged, alone = [], []
            for _ in range(rounds):
                asked = varied()
                charged.append(timed(lambda asked=asked: client.execute(asked.encode()).fetchall(), behind))
                alone.append(timed(lambda asked=asked: source.alone(asked), source.spent))
            memory = sum(map(most, workers))
            yield row(rows, name, first, charged, alone, memory)


def timed(call: Callable[[], object], spent: Callable[[], float]) -> tuple[float, float]:
    """Seconds, by the clock and of processors."""
    before, begun = spent(), time.perf_counter()
    call()
    seconds = time.perf_counter() - begun
    return seconds, spent() - before


def row(
    rows: int,
    name: str,
    first: float,
    charged: Sequence[tuple[float, float]],
    alone: Sequence[tuple[float, float]],
    memory: int,
) -> list[str]:
    """Medians."""
    (ours, used), (theirs, needed) = (
        [statistics.median(column) for column in zip(*times, strict=True)] for times in (charged, alone)
    )
    return [
        f"{rows:,}",
        name,
        f"{number(first)} s",
        f"{number(1000 * ours)} ms",
        f"{number(1000 * theirs)} ms",
        f"{ours / theirs:.2f}x",
        f"{number(1000 * used)} ms",
        f"{number(1000 * needed)} ms",
        f"{used / max(needed, 0.001):.2f}x",
        f"{memory / 2**20:,.0f} MiB",
    ]


SMALL = (
    "CREATE TABLE small AS SELECT i AS id, CAST(hash(i) % 1000 AS INTEGER) AS x FROM range(1000) AS r(i)",
)
SMALL_POLICY = f"""
CREATE PRIVACY BUDGET b LIMIT EPSILON {BUDGET} MAX EPSILON 1 DEFAULT EPSILON 0.1;
ALTER TABLE small SET PRIVACY KEY ROW;
ALTER TABLE small SET PRIVACY CEILING EPSILON {BUDGET};
ALTER TABLE small ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 1000000000;
GRANT SELECT ON small TO analyst WITH PRIVACY BUDGET b;
"""


SHARED = (
    ("one proxy, its ledger a file", 1, 1, False),
    ("the same of two processes", 1, 2, False),
    ("one proxy, a ledger in PostgreSQL", 1, 1, True),
    ("two proxies, one ledger in PostgreSQL", 2, 1, True),
)
"""What serves, how many of them, each of how many processes; whether the ledger is in PostgreSQL."""
ASKED = ("SELECT count(*) FROM small WHERE x <> {}", "SELECT count(*) FROM small")
"""Charged, and replayed."""


def shared(
    folder: Path, seconds: float, connections: int = CONNECTIONS, rounds: int = TURNS
) -> Iterator[list[str]]:
    """Cells for ``PROXY_HEADER``: all of ``SHARED`` run, and are asked in turns, so that what else runs slows all."""
    with running(folder) as server, ExitStack() as stack:
        served: list[tuple[list[str], Callable[[], float]]] = []
        for _, proxies, processes, in_server in SHARED:
            home = write_home(Path(tempfile.mkdtemp(dir=folder)), SMALL, SMALL_POLICY, processes=processes)
            if in_server:
                ledger = f'ledger = "{server.url(server.database())}"'
                text = home.read_text(encoding="utf-8").replace("[state]", f"[state]\n{ledger}")
                home.write_text(text, encoding="utf-8")
            started = [stack.enter_context(spawned(home)) for _ in range(proxies)]
            pids = [each.process.pid for each in started if each.process is not None]
            pids += [server.process] if in_server else []
            served.append(([each.dsn() for each in started], lambda pids=pids: sum(map(processor, pids))))
        numbers = count(1, 1_000_000)
        found: dict[tuple[int, int], list[tuple[float, float, float]]] = defaultdict(list)
        for _ in range(rounds):
            for question, sql in enumerate(ASKED):
                for place, (urls, spent) in enumerate(served):
                    load = Load(urls, sql, connections, seconds, min(1.0, seconds), next(numbers))
                    before = spent()
                    waited = apart(load)
                    used = (spent() - before) / (waited.answers + waited.warm)
                    found[place, question].append((waited.rate, waited.milliseconds(0.99), 1000 * used))
    for place, (what, *_) in enumerate(SHARED):
        cells = [what]
        for question in range(len(ASKED)):
            rate, wait, used = map(statistics.median, zip(*found[place, question], strict=True))
            cells += [f"{rate:,.0f}", number(wait), number(used)]
        yield cells


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scale", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=SIZES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--source", choices=SOURCES, default="duckdb")
    parser.add_argument("--added", action="store_true", help="Parquet files of a day are added")
    parser.add_argument("--proxies", action="store_true", help="as many rows as there are, and more proxies")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each load")
    parser.add_argument("--write", action="store_true", help="store the table for docs/measured.md")
    options = parser.parse_args(arguments)
    before = os.getloadavg()[0]
    if options.proxies:
        part, rows = "proxies", [list(PROXY_HEADER)]
        with tempfile.TemporaryDirectory(prefix="dpproxy-scale-") as name:
            Path(name).chmod(0o755)
            rows += shared(Path(name), options.seconds)
    elif options.added:
        part, rows = "scale-added", [list(ADDED_HEADER)]
        for size in options.rows:
            with tempfile.TemporaryDirectory(prefix="dpproxy-scale-") as name:
                rows += added(Path(name), size)
    else:
        part, rows = f"scale-{options.source}", [list(ROW_HEADER)]
        for size in options.rows:
            rows += sized(SOURCES[options.source], size, options.rounds)
    result = Result(f"{conditions(before)}.", rows)
    sys.stdout.write(f"{result}\n")
    if options.write:
        write(part, result)
    return 0


def sized(
    source: Callable[[Path, int], AbstractContextManager[Source]], rows: int, rounds: int
) -> Iterator[list[str]]:
    """Cells for ``ROW_HEADER``, told on standard error as they come."""
    with tempfile.TemporaryDirectory(prefix="dpproxy-scale-") as name, source(Path(name), rows) as made:
        for cells in growth(made, rows, rounds):
            sys.stderr.write(" | ".join(cells) + "\n")
            yield cells
        held = sum(file.stat().st_size for file in Path(name).glob("**/state/**/*") if file.is_file())
        sys.stderr.write(f"{rows:,} rows: the state holds {held / 2**20:,.0f} MiB\n")


if __name__ == "__main__":
    sys.exit(main())
