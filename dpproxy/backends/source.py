"""What a data source can be asked, wherever it is."""

from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypedDict, Unpack

import pyarrow as pa
from msgspec import Struct

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import PreparedTable
from dpproxy.backends.duckdb.source import Select
from dpproxy.values.pgtypes import Schema, SqlType
from udfs.privacy import Exact

Values = Mapping[str, object]
"""Of parameters, by their numbers in a statement."""
IsCancelled = Callable[[], bool]


class Reading(TypedDict, total=False):
    """How an exact stage is run: types of the keys of few rows, what selects groups, what stops it, and its epoch."""

    few: Sequence[SqlType] | None
    select: Select | None
    cancelled: IsCancelled
    epoch: int


class Source(Protocol):
    """One data source, called from any thread; ``backends.duckdb.source`` says what each method does."""

    @property
    def epoch(self) -> int:
        """How often the data were opened anew: prepared tables may have gone with that."""

    @property
    def prepares(self) -> bool:
        """Whether it keeps prepared tables; otherwise each statement cuts its rows."""

    def check(self, query: nodes.Query, prepares: Sequence[PreparedTable] = ()) -> None:
        """Raise ``Unsupported`` for an exact stage, and the tables that it reads, which it cannot run.

        Nothing is charged or read.
        """

    def shown(self, query: nodes.Query) -> str:
        """The text of a statement, as the engine with the data reads it."""

    def schema(self) -> Schema:
        """Tables, columns and views, from the DDL alone."""

    def prepared_names(self) -> set[str]:
        """The prepared tables that are there."""

    def run(
        self, query: nodes.Query, parameters: Values, session: str, **how: Unpack[Reading]
    ) -> Exact[pa.Table]:
        """Run one statement of ours over protected tables.

        ``epoch`` is what it was before the statement was planned: where the rows of public tables can change, none runs
        that rests on others than there are.
        """

    def build(
        self, name: str, query: nodes.Query | None, parameters: Values, session: str, cancelled: IsCancelled
    ) -> None:
        """Make a prepared table of the rows of a query; drop it where there is none."""

    def run_public(self, query: nodes.Query, session: str) -> list[tuple[object, ...]]:
        """Rows of a statement over public tables."""

    def run_open(self, query: nodes.Query, session: str) -> pa.Table:
        """A statement over public tables as a table."""

    def load(self, name: str, path: Path, sql: str) -> None:
        """Make a prepared table of the rows of a statement over a file of ours."""

    def unload(self, name: str) -> None:
        """Drop such a table."""

    def run_portions(self, query: nodes.Query, portion: int, session: str) -> Generator[pa.Table]:
        """Rows of a statement over public tables and views, in the engine's types, so many as they are taken."""

    def progress(self, session: str) -> float | None:
        """Which part is done of the table that a session builds; None where the engine does not know."""

    def interrupt(self, session: str) -> None:
        """Stop what a session runs."""

    def close(self) -> None:
        """Give the files back."""


class Opened(Struct, frozen=True):
    """A data source that was opened.

    Attributes:
        backend: what answers.
        state: names the state of the data as it was then; nobody without the truncation secret can foresee it.
        renew: reads the data anew, which a loader has replaced: given what is to be done between the last statement
            over the old and the first over the new, it returns the new ``state``. Raises ``StartupError``; statements
            are refused from then on where a table has other columns than before.
    """

    backend: Source
    state: str
    renew: Callable[[Callable[[], None]], str]
