"""``dpproxy serve``: checks the configuration and starts databases and server."""

import gc

from dpproxy.cli.page import page
from dpproxy.config.configuration import LOCAL, Config, check_files, load_config
from dpproxy.config.tls import server_context
from dpproxy.config.users import UsersFile, check_private, mock_key, read_users
from dpproxy.server.options import Options
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import say, tell


def serve(arguments: Arguments) -> int:
    """Serve until a signal stops it."""
    config = load_config(arguments.config)
    check_files(config)
    read_users(config.users)
    check_private(config.users, tell)
    if config.root.exists():
        check_private(config.root, tell)
    if config.tls_certificate is not None:
        server_context(config.tls_certificate, config.tls_key)
    elif config.host not in LOCAL:
        tell(f"warning: {config.host} without TLS: answers cross the network in the clear")
    gc.disable()  # all that a start makes stays: looking it through for garbage takes a fifth of it
    try:
        _serve(config)
    finally:
        gc.enable()
    return 0


def _serve(config: Config) -> None:
    """Start and serve; garbage is looked for from then on."""
    from dpproxy.engine.databases import open_databases  # noqa: PLC0415 - slow to import
    from dpproxy.server.listener import Server  # noqa: PLC0415 - too

    own = options(config)
    with page(config, own.page_key, tell) as show, open_databases(config, tell) as databases:
        server = Server(own, databases, UsersFile(config.users))
        host = f"[{config.host}]" if ":" in config.host else config.host
        versions = databases.versions()
        served = f"serving {', '.join(versions)} on {host}"
        policy = f"(policy version {', '.join(map(str, versions.values()))})"

        gc.freeze()
        gc.enable()

        def listening(port: int) -> None:
            say(f"{served}:{port} {policy}")
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
