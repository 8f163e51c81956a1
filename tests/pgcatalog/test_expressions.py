"""Expressions as clients write them: names, types and bytes as a real PostgreSQL gives them, or its error."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.pq import DiagnosticField, ExecStatus

from dpproxy.pgcatalog import Catalogue, CatalogueView
from dpproxy.planner.accept import parse
from dpproxy.values.errors import Refusal
from dpproxy.wire.styles import styled_columns
from dpproxy.wire.values import encode_value

HERE = Path(__file__).parent
EXPRESSIONS = (HERE / "expressions.sql").read_text(encoding="utf-8").splitlines()
MOMENTS = (HERE / "moments.sql").read_text(encoding="utf-8").splitlines()
SETTINGS = {
    "search_path": '"$user", public',
    "timezone": "UTC",
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "server_version": "15.0",
    "server_version_num": "150000",
}
Shown = tuple[object, ...]


@pytest.fixture(scope="module")
def ours() -> Iterator[Callable[..., Shown]]:
    catalogue = Catalogue()

    def ask(sql: str, format_: int, zone: str = "UTC") -> Shown:
        settings = {**SETTINGS, "timezone": zone}
        view = CatalogueView("postgres", "postgres", ("postgres",), (), settings, 1, process=7)
        try:
            answer = catalogue.run(view, parse(sql, "postgres", bare=False), (), {})
        except Refusal as refusal:
            return (refusal.sqlstate,)
        columns = styled_columns(answer.columns or (), settings)
        rows = [
            [encode_value(c.type, value, format_) for c, value in zip(columns, row, strict=True)]
            for row in answer.rows
        ]
        return (
            [c.name for c in columns],
            [c.type.oid for c in columns],
            [c.type.modifier for c in columns],
            rows,
        )

    yield ask
    catalogue.close()


def theirs(real: psycopg.Connection, sql: str, format_: int) -> Shown:
    found = real.pgconn.exec_params(sql.encode(), None, None, None, format_)
    if found.status != ExecStatus.TUPLES_OK:
        return ((found.error_field(DiagnosticField.SQLSTATE) or b"").decode(),)
    columns = range(found.nfields)
    rows = [[found.get_value(row, column) for column in columns] for row in range(found.ntuples)]
    names = [(found.fname(column) or b"").decode() for column in columns]
    return names, [found.ftype(c) for c in columns], [found.fmod(c) for c in columns], rows


@pytest.mark.parametrize("format_", [0, 1], ids=["text", "binary"])
def test_the_same_answers(real: psycopg.Connection, ours: Callable[..., Shown], format_: int):
    assert len(EXPRESSIONS) > 400
    wrong = [
        (sql, mine, right)
        for sql in EXPRESSIONS
        if (mine := ours(sql, format_)) != (right := theirs(real, sql, format_))
    ]
    assert wrong == []


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata", "Etc/GMT+3", "-3"])
def test_moments_in_a_time_zone(real: psycopg.Connection, ours: Callable[..., Shown], zone: str):
    real.execute(f"SET timezone = '{zone}'".encode())
    try:
        wrong = [
            (sql, mine, right)
            for sql in MOMENTS
            if (mine := ours(sql, 0, zone)) != (right := theirs(real, sql, 0))
        ]
        assert wrong == []
    finally:
        real.execute("SET timezone = 'UTC'")
