"""What the engine is asked: a statement, prepared once, and a request to run it. Each kind of statement has a class."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

from sqlglot import exp

from dpproxy.algebra.plan import Caller, Settings
from dpproxy.policy.role_statements import RoleChange
from dpproxy.policy.statements import (
    Change,
    CreateView,
    DropView,
    RefreshView,
    ResetBudget,
    Show,
    Suggest,
    VerifyViews,
)
from dpproxy.values.pgtypes import Column, SqlType

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Select:
    """A query over tables and views."""

    tree: exp.Expr | None = None
    """None where another statement of the same shape was parsed in its place."""
    is_of_present: bool = False
    """Its plan depends on when it is asked."""


@dataclass(frozen=True, slots=True)
class CatalogueQuery:
    """A query over the catalogue and the caller's own accounts; ``types`` are the parameter OIDs that were declared."""

    tree: exp.Expr
    types: tuple[int, ...] = ()
    is_of_present: bool = False
    """It is asked of the present of its transaction."""


@dataclass(frozen=True, slots=True)
class ExplainOne:
    """EXPLAIN (PRIVACY) of a query, whose text is blank where EXPLAIN stood."""

    query: "Prepared"
    as_json: bool


@dataclass(frozen=True, slots=True)
class ExplainSeveral:
    """EXPLAIN (PRIVACY) of several queries, each blank where the others stood; ``budget`` is to be split among them."""

    texts: tuple[str, ...]
    as_json: bool
    budget: Fraction | None


@dataclass(frozen=True, slots=True)
class PolicyRead:
    """Lists what is declared or spent, or proposes declarations without reading a row."""

    statement: Show | Suggest


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """Changes what is declared, what a role starts with, or lets a budget begin anew."""

    statement: Change | ResetBudget | RoleChange


@dataclass(frozen=True, slots=True)
class ProbeRun:
    """Proposes bounds from counts that are charged."""

    statement: Suggest


@dataclass(frozen=True, slots=True)
class ViewRead:
    """Lists or verifies protected views."""

    statement: Show | VerifyViews


@dataclass(frozen=True, slots=True)
class ViewChange:
    """Builds or drops a protected view."""

    statement: CreateView | RefreshView | DropView


Administration = PolicyRead | PolicyChange | ProbeRun | ViewRead | ViewChange
"""Statements that are for administrators, but for a few."""
EngineStatement = Select | CatalogueQuery | ExplainOne | ExplainSeveral | Administration
"""Every kind of statement that the engine answers."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement that parsed and typed; nothing was spent.

    ``columns`` is None for statements without a result set. ``charged`` is True where running it may debit the
    ledger: its answer leaves on the padding grid, ``deadline`` seconds after its start at the earliest.
    """

    sql: str
    parameters: tuple[SqlType, ...]
    columns: tuple[Column, ...] | None
    statement: EngineStatement = field(repr=False)
    charged: bool = False
    deadline: float = 0.0

    @property
    def types(self) -> tuple[int, ...]:
        """The OIDs of its parameters."""
        return tuple(kind.oid for kind in self.parameters)

    @property
    def is_catalogue(self) -> bool:
        """About the catalogue and the caller's own accounts: of no interest to whoever watches over people."""
        return isinstance(self.statement, CatalogueQuery)

    @property
    def is_slow(self) -> bool:
        """It may take long, and tells how far it is."""
        return isinstance(self.statement, ViewRead | ViewChange)

    @property
    def is_of_present(self) -> bool:
        """It is to be told, beside its settings, when its transaction began and when it arrived."""
        match self.statement:
            case Select() | CatalogueQuery() as query:
                return query.is_of_present
            case ExplainOne(query):
                return query.is_of_present
            case statement:
                return isinstance(statement, ExplainSeveral)


@dataclass(frozen=True, slots=True)
class Request:
    """A prepared statement to be run: by whom, with which values of its parameters, under which settings."""

    caller: Caller
    prepared: Prepared
    values: Sequence[object] = field(repr=False)
    settings: Settings

    @property
    def text(self) -> tuple[object, ...]:
        """Equal where the same is asked, by whomever: the text and the values with their types."""
        return self.prepared.sql, tuple((type(value), value) for value in self.values)


def complete(result: T | None) -> T:
    """The result of a call without ``only_at_hand``, which always has one."""
    if result is None:
        raise AssertionError("None stands for what is not at hand")
    return result
