"""Who is asked: the proxy and bare DuckDB from here, the others by a process of their own environment each."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
import psycopg

from tests.bench.rivals.questions import BOUNDS, EDUCATIONS, QUESTIONS, SEXES, VISITS, WARDS, Question
from tests.proxies import spawned, write_home

ROOT = Path(__file__).parents[3]
STEP = Fraction(1, 10**9)
"""Each run asks for so much more accuracy than the run before, or its answer would be replayed."""
STEPS = 20_000


@dataclass(frozen=True, slots=True)
class Told:
    """Of some runs: their rows, and seconds of the first and of the others; or why there are none."""

    rows: Sequence[Sequence[Sequence[object]]] = ()
    first: float = 0.0
    later: Sequence[float] = ()
    refused: str = ""


Ask = Callable[[Question, float, int], Told]
"""A question, its epsilon, how many runs."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Another library: its script, and the interpreter of its environment."""

    name: str
    script: str
    python: Path

    @property
    def installed(self) -> bool:
        return self.python.exists()


PEERS = (
    Peer("SmartNoise SQL", "with_smartnoise.py", ROOT / ".venv-smartnoise/bin/python"),
    Peer("OpenDP with Polars", "with_opendp.py", ROOT / ".venv-peers/bin/python"),
    Peer("diffprivlib", "with_diffprivlib.py", ROOT / ".venv-peers/bin/python"),
)
PROXY, BARE = "dpproxy", "bare DuckDB"


def policy() -> str:
    """The declarations of the proxy: the bounds that all are given."""

    def listed(values: Sequence[str]) -> str:
        return ", ".join(f"'{value}'" for value in values)

    domains = {
        **{
            f"people.{name}": "BETWEEN {} AND {}".format(*BOUNDS[name]) for name in ("age", "hours", "weight")
        },
        "people.sex": f"IN ({listed(SEXES)})",
        "people.education": f"IN ({listed(EDUCATIONS)})",
        "visits.ward": f"IN ({listed(WARDS)})",
        "visits.cost": "BETWEEN {} AND {}".format(*BOUNDS["cost"]),
    }
    return ";\n".join(
        (
            "ALTER TABLE people SET PRIVACY KEY (id)",
            "ALTER TABLE people SET PRIVACY CEILING EPSILON 1000000",
            f"ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS {VISITS}",
            *(
                "ALTER TABLE {} ALTER COLUMN {} SET PRIVACY DOMAIN {}".format(*name.split("."), domain)
                for name, domain in domains.items()
            ),
            "CREATE PRIVACY BUDGET b LIMIT EPSILON 1000000 MAX EPSILON 1 DEFAULT EPSILON 1",
            "GRANT SELECT ON people, visits TO analyst WITH PRIVACY BUDGET b;",
        )
    )


@contextmanager
def proxy(folder: Path, ddl: Sequence[str]) -> Iterator[Ask]:
    """The proxy over its own file, asked over the wire; every run is charged, and so a new draw."""
    steps = iter(range(STEPS, 0, -1))
    with (
        spawned(write_home(folder, ddl, policy())) as server,
        psycopg.connect(server.dsn(), autocommit=True, prepare_threshold=None) as client,
    ):
        client.execute("SET dp.reuse = 'never'")

        def ask(question: Question, epsilon: float, runs: int) -> Told:
            rows, times = [], []
            sql = question.varied(QUESTIONS.index(question)).encode()
            for run in range(runs):
                accuracy = epsilon - float(next(steps) * STEP)
                client.execute(f"SET dp.epsilon = {accuracy:.9f}".encode())
                try:
                    if run:
                        client.execute(b"EXPLAIN (PRIVACY) " + sql)
                    begun = time.perf_counter()
                    rows.append(client.execute(sql).fetchall())
                    times.append(time.perf_counter() - begun)
                except psycopg.DatabaseError as error:
                    return Told(refused=str(error).splitlines()[0])
                if client.execute("SHOW dp.last_cost").fetchone() == ("0",):
                    raise RuntimeError(f"{question.name}: replayed, so not a new draw")
            return Told(rows, times[0], times[1:])

        yield ask


@contextmanager
def bare(path: Path) -> Iterator[Ask]:
    """The exact answer of the same engine in this process, for its time."""
    with closing(duckdb.connect(path, read_only=True, config={"threads": os.cpu_count() or 1})) as connection:

        def ask(question: Question, _epsilon: float, runs: int) -> Told:
            times = []
            for _ in range(runs):
                begun = time.perf_counter()
                connection.execute(question.sql).fetchall()
                times.append(time.perf_counter() - begun)
            return Told((), times[0], times[1:])

        yield ask


@contextmanager
def peer(one: Peer, folder: Path) -> Iterator[tuple[str, Ask]]:
    """A process of a peer that has read the columns in ``folder``: its version, and how to ask it."""
    script = Path(__file__).parent / one.script
    with subprocess.Popen(
        [one.python, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def said(request: object = None) -> dict[str, object]:
            assert process.stdin is not None
            assert process.stdout is not None
            if request is not None:
                process.stdin.write(json.dumps(request) + "\n")
                process.stdin.flush()
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"{one.name} has ended: {one.python} {script} says why")
            return json.loads(line)

        version = str(said()["version"])
        said({"folder": str(folder)})

        def ask(question: Question, epsilon: float, runs: int) -> Told:
            return Told(**said({"question": question.name, "epsilon": epsilon, "runs": runs}))

        try:
            yield version, ask
        finally:
            process.stdin.close()


@contextmanager
def everybody(folder: Path, ddl: Sequence[str], exported: Path) -> Iterator[dict[str, tuple[str, Ask]]]:
    """Version and way to ask of all that are installed."""
    with ExitStack() as stack:
        asked = stack.enter_context(proxy(folder, ddl))
        # The engine of another process has the file open for reading only: so may this one.
        own = stack.enter_context(bare(folder / "data.duckdb"))
        found = {BARE: (duckdb.__version__, own), PROXY: ("", asked)}
        for one in PEERS:
            if one.installed:
                found[one.name] = stack.enter_context(peer(one, exported))
        yield found
