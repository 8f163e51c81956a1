"""Relations that nothing is private in any more: public tables, and what was released."""

from dataclasses import dataclass

from sqlglot import exp

from dpproxy.analysis.typed import Typed
from dpproxy.pgtypes import Column
from dpproxy.plan import ColumnError


@dataclass(frozen=True, slots=True)
class OpenColumn:
    """A column of an open relation; ``typed.sql`` is its name there."""

    name: str
    typed: Typed
    floor: int | None = None
    """0 for a released count that is shown as never negative."""
    error: ColumnError | None = None

    @property
    def column(self) -> Column:
        """As a client sees it."""
        return Column(self.name, self.typed.type)


@dataclass(frozen=True, slots=True)
class Open:
    """A query over open relations; its columns are ``c0...`` in the order of ``columns``.

    ``released`` where it reads a part of the plan: it is run where the releases are, else by the backend.
    """

    query: exp.Query
    columns: tuple[OpenColumn, ...]
    released: bool
    empty: bool = False
    """Has no rows, whatever it reads."""
    single: bool = False
    """Has one row at most."""
