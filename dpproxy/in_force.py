"""The engine for commands that look, or do one thing: under the policy in force, which to open it does not change."""

from dpproxy.arguments import Arguments
from dpproxy.config import check_files, load_config
from dpproxy.console import tell
from dpproxy.engine import Engine
from dpproxy.state import require


def started(arguments: Arguments) -> Engine:
    """Of the data source that is named. Errors: StartupError, also where no proxy has run yet."""
    config = load_config(arguments.config).of(arguments.database)
    check_files(config)
    require(config)
    return Engine.start(config.at_rest(), tell)
