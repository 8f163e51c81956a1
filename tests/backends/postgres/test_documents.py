"""Fields of JSON documents: the same answers from DuckDB and PostgreSQL, whatever is in a row."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pytest

from dpproxy.algebra import nodes
from dpproxy.algebra.documents import stored_rows
from dpproxy.backends.postgres.dialect import dialect
from dpproxy.backends.servers.dialect import ValueKind, stored
from dpproxy.backends.servers.printer import statement
from dpproxy.policy.documents import JsonField
from tests.postgres import Server
from tests.proxies import Proxy, serving, write_home

WARDS = """{"ward": "north", "cost": 12.5, "bill": {"city": "Oslo"}, "urgent": true, "days": 3}"""
ROWS = [WARDS] * 600 + [
    *['{"ward": "south", "cost": "much", "bill": ["Oslo"], "urgent": 1, "days": 99999999999}'] * 300,
    *["[]", "null", '"ward"', '{"ward": {"ward": "north"}}', '{"ward": null, "cost": 1e999}'] * 20,
]
LONG = json.dumps({"ward": "north", "note": [random.random() for _ in range(2000)]})
COMPRESSED = json.dumps({"cost": "1" * 500_000, "days": "1" * 10 + " " * 500_000, "urgent": "true" * 100_000})
MALFORMED = ["{", "", '{"ward": "north", "cost"', "\x00", "[" * 5000]
POLICY = """
ALTER TABLE visits SET PRIVACY KEY (id) MAX ROWS 1;
ALTER TABLE visits SET PRIVACY CEILING EPSILON 1000;
ALTER TABLE visits ALTER COLUMN (payload ->> 'ward') SET PRIVACY DOMAIN IN ('north', 'south', NULL);
ALTER TABLE visits ALTER COLUMN (payload -> 'bill' ->> 'city') SET PRIVACY DOMAIN IN ('Oslo');
ALTER TABLE visits ALTER COLUMN ((payload ->> 'cost')::numeric) SET PRIVACY DOMAIN BETWEEN 0 AND 20;
ALTER TABLE visits ALTER COLUMN ((payload ->> 'days')::integer) SET PRIVACY DOMAIN BETWEEN 0 AND 10;
ALTER TABLE visits ALTER COLUMN ((payload ->> 'urgent')::boolean) SET PRIVACY DOMAIN IN (true, false);
CREATE PRIVACY BUDGET research LIMIT EPSILON 1000 DEFAULT EPSILON 5;
GRANT SELECT ON visits TO analyst WITH PRIVACY BUDGET research;
"""
Connection = psycopg.Connection[tuple[object, ...]]


def _duckdb(folder: Path, _: pytest.FixtureRequest) -> str:
    texts = pa.array([*ROWS, *[LONG] * 200, *MALFORMED])
    documents = pa.ExtensionArray.from_storage(pa.json_(), texts)  # DuckDB takes what it says it is
    rows = pa.table({"id": range(len(texts)), "payload": documents})
    with duckdb.connect(folder / "documents.duckdb") as connection:
        connection.register("rows", rows)
        connection.execute("CREATE TABLE visits AS SELECT * FROM rows")
        connection.execute("CREATE TABLE plain (id INTEGER, note VARCHAR)")
    return 'path = "documents.duckdb"'


def _postgres(_: Path, request: pytest.FixtureRequest) -> str:
    server: Server = request.getfixturevalue("postgres")
    name = server.database(name="documents")
    with psycopg.connect(server.url(name), autocommit=True) as connection:
        connection.execute("CREATE TABLE visits (id integer, payload jsonb)")
        connection.execute("CREATE TABLE plain (id integer, note json)")
        with connection.cursor() as cursor:
            texts = [*ROWS, *[LONG] * 200, COMPRESSED]
            cursor.executemany("INSERT INTO visits VALUES (%s, %s)", list(enumerate(texts)))
        if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'documents'").fetchone() is None:
            connection.execute("CREATE ROLE documents LOGIN")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO documents")
    return f'url = "{server.url(name).replace("postgres@", "documents@")}"'


@pytest.fixture(scope="module", params=[_duckdb, _postgres])
def proxy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("documents")
    file = write_home(folder, (), POLICY)
    file.write_text(file.read_text().replace('path = "data.duckdb"', request.param(folder, request)))
    with serving(file) as found:
        yield found


@pytest.fixture
def client(proxy: Proxy) -> Iterator[Connection]:
    with psycopg.connect(proxy.dsn(), autocommit=True) as connection:
        yield connection


# Noise of epsilon 5 on a count, shared among at most three measures, is beyond 40 less than once in e^60; on a sum
# within 20 it is beyond 800 as rarely.


def test_texts_are_keys_and_numbers_are_summed(client: Connection):
    sql = """SELECT payload ->> 'ward', count(*), sum((payload ->> 'cost')::numeric), count(payload #>> '{bill,city}')
             FROM visits GROUP BY 1 ORDER BY 1"""
    asked = client.execute(sql)
    assert [column.name for column in asked.description or ()] == ["?column?", "count", "sum", "count"]
    (north, south, none) = asked.fetchall()
    assert (north[0], south[0], none[0]) == ("north", "south", None)
    for found, exact in zip((north, south, none), ((600, 7500, 600), (300, 0, 0), (300, 0, 0)), strict=True):
        assert abs(int(str(found[1])) - exact[0]) < 45
        assert abs(float(str(found[2])) - exact[1]) < 800
        assert abs(int(str(found[3])) - exact[2]) < 45


def test_values_of_another_form_are_null(client: Connection):
    sql = """SELECT count(*) FILTER (WHERE v.payload ->> 'urgent' IS NULL) FROM visits AS v"""
    with pytest.raises(psycopg.errors.UndefinedColumn) as refused:
        client.execute(sql)
    assert "(payload ->> 'urgent')::boolean" in str(refused.value.diag.message_hint)
    asked = client.execute(
        "SELECT count((payload ->> 'days')::int), count(*) FILTER (WHERE (payload ->> 'urgent')::bool) FROM visits"
    )
    assert all(abs(int(str(value)) - 600) < 45 for value in asked.fetchone() or ())


def test_the_catalogue_has_them_as_columns(client: Connection):
    listed = client.execute(
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'visits' ORDER BY 1"
    ).fetchall()
    assert ("payload ->> 'ward'", "text") in listed
    assert ("(payload ->> 'cost')::numeric", "double precision") in listed
    assert "payload" not in dict(listed)
    [(count,)] = client.execute("SELECT count(\"payload ->> 'ward'\") FROM visits").fetchall()
    assert abs(int(str(count)) - 900) < 45


def test_postgres_reads_a_field_of_a_row_once():
    rows = nodes.Select(
        (nodes.Star(),), stored_rows("t", [JsonField("j", ("a",)), JsonField("j", ("n",), "integer")])
    )
    columns = {"id": stored(ValueKind.WHOLE), "j": stored(ValueKind.DOCUMENT)}
    printed = statement(rows, dialect("public"), lambda *_: columns).sql
    assert printed.count("#>>") == 2
    assert "OFFSET 0" in printed


@pytest.mark.parametrize(("method", "is_read"), [("pglz", True), ("lz4", False)])
def test_what_is_read_of_a_compressed_document_is_bounded(postgres: Server, method: str, *, is_read: bool):
    """3,000 to 10,000 bytes as stored: LZ4 makes more of each."""
    rows = nodes.Select((nodes.Star(),), stored_rows("t", [JsonField("j", ("a",))]))
    columns = {"id": stored(ValueKind.WHOLE), "j": stored(ValueKind.DOCUMENT)}
    printed = statement(rows, dialect("public"), lambda *_: columns).sql
    size = 700_000 if is_read else 1_500_000
    with psycopg.connect(postgres.url(postgres.database()), autocommit=True) as connection:
        connection.execute(f"CREATE TABLE t (id bigint, j jsonb COMPRESSION {method})".encode())
        connection.execute("INSERT INTO t VALUES (1, jsonb_build_object('a', repeat('a', %s::int)))", (size,))
        [(stored_size,)] = connection.execute("SELECT pg_column_size(j) FROM t").fetchall()
        assert 3400 < stored_size < 10_000
        [row] = connection.execute(printed.encode()).fetchall()
    assert (row[-1] is not None) is is_read


@pytest.mark.parametrize(
    ("sql", "state", "word"),
    [
        (
            "ALTER TABLE plain ALTER COLUMN (note ->> 'a') SET PRIVACY DOMAIN IN ('x')",
            "22023",
            "no JSON documents",
        ),
        (
            "ALTER TABLE visits ALTER COLUMN (payload ->> 'Ward') SET PRIVACY DOMAIN IN ('x')",
            "22023",
            "the case of",
        ),
        (
            "ALTER TABLE visits ALTER COLUMN (payload ->> '1') SET PRIVACY DOMAIN IN ('x')",
            "0A000",
            "cannot be",
        ),
        (
            "ALTER TABLE visits ALTER COLUMN (payload -> 'a') SET PRIVACY DOMAIN IN ('x')",
            "0A000",
            "cannot be",
        ),
        (
            "ALTER TABLE visits ALTER COLUMN ((payload ->> 'a')::date) SET PRIVACY DOMAIN IN ('x')",
            "0A000",
            "this type",
        ),
        ("ALTER TABLE visits SET PRIVACY KEY (\"payload ->> 'ward'\")", "42703", "does not exist"),
    ],
)
def test_what_is_no_column_is_refused(proxy: Proxy, sql: str, state: str, word: str):
    with psycopg.connect(proxy.dsn("root"), autocommit=True) as administrator:
        with pytest.raises(psycopg.Error) as refused:
            administrator.execute(sql.encode())
        assert (refused.value.sqlstate, word in str(refused.value)) == (state, True)
