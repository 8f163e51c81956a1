"""The values that move down the pipe, all frozen: who asks, what was planned, what is answered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod

from dpproxy.pgtypes import Column, SqlType
from dpproxy.policy.model import Scalar
from udfs.mechanisms.staircase import Staircase
from udfs.privacy import Loss


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: one authenticated session."""

    user: str
    roles: frozenset[str]
    session: str
    """A random name of the session, new at each login; never reused."""
    database: str = "main"

    @property
    def is_admin(self) -> bool:
        """True for the built-in role ``admin``."""
        return "admin" in self.roles


@dataclass(frozen=True, slots=True)
class Notice:
    """What is told beside an answer."""

    message: str
    detail: str | None = None
    hint: str | None = None
    sqlstate: str = "00000"
    severity: str = "NOTICE"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement returns: rows of Python values in the columns' types, a command tag, notices.

    ``columns`` is None for statements without a result set. Values: None, bool, int, float, Decimal, str, bytes,
    date, datetime.
    """

    tag: str
    columns: tuple[Column, ...] | None = None
    rows: Sequence[tuple[object, ...]] = field(default=(), repr=False)
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement that parsed and typed; nothing was spent.

    ``columns`` is None for statements without a result set. ``charged`` is True where running it may debit the
    ledger: its answer leaves on the padding grid. ``body`` is the engine's own.
    """

    sql: str
    parameters: tuple[SqlType, ...]
    columns: tuple[Column, ...] | None
    charged: bool
    body: object = field(repr=False)


Settings = Mapping[str, str]
"""Session settings by lower-case name, as text."""


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """One GROUP BY column of the released relation and every value it can take, in declared order."""

    type: SqlType
    values: tuple[Scalar | None, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """One column of the answer: how the engine's value becomes the client's, and its predicted error.

    ``scale`` is that of an exact number held as an integer, None for everything else. ``floor`` is 0 for a count
    that is shown as never negative. ``error`` is a line for EXPLAIN (PRIVACY), None for a column without noise.
    """

    column: Column
    scale: int | None
    floor: int | None = None
    error: "ColumnError | None" = None


@dataclass(frozen=True, slots=True)
class ColumnError:
    """The predicted error of one output column, in its own unit; the numbers are None where a count decides."""

    aggregate: str
    sensitivity: str
    noise_sd: float | None
    half_width: float | None
    formula: str | None = None


@dataclass(frozen=True, slots=True)
class Payer:
    """The accounts of a plan and their limits in force, in nats; None where no limit is declared."""

    ceiling: str
    ceiling_limit: Fraction
    budget: str
    budget_limit: Fraction
    user_limit: Fraction | None
    session_limit: Fraction | None


@dataclass(frozen=True, slots=True)
class PublicPlan:
    """A statement over one public table: run as it is, exact and free."""

    sql: str
    outputs: tuple[Output, ...]

    @property
    def free(self) -> bool:
        """Running it debits nothing."""
        return True


@dataclass(frozen=True, slots=True)
class Plan:
    """A statement over protected data, planned from the policy alone; nothing was read or spent.

    In the engine it becomes three statements: ``exact`` (bounded integers, by the backend; one parameter, the
    truncation secret, where ``truncated``), ``release`` (one joint draw for each key, on an engine without data)
    and ``answer`` (everything the analyst wrote over released values).
    """

    exact: str
    truncated: bool
    release: str
    answer: str
    keys: tuple[KeyColumn, ...]
    mechanism: Staircase | None
    """None where nothing is released: the answer follows from the policy alone and is free."""
    loss: Loss
    factor: int
    """The statement's loss over the mechanism's: the most rows of one unit, where each pays by itself."""
    unit: str
    outputs: tuple[Output, ...]
    payer: Payer
    label: str
    policy_version: int
    data_version: int
    empty: bool = False
    """True for LIMIT 0: the answer has no rows and is free."""
    vacuous: bool = False
    """True for a condition that never holds: every measure is 0 whatever the data, and the answer is free."""

    @property
    def free(self) -> bool:
        """Running it debits nothing."""
        return self.mechanism is None or self.empty or self.vacuous

    @property
    def groups(self) -> int:
        """How many keys are answered."""
        return prod(len(k.values) for k in self.keys)
