"""Completion, as bash does it."""

import shutil
import subprocess

import pytest

from dpproxy.cli.commands import COMMANDS
from dpproxy.terminal.completion import SHELLS, script


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("dpproxy ini", {"init"}),
        ("dpproxy user ", {"add", "list", "passwd", "remove", "roles"}),
        ("dpproxy user add --pass", {"--password-stdin"}),
        ("dpproxy budget show --j", {"--json"}),
        ("dpproxy preview --d", {"--database"}),
        ("dpproxy --v", {"--version"}),
        ("dpproxy serve --config ", set()),
    ],
)
def test_words_are_completed(typed: str, expected: set[str]):
    bash = shutil.which("bash")
    assert bash is not None
    words = typed.split(" ")
    listed = " ".join(f"'{word}'" for word in words)
    asked = f'COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _dpproxy; echo "${{COMPREPLY[@]}}"'
    program = f"{script(COMMANDS, 'bash')}\n{asked}"
    done = subprocess.run([bash, "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == expected


def test_every_command_has_its_options():
    for shell in SHELLS:
        text = script(COMMANDS, shell)
        for command in COMMANDS:
            assert f'"{command.name}"*) known="' in text
