"""The alert rules and the dashboard, by a real Prometheus that scrapes figures: ``apt install prometheus``."""

import json
import re
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpproxy.observe.audit_entry import AuditEntry, AuditOutcome
from dpproxy.observe.metrics import Metrics, Spent

DOCKER = Path(__file__).parents[2] / "docker"
ALERTS = DOCKER / "prometheus" / "alerts.yml"
CONFIG = """\
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{alerts}]
scrape_configs: [{{job_name: dpproxy, static_configs: [{{targets: ["127.0.0.1:{port}"]}}]}}]
"""
SPENT = (
    Spent("ceiling", "visits", 20.0, 16.5),
    Spent("ceiling", "census", 20.0, 2.0),
    Spent("budget", "research", 5.0, 4.5),
    Spent("user", "research", 1.0, 0.97),
)
pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(
        None in (shutil.which("prometheus"), shutil.which("promtool")), reason="prometheus is not installed"
    ),
]


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of one that scrapes a proxy in which much was spent."""
    folder, metrics = tmp_path_factory.mktemp("prometheus"), Metrics()
    figures = metrics.of("main", lambda: SPENT, lambda: (4, 0.2), lambda: 1)
    figures.statement_ended(AuditEntry(0, "ann", "", AuditOutcome.ANSWERED, "SELECT 1"), 0.1)
    config = folder / "prometheus.yml"
    config.write_text(CONFIG.format(alerts=ALERTS, port=metrics.start(0)))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    listens = f"--web.listen-address=127.0.0.1:{port}"
    command = ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}", listens]
    with (folder / "log").open("w") as log, subprocess.Popen(command, stderr=log) as process:
        try:
            yield port
        finally:
            process.terminate()
            metrics.close()


def asked(port: int, path: str, **values: str) -> dict[str, object]:
    """What its interface answers, once it is there."""
    url = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(values)}"
    until = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(url) as response:
                found = json.load(response)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            assert found["status"] == "success"
            return dict(found["data"])


def test_the_rules_are_rules():
    subprocess.run(["promtool", "check", "rules", "--lint-fatal", ALERTS], check=True, capture_output=True)


def test_what_is_nearly_spent_raises_an_alert(prometheus: int):
    until, names = time.monotonic() + 60, set[tuple[str, str]]()
    wanted = {
        ("DpproxyCeilingNearlySpent", "visits"),
        ("DpproxyBudgetNearlySpent", "research"),
        ("DpproxyUserNearLimit", "research"),
    }
    while not wanted <= names and time.monotonic() < until:
        alerts = asked(prometheus, "alerts")["alerts"]
        assert isinstance(alerts, list)
        labels = [one["labels"] for one in alerts if one["state"] == "firing"]
        names = {(one["alertname"], one.get("ceiling") or one.get("budget")) for one in labels}
        time.sleep(0.2)
    assert names == wanted  # nothing of census, of which a tenth is spent


def test_each_panel_of_the_dashboard_has_something_to_show(prometheus: int):
    board = json.loads((DOCKER / "grafana" / "dpproxy.json").read_text(encoding="utf-8"))
    given = {"$database": ".*", "${database}": ".*", "$__rate_interval": "5s", "$__range": "1h"}
    time.sleep(2.5)  # a rate needs two scrapes
    for panel in board["panels"]:
        for target in panel["targets"]:
            query = re.sub(r"\$\{?\w+\}?", lambda found: given[found[0]], target["expr"])
            found = asked(prometheus, "query", query=query)["result"]
            assert found, (panel["title"], query)
