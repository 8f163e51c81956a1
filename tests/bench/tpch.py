"""The answered queries of TPC-H at scale 1: a fresh answer of the engine beside bare DuckDB, in one process."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import duckdb

from dpproxy.algebra.request import Request
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.engine import Engine
from dpproxy.values.errors import Refusal
from examples.tpch.generate import LEAST_SCALE, generate
from tests.bench.report import number
from tests.bench.timing import timed
from tests.proxies import started
from tests.tpch.page import title
from tests.tpch.questions import ANALYST, QUERIES, write_proxy


@dataclass(frozen=True, slots=True)
class Query:
    """Milliseconds of one query: medians, and ``first``, plan and answer before anything was known of its tables."""

    name: str
    bare: float
    answer: float
    plan: float
    first: float

    @property
    def ratio(self) -> float:
        """The answer over bare DuckDB."""
        return self.answer / self.bare


def measure(folder: Path, *, small: bool) -> Iterator[Query]:
    """Every answered query; the proxy has one copy of the file open, bare DuckDB the other one."""
    data = folder / "data.duckdb"
    generate(data, LEAST_SCALE if small else 1)
    other = folder / "bare.duckdb"
    other.write_bytes(data.read_bytes())
    with (
        duckdb.connect(str(other), read_only=True) as bare,
        started(write_proxy(folder)) as engine,
    ):
        engine.open(ANALYST)
        epsilons = (f"{1 + n / 1000:.3f}" for n in count())
        for name, sql in QUERIES.items():
            try:
                yield _query(name, sql, bare, engine, epsilons, rounds=1 if small else 5)
            except Refusal:
                continue


def _query(
    name: str, sql: str, bare: duckdb.DuckDBPyConnection, engine: Engine, epsilons: Iterator[str], rounds: int
) -> Query:
    """Each run asks for more accuracy than those before, so that no answer given so far can be replayed."""

    def fresh() -> tuple[float, float]:
        settings = {**DEFAULTS, "dp.epsilon": next(epsilons)}
        plan = timed(lambda: engine.prepare(ANALYST, sql, (), settings))
        prepared = engine.prepare(ANALYST, sql, (), settings)
        return plan, timed(lambda: engine.run(Request(ANALYST, prepared, (), settings)))

    first = sum(fresh())
    bare.execute(sql).fetchall()
    times = [(timed(lambda: bare.execute(sql).fetchall()), *fresh()) for _ in range(rounds)]
    known, plan, answer = (statistics.median(column) for column in zip(*times, strict=True))
    return Query(name, known, answer, plan, first)


def rows(queries: Sequence[Query]) -> list[list[str]]:
    """The table, its head first."""
    return [
        ["TPC-H", "answer", "bare DuckDB", "ratio", "planning", "first time"],
        *(
            [title(q.name).split()[0], *(f"{number(t)} ms" for t in (q.answer, q.bare)), f"{q.ratio:.2f}x"]
            + [f"{number(t)} ms" for t in (q.plan, q.first)]
            for q in queries
        ),
    ]


def as_json(queries: Sequence[Query]) -> list[dict[str, object]]:
    """For a file that later runs are compared with."""
    return [
        {
            "what": f"TPC-H {q.name}",
            "proxy": q.answer,
            "bare": q.bare,
            "ratio": q.ratio,
            "plan": q.plan,
            "first": q.first,
        }
        for q in queries
    ]
