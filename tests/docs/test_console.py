from pathlib import Path

import pytest

from tests.docs.blocks import Block
from tests.docs.console import Step, shell, steps

TEXT = """\
$ echo a \\
> b
a b
$ true
"""


def test_a_session_is_cut_at_its_prompts():
    assert steps(TEXT, "$ ", "> ") == [Step("echo a \\\nb", ["a b"]), Step("true", [])]


def test_what_is_shown_is_what_is_printed(tmp_path: Path):
    with shell(tmp_path, 1) as made:
        assert made.run(Block("page", 1, "console", "", "$ echo a b\na b\n")) == []


@pytest.mark.parametrize("shown", ["a c", ""])
def test_what_is_not_is_told(tmp_path: Path, shown: str):
    with shell(tmp_path, 1) as made:
        assert made.run(Block("page", 1, "console", "", f"$ echo a b\n{shown}\n"))


def test_a_file_is_there_for_the_commands_after_it(tmp_path: Path):
    with shell(tmp_path, 7000) as made:
        made.write(Block("page", 1, "toml", "file: a/b.toml", "port = 6432\n"))
        assert made.run(Block("page", 1, "console", "", "$ cat a/b.toml\nport = 6432\n")) == []
        assert (tmp_path / "a" / "b.toml").read_text() == "port = 7000\n"


def test_a_password_is_typed_where_one_is_asked_for(tmp_path: Path):
    command = "read -s -p 'Password for ann: ' word; echo; echo ${#word}"
    with shell(tmp_path, 1) as made:
        assert made.run(Block("page", 1, "console", "", f"$ {command}\nPassword for ann:\n13\n")) == []
