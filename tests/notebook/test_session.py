"""Prices and answers over the wire."""

import subprocess
import sys

import psycopg
import pytest

from dpproxy.notebook import connect
from tests.proxies import Proxy

QUESTION = "SELECT ward, count(*) AS n FROM visits GROUP BY ward"


def test_what_is_priced_is_what_is_paid(proxy: Proxy, capsys: pytest.CaptureFixture[str]):
    with connect(proxy.dsn()) as dp:
        assert dp.remaining() == {"b": 5.0}
        price = dp.price(QUESTION)
        assert (price.epsilon, price.budget) == (0.1, "b")
        answer = dp.ask(QUESTION)
        assert (answer.cost, answer.remaining) == (0.1, {"b": 4.9})
        assert answer.columns == ("ward", "n", "n_ci_low", "n_ci_high")
        assert price.half_width["n"] == answer.half_width["n"]
        assert any("4.9 left" in line for line in answer.notices)
        assert "4.9 left" in capsys.readouterr().err
        assert dp.price(QUESTION).is_free
        assert dp.ask(QUESTION).cost == 0


def test_an_epsilon_is_for_one_statement(proxy: Proxy):
    with connect(proxy.dsn()) as dp:
        dp.set("dp.epsilon", "0.2")
        assert dp.price(QUESTION, epsilon=0.5).epsilon == 0.5
        assert dp.ask(QUESTION, epsilon=0.5).cost == 0.5
        with pytest.raises(psycopg.Error):
            dp.ask("SELECT nothing FROM visits", epsilon=0.5)
        assert dp.price("SELECT count(*) FROM visits").epsilon == 0.2


def test_a_price_runs_nothing(proxy: Proxy):
    with connect(proxy.dsn()) as dp:
        with pytest.raises(psycopg.Error):
            dp.price(f"SELECT count(*) FROM visits; {QUESTION}")
        assert dp.remaining() == {"b": 5.0}


def test_a_refusal_has_the_proxys_words(proxy: Proxy):
    with (
        connect(proxy.dsn()) as dp,
        pytest.raises(psycopg.Error, match="rows of a protected table") as caught,
    ):
        dp.ask("SELECT * FROM visits")
    assert caught.value.diag.message_hint


def test_nothing_but_psycopg_is_imported():
    heavy = ("pandas", "polars", "matplotlib", "numpy", "duckdb", "IPython", "sqlglot")
    program = f"import sys, dpproxy.notebook; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
