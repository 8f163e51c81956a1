"""JSON lines."""

import io
import json
import logging

import pytest

from dpproxy.observe.audit_entry import AuditEntry, AuditOutcome
from dpproxy.observe.logs import JsonLines
from dpproxy.values.errors import StartupError


def test_a_statement_is_one_line():
    stream = io.StringIO()
    JsonLines(stream).of("main").statement_ended(
        AuditEntry(5, "ann", "analyst", AuditOutcome.ANSWERED, "SELECT 'é'", 10**8), 0.0123
    )
    [line] = stream.getvalue().splitlines()
    told = json.loads(line)
    assert (told["event"], told["user"], told["outcome"], told["epsilon"]) == (
        "statement",
        "ann",
        "answered",
        "0.1",
    )
    assert told["database"] == "main"
    assert (told["statement"], told["seconds"], told["sqlstate"]) == ("SELECT 'é'", 0.012, None)
    assert told["timestamp"].endswith("Z")


def test_warnings_become_lines_too(monkeypatch: pytest.MonkeyPatch):
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root = logging.Logger("alone")
    root.addHandler(handler)
    monkeypatch.setattr(logging, "getLogger", lambda *_: root)
    JsonLines(stream).install()
    root.warning("the disk is %s", "full")
    assert json.loads(stream.getvalue())["event"] == "the disk is full"


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(StartupError, match=r"dpproxy\[log\]"):
        JsonLines()
