"""The commands of whoever runs the proxy: back up the state, put it back, and ask whether a proxy serves."""

import socket

from dpproxy.config.configuration import load_config
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import say, tell

SSL_REQUEST = bytes.fromhex("0000000804d2162f")
PATIENCE = 3.0
"""Seconds."""
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - never listened on here


def backup(arguments: Arguments) -> int:
    """``dpproxy backup``."""
    from dpproxy.state.backups import back_up  # noqa: PLC0415 - slow to import

    for line in back_up(load_config(arguments.config), arguments.directory.absolute()):
        say(line)
    say(f"{arguments.directory}: whole")
    return 0


def restore(arguments: Arguments) -> int:
    """``dpproxy restore``."""
    from dpproxy.state import backups  # noqa: PLC0415 - slow to import

    config = load_config(arguments.config)
    names = config.databases if arguments.database is None else (config.of(arguments.database).database,)
    lines, is_served = backups.restore(config, arguments.directory.absolute(), names)
    for line in lines:
        say(line)
    return 0 if is_served else 1


def health(arguments: Arguments) -> int:
    """An SSLRequest is answered by one byte, with or without TLS, before anybody logs in."""
    config = load_config(arguments.config)
    place = _ANYWHERE.get(config.host, config.host), config.port
    try:
        with socket.create_connection(place, PATIENCE) as connection:
            connection.settimeout(PATIENCE)
            connection.sendall(SSL_REQUEST)
            answer = connection.recv(1)
    except OSError as error:
        tell(f"{place[0]}:{place[1]}: {error.strerror or 'no answer'}")
        return 1
    if answer not in (b"S", b"N"):
        tell(f"{place[0]}:{place[1]}: that is no proxy")
        return 1
    say(f"{place[0]}:{place[1]} answers")
    return 0
