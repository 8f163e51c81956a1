"""``dpproxy user add``."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from dpproxy.cli.main import main
from dpproxy.config.users import read_users

Captured = pytest.CaptureFixture[str]
CONFIG = '[state]\ndirectory = "state"\n[data.main]\npath = "data"\n[users]\nfile = "users.toml"\n'


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "dpproxy.toml"
    file.write_text(CONFIG)
    return file


def give_stdin(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def add_ann(config: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> int:
    give_stdin(monkeypatch, "a long secret\n")
    return main(
        ["user", "add", "ann", "--role", "analyst", *more, "--config", str(config), "--password-stdin"]
    )


def test_a_user_is_added_with_a_password_from_stdin(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
):
    assert add_ann(config, monkeypatch, "--role", "audit") == 0
    assert read_users(config.parent / "users.toml")["ann"].roles == {"analyst", "audit"}
    assert capsys.readouterr().out.startswith("dpproxy: user ann added in ")
    assert add_ann(config, monkeypatch) == 0
    assert "user ann replaced" in capsys.readouterr().out


def test_a_password_is_asked_for_twice(config: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured):
    words = ["user", "add", "ann", "--role", "analyst", "--config", str(config)]
    answers = iter(["one of them all", "two of them all", "one of them all", "one of them all"])
    monkeypatch.setattr("getpass.getpass", lambda _prompt: next(answers))
    assert main(words) == 2
    assert "the two passwords differ" in capsys.readouterr().err
    assert not (config.parent / "users.toml").exists()
    assert main(words) == 0


def test_a_password_is_not_asked_for_without_a_terminal(config: Path):
    words = ["user", "add", "ann", "--role", "analyst", "--config", str(config)]
    done = subprocess.run(
        [sys.executable, "-m", "dpproxy", *words],
        input="seen\nseen\n", capture_output=True, text=True, check=False, start_new_session=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "dpproxy: expected a password; without a terminal use --password-stdin\n"
    assert not (config.parent / "users.toml").exists()


def test_an_empty_password_is_refused(config: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured):
    give_stdin(monkeypatch, "")
    words = ["user", "add", "ann", "--role", "analyst", "--config", str(config), "--password-stdin"]
    assert main(words) == 2
    assert "12 characters at least" in capsys.readouterr().err


def test_users_are_listed_and_changed(config: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured):
    assert add_ann(config, monkeypatch) == 0
    given = ("--config", str(config))
    users = config.parent / "users.toml"
    assert main(["user", "roles", "ann", "--role", "dpo", "--role", "analyst", *given]) == 0
    before = read_users(users)["ann"].secret
    capsys.readouterr()
    assert main(["user", "list", *given]) == 0
    assert capsys.readouterr().out.splitlines()[2].split(" | ") == [" ann ", "analyst, dpo"]
    give_stdin(monkeypatch, "another secret\n")
    assert main(["user", "passwd", "ann", "--password-stdin", *given]) == 0
    after = read_users(users)["ann"]
    assert (after.roles, after.secret == before) == ({"analyst", "dpo"}, False)
    assert main(["user", "remove", "ann", *given]) == 0
    assert read_users(users) == {}


@pytest.mark.parametrize("words", ["remove bob", "passwd bob --password-stdin", "roles bob --role dpo"])
def test_a_user_who_is_not_there(config: Path, words: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured):
    assert add_ann(config, monkeypatch) == 0
    give_stdin(monkeypatch, "another secret\n")
    assert main(["user", *words.split(), "--config", str(config)]) == 2
    assert "no user bob; dpproxy user list prints" in capsys.readouterr().err


def test_a_short_password_changes_nothing(config: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured):
    assert add_ann(config, monkeypatch) == 0
    before = (config.parent / "users.toml").read_text()
    give_stdin(monkeypatch, "short\n")
    assert main(["user", "passwd", "ann", "--password-stdin", "--config", str(config)]) == 2
    assert "12 characters at least" in capsys.readouterr().err
    assert (config.parent / "users.toml").read_text() == before
