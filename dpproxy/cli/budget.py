"""The commands of budgets: what statements would cost, what was spent, and a new start that has a reason."""

import secrets
import sys
from pathlib import Path

from dpproxy.algebra.plan import Answer, Caller
from dpproxy.cli.in_force import start_engine
from dpproxy.engine.engine import Engine
from dpproxy.policy.dump import constant
from dpproxy.policy.files import read_file
from dpproxy.sql.quoting import identifier
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import print_result, say, width
from dpproxy.terminal.display import answer, as_json, caret, spoken
from dpproxy.values.errors import Refusal


def explain(arguments: Arguments) -> int:
    """EXPLAIN (PRIVACY) of one statement, or of all in a file; a refusal is shown where it stands."""
    budget = "" if arguments.budget is None else f", BUDGET {float(arguments.budget):.9g}"
    sql, prefix = arguments.sql, f"EXPLAIN (PRIVACY{', FORMAT JSON' if arguments.json else ''}{budget}) "
    is_file = sql.endswith(".sql")
    if is_file:
        sql = read_file(Path(sql)).text + "\n"
    if is_file or budget:
        prefix += "("
    try:
        told = _asked(arguments, prefix + sql + (")" if is_file or budget else ""))
    except Refusal as refusal:
        at = refusal.position
        place = [] if at is None else caret(sql, min(max(0, at - len(prefix)), len(sql)))
        first = f"ERROR:  {refusal.sqlstate}: {refusal.message}"
        sys.stderr.write(spoken(first, *place, detail=refusal.detail, hint=refusal.hint) + "\n")
        return 1
    print_result("\n".join(str(row[0]) for row in told.rows))
    return 0


def _asked(arguments: Arguments, sql: str) -> Answer:
    """Run a statement in the roles named, or in all roles that have a grant."""
    with start_engine(arguments) as engine:
        roles = frozenset(arguments.role or {grant.role for grant in engine.policy.grants})
        return _run(engine, roles, sql)


def show(arguments: Arguments) -> int:
    """``dpproxy budget show``."""
    found = _administer(arguments, "SHOW PRIVACY BUDGETS")
    names = [column.name for column in found.columns or ()]
    print_result(answer(names, found.rows, in_json=arguments.json, width=width()))
    return 0


def reset(arguments: Arguments) -> int:
    """``dpproxy budget reset``."""
    user = "" if arguments.user is None else f" FOR USER {identifier(arguments.user)}"
    sql = f"RESET PRIVACY BUDGET {identifier(arguments.name)}{user} REASON {constant(arguments.reason)}"
    notices = _administer(arguments, sql).notices
    if arguments.json:
        print_result(as_json(["message"], [(notice.message,) for notice in notices]))
    else:
        for notice in notices:
            say(notice.message)
    return 0


def _administer(arguments: Arguments, sql: str) -> Answer:
    """One statement in the name of the command line, which the audit of the ledger shows as dpproxy."""
    with start_engine(arguments) as engine:
        return _run(engine, frozenset({"admin"}), sql)


def _run(engine: Engine, roles: frozenset[str], sql: str) -> Answer:
    caller = Caller("dpproxy", roles, secrets.token_hex(16))
    return engine.answer(caller, sql)
