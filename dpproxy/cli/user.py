"""The commands of users: they change the users file, which a proxy that runs reads at each login."""

import getpass
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from dpproxy.config.configuration import load_config
from dpproxy.config.users import User, add_user, editing, read_users, roles_of, secret_of
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import print_result, say, width
from dpproxy.terminal.display import answer
from dpproxy.values.errors import StartupError


def add(arguments: Arguments) -> int:
    """``dpproxy user add``: asks for the password unless it is on stdin."""
    config = load_config(arguments.config)
    password = password_of(arguments.name, from_stdin=arguments.password_stdin)
    replaced = add_user(config.users, arguments.name, arguments.role, password)
    done = "replaced" if replaced else "added"
    say(f"user {arguments.name} {done} in {config.users}")
    return 0


def list_all(arguments: Arguments) -> int:
    """``dpproxy user list``."""
    file = load_config(arguments.config).users
    rows = [(name, ", ".join(sorted(one.roles))) for name, one in sorted(read_users(file).items())]
    print_result(answer(("user", "roles"), rows, in_json=arguments.json, width=width()))
    return 0


def remove(arguments: Arguments) -> int:
    """``dpproxy user remove``."""
    file = load_config(arguments.config).users
    with editing(file) as users:
        _existing(arguments.name, users, file)
        del users[arguments.name]
    say(f"user {arguments.name} removed from {file}; what the user has spent stays spent")
    return 0


def passwd(arguments: Arguments) -> int:
    """``dpproxy user passwd``: roles stay as they are."""
    file = load_config(arguments.config).users
    _existing(arguments.name, read_users(file), file)
    secret = secret_of(arguments.name, password_of(arguments.name, from_stdin=arguments.password_stdin))
    with editing(file) as users:
        users[arguments.name] = _existing(arguments.name, users, file).with_secret(secret)
    say(f"user {arguments.name} has another password in {file}")
    return 0


def roles(arguments: Arguments) -> int:
    """``dpproxy user roles``: these in place of the user's; the password stays as it is."""
    file = load_config(arguments.config).users
    wanted = roles_of(arguments.name, arguments.role)
    with editing(file) as users:
        users[arguments.name] = replace(_existing(arguments.name, users, file), roles=wanted)
    say(
        f"user {arguments.name} has the {'role' if len(wanted) == 1 else 'roles'} {', '.join(sorted(wanted))}"
    )
    return 0


def _existing(name: str, users: Mapping[str, User], file: Path) -> User:
    if name not in users:
        raise StartupError(f"{file}: no user {name}; dpproxy user list prints those there are")
    return users[name]


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
