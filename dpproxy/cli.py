"""The command line, and where everything is put together.

Exit status: 0 done; 1 answered with a refusal or a failed check; 2 could not start, one line on stderr says why.
"""

import getpass
import logging
import os
import secrets
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dpproxy import (
    budget_commands,
    demo,
    guards,
    ledger_commands,
    policy_commands,
    state_commands,
    view_commands,
)
from dpproxy.arguments import CONFIG, DATABASE, JSON, Arguments, Command, build_parser
from dpproxy.config import Config, check_files, load_config
from dpproxy.display import caret, spoken
from dpproxy.errors import Refusal, StartupError
from dpproxy.options import Options
from dpproxy.plan import Answer, Caller
from dpproxy.policy.files import read_file
from dpproxy.process import terminable
from dpproxy.setting_checks import decimal
from dpproxy.settings import DEFAULTS
from dpproxy.users import UsersFile, add_user, mock_key, read_users

if TYPE_CHECKING:
    from dpproxy.engine import Engine


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line; the exit status."""
    logging.basicConfig(level=logging.INFO, format="dpproxy: %(message)s", stream=sys.stderr)
    try:
        with terminable():
            arguments = build_parser(COMMANDS).parse_args(argv)
            run: Callable[[Arguments], int] = arguments.run
            return run(arguments)
    except StartupError as error:
        _tell(str(error))
        return 2
    except Refusal as refusal:
        _tell(f"{refusal.sqlstate}: {refusal.message}" + (f" ({refusal.hint})" if refusal.hint else ""))
        return 1
    except BrokenPipeError:  # whoever read stdout has gone; the flush at exit shall not meet that again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 1


def _tell(line: str) -> None:
    """Progress, warnings and errors, for the operator."""
    sys.stderr.write(f"dpproxy: {line}\n")
    sys.stderr.flush()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


# --- serving ----------------------------------------------------------------------------------------


def _serve(arguments: Arguments) -> int:
    config = load_config(arguments.config)
    check_files(config)
    read_users(config.users)
    if config.tls_certificate is None and config.host not in ("127.0.0.1", "::1", "localhost"):
        _tell(f"warning: {config.host} without TLS: answers cross the network in the clear")
    from dpproxy.databases import opened  # noqa: PLC0415 - slow to import
    from dpproxy.server import Server  # noqa: PLC0415 - too

    with opened(config, _tell) as databases:
        server = Server(_options(config), databases, UsersFile(config.users))
        host = f"[{config.host}]" if ":" in config.host else config.host
        versions = databases.versions()
        served = f"serving {', '.join(versions)} on {host}"
        policy = f"(policy version {', '.join(map(str, versions.values()))})"
        server.run(lambda port: _say(f"dpproxy: {served}:{port} {policy}"))
    return 0


def _engine(config: Config) -> "Engine":
    from dpproxy.engine import Engine  # noqa: PLC0415 - slow to import; users, check and dump do without

    return Engine.start(config, _tell)


def _options(config: Config) -> Options:
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


def _demo(arguments: Arguments) -> int:
    if arguments.serve:
        return demo.serve(arguments.port)
    return demo.demo()


# --- users ------------------------------------------------------------------------------------------


def _user_add(arguments: Arguments) -> int:
    config = load_config(arguments.config)
    password = _password(arguments.name, from_stdin=arguments.password_stdin)
    replaced = add_user(config.users, arguments.name, arguments.role, password)
    _say(f"dpproxy: user {arguments.name} {'replaced' if replaced else 'added'} in {config.users}")
    return 0


def _password(name: str, *, from_stdin: bool) -> str:
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


# --- looking ----------------------------------------------------------------------------------------


def _explain(arguments: Arguments) -> int:
    budget = "" if arguments.budget is None else f", BUDGET {float(arguments.budget):.9g}"
    prefix = f"EXPLAIN (PRIVACY{', FORMAT JSON' if arguments.json else ''}{budget}) "
    if arguments.sql.endswith(".sql"):
        arguments.sql = read_file(Path(arguments.sql)).text + "\n"
        prefix += "("
    elif budget:
        prefix += "("
    config = load_config(arguments.config).of(arguments.database)
    check_files(config)
    with _engine(config) as engine:
        roles = frozenset(arguments.role or {grant.role for grant in engine.policy.grants})
        try:
            answer = _ask(engine, prefix + arguments.sql + (")" if prefix.endswith("(") else ""), roles)
        except Refusal as refusal:
            place = (
                []
                if refusal.position is None
                else caret(arguments.sql, max(0, refusal.position - len(prefix)))
            )
            first = f"ERROR:  {refusal.sqlstate}: {refusal.message}"
            sys.stderr.write(spoken(first, *place, detail=refusal.detail, hint=refusal.hint) + "\n")
            return 1
    _say("\n".join(str(row[0]) for row in answer.rows))
    return 0


def _ask(engine: "Engine", sql: str, roles: frozenset[str]) -> Answer:
    """One statement that spends nothing."""
    caller = Caller("dpproxy", roles, secrets.token_hex(16))
    prepared = engine.prepare(caller, sql, (), DEFAULTS)
    return engine.run(caller, prepared, (), DEFAULTS)


def _audit(arguments: Arguments) -> int:
    from dpproxy import audit  # noqa: PLC0415 - slow to import

    shown, kept = audit.run(arguments.url, arguments.sql or (), arguments.epsilon, arguments.runs, _tell)
    _say(shown)
    if not kept:
        _tell("a bound exceeds the promise: what is marked BROKEN loses more than it says")
    return 0 if kept else 1


COMMANDS: tuple[Command, ...] = (
    Command(
        "serve",
        "answer clients over the PostgreSQL protocol until SIGTERM",
        "dpproxy serve --config dpproxy.toml",
        (CONFIG,),
        _serve,
    ),
    Command(
        "demo",
        "show a tour over the example data, or keep its server running",
        "dpproxy demo --serve --port 6432",
        (
            (
                ("--serve",),
                {"action": "store_true", "help": "no tour: print one URL per role and keep running"},
            ),
            (
                ("--port",),
                {"type": int, "default": 0, "metavar": "N", "help": "with --serve (default: a free one)"},
            ),
        ),
        _demo,
    ),
    Command(
        "user add",
        "add a user, or replace one's roles and password",
        "dpproxy user add ann --role analyst --config dpproxy.toml",
        (
            (("name",), {"metavar": "NAME", "help": "what the user logs in as"}),
            (
                ("--role",),
                {
                    "action": "append",
                    "required": True,
                    "metavar": "ROLE",
                    "help": "admin, or a name that GRANT knows; may be given again",
                },
            ),
            CONFIG,
            (
                ("--password-stdin",),
                {"action": "store_true", "help": "read the password from the first line of stdin"},
            ),
        ),
        _user_add,
    ),
    *policy_commands.COMMANDS,
    Command(
        "explain",
        "print the price and the expected error of statements; nothing is spent",
        "dpproxy explain 'SELECT sex, count(*) FROM adult GROUP BY sex' --config dpproxy.toml",
        (
            (("sql",), {"metavar": "SQL", "help": "one SELECT, or a file of several (.sql)"}),
            (("--budget",), {"metavar": "E", "type": decimal, "help": "an epsilon to split among them"}),
            JSON,
            CONFIG,
            DATABASE,
            (
                ("--role",),
                {
                    "action": "append",
                    "metavar": "ROLE",
                    "help": "who asks (default: every role with a grant)",
                },
            ),
        ),
        _explain,
    ),
    *budget_commands.COMMANDS,
    *view_commands.COMMANDS,
    *ledger_commands.COMMANDS,
    *state_commands.COMMANDS,
    *guards.COMMANDS,
    Command(
        "audit",
        "bound epsilon from below by answers of proxies that differ by one person; exit status 1 above the promise",
        "dpproxy audit --epsilon 1 --runs 100",
        (
            (
                ("url",),
                {
                    "metavar": "URL",
                    "nargs": "*",
                    "help": "two proxies (default: two of its own over made-up data)",
                },
            ),
            (
                ("--sql",),
                {
                    "metavar": "SQL",
                    "action": "append",
                    "help": "what to ask (default: every aggregate; may be given again)",
                },
            ),
            (
                ("--epsilon",),
                {
                    "type": decimal,
                    "default": "1",
                    "metavar": "E",
                    "help": "the promise for one statement (default: 1)",
                },
            ),
            (
                ("--runs",),
                {
                    "type": int,
                    "default": 100,
                    "metavar": "N",
                    "help": "how often to ask each side (default: 100)",
                },
            ),
        ),
        _audit,
    ),
)
