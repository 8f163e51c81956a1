"""Commands for whoever watches over the proxy: its promises, and the audit log."""

from dpproxy.backends.secret import load_secret
from dpproxy.config.configuration import load_config
from dpproxy.observe.audit_entry import seal
from dpproxy.observe.audit_file import FILE, AlteredLog, AuditFile
from dpproxy.state.directory import require
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import say, tell
from dpproxy.terminal.display import quantity
from dpproxy.values.errors import StartupError


def log_verify(arguments: Arguments) -> int:
    """``dpproxy log verify``."""
    config = load_config(arguments.config).of(arguments.database)
    require(config)
    state = config.state
    if not (state / FILE).exists():
        raise StartupError(f"{state / FILE}: expected the audit log of a proxy that has run")
    file = AuditFile(state, seal(load_secret(state)))
    file.open()
    try:
        count = file.verify()
    except AlteredLog as error:
        tell(f"{state / FILE}: {error}")
        return 1
    finally:
        file.close()
    say(f"{state / FILE}: {quantity(count, 'entry', 'entries')}, all verified")
    return 0
