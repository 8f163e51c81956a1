"""A data source in a file, without a process of its own."""

from collections.abc import Generator, Sequence
from typing import Any

import pyarrow as pa

from dpproxy.algebra import nodes, printing
from dpproxy.algebra.plan import PreparedTable
from dpproxy.backends.duckdb import DuckDB
from udfs.privacy import Exact


class Inline:
    """What ``Remote`` is to others, over an engine in this process."""

    prepares = True

    def __init__(self, engine: DuckDB) -> None:
        self.engine = engine

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever takes no statement
        return getattr(self.engine, name)

    def check(self, query: nodes.Query, prepares: Sequence[PreparedTable] = ()) -> None: ...

    def shown(self, query: nodes.Query) -> str:
        return printing.text(query)

    def run(self, query: nodes.Query, *given: Any, **more: Any) -> Exact[pa.Table]:  # noqa: ANN401
        return self.engine.run(printing.text(query), *given, **more)

    def build(self, name: str, query: nodes.Query | None, *given: Any) -> None:  # noqa: ANN401
        self.engine.build(name, None if query is None else printing.text(query), *given)

    def run_public(self, query: nodes.Query, session: str) -> list[tuple[object, ...]]:
        return self.engine.run_public(printing.text(query), session)

    def run_open(self, query: nodes.Query, session: str) -> pa.Table:
        return self.engine.run_open(printing.text(query), session)

    def run_portions(self, query: nodes.Query, portion: int, session: str) -> Generator[pa.Table]:
        return self.engine.run_portions(printing.text(query), portion, session)
