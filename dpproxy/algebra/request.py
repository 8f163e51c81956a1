"""The engine's input: a statement that is prepared once, and requests to run it. Each kind of statement has a class."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

from msgspec import Struct
from sqlglot import exp

from dpproxy.algebra.plan import Caller, Settings
from dpproxy.policy.role_statements import RoleChange
from dpproxy.policy.statements import (
    Change,
    CreateView,
    DropView,
    Listing,
    RefreshView,
    ResetBudget,
    Show,
    Suggest,
    VerifyViews,
)
from dpproxy.policy.user_statements import UserStatement
from dpproxy.values.pgtypes import Column, SqlType
from dpproxy.values.structs import PartlyShown

T = TypeVar("T")
Oids = Sequence[int]
"""Of the types of parameters, 0 for unknown."""


class SelectStatement(Struct, frozen=True):
    """A query over tables and views."""

    tree: exp.Expr | None = None
    """None where the plan of an earlier statement of the same shape is used, so that this one was never parsed."""
    is_of_present: bool = False
    """It mentions ``now()`` or the like, so that its plan depends on the time at which it runs."""


class CatalogueQuery(Struct, frozen=True):
    """A query over the catalogue and the caller's own accounts; ``types`` are the OIDs of its declared parameters."""

    tree: exp.Expr
    types: tuple[int, ...] = ()
    is_of_present: bool = False
    """It mentions ``now()`` or the like, which is the start of its transaction."""


class ExplainOne(Struct, frozen=True):
    """EXPLAIN (PRIVACY) of a query; ``verbose`` with what is run, of a ``role`` for somebody who has that role alone.

    EXPLAIN is replaced by blanks in its text, so that positions stay right.
    """

    query: "Prepared"
    as_json: bool
    verbose: bool = False
    role: str | None = None


class ExplainSeveral(Struct, frozen=True):
    """EXPLAIN (PRIVACY) of several queries, optionally with a ``budget`` (epsilon) to split among them.

    With ``cube`` a privacy cube is proposed for them.

    In each text the others are replaced by blanks, so that positions stay right.
    """

    texts: tuple[str, ...]
    as_json: bool
    budget: Fraction | None
    cube: bool = False


class PolicyRead(Struct, frozen=True):
    """A statement that lists declarations or spending, or proposes declarations without reading a row."""

    statement: Show | Suggest


class PolicyChange(Struct, frozen=True):
    """A statement that changes the policy or the settings of a role, or resets a budget."""

    statement: Change | ResetBudget | RoleChange


class PolicyPreview(Struct, frozen=True):
    """EXPLAIN (PRIVACY) of a statement that changes the policy: what it would change; nothing is changed."""

    statement: Change
    as_json: bool


class ProbeRun(Struct, frozen=True):
    """A statement that proposes bounds for columns from noisy counts, which are charged."""

    statement: Suggest


class ViewRead(Struct, frozen=True):
    """A statement that lists or verifies protected views."""

    statement: Show | VerifyViews


class ViewChange(Struct, frozen=True):
    """A statement that builds or drops a protected view."""

    statement: CreateView | RefreshView | DropView


class OfUsers(Struct, frozen=True):
    """A statement that lists or changes the users."""

    statement: UserStatement


Administration = PolicyRead | PolicyPreview | PolicyChange | ProbeRun | ViewRead | ViewChange | OfUsers
"""Privacy statements. Most are for administrators only; ``engine.administration.check`` knows which."""
EngineStatement = SelectStatement | CatalogueQuery | ExplainOne | ExplainSeveral | Administration
"""Every kind of statement that the engine answers."""


class Prepared(PartlyShown, Struct, frozen=True):
    """A statement that was parsed and typed. Preparing spends nothing.

    ``columns`` is None for a statement without a result set. ``charged`` is True where running it may debit the
    ledger; its answer then leaves on the padding grid, at the earliest ``deadline`` seconds after its start.
    """

    HIDDEN = frozenset({"statement"})

    sql: str
    parameters: tuple[SqlType, ...]
    columns: tuple[Column, ...] | None
    statement: EngineStatement
    charged: bool = False
    deadline: float = 0.0

    @property
    def types(self) -> tuple[int, ...]:
        """The OIDs of its parameters."""
        return tuple(kind.oid for kind in self.parameters)

    @property
    def is_catalogue(self) -> bool:
        """Whether it is about the catalogue and the caller's own accounts; such statements are not audited."""
        match self.statement:
            case CatalogueQuery() | PolicyRead(Show(listing=Listing.HISTORY)):
                return True
            case _:
                return False

    @property
    def is_slow(self) -> bool:
        """Whether it may run for minutes, and reports its progress in notices."""
        return isinstance(self.statement, ViewRead | ViewChange)

    @property
    def is_of_present(self) -> bool:
        """Whether its settings need the times at which its transaction began and the statement arrived."""
        match self.statement:
            case SelectStatement() | CatalogueQuery() as query:
                return query.is_of_present
            case ExplainOne(query):
                return query.is_of_present
            case statement:
                return isinstance(statement, ExplainSeveral)


class Request(PartlyShown, Struct, frozen=True):
    """One run of a prepared statement: for a caller, with parameter values and session settings."""

    HIDDEN = frozenset({"values"})

    caller: Caller
    prepared: Prepared
    values: Sequence[object]
    settings: Settings

    @property
    def text(self) -> tuple[object, ...]:
        """A key that is equal for the same statement with the same values: its text, and each value with its type."""
        return self.prepared.sql, tuple((type(value), value) for value in self.values)


def complete(result: T | None) -> T:
    """The result of a call without ``only_at_hand``, which is never None."""
    if result is None:
        raise AssertionError("None is for calls with only_at_hand")
    return result
