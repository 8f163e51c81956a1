import pytest

from dpproxy.terminal.console import print_result, say, tell, width


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
