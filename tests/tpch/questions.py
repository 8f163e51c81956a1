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
BY_LINE = """
ALTER TABLE lineitem SET PRIVACY KEY ROW;
ALTER TABLE lineitem SET PRIVACY CEILING EPSILON 1000000000 DELTA 0.1;
ALTER TABLE lineitem ALTER COLUMN l_orderkey SET PRIVACY DOMAIN REFERENCES orders (o_orderkey);
CREATE PRIVACY BUDGET tpch LIMIT EPSILON 1000000000 DELTA 0.1 MAX EPSILON 1000000 DEFAULT EPSILON 1000000;
GRANT SELECT ON lineitem TO analyst WITH PRIVACY BUDGET tpch;
"""
"""One line is one unit: whoever sells is protected, and customers and their orders are public."""
OTHERS = ("customer", "orders", "part", "supplier", "partsupp", "nation", "region")
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


def write_proxy_by_line(folder: Path) -> Path:
    """The same with a line as the privacy unit: the example's domains of its columns, and all other tables public."""
    own = [
        statement.strip()
        for statement in (EXAMPLE / "policy.sql").read_text(encoding="utf-8").split(";")
        if "ALTER TABLE lineitem ALTER COLUMN" in statement
    ]
    public = [f"ALTER TABLE {name} SET PRIVACY PUBLIC" for name in OTHERS]
    given = [f"GRANT SELECT ON {', '.join(OTHERS)} TO analyst"]
    return write_home(folder, (), ";\n".join([*public, *own, *given, BY_LINE.strip()]))


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
