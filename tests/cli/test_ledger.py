"""The commands over small ledgers; a proxy serves meanwhile where that matters (tests/crash)."""

import csv
import json
import shutil
import sqlite3
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from msgspec.structs import replace

from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import Charge
from dpproxy.cli.main import main
from dpproxy.observe.audit_entry import AuditEntry as EntryOfLog
from dpproxy.observe.audit_entry import AuditOutcome
from dpproxy.observe.audit_file import FILE
from tests.accounting.conftest import make  # noqa: F401 - a fixture
from tests.engine.test_engine import DDL, POLICY
from tests.postgres import Server
from tests.proxies import started, write_home

Make = Callable[..., Charge]
CONFIG = """
[state]
directory = "state"
{more}
[data.main]
path = "data.duckdb"
[users]
file = "users.toml"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "dpproxy.toml"
    path.write_text(CONFIG.format(more='high_water = "mark"'))
    return path


@pytest.fixture
def ledger(file: Path, make: Make) -> Path:  # noqa: F811
    """A state directory with three entries, and their mark beside it."""
    state = file.parent / "state" / "main"
    with Ledger.open(state, high_water=file.parent / "mark") as ledger:
        for who, question in (("ann", "one"), ("bob", 'two, "quoted"'), ("ann", "three")):
            ledger.reserve(make(who, 500_000_000, question=question, budget=2 * 10**9))
    return state


def run(capsys: pytest.CaptureFixture[str], file: Path, *words: str | Path) -> tuple[int, str, str]:
    status = main(["ledger", *map(str, words), "--config", str(file)])
    out, told = capsys.readouterr()
    return status, out, told


def test_verify_says_how_far_and_what_it_cannot_see(
    file: Path, ledger: Path, capsys: pytest.CaptureFixture[str]
):
    name = ledger / "ledger.sqlite"
    assert run(capsys, file, "verify") == (
        0,
        f"dpproxy: {name}: 3 entries, all verified; nothing was rolled back\n",
        "",
    )
    file.write_text(CONFIG.format(more=""))
    _, out, _ = run(capsys, file, "verify")
    assert out.endswith("a rollback is not detected, for state.high_water is not configured\n")


def test_archive_moves_what_no_answer_rests_on(
    file: Path,
    ledger: Path,
    make: Make,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
):
    target = file.parent / "old.sqlite"
    status, _, told = run(capsys, file, "archive", target, "--before", "2099-01-01")
    assert status == 2
    assert "no entry may leave" in told
    with Ledger.open(ledger, high_water=file.parent / "mark") as opened:
        opened.reserve(replace(make(question="new", budget=2 * 10**9), data_version=2))
    assert run(capsys, file, "archive", target, "--before", "soon")[0] == 2
    assert run(capsys, file, "archive", target, "--before", "2001-01-01")[0] == 2
    assert run(capsys, file, "archive", target, "--before", "2099-01-01") == (
        0,
        f"dpproxy: {target}: 3 entries left the ledger, all verified; 1 stay\n",
        "",
    )
    assert "4 entries, all verified; nothing was rolled back" in run(capsys, file, "verify")[1]
    assert "the ledger holds 4" in run(capsys, file, "verify", "--file", target)[1]
    assert [e["sequence"] for e in json.loads(run(capsys, file, "export", "--json")[1])] == [4]


def test_a_rollback_is_told_and_accepted_only_deliberately(
    file: Path,
    ledger: Path,
    make: Make,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
):
    shutil.copytree(ledger, file.parent / "older")
    with Ledger.open(ledger, high_water=file.parent / "mark") as opened:
        opened.reserve(make())
    shutil.rmtree(ledger)
    (file.parent / "older").rename(ledger)
    for words in (("verify",), ("export",)):
        status, out, told = run(capsys, file, *words)
        assert (status, out) == (2, "")
        assert "rolled back: it ends at entry 3, its high-water mark stands at 4" in told
        assert "dpproxy ledger mark" in told
    line = f"dpproxy: {file.parent}/mark: the high-water mark stands at entry 3; it stood at 4\n"
    assert run(capsys, file, "mark") == (0, line, "")
    assert run(capsys, file, "verify")[0] == 0


def test_a_mark_is_made_where_it_is_missing(file: Path, ledger: Path, capsys: pytest.CaptureFixture[str]):
    (file.parent / "mark").unlink()
    status, _, told = run(capsys, file, "verify")
    assert status == 2
    assert "is missing" in told
    assert run(capsys, file, "mark")[0] == 0
    assert run(capsys, file, "verify")[0] == 0
    file.write_text(CONFIG.format(more=""))
    assert run(capsys, file, "mark") == (
        2, "", "dpproxy: state.high_water is not configured: there is no mark to make\n",
    )  # fmt: skip
    assert (ledger / "ledger.sqlite").exists()


def test_csv_has_a_line_for_each_debit(file: Path, ledger: Path, capsys: pytest.CaptureFixture[str]):
    del ledger
    status, out, told = run(capsys, file, "export")
    assert (status, told) == (0, "")
    rows = list(csv.DictReader(StringIO(out)))
    assert len(rows) == 3 * 4
    assert [row["sequence"] for row in rows[::4]] == ["1", "2", "3"]
    budgets = [row for row in rows if row["account"] == "budget"]
    assert {(row["name"], row["limit_epsilon"], row["debited_epsilon"]) for row in budgets} == {
        ("research", "2", "0.5")
    }
    assert [row["who"] for row in budgets] == ["ann", "bob", "ann"]
    assert all(row["at"].endswith("+00:00") for row in rows)


def test_json_says_the_same(file: Path, ledger: Path, capsys: pytest.CaptureFixture[str]):
    del ledger
    _, text, _ = run(capsys, file, "export")
    target = file.parent / "out.json"
    status, out, _ = run(capsys, file, "export", "--format", "json", "--output", target)
    assert (status, out) == (0, f"dpproxy: {target}: 3 entries, all verified\n")
    assert target.stat().st_mode & 0o777 == 0o600
    found = json.loads(target.read_text())
    flat = [
        {
            key: "" if value is None else str(value)
            for key, value in ({**entry, **debit}).items()
            if key != "debits"
        }
        for entry in found
        for debit in entry["debits"]
    ]
    assert flat == list(csv.DictReader(StringIO(text)))


def test_an_empty_ledger_is_an_empty_list(file: Path, capsys: pytest.CaptureFixture[str]):
    Ledger.open(file.parent / "state" / "main", high_water=file.parent / "mark").close()
    assert run(capsys, file, "export", "--format", "json") == (0, "[]\n", "")
    assert run(capsys, file, "export")[1].count("\n") == 1


def test_a_backup_says_what_it_is(
    file: Path,
    ledger: Path,
    make: Make,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
):
    target = file.parent / "copy"
    status, out, _ = run(capsys, file, "backup", target)
    assert (status, out) == (
        0,
        f"dpproxy: {target}: 3 entries, all verified; it is read with {ledger}/ledger.key\n",
    )
    assert run(capsys, file, "backup", target)[0] == 2
    line = f"dpproxy: {target}: 3 entries, all verified; "
    assert run(capsys, file, "verify", "--file", target)[1] == f"{line}all that the ledger holds\n"
    with Ledger.open(ledger, high_water=file.parent / "mark") as opened:
        opened.reserve(make())
    forgets = "the ledger holds 4: to restore this would forget what was spent since"
    assert run(capsys, file, "verify", "--file", target)[1] == f"{line}{forgets}\n"
    Ledger.open(file.parent / "other").close()
    status, _, told = run(capsys, file, "verify", "--file", file.parent / "other" / "ledger.sqlite")
    assert status == 2
    assert "not sealed by this key" in told


def test_a_ledger_on_a_server(
    file: Path,
    postgres: Server,
    make: Make,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
):
    url = postgres.url(postgres.database())
    file.write_text(CONFIG.format(more=f'ledger = "{url}"'))
    with Ledger.open(file.parent / "state" / "main", url=url) as opened:
        opened.reserve(make())
    assert run(capsys, file, "verify")[1].startswith(f"dpproxy: {opened.store.name}: 1 entry, all verified")
    assert len(json.loads(run(capsys, file, "export", "--format", "json")[1])) == 1
    status, _, told = run(capsys, file, "backup", file.parent / "copy")
    assert status == 2
    assert "pg_dump --schema=dpproxy" in told


@pytest.mark.parametrize("words", [("verify",), ("export",), ("backup", "copy"), ("mark",)])
def test_nothing_is_begun_by_looking(file: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]):
    status, _, told = run(capsys, file, *words)
    assert status == 2
    assert "expected the state directory of a proxy that has run" in told
    assert not (file.parent / "state").exists()


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("verify", "--file", "none/b.sqlite"), "No such file or directory"),
        (("verify", "--file", "dpproxy.toml"), "file is not a database"),
        (("export", "--output", "none/out.csv"), "No such file or directory"),
    ],
)
def test_a_file_that_is_named_is_not_the_ledger(
    file: Path, ledger: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, str, str], fault: str
):
    assert ledger.is_dir()
    *start, name = words
    path = file.parent / name
    assert run(capsys, file, *start, path) == (2, "", f"dpproxy: {path}: {fault}\n")


# --- the audit log

ENTRY = EntryOfLog(1, "ann", "analyst", AuditOutcome.FREE, "SELECT 1")


def verify_log(file: Path) -> int:
    return main(["log", "verify", "--config", str(file)])


def test_a_log_verifies_or_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    home = write_home(tmp_path, DDL, POLICY)
    assert verify_log(home) == 2
    with started(home) as engine:
        engine.log.note(ENTRY)
        engine.log.note(ENTRY)
        assert engine.log.verify() == 2
        assert verify_log(home) == 0
    assert "2 entries, all verified" in capsys.readouterr().out
    with sqlite3.connect(tmp_path / "state" / "main" / FILE) as connection:
        connection.execute("DELETE FROM entry WHERE sequence = 2")
    connection.close()
    assert verify_log(home) == 1
    assert "entries after 1 are missing" in capsys.readouterr().err
