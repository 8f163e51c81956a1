"""Ask the statements anew and store what becomes of them for docs/measured.md: python -m tests.workloads."""

import tempfile
from pathlib import Path

from tests.bench.results import write
from tests.postgres import running
from tests.workloads.questions import NAME, SCHEMAS, outcomes, table


def main() -> None:
    """The command."""
    with running() as server, tempfile.TemporaryDirectory() as folder:
        write(NAME, table({schema: outcomes(schema, server, Path(folder)) for schema in SCHEMAS}))


if __name__ == "__main__":
    main()
