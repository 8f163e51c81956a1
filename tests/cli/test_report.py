"""``dpproxy report``: as a user types it."""

from pathlib import Path

import pytest

from dpproxy.cli import report
from dpproxy.cli.main import main
from tests.engine.test_engine import COUNT, DDL, POLICY, ask
from tests.proxies import started, write_home


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = write_home(tmp_path, DDL, POLICY)
    with started(file) as engine:
        ask(engine, COUNT)
    return file


def test_the_report_is_a_file_or_printed(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "report.html"
    assert main(["report", "--config", str(config), "--output", str(file)]) == 0
    assert "1 answer from" in file.read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["report", "--config", str(config)]) == 0
    assert "People in t" in capsys.readouterr().out


def test_without_its_packages_it_says_what_to_install(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(report, "is_installed", lambda: False)
    assert main(["report", "--config", str(config)]) == 2
    assert "dpproxy[web]" in capsys.readouterr().err
