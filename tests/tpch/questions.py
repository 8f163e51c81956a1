"""The 22 queries, and one engine to ask."""

import re
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from dpproxy.algebra.plan import Answer, Caller
from dpproxy.algebra.request import Request
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.engine import Engine
from dpproxy.values.errors import Refusal
from tests.proxies import write_home

EXAMPLE = Path(__file__).parents[2] / "examples" / "tpch"
QUERIES = {
    path.stem: path.read_text(encoding="utf-8") for path in sorted((EXAMPLE / "queries").glob("q*.sql"))
}
LOUD = """
ALTER TABLE customer SET PRIVACY CEILING EPSILON 1000000000 DELTA 0.1;
CREATE PRIVACY BUDGET tpch LIMIT EPSILON 1000000000 DELTA 0.1 MAX EPSILON 1000000 DEFAULT EPSILON 1000000;
"""
"""Epsilon 1,000,000 a statement: noise is next to nothing, so that answers can be compared."""
ANALYST = Caller("ann", frozenset({"analyst"}), "tpch")
_STATEMENT = re.compile(r"((?:WITH|SELECT)\b.*?);", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came back: an answer, or a refusal and the answer to its rewrite."""

    answer: Answer | None
    refusal: Refusal | None = None
    rewrite: str | None = None
    rewritten: "Outcome | None" = None


def write_proxy(folder: Path) -> Path:
    """Policy and configuration beside ``data.duckdb``, which stands there already."""
    return write_home(folder, (), (EXAMPLE / "policy.sql").read_text(encoding="utf-8") + LOUD)


def ask(engine: Engine, sql: str, *, follow: bool = True) -> Outcome:
    """Send a statement, and where it is refused, the statement in its hint."""
    try:
        return Outcome(run(engine, sql))
    except Refusal as refusal:
        rewrite = rewrite_of(refusal)
        again = ask(engine, rewrite, follow=False) if follow and rewrite is not None else None
        return Outcome(None, refusal, rewrite, again)


def run(engine: Engine, sql: str) -> Answer:
    """The answer. Raises the ``Refusal``."""
    engine.open(ANALYST)
    prepared = engine.prepare(ANALYST, sql, (), DEFAULTS)
    return engine.run(Request(ANALYST, prepared, (), DEFAULTS))


def rewrite_of(refusal: Refusal) -> str | None:
    """The first query in a hint that has no place to fill."""
    found = _STATEMENT.findall(refusal.hint or "")
    return next((sql for sql in found if "..." not in sql and not re.search(r"<\w+>", sql)), None)


def plain(value: Any) -> Any:  # noqa: ANN401 - values of every type
    """Numbers as floats, days as timestamps: how either side types them does not matter here."""
    match value:
        case bool() | None | datetime():
            return value
        case int() | float() | Decimal():
            return float(value)
        case date():
            return datetime.combine(value, time())
        case list() | tuple():
            return tuple(map(plain, value))
        case _:
            return value
