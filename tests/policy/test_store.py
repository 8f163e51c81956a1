"""The policy outlives the process, whole."""

import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dpproxy.policy import store as module
from dpproxy.policy.model import Exposure, Policy
from dpproxy.policy.store import FILE, POLL, PolicyStore, change_of
from dpproxy.values.errors import CatalogueUnavailable, Refusal, StartupError, SyntaxRefused, UndefinedTable
from dpproxy.values.pgtypes import Schema
from tests.stores import change_all

PUBLIC = "ALTER TABLE regions SET PRIVACY PUBLIC"
KEY = "ALTER TABLE patients SET PRIVACY KEY (patient_id) MAX ROWS 2"
DOMAIN = "ALTER TABLE patients ALTER COLUMN born SET PRIVACY DOMAIN BETWEEN '1900-01-01' AND '2020-01-01'"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PolicyStore]:
    with closing(PolicyStore.open(tmp_path / "state")) as opened:
        yield opened


def history(store: PolicyStore) -> list[tuple[int, str, str, str]]:
    """Every version, the oldest first: its number, when, by whom, what was applied."""
    with closing(sqlite3.connect(store.directory / FILE)) as file:
        return file.execute("SELECT version, at, by, statements FROM history ORDER BY version").fetchall()


def test_a_new_store_is_empty(store: PolicyStore):
    assert store.current == Policy()
    assert history(store) == []


def test_changes_are_kept_over_restarts(tmp_path: Path, schema: Schema):
    with closing(PolicyStore.open(tmp_path)) as store:
        change_all(store, [PUBLIC, KEY], schema, "boss")
        after = change_all(store, [DOMAIN, "ADVANCE PRIVACY DATA VERSION"], schema, "deputy")
        assert (after.version, after.data_version) == (2, 2)
    with closing(PolicyStore.open(tmp_path)) as store:
        assert store.current == after
        entries = history(store)
    assert [(version, by) for version, _, by, _ in entries] == [(1, "boss"), (2, "deputy")]
    assert entries[0][3] == f"{PUBLIC};\n{KEY}"
    assert entries[0][1].endswith("+00:00")


def test_what_changes_nothing_makes_no_version(store: PolicyStore, schema: Schema):
    first = change_all(store, [PUBLIC, KEY], schema, "boss")
    assert change_all(store, [KEY, PUBLIC], schema, "boss") is first
    assert change_all(store, ["ALTER TABLE regions SET PRIVACY HIDDEN", PUBLIC], schema, "boss").version == 1
    assert len(history(store)) == 1


def test_all_or_nothing(store: PolicyStore, schema: Schema):
    with pytest.raises(UndefinedTable) as caught:
        change_all(store, [PUBLIC, "ALTER TABLE gone SET PRIVACY PUBLIC"], schema, "boss")
    assert caught.value.position == 12
    assert store.current == Policy()
    assert history(store) == []


def test_show_changes_nothing():
    with pytest.raises(SyntaxRefused):
        change_of("SHOW PRIVACY BUDGETS")


def test_another_process_is_followed(store: PolicyStore, schema: Schema, tmp_path: Path):
    with closing(PolicyStore.open(tmp_path / "state")) as other:
        before = other.current
        assert other.current is before
        for number in range(1, 4):
            changed = change_all(store, [f"CREATE PRIVACY BUDGET b{number} LIMIT EPSILON 1"], schema, "boss")
            time.sleep(POLL)
            assert other.current == changed
            assert other.current is other.current
        last = change_all(other, ["CREATE PRIVACY BUDGET b4 LIMIT EPSILON 1"], schema, "root")
        time.sleep(POLL)
        assert store.current == last
        assert (last.version, len(last.budgets)) == (4, 4)
        assert history(store) == history(other)


CHANGES = """
import sys
from pathlib import Path
from dpproxy.values.pgtypes import Schema
from dpproxy.policy.store import PolicyStore
from tests.stores import change_all
store = PolicyStore.open(Path(sys.argv[1]))
for step in range(10):
    change_all(store, [f"CREATE PRIVACY BUDGET b{sys.argv[2]}_{step} LIMIT EPSILON 1"], Schema({}), "boss")
"""


def test_processes_do_not_lose_each_others_changes(store: PolicyStore, tmp_path: Path):
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", CHANGES, str(tmp_path / "state")]
    processes = [subprocess.Popen([*command, str(number)], cwd=root) for number in range(3)]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert store.current.version == len(store.current.budgets) == 30
    assert [version for version, *_ in history(store)] == list(range(1, 31))


def test_a_catalogue_that_cannot_be_followed_plans_nothing(
    store: PolicyStore, schema: Schema, tmp_path: Path
):
    change_all(store, [PUBLIC], schema, "boss")
    with closing(sqlite3.connect(tmp_path / "state" / FILE, isolation_level=None)) as newer:
        newer.execute("UPDATE history SET version = 2, policy = 'SOMETHING NEW'")
    time.sleep(POLL)
    for use in (lambda: store.current, lambda: change_all(store, [PUBLIC], schema, "boss")):
        with pytest.raises(CatalogueUnavailable):
            use()


