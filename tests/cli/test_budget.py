"""``dpproxy budget``: as a user types it."""

from pathlib import Path

import pytest

from dpproxy.accounting.ledger import Ledger
from dpproxy.cli.main import main
from tests.engine.test_engine import ANN, COUNT, DDL, POLICY, ask
from tests.proxies import started, write_home


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = write_home(tmp_path, DDL, POLICY)
    with started(file) as engine:
        ask(engine, COUNT)
    return file


def run(*words: str) -> int:
    return main(["budget", *words])


def test_show_tells_limits_and_who_spent_them(config: Path, capsys: pytest.CaptureFixture[str]):
    assert run("show", "--config", str(config)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [column.strip() for column in lines[0].split("|")][:7] == [
        "name", "kind", "user", "accountant", "limit_epsilon", "spent", "remaining",
    ]  # fmt: skip
    told = [[column.strip() for column in line.split("|")][:7] for line in lines[2:5]]
    assert told == [
        ["b", "budget", "", "BASIC", "2", "0.1", "1.9"],
        ["b", "user", "ann", "BASIC", "1.5", "0.1", "1.4"],
        ["t", "ceiling", "", "BASIC", "3", "0.1", "2.9"],
    ]


def test_reset_is_kept_with_its_reason(config: Path, capsys: pytest.CaptureFixture[str]):
    reason = "it's a new study"
    given = ("--config", str(config), "--reason", reason)
    assert run("reset", "b", "--user", "ann", *given) == 0
    assert run("reset", "b", *given) == 0
    assert capsys.readouterr().out.splitlines() == [
        "dpproxy: reset budget b for user ann: what was spent stays spent of the ceiling of t",
        "dpproxy: reset budget b: what was spent stays spent of the ceiling of t",
    ]
    with Ledger.open(config.parent / "state" / "main") as ledger:
        kept = [(entry.who, entry.kind, entry.note) for entry in ledger.entries()[1:]]
    assert kept == [("dpproxy", "reset", reason)] * 2
    with started(config) as engine:
        [row] = ask(engine, "SELECT spent, user_spent, ceiling_remaining FROM dp.budgets", ANN).rows
    assert tuple(map(str, row)) == ("0", "0", "2.9")


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (("reset", "none", "--reason", "x"), 1, '42704: budget "none" does not exist'),
        (("reset", "b", "--user", "eve", "--reason", "x"), 1, '42704: user "eve" has spent nothing'),
        (("reset", "b", "--reason", " "), 1, "22023: a reason has 1 to 1000 characters"),
    ],
)
def test_mistakes(
    config: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], status: int, told: str
):
    assert run(*words, "--config", str(config)) == status
    assert told in capsys.readouterr().err


def test_without_a_reason_nothing_is_reset(config: Path):
    with pytest.raises(SystemExit) as caught:
        run("reset", "b", "--config", str(config))
    assert caught.value.code == 2


def test_show_opens_no_data(config: Path, capsys: pytest.CaptureFixture[str]):
    (config.parent / "data.duckdb").unlink()  # as on a machine where a backup was put back to look at
    assert run("show", "--config", str(config)) == 0
    assert "ceiling" in capsys.readouterr().out
