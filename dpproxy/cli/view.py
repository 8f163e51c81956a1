"""The commands of protected views: build one again, list them, and verify their guarantees."""

from dpproxy.cli.statements import ADMIN, print_answer, run_statement
from dpproxy.sql.quoting import identifier
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import print_result, say, tell
from dpproxy.terminal.display import as_json


def build(arguments: Arguments) -> int:
    """``dpproxy view build``."""
    notices = run_statement(arguments, f"REFRESH PROTECTED VIEW {identifier(arguments.name)}").notices
    if arguments.json:
        print_result(as_json(["message", "detail"], [(notice.message, notice.detail) for notice in notices]))
        return 0
    for notice in notices:
        say(notice.message)
        say(f"{notice.detail}")
    return 0


def list_all(arguments: Arguments) -> int:
    """``dpproxy view list``."""
    print_answer(arguments, run_statement(arguments, "SHOW PRIVACY VIEWS"))
    return 0


def verify(arguments: Arguments) -> int:
    """``dpproxy view verify``."""
    sql = f"VERIFY PROTECTED VIEW {', '.join(map(identifier, arguments.name))}"
    found = run_statement(arguments, sql, ADMIN | frozenset(arguments.role or ()))
    for notice in found.notices:
        tell(f"{notice.message} ({notice.hint})")
    print_answer(arguments, found)
    return 0
