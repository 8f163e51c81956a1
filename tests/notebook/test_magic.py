"""The cell magic."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dpproxy.notebook import connect
from dpproxy.notebook.answer import Answer
from dpproxy.notebook.magic import run
from dpproxy.notebook.price import Price
from tests.proxies import Proxy


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A shell of IPython's that writes nothing into the home of whoever runs the tests."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    interactive = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell
    config = pytest.importorskip("traitlets.config").Config({"HistoryManager": {"enabled": False}})
    yield interactive.instance(config=config)
    interactive.clear_instance()


def test_a_cell_is_asked_or_priced(proxy: Proxy, shell: Any, capsys: pytest.CaptureFixture[str]):  # noqa: ANN401 - IPython's
    with connect(proxy.dsn()) as dp:
        shell.push({"dp": dp, "other": dp})
        shell.run_cell("%load_ext dpproxy.notebook").raise_error()
        priced = shell.run_cell("%%dp --price\nSELECT count(*)\nFROM visits;\n")
        assert isinstance(priced.result, Price)
        asked = shell.run_cell("%%dp --session other --to found\nSELECT count(*) -- all\nFROM visits;\n")
        assert isinstance(asked.result, Answer)
        assert shell.user_ns["found"] is asked.result
        formatted, _ = shell.display_formatter.format(asked.result)
        assert "<table>" in formatted["text/html"]
        assert "±" in formatted["text/html"]
        told = capsys.readouterr()
        assert "cost 0.1 epsilon" in told.out + told.err
        refused = shell.run_cell("%%dp\nSELECT person FROM visits")
        assert isinstance(refused.error_in_exec, psycopg.errors.InsufficientPrivilege)


@pytest.mark.parametrize("line", ["--nothing x", "--to", "found"])
def test_other_words_are_refused(line: str):
    with pytest.raises(ValueError, match="expected %%dp"):
        run(line, "SELECT 1", {})


def test_without_a_session_it_says_how_to_make_one():
    with pytest.raises(TypeError, match=r"dp = connect\("):
        run("", "SELECT 1", {"dp": 1})
