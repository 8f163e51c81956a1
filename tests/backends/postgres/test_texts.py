import duckdb
import psycopg
import pytest

from dpproxy.backends.postgres.texts import LONGEST_FOLDED, constant, folded
from dpproxy.values.errors import Unsupported
from tests.postgres import Server


@pytest.mark.whole
@pytest.mark.parametrize("name", ["lower", "upper"])
def test_every_letter_is_changed_as_in_duckdb(postgres: Server, name: str):
    letters = "".join(chr(i) for i in range(1, 0x110000) if not 0xD800 <= i < 0xE000)
    with duckdb.connect() as connection:
        [(wanted,)] = connection.execute(f"SELECT {name}(?)", [letters]).fetchall()
    with psycopg.connect(
        postgres.url(postgres.database(name="texts")), cursor_factory=psycopg.RawCursor
    ) as server:
        text = f"SELECT {folded('t', name)} FROM (SELECT $1::text AS t) AS x"
        size = LONGEST_FOLDED // 4
        parts = [letters[i : i + size] for i in range(0, len(letters), size)]
        found = [server.execute(text.encode(), [part]).fetchone() for part in parts]
        assert "".join(str(row and row[0]) for row in found) == wanted
        assert server.execute(text.encode(), ["aBc"]).fetchone() == ({"lower": "abc", "upper": "ABC"}[name],)


def test_a_long_text_takes_no_seconds(postgres: Server):
    with psycopg.connect(postgres.url(postgres.database(name="texts"))) as server:
        server.execute("SET statement_timeout = '5s'")
        text = f"SELECT length({folded('t', 'lower')}) FROM (SELECT repeat('é', 5000000) AS t OFFSET 0) AS x"
        assert server.execute(text.encode()).fetchone() == (5_000_000,)


def test_texts_are_closed():
    assert constant("it's \\") == "'it''s \\'"
    with pytest.raises(Unsupported):
        constant("a\0b")
