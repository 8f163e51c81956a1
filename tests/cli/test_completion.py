"""``dpproxy completion``."""

import pytest

from dpproxy.cli.main import main


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_script_is_printed(shell: str, capsys: pytest.CaptureFixture[str]):
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert "complete -o default -F _dpproxy dpproxy" in text
    assert ("bashcompinit" in text) == (shell == "zsh")
