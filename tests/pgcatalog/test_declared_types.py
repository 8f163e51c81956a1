"""Parameters of declared types in statements about the catalogue: bytes for bytes what a real PostgreSQL answers."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import psycopg
import pytest
from psycopg.pq import DiagnosticField, ExecStatus, Format

from dpproxy.algebra.plan import Answer
from dpproxy.pgcatalog import Catalogue, CatalogueView
from dpproxy.sql import grammar
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import ARRAYS, INET, OBJECTS, TIMETZ, TYPES, UNKNOWN, Column, SqlType, array_of
from dpproxy.wire.styles import styled_columns, styled_types
from dpproxy.wire.values import decode, encode_value

SETTINGS = {
    "search_path": "public", "timezone": "UTC", "intervalstyle": "postgres", "bytea_output": "hex",
    "server_version": "15.0",
}  # fmt: skip
Shown = tuple[object, ...]
Ask = Callable[..., Shown]

VALUES = {
    "bool": ("t", "f"),
    "bytea": (r"\x00ff6162", ""),
    "char": ("a",),
    "name": ("abc", "it's"),
    "int8": ("5", "-9223372036854775808", "9223372036854775807"),
    "int2": ("5", "-32768"),
    "int4": ("5", "-2147483648", "2147483647"),
    "text": ("abc", "it's \\ {x}", ""),
    "oid": ("0", "26", "4294967295"),
    "xid": ("7", "4294967295"),
    "json": ('{"b":1, "a":[ 1.0 ]}', "null"),
    "jsonb": ('{"b":1, "a":2, "b":[1e3, 1.0]}', '"x"', "[]"),
    "float4": ("1.5", "-0.1", "NaN", "Infinity", "-Infinity", "1e20"),
    "float8": ("1.5", "0.1", "NaN", "Infinity", "-Infinity", "1e300", "5"),
    "bpchar": ("ab ", "x"),
    "varchar": ("ab ", ""),
    "date": ("2024-02-29", "0001-01-01", "9999-12-31", "infinity", "-infinity"),
    "time": ("01:02:03.5", "24:00:00"),
    "timestamp": ("2024-02-29 01:02:03.000004", "0001-01-01 00:00:00", "infinity", "-infinity"),
    "timestamptz": ("2024-02-29 01:02:03.5+02", "infinity", "-infinity"),
    "interval": ("1 year 2 mons -3 days 04:05:06.789", "00:00:00"),
    "numeric": ("5", "1.50", "-0.001", "0.00", "123456789012345678901234567890.12345678", "100"),
    "uuid": ("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",),
    "inet": ("10.0.0.1", "10.0.0.0/8", "::1"),
    "regproc": ("now", "1299", "-"),
    "regprocedure": ("lower(text)", "870"),
    "regclass": ("pg_class", "1259"),
    "regtype": ("int4", "23", "timestamp with time zone", "int4[]"),
    "regnamespace": ("pg_catalog", "11"),
    "regrole": ("-",),
}
KINDS = [kind for kind in (*TYPES, INET, *OBJECTS) if kind not in (UNKNOWN, TIMETZ)]
NAMES = sorted(kind.name for kind in KINDS)


@pytest.fixture(scope="module")
def ours() -> Iterator[Ask]:
    """Types described and bytes answered, as a session puts them together; computed once for both formats of rows."""
    catalogue = Catalogue()
    view = CatalogueView("postgres", "postgres", ("postgres",), (), SETTINGS, 1, process=7)

    @lru_cache(maxsize=64)
    def answered(
        sql: str, oids: tuple[int, ...], sent: tuple[bytes | None, ...], read: int
    ) -> tuple[Sequence[SqlType], Sequence[Column], Answer]:
        tree = grammar.parse(sql)[0]
        kinds, described = catalogue.prepare(view, tree, oids)
        values = [
            None if data is None else decode(kind, data, read)
            for kind, data in zip(styled_types(kinds, SETTINGS), sent, strict=True)
        ]
        return kinds, described, catalogue.run(view, tree, values, {}, types=oids)

    def ask(sql: str, oids: Sequence[int], sent: Sequence[bytes | None], read: int, wanted: int) -> Shown:
        try:
            kinds, described, answer = answered(sql, tuple(oids), tuple(sent), read)
            columns = styled_columns(answer.columns or (), SETTINGS)
            rows = [
                [encode_value(c.type, value, wanted) for c, value in zip(columns, row, strict=True)]
                for row in answer.rows
            ]
        except Refusal as refusal:
            return (refusal.sqlstate,)
        assert [c.type.oid for c in columns] == [c.type.oid for c in described]
        return [kind.oid for kind in kinds], [c.type.oid for c in columns], rows

    yield ask
    catalogue.close()


def theirs(
    real: psycopg.Connection,
    sql: str,
    oids: Sequence[int],
    sent: Sequence[bytes | None],
    read: int,
    wanted: int,
) -> Shown:
    told = real.pgconn.prepare(b"", sql.encode(), oids)
    found = told
    if told.status == ExecStatus.COMMAND_OK:
        told = real.pgconn.describe_prepared(b"")
        found = real.pgconn.exec_prepared(b"", sent, [read] * len(sent), wanted)
    if found.status != ExecStatus.TUPLES_OK:
        return ((found.error_field(DiagnosticField.SQLSTATE) or b"").decode(),)
    columns = range(found.nfields)
    rows = [[found.get_value(row, column) for column in columns] for row in range(found.ntuples)]
    kinds = [told.param_type(at) for at in range(told.nparams)]
    return kinds, [found.ftype(c) for c in columns], rows


def binary(real: psycopg.Connection, oid: int, text: str) -> bytes | None:
    """A value in binary, as the server itself writes it."""
    return real.pgconn.exec_params(b"SELECT $1", [text.encode()], [oid], [0], Format.BINARY).get_value(0, 0)


IN_ARRAYS = {**VALUES, "bpchar": ("ab", "x"), "numeric": ("5", "-0.001", "1234567890123456789012.5", "100")}
"""What is held as it is among others."""


def compared(real: psycopg.Connection, ours: Ask, oid: int, texts: Sequence[str | None]) -> list[object]:
    """What is answered otherwise."""
    wrong: list[object] = []
    for text in texts:
        sent = [None if text is None else text.encode(), None if text is None else binary(real, oid, text)]
        for sql in ("SELECT $1", "SELECT $1, $1", "VALUES ($1)", "SELECT x FROM (SELECT $1 AS x) AS t"):
            for read in (0, 1):
                for wanted in (0, 1):
                    asked = sql, [oid], [sent[read]], read, wanted
                    mine, right = ours(*asked), theirs(real, *asked)
                    if mine != right:
                        wrong.append((asked, mine, right))
    return wrong


@pytest.mark.parametrize("name", NAMES)
def test_a_value_of_each_type(real: psycopg.Connection, ours: Ask, name: str):
    kind = next(kind for kind in KINDS if kind.name == name)
    assert compared(real, ours, kind.oid, [*VALUES[name], None]) == []


@pytest.mark.parametrize("name", sorted(kind.name for kind in ARRAYS.values() if kind != TIMETZ))
def test_an_array_of_each_type(real: psycopg.Connection, ours: Ask, name: str):
    kind = array_of(next(kind for kind in KINDS if kind.name == name))
    quoted = ['"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for text in IN_ARRAYS[name]]
    texts = ["{}", "{NULL}", "{" + ",".join(quoted) + "}", "{" + quoted[0] + ",NULL}", None]
    assert compared(real, ours, kind.oid, texts) == []


def test_beside_other_values(real: psycopg.Connection, ours: Ask):
    asked: tuple[tuple[str, tuple[int, ...], tuple[bytes, ...]], ...] = (
        ("SELECT $1 + 1", (20,), (b"5",)),
        ("SELECT $1 + $2", (20, 23), (b"1", b"2")),
        ("SELECT $1 + $2, $1 * $2", (21, 20), (b"3", b"2")),
        ("SELECT $1 + 1", (1700,), (b"5",)),
        ("SELECT -$1, abs($1)", (20,), (b"1",)),
        ("SELECT coalesce($1, $2)", (20, 23), (b"1", b"2")),
        ("SELECT CASE WHEN $1 > 0 THEN $1 END", (20,), (b"1",)),
        ("SELECT $1 || 'x'", (1043,), (b"a",)),
        ("SELECT generate_series(1, $1)", (20,), (b"2",)),
        ("SELECT relnatts + $1 FROM pg_class WHERE relname = 'pg_am'", (20,), (b"1",)),
        ("SELECT relname FROM pg_class WHERE oid = $1", (20,), (b"1259",)),
        ("SELECT relname FROM pg_class WHERE oid = $1", (21,), (b"1259",)),
        ("SELECT relname FROM pg_class WHERE oid = $1", (26,), (b"1259",)),
        ("SELECT relname FROM pg_class WHERE oid = $1", (2205,), (b"pg_class",)),
        ("SELECT relname FROM pg_class WHERE relname = ANY($1)", (1009,), (b"{pg_class}",)),
        ("SELECT relname FROM pg_class WHERE oid = ANY($1)", (1028,), (b"{1259}",)),
        ("SELECT 1 LIMIT $1", (20,), (b"1",)),
        ("SELECT $1::int4[]", (1005,), (b"{{1,2},{3,NULL}}",)),
        ("SELECT $1::int8", (1700,), (b"5",)),
        ("SELECT x FROM (VALUES ($1), ($2)) AS v (x)", (20, 20), (b"1", b"2")),
        ("SELECT format_type(25, $1)", (21,), (b"-1",)),
    )
    for sql, oids, sent in asked:
        for wanted in (0, 1):
            given = sql, oids, sent, 0, wanted
            assert ours(*given) == theirs(real, *given), sql


def test_a_date_that_cannot_be_held_is_refused(ours: Ask):
    assert ours("SELECT '10000-01-01'::date", (), (), 0, 0) == ("22008",)


@pytest.mark.parametrize("text", ["nonsense", '{"b":1, "a":2}', "[1.0,1e3]", '"\\u00e9"', "{", "", "NaN"])
def test_a_document_is_read(real: psycopg.Connection, ours: Ask, text: str):
    asked = f"SELECT '{text}'::jsonb", (), (), 0, 1
    assert ours(*asked) == theirs(real, *asked)
