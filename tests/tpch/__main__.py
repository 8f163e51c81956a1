"""Ask the 22 queries anew and store what becomes of them for docs/measured.md: python -m tests.tpch."""

import tempfile
from pathlib import Path

from examples.tpch.generate import generate
from tests.bench.results import write
from tests.proxies import started
from tests.tpch.page import NAME, table
from tests.tpch.questions import QUERIES, ask, write_proxy


def main() -> None:
    """The command."""
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder) / "data.duckdb", 0.01)
        with started(write_proxy(Path(folder))) as engine:
            outcomes = {name: ask(engine, sql) for name, sql in QUERIES.items()}
    write(NAME, table(outcomes))


if __name__ == "__main__":
    main()
