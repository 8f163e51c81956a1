import io
import time

import pytest

from dpproxy.terminal.console import print_result, say, tell, waiting, width


def test_results_and_all_else_go_apart(capsys: pytest.CaptureFixture[str]):
    print_result('{"a": 1}')
    say("3 entries")
    tell("waiting")
    assert capsys.readouterr() == ('{"a": 1}\ndpproxy: 3 entries\n', "dpproxy: waiting\n")


@pytest.mark.usefixtures("capsys")
def test_what_is_no_terminal_has_no_width():
    assert width() is None


def test_a_terminal_has_a_width(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "97")
    assert width() == 97


class Terminal(io.StringIO):
    """Standard error at a terminal."""

    def isatty(self) -> bool:
        return True


def at_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """From now on: pytest has a stream of its own for each phase of a test."""
    made = Terminal()
    monkeypatch.setattr("sys.stderr", made)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return made


def test_a_warning_is_coloured_at_a_terminal(monkeypatch: pytest.MonkeyPatch):
    terminal = at_terminal(monkeypatch)
    tell("warning: without TLS")
    monkeypatch.setenv("NO_COLOR", "1")
    tell("warning: without TLS")
    assert (
        terminal.getvalue() == "dpproxy: \x1b[33mwarning:\x1b[0m without TLS\ndpproxy: warning: without TLS\n"
    )


def test_heads_effects_and_errors_stand_out_at_a_terminal(monkeypatch: pytest.MonkeyPatch):
    terminal = at_terminal(monkeypatch)
    monkeypatch.setattr("sys.stdout", terminal)
    print_result(" a | b\n---+---\n 1 | 2")
    print_result("one line\nand another")
    tell("table t [weaker]: more is told", is_error=True)
    assert terminal.getvalue() == (
        "\x1b[1m a | b\x1b[0m\n---+---\n 1 | 2\none line\nand another\n"
        "\x1b[31mdpproxy:\x1b[0m table t \x1b[33m[weaker]\x1b[0m: more is told\n"
    )


def test_what_takes_long_says_so_and_is_gone_at_the_end(monkeypatch: pytest.MonkeyPatch):
    terminal = at_terminal(monkeypatch)
    monkeypatch.setattr("dpproxy.terminal.console.SOON", 0.01)
    with waiting("verifying"):
        while "verifying, 0 s" not in terminal.getvalue():
            time.sleep(0.01)
        tell("half")
    text = terminal.getvalue()
    assert "\r\x1b[Kdpproxy: half\n" in text
    assert text.rpartition("verifying")[2].endswith("\r\x1b[K") or text.endswith("half\n")


def test_what_says_how_far_it_is_has_a_bar(monkeypatch: pytest.MonkeyPatch):
    terminal = at_terminal(monkeypatch)
    monkeypatch.setattr("dpproxy.terminal.console.SOON", 0.01)
    with waiting("verifying") as reach:
        for part, drawn in ((0.5, "[##########..........] 50 %"), (1.0, f"[{'#' * 20}] 100 %")):
            reach(part)
            while f"dpproxy: verifying {drawn}, 0 s" not in terminal.getvalue():
                time.sleep(0.01)
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_progress_in_percent_is_a_bar_that_gives_way(monkeypatch: pytest.MonkeyPatch):
    terminal = at_terminal(monkeypatch)
    tell("importing visits.csv (1 of 2, 90 MB): 25 %")
    tell("view v: 100% built")
    tell("ready")
    bar = f"\r\x1b[Kdpproxy: importing visits.csv (1 of 2, 90 MB) [{'#' * 5}{'.' * 15}] 25 %"
    assert terminal.getvalue() == f"{bar}\r\x1b[Kdpproxy: view v [{'#' * 20}] 100 %\r\x1b[Kdpproxy: ready\n"


def test_progress_in_percent_is_what_is_waited_for(monkeypatch: pytest.MonkeyPatch):
    terminal = at_terminal(monkeypatch)
    monkeypatch.setattr("dpproxy.terminal.console.SOON", 0.01)
    with waiting("at work"):
        tell("view v: 50% built")
        while f"dpproxy: view v [{'#' * 10}{'.' * 10}] 50 %, 0 s" not in terminal.getvalue():
            time.sleep(0.01)
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_progress_is_a_line_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]):
    tell("view v: 50% built")
    assert capsys.readouterr().err == "dpproxy: view v: 50% built\n"


def test_what_is_no_terminal_is_told_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dpproxy.terminal.console.SOON", 0.01)
    with waiting("verifying") as reach:
        reach(0.5)
        time.sleep(0.05)
    assert capsys.readouterr().err == ""
