"""Statements that commands run, under the policy in force: no policy file is applied, and no view is built."""

import secrets
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, wait

from dpproxy.algebra.plan import Answer, Caller
from dpproxy.config.configuration import check_files, load_config
from dpproxy.engine.engine import Engine
from dpproxy.state.directory import require
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import print_result, tell, waiting, width
from dpproxy.terminal.display import answer

NEWS = 0.5
"""Seconds between two checks of a statement's progress."""
ADMIN = frozenset({"admin"})


def run_statement(arguments: Arguments, sql: str, roles: frozenset[str] | None = ADMIN) -> Answer:
    """Answer a statement as ``run_statements`` does."""
    return run_statements(arguments, [sql], roles)[0]


def run_statements(
    arguments: Arguments, statements: Sequence[str], roles: frozenset[str] | None = ADMIN
) -> list[Answer]:
    """Answer statements of the user ``dpproxy``, as audit log and ledger name it; their progress goes to stderr.

    ``roles`` are the user's, None for all roles that have a grant. Raises ``Refusal``, and ``StartupError`` also where
    no proxy has run on the state directory.
    """
    with waiting("at work"), _engine(arguments) as engine, ThreadPoolExecutor(1) as executor:
        if roles is None:
            roles = frozenset(grant.role for grant in engine.policy.grants)
        caller = Caller("dpproxy", roles, secrets.token_hex(16))
        engine.open(caller)
        return [_answered(engine, executor, caller, sql) for sql in statements]


def _answered(engine: Engine, executor: Executor, caller: Caller, sql: str) -> Answer:
    future = executor.submit(engine.answer, caller, sql)
    while wait((future,), NEWS).not_done:
        for notice in engine.news(caller.session):
            tell(notice.message)
    return future.result()


def print_answer(arguments: Arguments, found: Answer) -> None:
    """Print the rows of an answer, as a table or with ``--json``."""
    names = [column.name for column in found.columns or ()]
    print_result(answer(names, found.rows, in_json=arguments.json, width=width()))


def _engine(arguments: Arguments) -> Engine:
    config = load_config(arguments.config).of(arguments.database)
    check_files(config)
    require(config)
    return Engine.start(config.at_rest(), tell)
