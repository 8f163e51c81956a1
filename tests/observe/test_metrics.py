"""Figures for Prometheus."""

import urllib.request

import pytest

from dpproxy.observe.audit_entry import Entry, Outcome
from dpproxy.observe.metrics import Metrics
from dpproxy.values.errors import LedgerUnavailable, StartupError


def scraped(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    pairs = [line.rpartition(" ") for line in lines if not line.startswith("#")]
    return {name: float(value) for name, _, value in pairs}


def test_what_was_counted_is_served_on_loopback():
    metrics = Metrics()
    main = metrics.of("main", lambda: {"research": 2.5}, lambda: (4, 0.25))
    metrics.of("other", lambda: {"research": 1.0}, lambda: (1, 0.5)).session_opened()
    port = metrics.start(0)
    try:
        main.session_opened()
        main.session_opened()
        main.session_closed()
        main.statement_ended(Entry(0, "ann", "", Outcome.ANSWERED, "SELECT 1"), 0.003)
        main.statement_ended(Entry(0, "ann", "", Outcome.REFUSED, "SELECT 2", 0, "42703"), 0.0001)
        found = scraped(port)
    finally:
        metrics.close()
    assert found['dpproxy_connections{database="main"}'] == 1
    assert found['dpproxy_connections{database="other"}'] == 1
    assert found['dpproxy_statements_total{database="main",outcome="answered",sqlstate=""}'] == 1
    assert found['dpproxy_statements_total{database="main",outcome="refused",sqlstate="42703"}'] == 1
    assert found['dpproxy_statement_seconds_bucket{database="main",le="0.004"}'] == 2
    assert found['dpproxy_statement_seconds_count{database="main"}'] == 2
    assert found['dpproxy_budget_spent_epsilon{budget="research",database="main"}'] == 2.5
    assert found['dpproxy_budget_spent_epsilon{budget="research",database="other"}'] == 1.0
    assert found['dpproxy_ledger_commit_seconds_count{database="main"}'] == 4
    assert found['dpproxy_ledger_commit_seconds_sum{database="main"}'] == 0.25
    assert "ann" not in str(found)


def test_a_ledger_that_cannot_be_read_leaves_the_figures_of_the_others():
    def unreadable() -> dict[str, float]:
        raise LedgerUnavailable("the privacy ledger cannot be read")

    metrics = Metrics()
    metrics.of("main", unreadable, lambda: (0, 0.0))
    metrics.of("other", lambda: {"b": 1.0}, lambda: (0, 0.0))
    port = metrics.start(0)
    try:
        found = scraped(port)
    finally:
        metrics.close()
    assert [name for name in found if "spent" in name] == [
        'dpproxy_budget_spent_epsilon{budget="b",database="other"}'
    ]


def test_a_port_that_is_taken_is_told():
    first = Metrics()
    port = first.start(0)
    try:
        with pytest.raises(StartupError, match="cannot listen"):
            Metrics().start(port)
    finally:
        first.close()


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(StartupError, match=r"dpproxy\[metrics\]"):
        Metrics()
