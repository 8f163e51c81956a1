"""The commands of operators: back up and restore the state, and check whether a proxy is running."""

import socket

from dpproxy.config.configuration import load_config
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import say, tell, waiting

SSL_REQUEST = bytes.fromhex("0000000804d2162f")
PATIENCE = 3.0
"""Seconds to wait for an answer."""
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - never listened on here


def backup(arguments: Arguments) -> int:
    """``dpproxy backup``."""
    from dpproxy.state.backups import back_up  # noqa: PLC0415 - slow to import

    with waiting("copying and verifying") as reach:
        for line in back_up(load_config(arguments.config), arguments.directory.absolute(), reach):
            say(line)
    say(f"{arguments.directory}: whole")
    return 0


def restore(arguments: Arguments) -> int:
    """``dpproxy restore``."""
    from dpproxy.state import backups  # noqa: PLC0415 - slow to import

    config = load_config(arguments.config)
    names = config.databases if arguments.database is None else (config.of(arguments.database).database,)
    with waiting("verifying and copying") as reach:
        lines, is_served = backups.restore(config, arguments.directory.absolute(), names, reach)
    for line in lines:
        say(line)
    return 0 if is_served else 1


def health(arguments: Arguments) -> int:
    """``dpproxy health``: send an SSLRequest, which a proxy answers by one byte before any login."""
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
