"""The commands of budgets: what was spent, and a new start for one that an administrator gives a reason for."""

import secrets
import sys

from dpproxy.arguments import CONFIG, DATABASE, JSON, Arguments, Command
from dpproxy.config import check_files, load_config
from dpproxy.display import answer, as_json
from dpproxy.plan import Answer, Caller
from dpproxy.policy.dump import constant, identifier
from dpproxy.settings import DEFAULTS


def _show(arguments: Arguments) -> int:
    found = _administer(arguments, "SHOW PRIVACY BUDGETS")
    _say(answer([column.name for column in found.columns or ()], found.rows, in_json=arguments.json))
    return 0


def _reset(arguments: Arguments) -> int:
    user = "" if arguments.user is None else f" FOR USER {identifier(arguments.user)}"
    sql = f"RESET PRIVACY BUDGET {identifier(arguments.name)}{user} REASON {constant(arguments.reason)}"
    notices = _administer(arguments, sql).notices
    if arguments.json:
        _say(as_json(["message"], [(notice.message,) for notice in notices]))
    else:
        for notice in notices:
            _say(f"dpproxy: {notice.message}")
    return 0


def _administer(arguments: Arguments, sql: str) -> Answer:
    """One statement in the name of the command line, which the audit of the ledger shows as dpproxy."""
    from dpproxy.engine import Engine  # noqa: PLC0415 - slow to import

    config = load_config(arguments.config).of(arguments.database)
    check_files(config)
    with Engine.start(config, _tell) as engine:
        caller = Caller("dpproxy", frozenset({"admin"}), secrets.token_hex(16))
        return engine.run(caller, engine.prepare(caller, sql, (), DEFAULTS), (), DEFAULTS)


def _tell(line: str) -> None:
    sys.stderr.write(f"dpproxy: {line}\n")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


COMMANDS = (
    Command(
        "budget show",
        "print limits, what was spent of them and by whom",
        "dpproxy budget show --config dpproxy.toml",
        (CONFIG, DATABASE, JSON),
        _show,
    ),
    Command(
        "budget reset",
        "let a budget, or one user of it, begin anew; the ceilings of its tables never do",
        "dpproxy budget reset research --user ann --reason 'a mistaken query' --config dpproxy.toml",
        (
            (("name",), {"metavar": "NAME", "help": "the budget"}),
            (("--user",), {"metavar": "USER", "help": "one user of it alone"}),
            (("--reason",), {"metavar": "TEXT", "required": True, "help": "why; the ledger keeps it"}),
            CONFIG,
            DATABASE,
            JSON,
        ),
        _reset,
    ),
)
