"""The cell magic: ``%%dp`` asks the cell's statement of the session that is called ``dp`` in the notebook."""

from typing import Any

from dpproxy.notebook.answer import Answer
from dpproxy.notebook.price import Price
from dpproxy.notebook.session import Session

USAGE = "%%dp [--price] [--session NAME] [--to NAME]"


def load_ipython_extension(shell: Any) -> None:  # noqa: ANN401 - IPython's, which is not imported
    """What ``%load_ext dpproxy.notebook`` calls."""

    def dp(line: str, cell: str) -> Answer | Price:
        return run(line, cell, shell.user_ns)

    shell.register_magic_function(dp, "cell", "dp")


def run(line: str, cell: str, names: dict[str, Any]) -> Answer | Price:
    """Ask a cell's statement, or with ``--price`` price it; ``--to NAME`` gives the result a name in the notebook.

    Errors: ValueError for other words, TypeError where no session has the name.
    """
    words, options = line.split(), {"--session": "dp", "--to": ""}
    is_price = "--price" in words
    words = [word for word in words if word != "--price"]
    if len(words) % 2 or not set(words[::2]) <= set(options):
        raise ValueError(f"expected {USAGE}")
    options |= dict(zip(words[::2], words[1::2], strict=True))
    session = names.get(options["--session"])
    if not isinstance(session, Session):
        raise TypeError(f'no session is called {options["--session"]}: dp = connect("postgresql://...")')
    sql = cell.strip().rstrip(";")
    found = session.price(sql) if is_price else session.ask(sql)
    if options["--to"]:
        names[options["--to"]] = found
    return found
