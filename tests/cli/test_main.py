import json
import re
from pathlib import Path

import pytest

from dpproxy.accounting.ledger import Ledger
from dpproxy.cli.commands import COMMANDS
from dpproxy.cli.main import main
from dpproxy.config.users import add_user
from dpproxy.policy.store import PolicyStore
from dpproxy.terminal.arguments import Command
from dpproxy.values.pgtypes import INT4, Column, Schema
from tests.stores import change_all

Captured = pytest.CaptureFixture[str]
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "t.csv").write_text("x\n1\n2\n")
    (tmp_path / "policy.sql").write_text(
        "ALTER TABLE t SET PRIVACY KEY ROW;\n"
        "ALTER TABLE t SET PRIVACY CEILING EPSILON 2;\n"
        "CREATE PRIVACY BUDGET b LIMIT EPSILON 1 DEFAULT EPSILON 0.25;\n"
        "GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;\n"
    )
    file = tmp_path / "dpproxy.toml"
    file.write_text(
        '[server]\nlisten = "127.0.0.1:0"\n[state]\ndirectory = "state"\n[data.main]\npath = "data"\n'
        '[policy]\nfiles = ["policy.sql"]\n[users]\nfile = "users.toml"\n'
    )
    return file


def add_ann(config: Path) -> None:
    add_user(config.parent / "users.toml", "ann", ["analyst"], "correct horse")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_help_with_an_example(command: Command, capsys: Captured):
    with pytest.raises(SystemExit) as stopped:
        main([*command.name.split(), "--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    assert f"example:\n  {command.example}" in shown
    assert command.example.startswith(f"dpproxy {command.name}")


def test_what_is_no_command_exits_with_2(capsys: Captured):
    with pytest.raises(SystemExit) as stopped:
        main(["frobnicate"])
    assert stopped.value.code == 2
    assert "invalid choice" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["serve", "policy dump", "policy apply", "budget show", "ledger verify"])
def test_a_missing_configuration_is_one_line_and_status_2(words: str, tmp_path: Path, capsys: Captured):
    assert main([*words.split(), "--config", str(tmp_path / "none.toml")]) == 2
    assert capsys.readouterr().err == f"dpproxy: {tmp_path}/none.toml: no such configuration file\n"


def test_a_right_configuration_and_the_example_policy_pass(config: Path, capsys: Captured):
    add_ann(config)
    files = [config, *sorted((EXAMPLES / "policy").glob("*.sql"))[:2]]
    for file in files:
        assert main(["check", str(file)]) == 0
        assert capsys.readouterr().out.endswith(f"dpproxy: {file}: no mistakes found\n")


def test_a_mistake_in_a_policy_is_shown_where_it_stands(tmp_path: Path, capsys: Captured):
    file = tmp_path / "p.sql"
    file.write_text("ALTER TABLE t SET PRIVACY KEY ROW;\n  ALTER TABLE t SET PRIVACI PUBLIC;\n")
    assert main(["check", str(file)]) == 2
    first, line, caret = capsys.readouterr().err.splitlines()
    assert re.match(rf"dpproxy: {re.escape(str(file))}:2:21: ", first)
    assert line == "  ALTER TABLE t SET PRIVACI PUBLIC;"
    assert caret == " " * 20 + "^"


def test_a_mistake_in_a_configuration_is_shown_where_it_stands(config: Path, capsys: Captured):
    config.write_text('[server]\nlissten = "x"\n')
    assert main(["check", str(config)]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"dpproxy: {config}:2:1: server.lissten: unknown key; did you mean server.listen?",
        'lissten = "x"',
        "^",
    ]


def test_a_policy_that_is_configured_is_checked_too(config: Path, capsys: Captured):
    add_ann(config)
    (config.parent / "policy.sql").write_text("GRANT ALL ON t TO analyst;")
    assert main(["check", str(config)]) == 2
    assert "policy.sql:1:7: " in capsys.readouterr().err


def test_the_stored_policy_is_dumped_as_statements(config: Path, capsys: Captured):
    assert main(["policy", "dump", "--config", str(config)]) == 2
    assert "expected the state directory" in capsys.readouterr().err
    store = PolicyStore.open(config.parent / "state" / "main")
    change_all(store, ["ALTER TABLE t SET PRIVACY PUBLIC"], Schema({"t": (Column("x", INT4),)}), "test")
    store.close()
    assert main(["policy", "dump", "--config", str(config)]) == 0
    assert capsys.readouterr().out == "ALTER TABLE t SET PRIVACY PUBLIC;\n"


def test_a_ledger_is_verified(config: Path, capsys: Captured):
    state = config.parent / "state" / "main"
    with Ledger.open(state):
        pass
    assert main(["ledger", "verify", "--config", str(config)]) == 0
    assert capsys.readouterr().out.endswith(
        "0 entries, all verified; a rollback is not detected, for state.high_water is not configured\n"
    )
    for file in state.glob("ledger.sqlite*"):
        file.write_bytes(b"not a ledger" * 100)
    assert main(["ledger", "verify", "--config", str(config)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_policy_is_applied_priced_and_shown(config: Path, capsys: Captured):
    add_ann(config)
    capsys.readouterr()
    assert main(["policy", "apply", "--config", str(config)]) == 0
    assert "policy version 1" in capsys.readouterr().out
    assert main(["explain", "SELECT count(*) FROM t", "--config", str(config)]) == 0
    assert "0.25" in capsys.readouterr().out
    file = config.parent / "dashboard.sql"
    file.write_text("SELECT count(*) FROM t; -- the first\nSELECT count(*) FROM t -- and once more\n")
    assert main(["explain", str(file), "--budget", "0.1", "--json", "--config", str(config)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [s["proposed"] for s in told["statements"]] == [0.1, 0.1]
    assert [s["because"] for s in told["statements"]] == [None, "follows from statement 1"]
    assert main(["explain", "SELECT count(*), nothing FROM t", "--config", str(config)]) == 1
    refusal = capsys.readouterr().err
    assert "42703" in refusal
    assert "\n" + " " * (8 + 17) + "^" in refusal
    assert main(["budget", "show", "--config", str(config)]) == 0
    assert re.search(r"^ b +\|", capsys.readouterr().out, re.MULTILINE)


def test_what_is_interrupted_says_so(config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch):
    def interrupted(_config: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dpproxy.cli.policy.check_files", interrupted)
    assert main(["check", str(config)]) == 130
    assert capsys.readouterr().err == "dpproxy: interrupted\n"


def test_a_file_that_may_not_be_read_is_one_line(
    config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
):
    def forbidden(_config: object) -> None:
        raise PermissionError(13, "Permission denied", "/state/state.version")

    monkeypatch.setattr("dpproxy.cli.policy.require", forbidden)
    assert main(["policy", "dump", "--config", str(config)]) == 2
    assert capsys.readouterr().err == "dpproxy: /state/state.version: Permission denied\n"
