"""A small hospital whose views are built: its home, callers, and a method of this test's own."""

# ruff: noqa: ISC004 - records written out

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import numpy as np

from dpproxy.algebra import request
from dpproxy.algebra.plan import Answer, Caller
from dpproxy.anonymize.model import Anonymized, InvalidOption, Progress, Table, ViewBuild, ViewRequest
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.engine import Engine
from tests.proxies import write_home
from udfs.privacy import Loss
from udfs.randomness import Words

DDL = (
    "CREATE TABLE patients AS SELECT i AS id, CAST(i * 37 % 100 AS INTEGER) AS age, ['f', 'm'][1 + i % 2] AS sex, "
    "CAST(i * 7 % 900 + 0.25 AS DECIMAL(8,2)) AS cost, DATE '1950-01-01' + CAST(i AS INTEGER) AS born, "
    "'name' || i AS name FROM range(60) AS r(i)",
    "CREATE TABLE visits AS SELECT i % 50 AS patient, CAST(i % 5 AS DOUBLE) AS hours FROM range(150) AS r(i)",
    "CREATE TABLE ages AS SELECT CAST(i AS INTEGER) AS age, 'x' || i // 10 AS decade FROM range(100) AS r(i)",
)
POLICY = """
ALTER TABLE patients SET PRIVACY KEY (id);
ALTER TABLE patients SET PRIVACY CEILING EPSILON 20 DELTA 0.001;
ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 99;
ALTER TABLE patients ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm');
ALTER TABLE patients ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 1000;
ALTER TABLE patients ALTER COLUMN born SET PRIVACY DOMAIN BETWEEN '1950-01-01' AND '1960-01-01';
ALTER TABLE patients ALTER COLUMN name SET PRIVACY DOMAIN DISCOVERED;
ALTER TABLE patients ALTER COLUMN name SET PRIVACY CLASS IDENTIFIER;
ALTER TABLE visits SET PRIVACY KEY (patient) REFERENCES patients (id) MAX ROWS 4;
ALTER TABLE visits ALTER COLUMN hours SET PRIVACY DOMAIN BETWEEN 0 AND 24;
ALTER TABLE ages SET PRIVACY PUBLIC;
CREATE PRIVACY BUDGET research LIMIT EPSILON 8 DELTA 0.0001 DEFAULT EPSILON 1;
GRANT SELECT ON patients, visits TO analyst WITH PRIVACY BUDGET research;
"""
ROOT = Caller("root", frozenset({"admin"}), "session-root")
ANN = Caller("ann", frozenset({"analyst"}), "session-ann")
EVE = Caller("eve", frozenset({"stranger"}), "session-eve")


class Plain:
    """Releases the rows as they are, for a price all the same: what a test looks at is not its privacy."""

    name: ClassVar[str] = "plain"
    options: ClassVar[Mapping[str, str]] = {
        "epsilon": "the loss",
        "k": "rows of a cluster",
        "release": "table or query",
    }
    private: ClassVar[bool] = True
    before: Callable[[Progress], None] = staticmethod(lambda _: None)
    """Called before the rows are made; tests put failures there."""

    def check(self, request: ViewRequest) -> ViewBuild:
        epsilon, k = request.options.get("epsilon", 1), request.options.get("k", 1)
        if not isinstance(epsilon, int | Fraction) or not isinstance(k, int):
            raise InvalidOption("epsilon", "epsilon is a number", "epsilon = 1")
        inside = request.options.get("release") == "query"

        def make(rows: Table, words: Words, progress: Progress) -> Anonymized:
            del words
            type(self).before(progress)
            return Anonymized(np.array(rows), inside=inside)

        return ViewBuild(f"plain at {epsilon}", Loss.of(Fraction(epsilon)), make, k=k)


def home(folder: Path, more: str = "", ddl: Sequence[str] = DDL, policy: str = POLICY) -> Path:
    """The configuration of the hospital."""
    return write_home(folder, ddl, policy + more)


def ask(engine: Engine, sql: str, caller: Caller = ROOT, **settings: str) -> Answer:
    """One statement's answer."""
    engine.open(caller)
    given = {**DEFAULTS, **{f"dp.{name}": value for name, value in settings.items()}}
    return engine.run(request.Request(caller, engine.prepare(caller, sql, (), given), (), given))


def all_rows(answer: Answer) -> list[tuple[object, ...]]:
    """The rows that an answer holds, and those that are read from its stream."""
    found = [tuple(row) for row in answer.rows]
    while answer.stream is not None and (more := answer.stream.take(1000)):
        found += [tuple(row) for row in more]
    return found
