"""``dpproxy report``: who protects what from whom and what was released, as a page that needs no other file."""

from datetime import UTC, datetime
from pathlib import Path

from dpproxy.cli.page import is_installed
from dpproxy.cli.statements import run_statements
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import print_result, say
from dpproxy.values.errors import StartupError


def command(arguments: Arguments) -> int:
    """Print the report, or write it to a file."""
    if not is_installed():
        raise StartupError('report: expected the packages of the page; pip install "dpproxy[web]"')
    from dpproxy.web.report import STATEMENTS, as_html, report  # noqa: PLC0415 - needs what may be missing

    answers = run_statements(arguments, list(STATEMENTS.values()))
    found = {
        name: [dict(zip([c.name for c in answer.columns or ()], row, strict=True)) for row in answer.rows]
        for name, answer in zip(STATEMENTS, answers, strict=True)
    }
    text = as_html(report(found, datetime.now(UTC)), None)
    file: Path | None = arguments.output
    if file is None:
        print_result(text)
    else:
        file.write_text(text, encoding="utf-8")
        say(f"the report is in {file}")
    return 0
