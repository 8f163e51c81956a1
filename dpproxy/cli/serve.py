"""``dpproxy serve``: checks the configuration and starts databases and server."""

import gc
import os
from typing import Final

from msgspec.structs import replace

from dpproxy.backends.process.confine import bytes_of
from dpproxy.cli.page import page
from dpproxy.config.configuration import LOCAL, Config, check_files, load_config
from dpproxy.config.text import read_text
from dpproxy.config.tls import server_context
from dpproxy.config.users import UsersFile, check_private, mock_key, read_users
from dpproxy.server.options import Options
from dpproxy.server.place import Place
from dpproxy.system.process import serve_command
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import say, tell
from dpproxy.values.errors import StartupError

GARBAGE: Final = (5_000, 20, 20)
"""When garbage is looked for: by default trees of statements that run are taken for what stays, and all that stays is
looked through every few seconds, for up to 0.1 s in which nothing is answered.
"""


def serve(arguments: Arguments) -> int:
    """Serve until a signal stops it."""
    place = Place.given(os.environ)
    text = read_text(arguments.config) if place.config is None else place.config
    config = load_config(arguments.config, text=text)
    if place.end is None:
        _check(config)
    else:
        config = _part(config, place)
    if place.end is None and config.processes > 1:
        _serve_by_several(config, text)
        return 0
    gc.disable()  # all that a start makes stays: looking it through for garbage takes a fifth of it
    try:
        _serve(config, place)
    finally:
        gc.enable()
    return 0


def _check(config: Config) -> None:
    check_files(config)
    read_users(config.users)
    check_private(config.users, tell)
    if config.root.exists():
        check_private(config.root, tell)
    if config.tls_certificate is not None:
        server_context(config.tls_certificate, config.tls_key)
    elif config.host not in LOCAL:
        tell(f"warning: {config.host} without TLS: answers cross the network in the clear")
    if config.metrics_port and config.processes > 1:
        last = config.metrics_port + config.processes - 1
        if last > 65535 or config.metrics_port <= config.port <= last:
            raise StartupError(
                f"metrics.port: expected ports {config.metrics_port} to {last}, one for each process, to be other "
                f"than {config.port} and at most 65535"
            )


def _serve_by_several(config: Config, text: str) -> None:
    """Listen, and start the processes that serve: under this configuration, whatever the file says later."""
    from dpproxy.server.processes import Processes  # noqa: PLC0415 - slow to import

    own = Options(host=config.host, port=config.port, drain=config.drain)
    with page(config, own.page_key, tell) as show:

        def listening(told: str, port: int) -> None:
            say(told.format(port=port))
            show(port)

        Processes(own, config.processes, serve_command(config.file), tell, text).run(listening)


def _part(config: Config, place: Place) -> Config:
    """The configuration of one process of several: its share of memory, and a port of its own for metrics."""
    share = f"{80 // place.count}%"  # of the machine's, of which an engine takes 80 % by itself
    if config.memory is not None:
        share = f"{bytes_of(config.memory) // place.count // 1000}KB"
    port = config.metrics_port and config.metrics_port + place.number
    return replace(config, memory=share, metrics_port=port, page=None)


def _serve(config: Config, place: Place) -> None:
    """Start and serve; garbage is looked for from then on."""
    from dpproxy.engine.databases import open_databases  # noqa: PLC0415 - slow to import
    from dpproxy.server.listener import Server  # noqa: PLC0415 - too
    from dpproxy.system.arrow import configure  # noqa: PLC0415 - too

    own = options(config)
    if place.page_key is not None:
        own = replace(own, page_key=place.page_key)
    with page(config, own.page_key, tell) as show, open_databases(config, tell) as databases:
        server = Server(own, databases, UsersFile(config.users), place)
        host = f"[{config.host}]" if ":" in config.host else config.host
        versions = databases.versions()
        policy = f"(policy version {', '.join(map(str, versions.values()))})"
        served = f"serving {', '.join(versions)} on {host}:{{port}} {policy}"

        gc.freeze()
        gc.set_threshold(*GARBAGE)
        gc.enable()

        def listening(port: int) -> None:
            configure()  # by now pandas is loaded where Spark needs it
            if place.end is not None:
                place.tell({"kind": "ready", "told": served})
                return
            say(served.format(port=port))
            show(port)

        server.run(listening)


def options(config: Config) -> Options:
    """The part of a configuration that the server itself needs."""
    return Options(
        host=config.host,
        port=config.port,
        padding=config.padding,
        tls_certificate=config.tls_certificate,
        tls_key=config.tls_key,
        max_connections=config.max_connections,
        login_timeout=config.login_timeout,
        drain=config.drain,
        mock_key=mock_key(config.root / "login.key"),
    )
