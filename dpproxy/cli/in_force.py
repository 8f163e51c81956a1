"""The engine for commands that look, or do one thing: under the policy in force, which to open it does not change."""

from dpproxy.config.configuration import check_files, load_config
from dpproxy.engine.engine import Engine
from dpproxy.state.directory import require
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import tell


def start_engine(arguments: Arguments) -> Engine:
    """The engine of the named data source. Raises StartupError, also if no proxy has run there yet."""
    config = load_config(arguments.config).of(arguments.database)
    check_files(config)
    require(config)
    return Engine.start(config.at_rest(), tell)
