import pytest

from dpproxy.console import put, say, tell


def test_results_and_all_else_go_apart(capsys: pytest.CaptureFixture[str]):
    put('{"a": 1}')
    say("3 entries")
    tell("waiting")
    assert capsys.readouterr() == ('{"a": 1}\ndpproxy: 3 entries\n', "dpproxy: waiting\n")
