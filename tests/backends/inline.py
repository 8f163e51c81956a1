"""A data source in a file, without a process of its own."""

from typing import Any

from dpproxy.algebra import nodes, printing
from dpproxy.backends.duckdb.growth import growth
from dpproxy.backends.duckdb.source import DuckDB


class Inline:
    """What ``Remote`` is to others, over an engine in this process."""

    prepares = True

    def __init__(self, engine: DuckDB) -> None:
        self.engine = engine

    def check(self, *_: object) -> None:
        """What is planned is in the engine's own words."""

    def shown(self, query: nodes.Query) -> str:
        """As the engine reads it."""
        return printing.text(query)

    def build(self, name: str, query: nodes.Node | None, *given: Any) -> None:  # noqa: ANN401
        """As ``Remote.build``."""
        if query is None:
            self.engine.build(name, None, *given)
        else:
            self.engine.build(name, printing.text(query), *given, growth(query))

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - of what it stands for
        """What ``DuckDB`` has, with queries as texts."""
        found = getattr(self.engine, name)
        if not callable(found):
            return found
        return lambda *given, **more: found(
            *(printing.text(one) if isinstance(one, nodes.Node) else one for one in given), **more
        )
