import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from dpproxy.accounting import database as module
from dpproxy.accounting import sqlite
from dpproxy.accounting.batch import Batch
from dpproxy.accounting.chain import Head, Seals
from dpproxy.accounting.database import LedgerDatabase, Unwritten
from dpproxy.accounting.files import DATABASE, prepare
from dpproxy.accounting.mark import Mark
from dpproxy.accounting.model import Account, Charge, Drawing, Reset
from dpproxy.accounting.postgres import PostgresConnection
from dpproxy.accounting.store import Store
from dpproxy.accounting.verify import verify
from dpproxy.values.errors import BudgetExceeded
from tests.accounting.conftest import Home, spent_of
from tests.postgres import Server

Make = Callable[..., Charge]


@dataclass(frozen=True)
class Place:
    """An empty ledger and its mark."""

    store: Store
    seals: Seals
    mark: Mark

    def open(self) -> LedgerDatabase:
        return LedgerDatabase(self.store, self.seals, self.verified(), self.mark, clock=lambda: 5_000)

    def verified(self) -> Head:
        return verify(self.store, self.seals, self.mark).head


def begun(home: Home) -> Place:
    home.state.mkdir()
    seals = prepare(home.state, b"k", home.store)
    mark = Mark(home.state / "mark", seals)
    mark.make(verify(home.store, seals, None).head)
    return Place(home.store, seals, mark)


def given_up(place: Place) -> list[int]:
    """The charges under which nothing is released."""
    with closing(place.store.connect(writing=False)) as connection:
        return [
            origin
            for (origin,) in connection.execute("SELECT origin FROM release WHERE key = ?", (b"",)).fetchall()
        ]


