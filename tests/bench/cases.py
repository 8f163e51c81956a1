"""What is measured. Every charged statement is a question not asked before, unless it says replayed."""

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count

import duckdb
import psycopg

from tests.bench.report import Line
from tests.bench.timing import in_turns, timed

BY_REGION = "SELECT region, count(*), avg(income), sum(spend) FROM {table} {where} GROUP BY region"
BY_CELL = "SELECT cell, count(*), sum(spend) FROM large {where} GROUP BY cell"
COUNT = "SELECT count(*) FROM small WHERE income > {}"
VISITS = "SELECT region, count(*), sum(spend) FROM visits {where} GROUP BY region"
EACH = (
    "SELECT count(*), avg(n), avg(s) FROM "
    "(SELECT person, count(*) AS n, sum(spend) AS s FROM visits {where} GROUP BY person) AS p"
)
ROWS_RATIO = 1.2
KEY_RATIO = 2.0
PEOPLE_RATIO = 1.3
SLOWEST = ((1.0, 6.0), (4.5, 9.0))
"""The smallest statement: milliseconds allowed where an fsync takes at most so many."""
CONNECTIONS = 16


@dataclass(slots=True)
class Bench:
    """A proxy and bare DuckDB over the same file; numbers and accuracies that were not used before."""

    bare: duckdb.DuckDBPyConnection
    url: str
    fsync: float
    rounds: int
    client: psycopg.Connection = field(init=False)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        self.client = self.connect()

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(self.url, autocommit=True, prepare_threshold=None)

    def fresh(self) -> str:
        """A bound that no row is near: it selects all but some rows, and makes the question a new one."""
        return f"{next(self.numbers)}.25"

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        return self.client.execute(sql).fetchall()

    def more_accurate(self, sql: str) -> None:
        """Raise the accuracy, so that no answer given so far can be replayed, and ask for the price."""
        epsilon = Fraction(1, 10) + Fraction(next(self.numbers), 10**6)
        self.client.execute(f"SET dp.epsilon = {float(epsilon):.6f}")
        self.ask(f"EXPLAIN (PRIVACY) {sql}")

    def exactly(self, sql: str) -> tuple[float, float]:
        """Medians of the very same statement; the accuracy is raised before each, outside its time."""
        times = []
        self.client.execute("SET dp.reuse = 'never'")  # earlier draws are not averaged with a new one
        for _ in range(self.rounds + 1):
            self.more_accurate(sql)
            times.append((timed(lambda: self.bare.execute(sql).fetchall()), timed(lambda: self.ask(sql))))
        self.client.execute("RESET dp.epsilon")
        self.client.execute("RESET dp.reuse")
        return statistics.median(t[0] for t in times[1:]), statistics.median(t[1] for t in times[1:])

    def varied(
        self, make: Callable[[str], str], bare: Callable[[str], str] | None = None
    ) -> tuple[float, float]:
        """Medians of a statement with another bound in each run."""
        same = bare or make
        first, second = in_turns(
            self.rounds,
            lambda: self.bare.execute(same(self.fresh())).fetchall(),
            lambda: self.ask(make(self.fresh())),
        )
        return first, second


