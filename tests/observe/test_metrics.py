"""Figures for Prometheus."""

import json
import re
import urllib.request
from pathlib import Path

import pytest

from dpproxy.observe.audit_entry import AuditEntry, AuditOutcome
from dpproxy.observe.metrics import Metrics, Spent
from dpproxy.values.errors import LedgerUnavailable, StartupError


def scraped(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        lines = answer.read().decode().splitlines()
    pairs = [line.rpartition(" ") for line in lines if not line.startswith("#")]
    return {name: float(value) for name, _, value in pairs}


def test_what_was_counted_is_served_on_loopback():
    metrics = Metrics()
    accounts = [
        Spent("budget", "research", 5.0, 2.5),
        Spent("user", "research", 2.0, 1.5),
        Spent("user", "research", 2.0, 1.0),
        Spent("ceiling", "patients", 10.0, 2.5),
        Spent("budget", "open", None, 1.0),
    ]
    main = metrics.of("main", lambda: accounts, lambda: (4, 0.25), lambda: 3)
    metrics.of(
        "other", lambda: [Spent("budget", "research", 4.0, 1.0)], lambda: (1, 0.5), int
    ).session_opened()
    port = metrics.start(0)
    try:
        main.session_opened()
        main.session_opened()
        main.session_closed()
        main.statement_ended(AuditEntry(0, "ann", "", AuditOutcome.ANSWERED, "SELECT 1"), 0.003)
        main.statement_ended(AuditEntry(0, "ann", "", AuditOutcome.REFUSED, "SELECT 2", 0, "42703"), 0.0001)
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
    assert found['dpproxy_budget_limit_epsilon{budget="research",database="main"}'] == 5
    assert 'dpproxy_budget_limit_epsilon{budget="open",database="main"}' not in found
    assert found['dpproxy_ceiling_spent_epsilon{ceiling="patients",database="main"}'] == 2.5
    assert found['dpproxy_ceiling_limit_epsilon{ceiling="patients",database="main"}'] == 10
    assert found['dpproxy_budget_users{budget="research",database="main"}'] == 2
    assert found['dpproxy_budget_user_spent_ratio{budget="research",database="main"}'] == 0.75
    assert found['dpproxy_statements_running{database="main"}'] == 3
    assert found['dpproxy_ledger_commit_seconds_count{database="main"}'] == 4
    assert found['dpproxy_ledger_commit_seconds_sum{database="main"}'] == 0.25
    assert "ann" not in str(found)


def test_a_ledger_that_cannot_be_read_leaves_the_figures_of_the_others():
    def unreadable() -> list[Spent]:
        raise LedgerUnavailable("the privacy ledger cannot be read")

    metrics = Metrics()
    metrics.of("main", unreadable, lambda: (0, 0.0), int)
    metrics.of("other", lambda: [Spent("budget", "b", None, 1.0)], lambda: (0, 0.0), int)
    port = metrics.start(0)
    try:
        found = scraped(port)
    finally:
        metrics.close()
    assert [name for name in found if "spent" in name] == [
        'dpproxy_budget_spent_epsilon{budget="b",database="other"}'
    ]


DOCKER = Path(__file__).parents[2] / "docker"


@pytest.mark.parametrize("name", ["grafana/dpproxy.json", "prometheus/alerts.yml"])
def test_dashboard_and_alerts_name_figures_that_there_are(name: str):
    metrics = Metrics()
    accounts = [Spent(kind, "x", 1.0, 0.5) for kind in ("budget", "user", "ceiling")]
    metrics.of("main", lambda: accounts, lambda: (1, 0.1), int).statement_ended(
        AuditEntry(0, "ann", "", AuditOutcome.ANSWERED, "SELECT 1"), 0.1
    )
    port = metrics.start(0)
    try:
        served = {series.partition("{")[0] for series in scraped(port)}
    finally:
        metrics.close()
    named = set(re.findall(r"\bdpproxy_\w+", (DOCKER / name).read_text(encoding="utf-8")))
    assert named
    assert named <= served, named - served


def test_the_dashboard_is_whole():
    board = json.loads((DOCKER / "grafana" / "dpproxy.json").read_text(encoding="utf-8"))
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"]) >= 8
    assert all(panel["targets"] and panel["title"] for panel in board["panels"])
    places = [panel["gridPos"] for panel in board["panels"]]
    cells = [
        (x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])
    ]
    assert len(cells) == len(set(cells))  # no panel lies on another
    assert max(x for x, _ in cells) < 24
    assert {panel["type"] for panel in board["panels"]} <= {
        "bargauge",
        "gauge",
        "stat",
        "table",
        "timeseries",
    }
    assert {panel["datasource"]["uid"] for panel in board["panels"]} == {"${source}"}


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
