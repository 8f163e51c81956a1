import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from dpproxy.accounting import book, schema
from dpproxy.accounting import postgres as module
from dpproxy.accounting.chain import Mismatch, Seals
from dpproxy.accounting.model import Charge
from dpproxy.accounting.postgres import PostgresStore
from dpproxy.values.errors import LedgerUnavailable, StartupError
from tests.accounting.conftest import Home
from tests.postgres import Server, running

SEALS = Seals(b"k")


@pytest.fixture
def home(postgres: Server, tmp_path: Path, make: Callable[..., Charge]) -> Home:
    home = Home(tmp_path, postgres, postgres.database())
    with home.open() as ledger:
        ledger.reserve(make())
    return home


@pytest.fixture
def store(home: Home) -> PostgresStore:
    return PostgresStore(home.url or "")


@pytest.fixture
def admin(home: Home) -> Iterator[psycopg.Connection]:
    with psycopg.connect(home.url or "", autocommit=True, options="-c search_path=dpproxy") as connection:
        yield connection


def test_its_name_holds_no_password():
    url = "postgresql://ann:secret@db.example:5433/ledgers?sslmode=require"
    assert PostgresStore(url).name == "postgresql://db.example:5433/ledgers"
    for wrong in (
        "postgresql://ann:secret@[db/x",
        "postgresql://ann:secret@db/x?no_such=1",
        "postgresql://ann:my@secret@db/x",
        "postgresql://ann:my/secret@db/x",
        "postgresql://ann:my@@secret@db/x",
    ):
        with pytest.raises(StartupError) as caught:
            PostgresStore(wrong)
        assert "secret" not in str(caught.value)
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("table", ["entry", "debit"])
@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM {}", "UPDATE {} SET nano = nano", "TRUNCATE {} CASCADE", "DELETE FROM {} WHERE false"],
)
def test_entries_are_append_only(admin: psycopg.Connection, table: str, statement: str):
    for role in ("origin", "replica"):
        admin.execute(f"SET session_replication_role = {role}".encode())
        with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
            admin.execute(statement.format(table).encode())


def test_hosts_that_make_an_index_at_once_all_connect(
    store: PostgresStore, admin: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(module._SETTINGS, "lock_timeout", "50ms")
    has_index = "SELECT to_regclass('debit_by_payer') IS NOT NULL"
    admin.execute("DROP INDEX debit_by_payer")
    with admin.transaction():
        admin.execute(schema.BY_PAYER.encode())
        with closing(store.connect(writing=True)) as connection:
            assert connection.execute(has_index).fetchone() == (False,)
        raise psycopg.Rollback
    with closing(store.connect(writing=True)) as connection:
        assert connection.execute(has_index).fetchone() == (True,)


@pytest.mark.parametrize("weak", ["off", "local", "remote_write"])
def test_commits_reach_the_disk_whatever_the_server_is_set_to(
    home: Home, store: PostgresStore, admin: psycopg.Connection, weak: str
):
    admin.execute(f"ALTER DATABASE {home.database} SET synchronous_commit = {weak}".encode())
    with closing(store.connect(writing=True)) as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
    admin.execute(f"ALTER DATABASE {home.database} SET synchronous_commit = remote_apply".encode())
    with closing(store.connect(writing=True)) as connection:
        assert connection.execute("SHOW synchronous_commit").fetchone() == ("remote_apply",)


def test_a_reader_cannot_write(store: PostgresStore):
    with (
        closing(store.connect(writing=False)) as connection,
        pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
    ):
        connection.execute("DELETE FROM release")


def test_a_commit_that_became_a_rollback_is_an_error(store: PostgresStore):
    with closing(store.connect(writing=True)) as connection:
        store.begin(connection)
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT 1 / 0")
        with pytest.raises(psycopg.OperationalError, match="did not commit"):
            connection.commit()


def test_one_writes_at_a_time(store: PostgresStore):
    with closing(store.connect(writing=True)) as one, closing(store.connect(writing=True)) as other:
        other.execute("SET lock_timeout = '50ms'")
        store.begin(one)
        with pytest.raises(psycopg.errors.LockNotAvailable):
            store.begin(other)
        other.rollback()
        one.commit()
        store.begin(other)


def test_who_hangs_with_the_head_locked_is_dropped(store: PostgresStore):
    with closing(store.connect(writing=True)) as one, closing(store.connect(writing=True)) as other:
        one.execute("SET idle_in_transaction_session_timeout = '50ms'")
        store.begin(one)
        store.begin(other)
        assert not store.is_usable(one)
        assert store.is_usable(other)


def test_who_reads_all_of_it_may_wait_for_other_processes(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(module._SETTINGS, "idle_in_transaction_session_timeout", "50ms")
    for whole in (False, True):
        with closing(store.connect(writing=False)) as connection:
            store.look(connection, whole=whole)
            connection.execute(book.HEAD)
            time.sleep(0.2)
            assert store.is_usable(connection) is whole


def test_a_second_ledger_is_not_made_over_the_first(store: PostgresStore):
    assert store.exists
    with pytest.raises(psycopg.errors.DuplicateSchema):
        store.create(SEALS)


def test_a_missing_head_is_a_mismatch(store: PostgresStore, admin: psycopg.Connection):
    admin.execute("DELETE FROM head")
    with closing(store.connect(writing=True)) as connection, pytest.raises(Mismatch, match="head is missing"):
        book.head_of(store.begin(connection), SEALS)


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE entry DISABLE TRIGGER entry_append_only",
        "DROP TRIGGER debit_append_only ON debit",
        "CREATE TABLE guest (x int)",
        "ALTER TABLE account ADD COLUMN note text",
        "ALTER TABLE account ALTER COLUMN nano TYPE numeric",
        "CREATE TRIGGER t BEFORE INSERT ON entry EXECUTE FUNCTION refuse()",
        "ALTER TABLE account ALTER COLUMN delta DROP NOT NULL",
        "ALTER TABLE debit DROP CONSTRAINT debit_pkey",
        "CREATE RULE r AS ON INSERT TO entry DO ALSO NOTHING",
        "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$",
    ],
)
def test_altered_tables_are_noticed(home: Home, admin: psycopg.Connection, statement: str):
    home.open().close()
    admin.execute(statement.encode())
    with pytest.raises(StartupError, match="tables are not those of a ledger"):
        home.open()