def against_bare(bench: Bench) -> Iterator[Line]:
    """The ratios."""
    plain = BY_REGION.format(table="large", where="")
    yield Line("preparing 10 M rows: the first statement", timed(lambda: bench.ask(plain)))
    bare, proxy = bench.exactly(plain)
    yield Line("20 regions, 10 M rows", proxy, bare, ROWS_RATIO)
    bare, proxy = bench.varied(lambda n: BY_REGION.format(table="large", where=f"WHERE income > {n}"))
    yield Line("the same with a WHERE", proxy, bare, ROWS_RATIO)
    bare, proxy = bench.exactly(BY_REGION.format(table="large_open", where=""))
    yield Line("the same, columns not declared NOT NULL", proxy, bare, ROWS_RATIO)
    bare, proxy = bench.exactly(BY_REGION.format(table="large_nullable", where=""))
    yield Line("the same, 2 % NULLs in each column", proxy, bare, ROWS_RATIO)
    bare, proxy = bench.exactly(BY_CELL.format(where=""))
    yield Line("1,500 groups, 10 M rows", proxy, bare)
    bare, proxy = bench.exactly(BY_REGION.format(table="middle", where=""))
    yield Line("20 regions, 100 k rows", proxy, bare)
    plain = VISITS.format(where="")
    yield Line("cutting 10 M rows of 1 M people: the first statement", timed(lambda: bench.ask(plain)))
    bare, proxy = bench.exactly(plain)
    yield Line("key unit, 10 M rows of 1 M people, MAX ROWS 12", proxy, bare, KEY_RATIO)
    bare, proxy = bench.varied(lambda n: VISITS.format(where=f"WHERE spend > {n}"))
    yield Line("the same with a WHERE", proxy, bare, KEY_RATIO)
    bare, proxy = bench.varied(lambda n: EACH.format(where=f"WHERE spend > {n}"))
    yield Line("values of each person, then over people", proxy, bare, PEOPLE_RATIO)


def latencies(bench: Bench) -> Iterator[Line]:
    """Single statements over 1,000 rows."""
    bench.rounds *= 10
    most = next((limit for slowest, limit in SLOWEST if bench.fsync <= slowest), None)
    # Not in turns with bare DuckDB: its threads in this process would go on taking the proxy's time.
    yield Line(
        "smallest statement, charged",
        in_turns(bench.rounds, lambda: bench.ask(COUNT.format(bench.fresh())))[0],
        most=most,
    )
    yield Line("smallest statement, bare DuckDB in process", bench.varied(COUNT.format)[0])
    again = COUNT.format(bench.fresh())
    yield Line("smallest statement, replayed", in_turns(bench.rounds, lambda: bench.ask(again))[0])
    yield Line(
        "20 regions of 1,000 rows, charged",
        bench.varied(lambda n: BY_REGION.format(table="small", where=f"WHERE income > {n}"))[1],
    )

    def explain(n: str) -> object:
        return bench.ask("EXPLAIN (PRIVACY) " + BY_REGION.format(table="large", where=f"WHERE income > {n}"))

    yield Line("EXPLAIN (PRIVACY), 20 regions", in_turns(bench.rounds, lambda: explain(bench.fresh()))[0])

    def parse(n: str) -> object:
        sql = BY_REGION.format(table="large", where=f"WHERE income > {n}")
        return bench.client.pgconn.prepare(b"", sql.encode())

    yield Line("parse and plan, first time", in_turns(bench.rounds, lambda: parse(bench.fresh()))[0])
    yield Line("parse and plan, seen before", in_turns(bench.rounds, lambda: parse("0.5"))[0])
    yield Line("SHOW, a round trip", in_turns(bench.rounds, lambda: bench.ask("SHOW dp.epsilon"))[0])
    bench.rounds //= 10


def throughput(bench: Bench) -> Iterator[Line]:
    """Fresh answers per second, over all connections."""
    answered = [0] * CONNECTIONS
    seconds = bench.rounds * 0.5
    start = threading.Barrier(CONNECTIONS)
    bounds = [[bench.fresh() for _ in range(int(200 * seconds) + 10)] for _ in range(CONNECTIONS)]

    def work(place: int) -> None:
        with bench.connect() as client:
            start.wait()
            end = time.monotonic() + seconds
            for bound in bounds[place]:
                client.execute(COUNT.format(bound)).fetchall()
                answered[place] += 1
                if time.monotonic() > end:
                    break

    threads = [threading.Thread(target=work, args=(n,)) for n in range(CONNECTIONS)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rate = sum(answered) / (time.monotonic() - begun)
    yield Line(f"charged answers on {CONNECTIONS} connections", rate, unit="per second")


CASES: tuple[Callable[[Bench], Iterator[Line]], ...] = (against_bare, latencies, throughput)
