"""Statements over the two schemas: the kinds that published corpora of retail and of clicks ask, in our own words."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow as pa

from dpproxy.engine.engine import Engine
from dpproxy.values.errors import Refusal
from tests.bench.results import Result
from tests.postgres import Server
from tests.proxies import started, write_home
from tests.tpch.questions import ask, plain
from tests.workloads.data import ROWS, Row

HERE = Path(__file__).parent
NAME = "workloads"
"""Of the file in docs/measured/."""
SCHEMAS = ("retail", "clicks")
NEAR = 2e-3
"""At epsilon 10,000,000 noise stays inside the middle step of its law but for a chance below 1e-13. In the sums whose
steps are widest beside their values, those over three tables, that is half of this.
"""
RANKED = {"medians by country": 10.0}
"""How far a median may be off: any value between two rows has the rank that is asked for."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a statement: PostgreSQL's rows that are missing in the answer, or the refusal."""

    missing: tuple[Row, ...] = ()
    refusal: Refusal | None = None
    hint: str | None = None
    """The statement in the refusal's hint, where that is answered."""


def statements(schema: str) -> dict[str, str]:
    """The statements by the comment before each."""
    blocks = re.split(r"(?m)^-- ", (HERE / f"{schema}.sql").read_text(encoding="utf-8"))[1:]
    pairs = [block.split("\n", 1) for block in blocks]
    return {title: sql.strip().rstrip(";") for title, sql in pairs}


def _ddl(schema: str) -> tuple[list[str], str]:
    """The tables, and the policy."""
    text = (HERE / f"{schema}_policy.sql").read_text(encoding="utf-8")
    found = [s.strip() for s in re.sub(r"(?m)^--.*$", "", text).split(";") if s.strip()]
    tables = [s for s in found if s.startswith("CREATE TABLE")]
    return tables, "".join(f"{s};\n" for s in found if s not in tables)


@contextmanager
def asked(schema: str, server: Server, folder: Path) -> Iterator[tuple[Engine, psycopg.Connection]]:
    """A proxy over the schema's rows in a DuckDB file, and the same rows in PostgreSQL."""
    tables, policy = _ddl(schema)
    file = write_home(folder / schema, tables, policy)
    with (
        psycopg.connect(server.url(server.database(name=schema)), autocommit=True) as real,
        duckdb.connect(folder / schema / "data.duckdb") as data,
    ):
        for table in tables:
            real.execute(table.encode())
        for name, rows in ROWS[schema]().items():
            columns = zip(*rows, strict=True)
            held = pa.table([pa.array(values) for values in columns], names=[*map(str, range(len(rows[0])))])
            data.register("held", held)
            data.execute(f"INSERT INTO {name} SELECT * FROM held")
            with real.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN".encode()) as copy:
                for row in rows:
                    copy.write_row(row)
        data.close()
        with started(file) as engine:
            yield engine, real


def outcomes(schema: str, server: Server, folder: Path) -> dict[str, Outcome]:
    """Each statement is asked of both."""
    with asked(schema, server, folder) as (engine, real):
        return {title: _outcome(engine, real, title, sql) for title, sql in statements(schema).items()}


def _outcome(engine: Engine, real: psycopg.Connection, title: str, sql: str) -> Outcome:
    right = [tuple(map(plain, row)) for row in real.execute(sql.encode()).fetchall()]
    found = ask(engine, sql)
    if found.answer is None:
        has_answer = found.rewritten is not None and found.rewritten.answer is not None
        return Outcome(refusal=found.refusal, hint=found.rewrite if has_answer else None)
    ours = [tuple(map(plain, row)) for row in found.answer.rows]
    off = RANKED.get(title, NEAR)
    return Outcome(tuple(row for row in right if not any(is_near(row, other, off) for other in ours)))


def is_near(one: Any, other: Any, off: float) -> bool:  # noqa: ANN401 - values of every type
    """Equal, but for ``off`` of a number, or that share of it where that is more."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(is_near(a, b, off) for a, b in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= max(off, NEAR * abs(one))
    return bool(one == other)


def table(found: dict[str, dict[str, Outcome]]) -> Result:
    """How many are answered, and a line for each that is not."""
    counts = [
        f"{sum(o.refusal is None for o in of.values())} of {len(of)} of {schema}"
        for schema, of in found.items()
    ]
    rows = [["schema", "asked for", "refused"]]
    rows += [
        [schema, title, f"{o.refusal.message} ({o.refusal.sqlstate})".replace("|", r"\|")]
        for schema, of in found.items()
        for title, o in of.items()
        if o.refusal is not None
    ]
    return Result(f"{' and '.join(counts)} are answered.", rows)
