"""The command that prints what a shell reads to complete the others."""

from dpproxy.cli.commands import COMMANDS
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.completion import script
from dpproxy.terminal.console import print_result


def command(arguments: Arguments) -> int:
    """``dpproxy completion``."""
    print_result(script(COMMANDS, arguments.shell).rstrip("\n"))
    return 0