def test_a_server_that_may_lose_commits_is_refused(
    home: Home, monkeypatch: pytest.MonkeyPatch, admin: psycopg.Connection
):
    monkeypatch.setattr(module, "_DURABLE", "SELECT current_setting('synchronous_commit'), 'off'")
    with pytest.raises(StartupError, match=r"fsync off.*refusing to serve"):
        home.open()
    assert admin.execute("SELECT count(*) FROM entry").fetchone() == (1,)


def test_a_server_that_goes_away_answers_nothing_and_heals(tmp_path: Path, make: Callable[..., Charge]):
    with running() as server:
        home = Home(tmp_path / "state", server, "postgres")
        with home.open() as ledger:
            ledger.reserve(make())
            server.stop("immediate")
            with pytest.raises(LedgerUnavailable, match="cannot be written"):
                ledger.reserve(make())
            with pytest.raises(LedgerUnavailable, match="cannot be read"):
                ledger.entries()
            with pytest.raises(StartupError, match=r"ledger postgresql://.*refusing to serve"):
                home.open()
            server.start()
            assert len(ledger.entries()) == 1
            assert ledger.reserve(make()).sequence == 2
            assert ledger.verify() == 2


def test_the_guards_are_put_back_as_they_were(
    home: Home, store: PostgresStore, admin: psycopg.Connection, make: Callable[..., Charge]
):
    asked = (
        b"SELECT conname::text, pg_get_constraintdef(oid) FROM pg_constraint UNION ALL "
        b"SELECT tgname::text, tgenabled::text FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2"
    )
    before = admin.execute(asked).fetchall()
    with closing(store.connect(writing=True)) as connection:
        store.begin(connection)
        for statement in (each for side in store.guards for each in side):
            connection.execute(statement)
        connection.commit()
        assert admin.execute(asked).fetchall() != before
        # Where it ends here, the ledger works, and new rows are guarded.
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            admin.execute("INSERT INTO release VALUES (99, '', 0, '', '')")
        with home.open() as ledger:
            ledger.reserve(make())
            assert ledger.verify() == 2
        # A charge that is being written does not wait for the checks, nor they for it.
        with closing(store.connect(writing=True)) as other:
            store.begin(other)
            other.execute("LOCK TABLE entry, debit, release IN ROW EXCLUSIVE MODE")
            for statement in store.checks:
                connection.execute(statement)
    assert admin.execute(asked).fetchall() == before