@pytest.fixture(autouse=True)
def _expecting(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the second commit on the head is expected to be where this process left it."""
    monkeypatch.setattr(module, "ALONE", 1)


@pytest.fixture
def place(home: Home) -> Place:
    return begun(home)


@pytest.fixture
def database(place: Place) -> Iterator[LedgerDatabase]:
    with closing(place.open()) as database:
        yield database


@pytest.fixture
def on_file(tmp_path: Path) -> Place:
    return begun(Home(tmp_path / "state"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / DATABASE


def test_what_fill_did_is_there_for_others_when_commit_returns(
    database: LedgerDatabase, place: Place, make: Make
):
    reserved = database.commit(lambda batch: [batch.charge(make()), batch.charge(make())])
    assert [r.sequence for r in reserved] == [1, 2]
    assert [r.entry.at for r in reserved] == [5, 5]
    assert place.verified().sequence == 2


def test_the_mark_is_where_the_ledger_is_when_commit_returns(
    database: LedgerDatabase, place: Place, make: Make
):
    for number in (1, 2, 3):
        database.commit(lambda batch: batch.charge(make()))
        assert place.mark.read() == place.verified()
        assert place.mark.read().sequence == number


def test_nothing_is_written_when_the_database_fails(database: LedgerDatabase, place: Place, make: Make):
    def fail(batch: Batch) -> None:
        batch.charge(make())
        raise OSError("disk I/O error")

    with pytest.raises(Unwritten):
        database.commit(fail)
    assert place.verified().sequence == 0
    assert database.commit(lambda batch: batch.charge(make())).sequence == 1
    assert place.verified().sequence == 1


def test_an_unexpected_fault_leaves_no_transaction_open(database: LedgerDatabase, place: Place, make: Make):
    def fail(batch: Batch) -> None:
        batch.charge(make())
        batch.write()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        database.commit(fail)
    with closing(place.open()) as other:
        assert other.commit(lambda batch: batch.charge(make())).sequence == 1
    assert database.commit(lambda batch: batch.charge(make())).sequence == 2
    assert place.verified().sequence == 2


def test_two_processes_append_to_one_chain(database: LedgerDatabase, place: Place, make: Make):
    with closing(place.open()) as other:
        for number in range(1, 9):
            writer = (database, other)[number % 2]
            reserved = writer.commit(lambda batch: batch.charge(make(budget=8)))
            assert reserved.sequence == number
        assert reserved.remaining == 0
    assert place.verified().sequence == place.mark.read().sequence == 8


def test_a_mark_that_cannot_be_moved_answers_nobody_and_stops_charging(
    database: LedgerDatabase, place: Place, make: Make
):
    database.commit(lambda batch: batch.charge(make()))
    away = place.mark.path.rename(place.mark.path.with_name("away"))
    again = []
    for _ in range(4):
        with pytest.raises(Unwritten) as caught:
            database.commit(lambda batch: batch.charge(make()))
        again.append(caught.value.again)
    assert again == [False, True, True, True]  # the first one is charged: it must not be tried once more
    away.rename(place.mark.path)
    assert database.owes
    assert database.commit(lambda batch: batch.charge(make())).sequence == 3
    assert not database.owes
    assert given_up(place) == [2]
    assert place.mark.read() == place.verified()


def test_another_ledger_under_the_same_name_is_not_continued(
    database: LedgerDatabase, place: Place, make: Make
):
    database.commit(lambda batch: batch.charge(make()))

    def swap(batch: Batch) -> None:
        batch.head = place.seals.genesis(b"another", batch.head.format)

    with pytest.raises(Unwritten):
        database.commit(swap)  # the mark knows the ledger
    with pytest.raises(Unwritten):
        database.commit(lambda batch: batch.charge(make()))


# --- files --------------------------------------------------------------------------------------------


def test_a_failure_to_write_the_log_is_survived(on_file: Place, path: Path, make: Make):
    with closing(on_file.open()) as database:
        database.commit(lambda batch: batch.charge(make()))
        written = Path(f"{path}-wal").stat().st_size
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (written + 4096, hard))
        try:
            for _ in range(3):
                with pytest.raises(Unwritten):
                    database.commit(lambda batch: batch.charge(make()))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert on_file.verified().sequence == 1
        assert database.commit(lambda batch: batch.charge(make())).sequence == 2
        assert on_file.verified().sequence == 2


def test_a_file_that_was_replaced_is_not_written(on_file: Place, path: Path, make: Make):
    with closing(on_file.open()) as database:
        database.commit(lambda batch: batch.charge(make()))
        path.rename(path.with_name("gone"))
        with pytest.raises(Unwritten):
            database.commit(lambda batch: batch.charge(make()))
        path.with_name("gone").rename(path)
        assert database.commit(lambda batch: batch.charge(make())).sequence == 2


def test_an_older_state_of_the_file_is_not_continued(on_file: Place, path: Path, make: Make):
    with closing(on_file.open()) as database:
        database.commit(lambda batch: batch.charge(make()))
        older = path.read_bytes(), Path(f"{path}-wal").read_bytes()
        database.commit(lambda batch: batch.charge(make()))
        database.close()
        path.write_bytes(older[0])
        Path(f"{path}-wal").write_bytes(older[1])
        assert verify(on_file.store, on_file.seals, None).head.sequence == 1
        with pytest.raises(Unwritten):
            database.commit(lambda batch: batch.charge(make()))


def test_a_file_that_cannot_be_written_shows_at_once(on_file: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sqlite, "_WRITING", (*sqlite._WRITING, "query_only = ON"))
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        on_file.open()


def test_charges_that_a_full_disk_refuses_are_forgotten(
    on_file: Place, make: Make, monkeypatch: pytest.MonkeyPatch
):
    """SQLite says that they are undone, so nobody has to be told of them later."""

    def full(_: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with closing(on_file.open()) as database:
        with monkeypatch.context() as patch:
            patch.setattr(sqlite._File, "commit", full, raising=False)
            for _ in range(3):
                with pytest.raises(Unwritten):
                    database.commit(lambda batch: batch.charge(make()))
        assert not database.owes
        assert database.commit(lambda batch: batch.charge(make())).sequence == 1


def test_a_long_log_is_moved_into_the_file(
    on_file: Place, path: Path, make: Make, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "CHECKPOINT_BYTES", 3 * module.COMMIT_BYTES)
    with closing(on_file.open()) as database:
        before = path.stat().st_size
        for step in range(3):
            database.commit(lambda batch: batch.keep(batch.charge(make()).sequence, b"", 1, b"x" * 9000))
            database.checkpoint()
            assert (path.stat().st_size > before) == (step == 2)
    assert on_file.verified().sequence == 3


# --- a server -----------------------------------------------------------------------------------------


@pytest.fixture
def on_server(postgres: Server, tmp_path: Path) -> tuple[Place, str]:
    home = Home(tmp_path / "state", postgres, postgres.database())
    return begun(home), home.url or ""


def test_a_connection_that_was_lost_is_opened_anew(on_server: tuple[Place, str], make: Make):
    place, url = on_server
    with closing(place.open()) as database:
        database.commit(lambda batch: batch.charge(make()))
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'dpproxy'"
            )
        assert database.commit(lambda batch: batch.charge(make())).sequence == 2


def test_whoever_writes_alone_has_the_head_compared_in_the_round_trip_of_the_commit(
    on_server: tuple[Place, str], make: Make, monkeypatch: pytest.MonkeyPatch
):
    place, _ = on_server
    with closing(place.open()) as database:
        database.commit(lambda batch: batch.charge(make()))
        with monkeypatch.context() as patch:
            patch.setattr(PostgresConnection, "begin", pytest.fail)
            for number in (2, 3):
                assert database.commit(lambda batch: batch.charge(make())).sequence == number
    assert place.verified().sequence == 3


@pytest.mark.parametrize("reads", [False, True])
def test_what_another_process_wrote_is_in_a_commit_that_did_not_expect_it(
    on_server: tuple[Place, str], make: Make, *, reads: bool
):
    place, _ = on_server
    spent = Account.user("research", "ann")
    with closing(place.open()) as one, closing(place.open()) as other:
        for _ in range(3):
            one.commit(lambda batch: batch.charge(make(nano=2, user=10)))
        other.commit(lambda batch: batch.charge(make(nano=3, user=10)))

        def charge(batch: Batch) -> int | None:
            if reads:
                batch.totals.forget()
            with suppress(BudgetExceeded):
                return batch.charge(make(nano=1, user=10)).sequence
            return None

        assert [one.commit(charge) for _ in range(2)] == [5, None]
        other.commit(lambda batch: batch.reset(Reset("root", spent, "again", "reset", 1, 1)))
        assert one.commit(charge) == 7  # what is left here alone says no
        with closing(place.store.connect(writing=False)) as connection:
            assert spent_of(connection, Account.budget("research")).nano == 11
    assert place.verified().sequence == 7


def test_a_head_that_was_put_back_is_not_written_over(on_server: tuple[Place, str], make: Make):
    place, url = on_server
    with closing(place.open()) as database:
        database.commit(lambda batch: batch.charge(make()))
        with psycopg.connect(url, autocommit=True) as admin:
            admin.execute("CREATE TABLE public.older AS SELECT * FROM dpproxy.head")
            database.commit(lambda batch: batch.charge(make()))
            admin.execute("DELETE FROM dpproxy.head")
            admin.execute("INSERT INTO dpproxy.head SELECT * FROM public.older")
            with pytest.raises(Unwritten) as caught:
                database.commit(lambda batch: batch.charge(make()))
            assert "not the ledger that was opened" in str(caught.value.__cause__)
            assert admin.execute("SELECT count(*) FROM dpproxy.entry").fetchone() == (2,)


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("losses", [1, 2])
@pytest.mark.parametrize("others", [0, 1])
def test_a_commit_whose_connection_is_lost_is_charged_once(
    on_server: tuple[Place, str],
    make: Make,
    monkeypatch: pytest.MonkeyPatch,
    *,
    committed: bool,
    losses: int,
    others: int,
):
    """It is found in the ledger or written then; where that fails too nobody is answered, and it may stay charged."""
    place, _ = on_server
    with closing(place.open()) as database, closing(place.open()) as other:
        database.commit(lambda batch: batch.charge(make()))
        commit, left = PostgresConnection.commit, [losses]

        def lose(self: PostgresConnection) -> None:
            if not left[0]:
                return commit(self)
            left[0] -= 1
            if committed:
                commit(self)
            self.close()
            if others and not left[0]:
                other.commit(lambda batch: batch.charge(make("bob")))
            raise psycopg.OperationalError("server closed the connection unexpectedly")

        with monkeypatch.context() as patch:
            patch.setattr(PostgresConnection, "commit", lose)
            if losses == 1 or committed:
                found = database.commit(lambda batch: batch.charge(make())).sequence
                assert found == 2 + (others if not committed else 0)
                left[0] = 0
            else:
                with pytest.raises(Unwritten) as caught:
                    database.commit(lambda batch: batch.charge(make()))
                assert not caught.value.again
        refused = database.owes
        last = database.commit(lambda batch: batch.charge(make())).sequence
        assert given_up(place) == []
        assert refused == (losses == 2 and not committed)
        with closing(place.store.connect(writing=False)) as connection:
            assert spent_of(connection, Account.budget("research")).nano == last
    assert place.verified().sequence == last == place.mark.read().sequence


def test_who_waits_for_a_charge_that_was_refused_though_it_is_written_is_told(
    on_server: tuple[Place, str], make: Make, monkeypatch: pytest.MonkeyPatch
):
    place, _ = on_server
    with closing(place.open()) as database, closing(place.open()) as other:
        connect, commit = place.store.connect, PostgresConnection.commit

        def lose(self: PostgresConnection) -> None:
            commit(self)
            self.close()
            patch.setattr(type(place.store), "connect", unreachable)
            raise psycopg.OperationalError("server closed the connection unexpectedly")

        def unreachable(*_given: object, **_more: object) -> None:
            raise psycopg.OperationalError("no route to host")

        with monkeypatch.context() as patch:
            patch.setattr(PostgresConnection, "commit", lose)
            with pytest.raises(Unwritten):
                database.commit(lambda batch: batch.charge(make()))
        assert connect == place.store.connect
        assert isinstance(other.commit(lambda batch: batch.charge_once(make("bob"))), Drawing)
        assert given_up(place) == []
        assert isinstance(database.commit(lambda batch: batch.charge_once(make("bob"))), Drawing)
        assert given_up(place) == [1]


def test_an_answer_whose_commit_is_lost_is_stored(
    on_server: tuple[Place, str], make: Make, monkeypatch: pytest.MonkeyPatch
):
    place, _ = on_server
    with closing(place.open()) as database:
        database.commit(lambda batch: batch.charge(make()))
        commit = PostgresConnection.commit

        def lose(self: PostgresConnection) -> None:
            patch.undo()
            self.close()
            raise psycopg.OperationalError("server closed the connection unexpectedly")

        with monkeypatch.context() as patch:
            patch.setattr(PostgresConnection, "commit", lose)
            database.commit(lambda batch: batch.keep(1, bytes(32), 1, b"rows"))
        assert PostgresConnection.commit is commit
        with closing(place.store.connect(writing=False)) as connection:
            assert connection.execute("SELECT count(*) FROM release").fetchone() == (1,)


def test_who_holds_the_head_is_waited_for_and_not_for_ever(on_server: tuple[Place, str], make: Make):
    place, url = on_server
    with closing(place.open()) as database:
        database._connect().execute("SET lock_timeout = '100ms'")
        with psycopg.connect(url) as other:
            other.execute("SELECT * FROM dpproxy.head FOR UPDATE")
            with pytest.raises(Unwritten) as caught:
                database.commit(lambda batch: batch.charge(make()))
            assert caught.value.again
            assert "lock" in str(caught.value.__cause__)
        assert database.commit(lambda batch: batch.charge(make())).sequence == 1
