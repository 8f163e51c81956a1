"""The client: missing, silent, and not waited for without end."""

import logging
import threading
from collections.abc import Callable

import pytest

from dpproxy.backends.spark import client as spark_client
from dpproxy.backends.spark.client import at_most, end, module, quiet
from dpproxy.values.errors import StartupError


class Client:
    def __init__(self) -> None:
        self.closed = threading.Event()
        self.close: Callable[[], None] = self.closed.set


class Session:
    def __init__(self) -> None:
        self.client = Client()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(spark_client, "module", missing)
    with pytest.raises(
        StartupError, match=r"data\.lake\.url: Spark needs a package: pip install 'dpproxy\[spark\]'"
    ):
        quiet("lake")


def test_errors_of_a_server_reach_no_log(capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture):
    quiet("lake")
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        module("pyspark.logger").PySparkLogger.getLogger(name).error("a row")
        assert logging.getLogger(name).disabled
    told = capfd.readouterr()
    assert "a row" not in told.out + told.err + caplog.text


def test_a_server_that_does_not_answer_is_left(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(spark_client, "LONGEST_ASKED", 0.05)
    session = Session()
    with at_most(session):
        assert session.client.closed.wait(10)


def test_a_server_that_answers_is_kept():
    session = Session()
    with at_most(session):
        pass
    assert not session.client.closed.is_set()


def test_what_cannot_be_closed_is_left():
    session = Session()

    def fail() -> None:
        raise OSError

    session.client.close = fail
    end(session)
    end(None)
