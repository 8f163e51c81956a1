import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dpproxy.accounting import schema
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import Charge
from dpproxy.accounting.releases import ReleaseStore
from dpproxy.errors import LedgerUnavailable, StartupError

COLUMNS = [
    (table, row[1], row[2])
    for table, ddl in schema.TABLES.items()
    for connection in [sqlite3.connect(":memory:")]
    for _ in [connection.execute(ddl)]
    for row in [*connection.execute(f"PRAGMA table_info({table})"), connection.close()]
    if row is not None
]
OTHER = {"INTEGER": "coalesce({c}, 0) + 1000", "BLOB": "CAST({c} || x'00' AS BLOB)", "TEXT": "{c} || '1'"}


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pristine") / "state"


@pytest.fixture
def state(pristine: Path, tmp_path: Path, make: Callable[..., Charge]) -> Path:
    """A ledger of four charges and one adoption, with two stored releases."""
    if not pristine.exists():
        with Ledger.open(pristine) as ledger:
            store = ReleaseStore(ledger)
            for number, who in enumerate(("ann", "bob", "ann", "eve")):
                store.store(ledger.reserve(make(who, number + 1, question=str(number), budget=99)), b"rows")
            found = store.find(make(question="1").release, 1)
            assert found is not None
            store.adopt(found, make("ann", question="1"))
    return Path(shutil.copytree(pristine, tmp_path / "state"))


@pytest.fixture
def edit(state: Path) -> Iterator[Callable[..., None]]:
    """Run statements against the file as somebody without the key would, then put the guards back."""

    def run(*statements: str) -> None:
        with closing(sqlite3.connect(state / "ledger.sqlite", isolation_level=None)) as connection:
            connection.execute("PRAGMA ignore_check_constraints = ON")
            for name, sql in schema.GUARDS.items():
                if "TRIGGER" in sql:
                    connection.execute(f"DROP TRIGGER {name}")
            changed = connection.total_changes
            for statement in statements:
                connection.execute(statement)
            assert connection.total_changes > changed
            for sql in schema.GUARDS.values():
                if "TRIGGER" in sql:
                    connection.execute(sql)

    return run


def refused(state: Path, pattern: str = "refusing to serve") -> bool:
    with pytest.raises(StartupError, match=pattern) as caught:
        Ledger.open(state)
    assert "\n" not in str(caught.value)
    return True


def test_an_untouched_ledger_verifies(state: Path):
    with Ledger.open(state) as ledger:
        assert ledger.verify() == 5


@pytest.mark.parametrize(("table", "column", "kind"), COLUMNS)
def test_any_altered_column_is_noticed(
    state: Path, edit: Callable[..., None], table: str, column: str, kind: str
):
    key = {"entry": "sequence", "debit": "sequence", "release": "origin"}.get(table)
    where = f"WHERE {key} = 2" if key else ""
    edit(f"UPDATE OR IGNORE {table} SET {column} = {OTHER[kind].format(c=column)} {where}")
    assert refused(state)


@pytest.mark.parametrize("sequence", [1, 3, 5])
@pytest.mark.parametrize("table", ["entry", "debit"])
def test_any_dropped_row_is_noticed(state: Path, edit: Callable[..., None], table: str, sequence: int):
    edit(f"DELETE FROM {table} WHERE sequence = {sequence}")
    assert refused(state)


def test_the_first_wrong_entry_is_named(state: Path, edit: Callable[..., None]):
    edit("UPDATE entry SET who = 'eve' WHERE sequence = 3")
    assert refused(state, r"ledger .*ledger\.sqlite does not verify at entry 3 \(.*\): refusing to serve")


def test_swapped_entries_are_noticed(state: Path, edit: Callable[..., None]):
    swap = "CASE {c} WHEN 1 THEN 1003 WHEN 3 THEN 1001 END"
    for columns, table in ((("sequence", "origin"), "entry"), (("sequence", "origin"), "debit")):
        sets = ", ".join(f"{c} = {swap.format(c=c)}" for c in columns)
        edit(
            f"UPDATE {table} SET {sets} WHERE sequence IN (1, 3)",
            f"UPDATE {table} SET sequence = sequence - 1000, origin = origin - 1000 WHERE sequence > 1000",
        )
    assert refused(state, "at entry 1")


SHORTEN = (
    "DELETE FROM debit WHERE sequence = 5",
    "DELETE FROM entry WHERE sequence = 5",
    (
        "UPDATE account SET nano = (SELECT sum(nano) FROM debit d WHERE (d.kind, d.name, d.member) ="
        " (account.kind, account.name, account.member))"
    ),
)


def test_a_dropped_end_is_noticed_even_when_totals_are_mended(state: Path, edit: Callable[..., None]):
    edit(*SHORTEN)
    assert refused(state, "at entry 5")
    edit("UPDATE head SET sequence = 4, mac = (SELECT mac FROM entry WHERE sequence = 4)")
    assert refused(state, "not sealed")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE account SET nano = 0 WHERE kind = 'budget'",
        "DELETE FROM account WHERE kind = 'user'",
        "INSERT INTO account VALUES ('budget', 'other', '', '', 0, 1, '0', '0')",
        "INSERT INTO debit VALUES (77, 'budget', 'other', '', '', 0, 77, 0, NULL, 1, '0', '0')",
        "UPDATE entry SET delta = 'no number' WHERE sequence = 1",
        "DELETE FROM head",
    ],
)
def test_rows_that_do_not_add_up_are_noticed(state: Path, edit: Callable[..., None], statement: str):
    edit(statement)
    assert refused(state)


@pytest.mark.parametrize(
    "statement",
    ["DROP TRIGGER entry_no_delete", "CREATE TABLE guest (x)", "DROP INDEX release_by_key",
     "CREATE TRIGGER t AFTER INSERT ON entry BEGIN DELETE FROM release; END"],
)  # fmt: skip
def test_altered_tables_are_noticed(state: Path, statement: str):
    with closing(sqlite3.connect(state / "ledger.sqlite")) as connection:
        connection.execute(statement)
    assert refused(state, "tables are not those of a ledger")


def test_another_key_does_not_verify(state: Path):
    (state / "ledger.key").write_text(f"key {'00' * 32}\n")
    assert refused(state, "not sealed by this key")


def test_released_answers_may_be_dropped(state: Path, edit: Callable[..., None]):
    edit("DELETE FROM release")
    Ledger.open(state).close()


@pytest.mark.parametrize("size", [0, 100, 4096, 9000])
def test_a_truncated_file_is_refused(state: Path, size: int):
    with (state / "ledger.sqlite").open("r+b") as file:
        file.truncate(size)
    assert refused(state)


def test_garbage_is_refused(state: Path):
    (state / "ledger.sqlite").write_bytes(b"not a database at all" * 500)
    assert refused(state, "not a database")


def test_what_is_altered_while_serving_is_noticed_too(
    state: Path, edit: Callable[..., None], make: Callable[..., Charge]
):
    with Ledger.open(state) as ledger:
        edit("UPDATE head SET at = at + 1")
        with pytest.raises(StartupError):
            ledger.verify()
        with pytest.raises(LedgerUnavailable):
            ledger.reserve(make())
