"""The command that adds a user."""

import getpass
import sys
import warnings

from dpproxy.config.configuration import load_config
from dpproxy.config.users import add_user
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import say
from dpproxy.values.errors import StartupError


def add(arguments: Arguments) -> int:
    """``dpproxy user add``: asks for the password unless it is on stdin."""
    config = load_config(arguments.config)
    password = password_of(arguments.name, from_stdin=arguments.password_stdin)
    replaced = add_user(config.users, arguments.name, arguments.role, password)
    done = "replaced" if replaced else "added"
    say(f"user {arguments.name} {done} in {config.users}")
    return 0


def password_of(name: str, *, from_stdin: bool) -> str:
    """The password for a user, typed twice or the first line of stdin. Raises ``StartupError``."""
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    try:
        with warnings.catch_warnings(action="error", category=getpass.GetPassWarning):
            password = getpass.getpass(f"Password for {name}: ")
            again = getpass.getpass("The same again: ")
    except (EOFError, getpass.GetPassWarning):
        raise StartupError("expected a password; without a terminal use --password-stdin") from None
    if password != again:
        raise StartupError("the two passwords differ; nothing was changed")
    return password
