"""Users over the wire: who may change them, what becomes of sessions and of passwords."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from dpproxy.config.users import read_users
from tests.proxies import PASSWORD, Proxy, serving, write_home
from tests.web.pages import DDL, POLICY

pytestmark = pytest.mark.usefixtures("in_process")

Row = tuple[object, ...]


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    with serving(write_home(tmp_path, DDL, POLICY)) as found:
        yield found


def run(proxy: Proxy, user: str, sql: str, **more: object) -> list[Row]:
    with psycopg.connect(proxy.dsn(user, **more), autocommit=True) as connection:
        cursor = connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []


def test_a_user_from_the_first_day_to_the_last(proxy: Proxy):
    run(proxy, "root", "CREATE USER cat IN ROLE analyst PASSWORD 'first password'")
    assert ("cat", "analyst") in run(proxy, "root", "SHOW PRIVACY USERS")
    assert run(proxy, "cat", "SELECT current_user", password="'first password'") == [("cat",)]
    run(proxy, "cat", "ALTER USER CURRENT_USER PASSWORD 'second password'", password="'first password'")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        run(proxy, "cat", "SELECT 1", password="'first password'")
    run(proxy, "root", "GRANT admin, guest TO cat")
    assert ("cat", "admin, analyst, guest") in run(
        proxy, "cat", "SHOW PRIVACY USERS", password="'second password'"
    )
    run(proxy, "root", "REVOKE admin FROM cat")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        run(proxy, "cat", "SHOW PRIVACY USERS", password="'second password'")
    run(proxy, "root", "DROP USER cat")
    assert "cat" not in read_users(proxy.folder / "users.toml")


def test_a_password_may_be_hashed_by_the_client(proxy: Proxy):
    with psycopg.connect(proxy.dsn("root"), autocommit=True) as root:
        secret = root.pgconn.encrypt_password(b"the third one", b"ann", b"scram-sha-256").decode()
        root.execute(f"ALTER USER ann PASSWORD '{secret}'".encode())
    assert run(proxy, "ann", "SELECT current_user", password="'the third one'") == [("ann",)]


@pytest.mark.parametrize(
    "sql",
    [
        "SHOW PRIVACY USERS",
        "CREATE USER cat IN ROLE admin PASSWORD 'x y z'",
        "GRANT admin TO ann",
        "ALTER USER root PASSWORD 'mine now'",
        "DROP USER bob",
    ],
)
def test_an_analyst_changes_nobody(proxy: Proxy, sql: str):
    before = (proxy.folder / "users.toml").read_text()
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="are for administrators"):
        run(proxy, "ann", sql)
    assert (proxy.folder / "users.toml").read_text() == before


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("CREATE USER ann IN ROLE analyst PASSWORD 'a b c d'", "already exists"),
        ("CREATE USER cat IN ROLE \"No role\" PASSWORD 'a b c d'", "lower-case"),
        ("CREATE USER cat IN ROLE analyst PASSWORD 'seven77'", "12 characters at least"),
        ("CREATE USER cat IN ROLE analyst PASSWORD 'SCRAM-SHA-256$x'", "not a SCRAM-SHA-256 secret"),
        ("DROP USER nobody", "does not exist"),
        ("DROP USER root", "cannot be dropped"),
        ("REVOKE admin FROM root", "cannot be deprived"),
        ("REVOKE analyst FROM ann", "at least one role"),
    ],
)
def test_what_cannot_be_changes_nothing(proxy: Proxy, sql: str, words: str):
    before = read_users(proxy.folder / "users.toml")
    with pytest.raises(psycopg.Error, match=words) as refused:
        run(proxy, "root", sql)
    assert refused.value.diag.statement_position is not None
    assert read_users(proxy.folder / "users.toml") == before


def test_a_session_ends_where_its_user_loses_a_role(proxy: Proxy):
    with psycopg.connect(proxy.dsn("ann"), autocommit=True) as ann:
        run(proxy, "root", "GRANT guest TO ann")
        assert ann.execute("SELECT 1").fetchall() == [(1,)]
        run(proxy, "root", "REVOKE analyst FROM ann")
        with pytest.raises(psycopg.errors.AdminShutdown):
            ann.execute("SELECT 1")


@pytest.mark.parametrize(
    "sql",
    [
        f"ALTER USER ann PASSWORD '{PASSWORD}'",
        f"CREATE USER cat IN ROLE analyst PASSWORD '{PASSWORD}'",
        f"/* so */ Alter Role ann With Encrypted Password '{PASSWORD}' oops",
    ],
)
def test_the_audit_log_has_no_password(proxy: Proxy, sql: str):
    with psycopg.connect(proxy.dsn("root"), autocommit=True) as root:
        with suppress(psycopg.Error):
            root.execute(sql.encode())
        entries = root.execute("SHOW PRIVACY AUDIT").fetchall()
    assert PASSWORD not in str(entries)
    assert "ann" in str(entries[0]) or "cat" in str(entries[0])


def test_a_word_hides_no_statement_from_the_audit_log(proxy: Proxy):
    with psycopg.connect(proxy.dsn("ann"), autocommit=True) as ann:
        ann.execute("SELECT count(*) /* alter user password */ FROM visits WHERE age < 30")
    assert "age < 30" in str(run(proxy, "root", "SHOW PRIVACY AUDIT"))


def test_psql_is_told_how_passwords_are_hashed(proxy: Proxy):
    assert run(proxy, "ann", "SHOW password_encryption") == [("scram-sha-256",)]


def test_a_history_is_of_the_person_and_not_of_the_name(proxy: Proxy):
    asked = "SELECT count(*) -- mine\n  FROM visits"
    ledger = "SELECT sequence, what FROM dp.ledger"
    for _ in range(2):
        assert run(proxy, "ann", asked)
    for sql in (f"ALTER USER ann PASSWORD '{PASSWORD}'", "GRANT reader TO ann"):
        run(proxy, "root", sql)
    own = run(proxy, "ann", "SHOW PRIVACY HISTORY")
    assert [(row[1], row[3]) for row in own] == [("replayed", asked), ("answered", asked)]
    assert len(run(proxy, "ann", "SHOW PRIVACY HISTORY LIMIT 1")) == len(run(proxy, "ann", ledger)) == 1
    with psycopg.connect(proxy.dsn("ann"), autocommit=True) as before:
        run(proxy, "root", "DROP USER ann")
        run(proxy, "root", f"CREATE USER ann IN ROLE analyst PASSWORD '{PASSWORD}'")
        with pytest.raises(psycopg.errors.AdminShutdown):  # the session of the one who was dropped
            before.execute("SELECT 1")
    assert run(proxy, "ann", "SHOW PRIVACY HISTORY") == run(proxy, "ann", ledger) == []
    assert run(proxy, "ann", "SELECT avg(age) FROM visits")
    assert [row[3] for row in run(proxy, "ann", "SHOW PRIVACY HISTORY")] == ["SELECT avg(age) FROM visits"]
    assert [row[0] for row in run(proxy, "ann", ledger)] == [1]
    assert "HISTORY" not in str(run(proxy, "root", "SHOW PRIVACY AUDIT"))


def test_nothing_is_shown_where_nobody_knows_since_when_a_name_is_used(proxy: Proxy):
    file = proxy.folder / "users.toml"
    run(proxy, "ann", "SELECT count(*) FROM visits")
    file.write_text(re.sub(r"since = .*\n", "", file.read_text()))
    with psycopg.connect(proxy.dsn("ann"), autocommit=True) as ann:
        heard: list[str] = []
        ann.add_notice_handler(lambda said: heard.append(str(said.message_primary)))
        assert ann.execute("SHOW PRIVACY HISTORY").fetchall() == []
        assert "does not say since when" in heard[0]
        ann.execute(f"ALTER USER CURRENT_USER PASSWORD '{PASSWORD}'".encode())
    run(proxy, "ann", "SELECT count(*) FROM visits")
    assert [row[1] for row in run(proxy, "ann", "SHOW PRIVACY HISTORY")] == ["replayed"]
