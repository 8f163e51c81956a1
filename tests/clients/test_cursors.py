"""Cursors, COPY and prepared statements as real clients use them."""

import csv
import io
import subprocess

import psycopg
import psycopg2
import pytest

from tests.proxies import Proxy

pytestmark = pytest.mark.external
GROUPS = "SELECT town, count(*) AS n FROM people WHERE town <> %s GROUP BY town ORDER BY town"


def test_a_server_side_cursor_of_psycopg(proxy: Proxy):
    with psycopg.connect(proxy.dsn()) as connection:
        with connection.cursor("mine", scrollable=True) as cursor:
            cursor.execute(GROUPS, ["west"])
            first = cursor.fetchone()
            assert first is not None
            assert first[0] == "north"
            assert [row[0] for row in cursor.fetchall()] == ["south"]
            cursor.scroll(0, mode="absolute")
            assert cursor.fetchone() == first
        with connection.cursor("binary", binary=True) as cursor:
            cursor.execute(GROUPS, ["west"])
            assert cursor.fetchone() == first  # the same question, answered from the same draw


def test_keys_narrowed_by_a_parameter(proxy: Proxy):
    with psycopg.connect(proxy.dsn(), autocommit=True) as connection:
        assert [row[0] for row in connection.execute(GROUPS, ["north"])] == ["south", "west"]
        assert [row[0] for row in connection.execute(GROUPS, ["south"])] == ["north", "west"]


def test_copy_of_psycopg(proxy: Proxy):
    query = "COPY (SELECT town, count(*) FROM people GROUP BY town ORDER BY town) TO STDOUT"
    with psycopg.connect(proxy.dsn(), autocommit=True) as connection, connection.cursor() as cursor:
        with cursor.copy(query) as copy:
            text = list(copy.rows())
        with cursor.copy(f"{query} (FORMAT binary)") as copy:
            copy.set_types(["text", "int8"])
            binary = list(copy.rows())
        with cursor.copy(f"{query} (FORMAT csv, HEADER)") as copy:
            written = list(csv.reader(io.StringIO(b"".join(map(bytes, copy)).decode())))
        assert cursor.rowcount == 3
    assert [(town, int(n)) for town, n in text] == binary
    assert written == [["town", "count"], *(list(row) for row in text)]


def test_a_named_cursor_and_copy_of_psycopg2(proxy: Proxy):
    connection = psycopg2.connect(proxy.dsn())
    with connection.cursor("named") as cursor:
        cursor.itersize = 2
        cursor.execute("SELECT town, count(*) FROM people GROUP BY town ORDER BY town")
        rows = list(cursor)
    with connection.cursor() as cursor:
        copied = io.StringIO()
        cursor.copy_expert(
            "COPY (SELECT town, count(*) FROM people GROUP BY town ORDER BY town) TO STDOUT", copied
        )
    connection.close()
    assert [tuple(line.split("\t")) for line in copied.getvalue().splitlines()] == [
        (town, str(n)) for town, n in rows
    ]


def psql(proxy: Proxy, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["psql", proxy.dsn(), "-X", "-At", "-q", "-v", "ON_ERROR_STOP=0"],
        input=script, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_psql_fetches_by_a_cursor(proxy: Proxy):
    whole = psql(proxy, "SELECT town, count(*) FROM people GROUP BY town ORDER BY town;")
    some = psql(proxy, "\\set FETCH_COUNT 1\nSELECT town, count(*) FROM people GROUP BY town ORDER BY town;")
    assert some.stdout == whole.stdout
    assert whole.stdout.count("\n") == 3


def test_psql_copies_prepares_and_is_told_what_is_not_copied(proxy: Proxy):
    found = psql(
        proxy,
        "\\copy (SELECT 'a,b' AS x, 1) TO STDOUT WITH CSV HEADER\n"
        "PREPARE mine (text) AS SELECT $1; EXECUTE mine('it''s'); DEALLOCATE mine;\n"
        "SET my.own = 'kept'; SHOW my.own;\n"
        "COPY people TO STDOUT;\n"
        "COPY people FROM STDIN;\n",
    )
    assert found.stdout.splitlines() == ["x,?column?", '"a,b",1', "it's", "kept"]
    assert "rows of a protected table are not shown" in found.stderr
    assert "COPY FROM, which would change data" in found.stderr


def test_parameters_without_spaces_between_them(proxy: Proxy):
    with psycopg.connect(proxy.dsn(), autocommit=True) as connection:
        raw = psycopg.RawCursor(connection)
        raw.execute("SELECT count(*) FROM people WHERE town IN ($1,$2)AND age>$3", ["north", "south", 20])
        assert raw.fetchone()
