import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from dpproxy.cli import demo
from dpproxy.values.errors import StartupError

Captured = pytest.CaptureFixture[str]


def test_the_tour_ends_well(capsys: Captured):
    out = io.StringIO()
    assert demo.demo(out) == 0, capsys.readouterr().err
    text = out.getvalue()
    for heading, _ in demo.STEPS:
        assert f"--- {heading} ---" in text
    assert "PD001" in text
    assert "stopped with status 0" in text


def test_a_kept_server_prints_one_url_per_role_and_stops_on_sigterm():
    command = [sys.executable, "-m", "dpproxy", "demo", "--serve"]
    beside = os.environ | {
        "DPPROXY_WEB_LISTEN": "127.0.0.1:0"
    }  # others serve their demo's page in this moment
    with subprocess.Popen(command, env=beside, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        urls = [process.stdout.readline().strip() for _ in demo.ROLES]
        try:
            for url, user in zip(urls, demo.ROLES, strict=True):
                assert url.startswith(f"postgresql://{user}:")
                with psycopg.connect(url) as connection:
                    assert connection.info.user == user
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0


def test_a_step_that_does_not_behave_gives_status_1(monkeypatch: pytest.MonkeyPatch, capsys: Captured):
    def broken(*_: demo.Voice) -> None:
        raise demo.TourFailed("it broke")

    monkeypatch.setattr(demo, "STEPS", (("Broken", broken),))
    assert demo.demo(io.StringIO()) == 1
    assert capsys.readouterr().err == "dpproxy: the tour failed: it broke\n"


def test_without_the_examples_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(demo, "EXAMPLES", tmp_path / "none")
    with pytest.raises(StartupError, match="expected the example data"):
        demo.demo(io.StringIO())


def test_a_hint_without_a_statement_fails_its_step():
    with pytest.raises(demo.TourFailed, match="holds no statement"):
        demo.rewrite_in("ask somebody else")
