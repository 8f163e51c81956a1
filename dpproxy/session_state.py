"""What a session remembers between statements, and what a statement that it answers by itself is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from dpproxy.pgtypes import Column, SqlType
from dpproxy.plan import Answer, Prepared, Settings
from dpproxy.statements import Source
from dpproxy.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Command:
    """A session statement, read; ``run`` is quick and touches nothing but the session."""

    run: Callable[["State"], Answer]
    columns: tuple[Column, ...] | None = None
    leaves_failed: bool = False
    """True for those that a failed transaction block still takes."""


@dataclass(frozen=True, slots=True)
class EngineShow:
    """SHOW of a setting whose value the engine knows."""

    name: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that may run many times; ``source`` and ``action`` are None for the empty one."""

    source: Source | None
    action: Command | EngineShow | Prepared | None
    parameters: tuple[SqlType, ...] = ()

    @property
    def columns(self) -> tuple[Column, ...] | None:
        """The columns of its answer, None where it has no result set."""
        return None if self.action is None else self.action.columns

    @property
    def charged(self) -> bool:
        """True where running it may debit the ledger."""
        return isinstance(self.action, Prepared) and self.action.charged

    @property
    def leaves_failed(self) -> bool:
        """True where a failed transaction block still takes it."""
        return self.action is None or (isinstance(self.action, Command) and self.action.leaves_failed)

    def settings(self, settings: Settings) -> Settings:
        """The session's settings with those of the statement's own hint."""
        return {**settings, **self.source.hint} if self.source and self.source.hint else settings


@dataclass(slots=True)
class Portal:
    """A statement with its parameters; its answer is computed once and handed out in parts."""

    statement: Statement
    values: tuple[object, ...] = field(repr=False)
    formats: tuple[int, ...]
    answer: Answer | None = field(default=None, repr=False)
    given: int = 0
    """Rows handed out so far."""

    def part(self, limit: int) -> Sequence[tuple[object, ...]]:
        """The next rows of a computed answer, at most ``limit``, all of them for 0."""
        rows = self.answer.rows if self.answer else ()
        end = len(rows) if limit == 0 else min(len(rows), self.given + limit)
        part = rows[self.given : end]
        self.given = end
        return part


@dataclass(slots=True)
class State:
    """One session between its messages."""

    transaction: Transaction
    statements: dict[str, Statement] = field(default_factory=dict)
    portals: dict[str, Portal] = field(default_factory=dict)

    def copy(self) -> "State":
        """A copy to try statements on."""
        return replace(
            self,
            transaction=self.transaction.copy(),
            statements=dict(self.statements),
            portals=dict(self.portals),
        )

    def commit(self) -> None:
        """End the transaction; portals end with it."""
        self.transaction.commit()
        self.portals.clear()

    def rollback(self) -> None:
        """Undo the transaction's settings; portals end with it."""
        self.transaction.rollback()
        self.portals.clear()
