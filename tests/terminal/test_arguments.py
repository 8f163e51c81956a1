from pathlib import Path

import pytest

from dpproxy.terminal.arguments import CONFIG, DOCUMENTATION, Command, build_parser, handler

Captured = pytest.CaptureFixture[str]


COMMANDS = (
    Command("serve", "answer", "dpproxy serve", (CONFIG,), "cli:main"),
    Command("user add", "add a user", "dpproxy user add", (("name", {"help": "who"}),), "cli:main"),
    Command("user drop", "drop a user", "dpproxy user drop", (), "cli:main"),
)


def test_a_command_of_one_word_and_of_two():
    parser = build_parser(COMMANDS)
    assert str(parser.parse_args(["serve", "--config", "x"]).config) == "x"
    assert parser.parse_args(["user", "add", "ann"]).name == "ann"
    assert parser.parse_args(["user", "drop"]).run == "cli:main"


def test_help_lists_commands_and_groups(capsys: Captured):
    with pytest.raises(SystemExit):
        build_parser(COMMANDS).parse_args(["--help"])
    shown = capsys.readouterr().out
    assert "serve" in shown
    assert "add, drop" in shown


def test_what_a_command_runs_is_found_by_name():
    assert handler("cli.main:main").__name__ == "main"


def test_help_names_pages_that_are_there(capsys: Captured):
    for words, page in (([], "README.md"), (["serve"], "docs/commands.md")):
        with pytest.raises(SystemExit):
            build_parser(COMMANDS).parse_args([*words, "--help"])
        assert Path(capsys.readouterr().out.split()[-1]) == DOCUMENTATION / page
        assert (DOCUMENTATION / page).is_file()


@pytest.mark.parametrize("words", [[], ["user"], ["serve"], ["user", "add"]])
def test_what_is_missing_exits_with_2(words: list[str], capsys: Captured):
    with pytest.raises(SystemExit) as stopped:
        build_parser(COMMANDS).parse_args(words)
    assert stopped.value.code == 2
    assert "usage:" in capsys.readouterr().err
