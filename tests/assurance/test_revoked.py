"""Attack: go on reading rows after the right to them was taken away, through everything that is still open.

``eve`` may see rows of people as they are, rows of a protected view, and a public table. What was not sent yet when an
administrator takes that back, or hides the table, is refused to whatever holds it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest

from tests.assurance.raw import Raw
from tests.proxies import Proxy, serving, write_home

PEOPLE, PLACES = 400, 300_000
DDL = [
    "CREATE TABLE people (id INTEGER PRIMARY KEY, age INTEGER NOT NULL)",
    f"INSERT INTO people SELECT i, i % 100 FROM range({PEOPLE}) AS r(i)",
    "CREATE TABLE places (id INTEGER NOT NULL, name VARCHAR NOT NULL)",
    f"INSERT INTO places SELECT i, rpad('place number ' || i, 90, '.') FROM range({PLACES}) AS r(i)",
]
POLICY = """
ALTER TABLE people SET PRIVACY KEY (id);
ALTER TABLE people SET PRIVACY CEILING EPSILON 100;
ALTER TABLE people ALTER COLUMN id SET PRIVACY DOMAIN BETWEEN 0 AND 1000;
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 99;
CREATE PRIVACY BUDGET research LIMIT EPSILON 50 MAX EPSILON 1 DEFAULT EPSILON 0.1;
CREATE PROTECTED VIEW copies WITH (method = dp_individual_ranking, k = 5, epsilon = 1) AS SELECT age FROM people;
ALTER TABLE places SET PRIVACY PUBLIC;
GRANT EXACT SELECT ON people TO stranger;
GRANT SELECT ON copies TO stranger;
"""
AWAY = {
    "people": ("REVOKE EXACT SELECT ON people FROM stranger", "GRANT EXACT SELECT ON people TO stranger"),
    "copies": ("REVOKE SELECT ON copies FROM stranger", "GRANT SELECT ON copies TO stranger"),
    "places": ("ALTER TABLE places SET PRIVACY HIDDEN", "ALTER TABLE places SET PRIVACY PUBLIC"),
}
CURSORS = {
    "of a transaction": ("BEGIN", "DECLARE c CURSOR FOR {}"),
    "that is held": ("DECLARE c CURSOR WITH HOLD FOR {}",),
    "behind a savepoint": ("BEGIN", "DECLARE c CURSOR FOR {}", "SAVEPOINT s", "FETCH 1 FROM c"),
    "that scrolls": ("BEGIN", "DECLARE c SCROLL CURSOR FOR {}", "FETCH 9 FROM c"),
}
FETCHES = (
    "FETCH 5 FROM c",
    "FETCH ALL FROM c",
    "FETCH BACKWARD 5 FROM c",
    "FETCH ABSOLUTE 1 FROM c",
    "MOVE 5 FROM c",
)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with serving(write_home(tmp_path_factory.mktemp("revoked"), DDL, POLICY)) as found:
        yield found


@contextmanager
def taken(proxy: Proxy, table: str) -> Iterator[Callable[[], object]]:
    """Takes the right away when called, and gives it back in the end."""
    away, back = AWAY[table]
    with psycopg.connect(proxy.dsn("root"), autocommit=True) as root:
        try:
            yield lambda: root.execute(away.encode())
        finally:
            root.execute(back.encode())


def query(table: str) -> str:
    return f"SELECT * FROM {table} LIMIT 150000"


def told(connection: Raw, sql: str) -> tuple[int, str]:
    """How many rows came, and the SQLSTATE of a refusal."""
    found = connection.query(sql)
    errors = [m.fields()["C"] for m in found if m.kind == "E"]
    return sum(m.kind == "D" for m in found), errors[0] if errors else ""


@pytest.mark.parametrize("table", AWAY)
@pytest.mark.parametrize("begin", CURSORS.values(), ids=CURSORS)
def test_a_cursor_gives_nothing_more(proxy: Proxy, table: str, begin: tuple[str, ...]):
    for fetch in FETCHES:
        with taken(proxy, table) as take_away, Raw(proxy, "eve") as eve:
            for sql in begin:
                assert told(eve, sql.format(query(table)))[1] == ""
            take_away()
            assert told(eve, fetch) == (0, "42501"), fetch


def portal(eve: Raw, sql: str, limit: int) -> None:
    eve.send("P", b"\0" + sql.encode() + b"\0\0\0")
    eve.send("B", b"p\0\0" + b"\0\0\0\0\0\0")
    eve.send("E", b"p\0" + limit.to_bytes(4, "big"))


@pytest.mark.parametrize("table", AWAY)
@pytest.mark.parametrize("asked", ["{}", "EXECUTE q", "FETCH 100 FROM c"])
def test_a_portal_with_a_limit_of_rows_gives_nothing_more(proxy: Proxy, table: str, asked: str):
    with taken(proxy, table) as take_away, Raw(proxy, "eve") as eve:
        assert told(eve, "BEGIN")[1] == ""
        assert told(eve, f"PREPARE q AS {query(table)}")[1] == ""
        assert told(eve, f"DECLARE c CURSOR FOR {query(table)}")[1] == ""
        portal(eve, asked.format(query(table)), 5)
        eve.send("S")
        assert sum(m.kind == "D" for m in eve.until_ready()) == 5
        take_away()
        eve.send("E", b"p\0" + (5).to_bytes(4, "big"))
        eve.send("S")
        found = eve.until_ready()
        assert [m.fields()["C"] for m in found if m.kind == "E"] == ["42501"]
        assert not [m for m in found if m.kind == "D"]


def test_neither_does_a_cursor_over_the_audit_log(proxy: Proxy):
    with Raw(proxy, "eve") as eve:
        assert told(eve, "DECLARE c CURSOR WITH HOLD FOR SHOW PRIVACY AUDIT")[1] == ""
        assert told(eve, "FETCH 1 FROM c") == (1, "")
        with taken(proxy, "people") as take_away:
            take_away()
            assert told(eve, "FETCH 1 FROM c") == (0, "42501")


def test_the_rows_of_a_running_copy_stop(proxy: Proxy):
    with taken(proxy, "places") as take_away, Raw(proxy, "eve") as eve:
        eve.send("Q", b"COPY places TO STDOUT\0")
        first = eve._message()
        take_away()
        found = [first, *eve.until_ready()]
        assert [m.fields()["C"] for m in found if m.kind == "E"] == ["42501"]
        assert 0 < sum(m.kind == "d" for m in found) < PLACES


def test_other_changes_interrupt_nobody(proxy: Proxy):
    with Raw(proxy, "eve") as eve, psycopg.connect(proxy.dsn("root"), autocommit=True) as root:
        for table in AWAY:
            assert told(eve, f"DECLARE {table}_c CURSOR WITH HOLD FOR {query(table)}")[1] == ""
        root.execute("CREATE PRIVACY BUDGET other LIMIT EPSILON 1")
        root.execute("REFRESH PROTECTED VIEW copies")
        for table in AWAY:
            assert told(eve, f"FETCH 5 FROM {table}_c") == (5, ""), table


def test_an_answer_that_was_paid_for_stays_the_callers(proxy: Proxy):
    """Nothing in it is more than what was released, and what was released was the caller's already."""
    with psycopg.connect(proxy.dsn("root"), autocommit=True) as root, Raw(proxy, "ann") as ann:
        root.execute("GRANT SELECT ON people TO analyst WITH PRIVACY BUDGET research")
        assert told(ann, "DECLARE c CURSOR WITH HOLD FOR SELECT count(*) FROM people")[1] == ""
        root.execute("REVOKE SELECT ON people FROM analyst")
        assert told(ann, "FETCH 1 FROM c") == (1, "")
        assert told(ann, "SELECT count(*) FROM people") == (0, "42P01")


def test_what_was_given_back_is_read_again(proxy: Proxy):
    with Raw(proxy, "eve") as eve:
        assert told(eve, f"DECLARE c CURSOR WITH HOLD FOR {query('people')}")[1] == ""
        with taken(proxy, "people") as take_away:
            take_away()
            assert told(eve, "FETCH 5 FROM c") == (0, "42501")
        assert told(eve, "FETCH 5 FROM c") == (5, "")
