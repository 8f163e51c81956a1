"""Commands for whoever watches over the proxy: its promises, and the audit log."""

import sys

from dpproxy.arguments import CONFIG, DATABASE, Arguments, Command
from dpproxy.auditlog.entry import seal
from dpproxy.auditlog.file import FILE, Altered, AuditFile
from dpproxy.backends.secret import load_secret
from dpproxy.config import load_config
from dpproxy.errors import StartupError
from dpproxy.state import require

RUNS = 100


def _selftest(arguments: Arguments) -> int:
    from dpproxy.selftest import selftest  # noqa: PLC0415 - slow to import

    return selftest(arguments)


def _log_verify(arguments: Arguments) -> int:
    config = load_config(arguments.config).of(arguments.database)
    require(config)
    state = config.state
    if not (state / FILE).exists():
        raise StartupError(f"{state / FILE}: expected the audit log of a proxy that has run")
    file = AuditFile(state, seal(load_secret(state)))
    file.open()
    try:
        count = file.verify()
    except Altered as error:
        sys.stderr.write(f"dpproxy: {state / FILE}: {error}\n")
        return 1
    finally:
        file.close()
    sys.stdout.write(f"dpproxy: {state / FILE}: {count} entries, all verified\n")
    return 0


COMMANDS = (
    Command(
        "selftest",
        "try every attack on made-up people under your own policy; exit status 1 where a promise is not kept",
        "dpproxy selftest --config dpproxy.toml",
        (
            CONFIG,
            DATABASE,
            (("--json",), {"action": "store_true", "help": "print the findings as JSON"}),
            (
                ("--runs",),
                {
                    "type": int,
                    "default": RUNS,
                    "metavar": "N",
                    "help": f"samples of each side, 0 for none (default: {RUNS})",
                },
            ),
        ),
        _selftest,
    ),
    Command(
        "log verify",
        "check every entry of the audit log against its key; a proxy may be running",
        "dpproxy log verify --config dpproxy.toml",
        (CONFIG, DATABASE),
        _log_verify,
    ),
)
