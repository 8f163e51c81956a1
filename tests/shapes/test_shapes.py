"""Everyday statements at next to no noise equal DuckDB's own answers; two kinds are refused, with a rewrite that works.

The mechanism takes e**-epsilon as 2**-64 at least: noise beyond 5e-5 of the width has a chance below 1e-13, which is
the false alarm of a test here.
"""

import re
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal

import duckdb
import pytest

from dpproxy.algebra.plan import Caller
from dpproxy.algebra.request import Request
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.engine import Engine
from dpproxy.values.errors import Refusal
from tests.empty import empty
from tests.proxies import started, write_home
from tests.shapes.data import DDL, POLICY
from tests.shapes.shapes import ACCEPTED, REFUSED, Shape

ANALYST = Caller("ann", frozenset({"analyst"}), "shapes")
Row = tuple[object, ...]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with started(write_home(tmp_path_factory.mktemp("shapes"), DDL, POLICY)) as engine:
        engine.open(ANALYST)
        yield engine


@pytest.fixture(scope="module")
def bare() -> Iterator[duckdb.DuckDBPyConnection]:
    with empty() as connection:
        for statement in DDL:
            connection.execute(statement)
        yield connection


def ask(engine: Engine, sql: str) -> list[Row]:
    answer = engine.run(Request(ANALYST, engine.prepare(ANALYST, sql, (), DEFAULTS), (), DEFAULTS))
    return list(answer.rows)


def plain(value: object) -> object:
    """A value as both sides write it: numbers as floats, dates as timestamps."""
    match value:
        case bool() | None:
            return value
        case int() | float() | Decimal():
            return float(value)
        case datetime():
            return value.replace(tzinfo=None)
        case date():
            return datetime.combine(value, time())
        case _:
            return value


def same(ours: object, theirs: object, slack: float) -> bool:
    ours, theirs = plain(ours), plain(theirs)
    if isinstance(ours, float) and isinstance(theirs, float):
        return abs(ours - theirs) <= slack + 1e-9 * abs(theirs)
    return ours == theirs


@pytest.mark.parametrize("shape", ACCEPTED, ids=lambda s: s.name)
def test_an_answer_is_that_of_the_data(engine: Engine, bare: duckdb.DuckDBPyConnection, shape: Shape):
    ours, theirs = ask(engine, shape.sql), bare.execute(shape.sql).fetchall()
    assert len(ours) == len(theirs), (ours, theirs)
    for left, right in zip(ours, theirs, strict=True):
        assert len(left) == len(right)
        assert all(same(a, b, shape.slack) for a, b in zip(left, right, strict=True)), (left, right)


@pytest.mark.parametrize("shape", REFUSED, ids=lambda s: s.name)
def test_a_refusal_teaches(engine: Engine, shape: Shape):
    with pytest.raises(Refusal) as refused:
        ask(engine, shape.sql)
    assert refused.value.sqlstate != "XX000"
    assert refused.value.position is not None
    rewrite = re.search(r"((?:WITH|SELECT)\b[^;]*);", refused.value.hint or "")
    assert rewrite is not None, refused.value.hint
    assert ask(engine, rewrite[1])


def test_there_are_35():
    assert len(ACCEPTED) + len(REFUSED) == 35
    assert len({s.name for s in (*ACCEPTED, *REFUSED)}) == 35


def test_no_bound_of_the_policy_cuts_the_data(bare: duckdb.DuckDBPyConnection):
    """Otherwise the comparison would be with another question."""
    for condition in (
        "patients WHERE age NOT BETWEEN 0 AND 110 OR weight NOT BETWEEN 20 AND 200 OR year(joined) <> 2023",
        "visits WHERE cost NOT BETWEEN 0 AND 1000 OR minutes NOT BETWEEN 0 AND 120 OR year(day) <> 2024",
        "(SELECT patient FROM visits GROUP BY patient HAVING count(*) > 8)",
        "visits ANTI JOIN patients ON patient = id",
    ):
        assert bare.execute(f"SELECT count(*) FROM {condition}").fetchall() == [(0,)]
