"""The commands of protected views: build one anew, list them, and tell what they promise."""

import secrets
from concurrent.futures import ThreadPoolExecutor, wait

from dpproxy.algebra.plan import Answer, Caller
from dpproxy.cli.in_force import start_engine
from dpproxy.sql.quoting import identifier
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import print_result, say, tell, width
from dpproxy.terminal.display import answer, as_json

NEWS = 0.5
"""Seconds between two checks of a build's progress."""


def build(arguments: Arguments) -> int:
    """``dpproxy view build``."""
    notices = _administer(arguments, f"REFRESH PROTECTED VIEW {identifier(arguments.name)}").notices
    if arguments.json:
        print_result(as_json(["message", "detail"], [(notice.message, notice.detail) for notice in notices]))
        return 0
    for notice in notices:
        say(notice.message)
        say(f"{notice.detail}")
    return 0


def listed(arguments: Arguments) -> int:
    """``dpproxy view list``."""
    return _show(_administer(arguments, "SHOW PRIVACY VIEWS"), arguments)


def verify(arguments: Arguments) -> int:
    """``dpproxy view verify``."""
    found = _administer(arguments, f"VERIFY PROTECTED VIEW {', '.join(map(identifier, arguments.name))}")
    for notice in found.notices:
        tell(f"{notice.message} ({notice.hint})")
    return _show(found, arguments)


def _show(found: Answer, arguments: Arguments) -> int:
    names = [column.name for column in found.columns or ()]
    print_result(answer(names, found.rows, in_json=arguments.json, width=width()))
    return 0


def _administer(arguments: Arguments, sql: str) -> Answer:
    """One statement in the name of the command line; what it has to say meanwhile goes to the operator."""
    roles = frozenset({"admin", *(getattr(arguments, "role", None) or ())})
    caller = Caller("dpproxy", roles, secrets.token_hex(16))
    with start_engine(arguments) as engine, ThreadPoolExecutor(1) as executor:
        engine.open(caller)
        future = executor.submit(engine.answer, caller, sql)
        while wait((future,), NEWS).not_done:
            for notice in engine.news(caller.session):
                tell(notice.message)
        return future.result()
