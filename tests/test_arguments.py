import argparse

import pytest

from dpproxy.arguments import CONFIG, Command, build_parser

Captured = pytest.CaptureFixture[str]


def ran(arguments: argparse.Namespace) -> int:
    return len(vars(arguments))


COMMANDS = (
    Command("serve", "answer", "dpproxy serve", (CONFIG,), ran),
    Command("user add", "add a user", "dpproxy user add", ((("name",), {"help": "who"}),), ran),
    Command("user drop", "drop a user", "dpproxy user drop", (), ran),
)


def test_a_command_of_one_word_and_of_two():
    parser = build_parser(COMMANDS)
    assert str(parser.parse_args(["serve", "--config", "x"]).config) == "x"
    assert parser.parse_args(["user", "add", "ann"]).name == "ann"
    assert parser.parse_args(["user", "drop"]).run is ran


def test_help_lists_commands_and_groups(capsys: Captured):
    with pytest.raises(SystemExit):
        build_parser(COMMANDS).parse_args(["--help"])
    shown = capsys.readouterr().out
    assert "serve" in shown
    assert "add, drop" in shown


@pytest.mark.parametrize("words", [[], ["user"], ["serve"], ["user", "add"]])
def test_what_is_missing_exits_with_2(words: list[str], capsys: Captured):
    with pytest.raises(SystemExit) as stopped:
        build_parser(COMMANDS).parse_args(words)
    assert stopped.value.code == 2
    assert "usage:" in capsys.readouterr().err