def test_one_changes_at_a_time(
    store: PolicyStore, schema: Schema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store.close()
    monkeypatch.setattr(module, "WAIT", 0.05)
    with (
        closing(PolicyStore.open(tmp_path / "state")) as waiting,
        closing(sqlite3.connect(tmp_path / "state" / FILE, isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(CatalogueUnavailable):
            change_all(waiting, [PUBLIC], schema, "boss")
        other.execute("COMMIT")
        assert change_all(waiting, [PUBLIC], schema, "boss").version == 1


@pytest.mark.parametrize(
    "content",
    [
        b"this is no database at all, but long enough to look like one" * 20,
        b"SQLite format 3\0" + b"\xff" * 4096,
    ],
)
def test_a_damaged_file_is_one_line(tmp_path: Path, content: bytes):
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(StartupError) as caught:
        PolicyStore.open(tmp_path)
    assert str(tmp_path / FILE) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_text_that_is_not_utf_8_is_not_quoted(tmp_path: Path, schema: Schema):
    with closing(PolicyStore.open(tmp_path)) as store:
        change_all(store, [PUBLIC], schema, "boss")
    edit(tmp_path, "UPDATE history SET policy = CAST(CAST(policy AS BLOB) || x'ff' AS TEXT)")
    with pytest.raises(StartupError) as caught:
        PolicyStore.open(tmp_path)
    assert str(caught.value) == f"policy catalogue {tmp_path / FILE}: damaged; restore it from a backup"


def edit(directory: Path, sql: str) -> None:
    with closing(sqlite3.connect(directory / FILE)) as connection:
        connection.execute(sql)
        connection.commit()


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("PRAGMA user_version=9", "of format 9, this program reads 1"),
        ("UPDATE history SET policy = 'ALTER TABLE x SET NOTHING'", "version 1 does not read back"),
        ("UPDATE history SET policy = 'SHOW PRIVACY BUDGETS'", "version 1 does not read back"),
    ],
)
def test_a_changed_file_is_refused(tmp_path: Path, schema: Schema, sql: str, message: str):
    with closing(PolicyStore.open(tmp_path)) as store:
        change_all(store, [PUBLIC], schema, "boss")
    edit(tmp_path, sql)
    with pytest.raises(StartupError, match=message):
        PolicyStore.open(tmp_path)


def test_a_directory_that_cannot_be_made(tmp_path: Path):
    (tmp_path / "state").write_text("a file")
    with pytest.raises(StartupError, match="cannot be opened"):
        PolicyStore.open(tmp_path / "state")


def test_a_failed_write_changes_nothing(store: PolicyStore, schema: Schema):
    store._connection.execute("PRAGMA query_only=1")
    with pytest.raises(CatalogueUnavailable):
        change_all(store, [PUBLIC], schema, "boss")
    assert store.current == Policy()
    store._connection.execute("PRAGMA query_only=0")
    assert change_all(store, [PUBLIC], schema, "boss").version == 1


def test_commits_are_synchronous(store: PolicyStore):
    assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_threads_do_not_lose_each_others_changes(store: PolicyStore, schema: Schema):
    errors: list[Refusal] = []

    def work(number: int) -> None:
        try:
            for step in range(5):
                change_all(
                    store, [f"CREATE PRIVACY BUDGET b{number}_{step} LIMIT EPSILON 1"], schema, f"t{number}"
                )
        except Refusal as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert store.current.version == len(store.current.budgets) == 20


class Handover:
    """A lock whose first release lets somebody else in before anything else happens."""

    def __init__(self, then: Callable[[], object]) -> None:
        self._lock = threading.Lock()
        self._then: Callable[[], object] | None = then

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_error: object) -> None:
        self._lock.release()
        then, self._then = self._then, None
        if then is not None:
            then()


def test_who_changes_next_sees_the_change_before(
    store: PolicyStore, schema: Schema, monkeypatch: pytest.MonkeyPatch
):
    def second() -> None:
        change_all(store, ["CREATE PRIVACY BUDGET b LIMIT EPSILON 1"], schema, "second")

    monkeypatch.setattr(store, "_lock", Handover(second))
    change_all(store, ["CREATE PRIVACY BUDGET a LIMIT EPSILON 1"], schema, "first")
    assert store.current.version == len(store.current.budgets) == 2


def test_a_policy_reads_back_when_its_tables_are_gone(tmp_path: Path, schema: Schema):
    with closing(PolicyStore.open(tmp_path)) as store:
        change_all(store, [PUBLIC], schema, "boss")
    with closing(PolicyStore.open(tmp_path)) as store:
        assert store.current.tables["regions"].exposure is Exposure.PUBLIC


def test_a_flipped_byte_is_no_fault_of_ours(tmp_path: Path):
    store = PolicyStore.open(tmp_path)
    change_all(
        store,
        ["CREATE PRIVACY BUDGET research LIMIT EPSILON 8 DELTA 0.0001 DEFAULT EPSILON 1"],
        Schema({}),
        "ann",
    )
    store.close()
    path = tmp_path / FILE
    whole = path.read_bytes()
    refused = 0
    for at, value in ((at, value) for at in range(0, len(whole), 3) if whole[at] for value in (0xFF, 0x27)):
        path.write_bytes(whole[:at] + bytes([value]) + whole[at + 1 :])
        for rest in tmp_path.glob(f"{FILE}-*"):
            rest.unlink()
        try:
            PolicyStore.open(tmp_path).close()
        except StartupError as error:
            assert "\n" not in str(error)  # noqa: PT017 - it may also open
            refused += 1
    assert refused > 50
