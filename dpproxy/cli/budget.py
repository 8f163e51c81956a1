"""The commands of budgets: the price of statements, what was spent, and resets."""

import sys
from contextlib import closing
from pathlib import Path

from dpproxy.accounting import spending
from dpproxy.accounting.ledger import Ledger
from dpproxy.algebra.plan import Answer
from dpproxy.cli.statements import print_answer, run_statement
from dpproxy.config.configuration import load_config
from dpproxy.policy.dump import constant
from dpproxy.policy.files import read_file
from dpproxy.policy.store import PolicyStore
from dpproxy.sql.quoting import identifier
from dpproxy.state.directory import require
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import print_result, say
from dpproxy.terminal.display import as_json, caret, spoken
from dpproxy.values.errors import Refusal


def explain(arguments: Arguments) -> int:
    """``dpproxy explain``: EXPLAIN (PRIVACY) of one statement, or of all in a file; shows the place of an error."""
    budget = "" if arguments.budget is None else f", BUDGET {float(arguments.budget):.9g}"
    options = f"{', FORMAT JSON' if arguments.json else ''}{', VERBOSE' if arguments.verbose else ''}{budget}"
    sql, prefix = arguments.sql, f"EXPLAIN (PRIVACY{options}) "
    is_file = sql.endswith(".sql")
    if is_file:
        sql = read_file(Path(sql)).text + "\n"
    if is_file or budget:
        prefix += "("
    try:
        text = prefix + sql + (")" if is_file or budget else "")
        plan = run_statement(arguments, text, frozenset(arguments.role) if arguments.role else None)
    except Refusal as refusal:
        at = refusal.position
        place = [] if at is None else caret(sql, min(max(0, at - len(prefix)), len(sql)))
        first = f"ERROR:  {refusal.sqlstate}: {refusal.message}"
        sys.stderr.write(spoken(first, *place, detail=refusal.detail, hint=refusal.hint) + "\n")
        return 1
    print_result("\n".join(str(row[0]) for row in plan.rows))
    return 0


def show(arguments: Arguments) -> int:
    """``dpproxy budget show``: of ledger and policy alone, so that no data are opened or imported."""
    config = load_config(arguments.config).of(arguments.database)
    require(config)
    with (
        Ledger.open(config.state, url=config.data.ledger, high_water=config.data.high_water) as ledger,
        closing(PolicyStore.open(config.state)) as store,
    ):
        rows = spending.all_rows(store.current, ledger)
    print_answer(arguments, Answer("SHOW", spending.ALL, rows))
    return 0


def reset(arguments: Arguments) -> int:
    """``dpproxy budget reset``."""
    user = "" if arguments.user is None else f" FOR USER {identifier(arguments.user)}"
    sql = f"RESET PRIVACY BUDGET {identifier(arguments.name)}{user} REASON {constant(arguments.reason)}"
    notices = run_statement(arguments, sql).notices
    if arguments.json:
        print_result(as_json(["message"], [(notice.message,) for notice in notices]))
    else:
        for notice in notices:
            say(notice.message)
    return 0
