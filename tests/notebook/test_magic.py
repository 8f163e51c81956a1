"""The cell magic."""

from collections.abc import Callable
from typing import Any

import pytest

from dpproxy.notebook import connect, load_ipython_extension
from dpproxy.notebook.answer import Answer
from dpproxy.notebook.magic import run
from dpproxy.notebook.price import Price
from tests.proxies import Proxy


class Shell:
    """The part of IPython's shell that an extension uses."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.user_ns = names
        self.magics: dict[str, Callable[[str, str], object]] = {}

    def register_magic_function(self, function: Callable[[str, str], object], kind: str, name: str) -> None:
        assert kind == "cell"
        self.magics[name] = function


def test_a_cell_is_asked_or_priced(proxy: Proxy):
    with connect(proxy.dsn()) as dp:
        shell = Shell({"dp": dp})
        load_ipython_extension(shell)
        ask = shell.magics["dp"]
        assert isinstance(ask("--price", "SELECT count(*) FROM visits;\n"), Price)
        answer = ask("--to found", "SELECT count(*) FROM visits;\n")
        assert isinstance(answer, Answer)
        assert shell.user_ns["found"] is answer


@pytest.mark.parametrize("line", ["--nothing x", "--to", "found"])
def test_other_words_are_refused(line: str):
    with pytest.raises(ValueError, match="expected %%dp"):
        run(line, "SELECT 1", {})


def test_without_a_session_it_says_how_to_make_one():
    with pytest.raises(TypeError, match=r"dp = connect\("):
        run("", "SELECT 1", {"dp": 1})
