"""Ask the 22 queries anew and write ``docs/tpch.md``: python -m tests.tpch."""

import tempfile
from pathlib import Path

from examples.tpch.generate import generate
from tests.proxies import ROOT, started
from tests.tpch.page import page
from tests.tpch.questions import QUERIES, ask, write_proxy


def main() -> None:
    """The command."""
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder) / "data.duckdb", 0.01)
        with started(write_proxy(Path(folder))) as engine:
            outcomes = {name: ask(engine, sql) for name, sql in QUERIES.items()}
    (ROOT / "docs" / "tpch.md").write_text(page(outcomes), encoding="utf-8")


if __name__ == "__main__":
    main()
