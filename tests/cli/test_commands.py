"""The table of commands: what each runs is there, and to show help takes none of it."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from dpproxy.cli.commands import COMMANDS, exactly, port
from dpproxy.terminal.arguments import Command, handler

HEAVY = ("duckdb", "numpy", "psycopg", "pyarrow", "scipy", "sqlglot", "numba")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_what_a_command_runs_takes_the_arguments(command: Command):
    assert list(inspect.signature(handler(command.run)).parameters) == ["arguments"]


@pytest.mark.parametrize(
    ("words", "status"), [("--help", 0), ("--version", 0), ("serve --help", 0), ("health --config x.toml", 1)]
)
def test_what_asks_no_engine_imports_none(words: str, status: int, tmp_path: Path):
    (tmp_path / "x.toml").write_text(
        '[server]\nlisten = "127.0.0.1:1"\n[state]\ndirectory = "s"\n[data.main]\npath = "d"\n[users]\nfile = "u"\n'
    )
    program = (
        "import sys\nfrom dpproxy.cli.main import main\n"
        "try:\n    status = main(sys.argv[1:])\nexcept SystemExit as stopped:\n    status = stopped.code\n"
        f"print(status, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words.split()],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout.splitlines()[-1] == f"{status} []", done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_what_is_looked_at_is_told_in_json_too(command: Command):
    looked_at = {"check", "explain", "budget", "ledger", "view", "policy"}
    has_json = any(name == "--json" for name, _ in command.options)
    assert has_json or command.name.split()[0] not in looked_at


def test_numbers_of_the_command_line():
    assert exactly("0.1") * 10 == 1
    assert port("6432") == 6432
    for read, text in ((exactly, "x"), (port, "x"), (port, "65536"), (port, "-1")):
        with pytest.raises(ValueError, match=r".*"):
            read(text)
