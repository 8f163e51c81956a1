"""Privacy statements as values, with positions in the text; not yet checked against a schema."""

from dataclasses import dataclass, field
from datetime import date, datetime
from enum import Enum
from fractions import Fraction

from dpproxy.policy.interval import CalendarInterval
from dpproxy.policy.model import VIEW, ColumnClass, Composition, Counted, Exposure, OptionValue, Outside
from dpproxy.sql.cursor import Name


class LiteralKind(Enum):
    """How a constant was written."""

    NUMBER = "a number"
    TEXT = "a text"
    BOOL = "a truth value"
    NULL = "NULL"
    DATE = "a date"
    TIMESTAMP = "a timestamp"
    TIMESTAMPTZ = "a timestamp with time zone"


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; numbers are int where whole, else Fraction; timestamps with time zone are in UTC."""

    kind: LiteralKind
    value: int | Fraction | str | bool | date | datetime | None = field(repr=False)
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of a clause; ``clause`` names it in messages."""

    clause: str
    value: int | Fraction
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SetKey:
    """ALTER TABLE ... SET PRIVACY KEY; ``key`` is None for KEY ROW."""

    table: Name
    key: Name | None
    references: tuple[Name, Name] | None = None
    max_rows: Amount | None = None
    max_groups: Amount | None = None


@dataclass(frozen=True, slots=True)
class SetExposure:
    """ALTER TABLE ... SET PRIVACY PUBLIC | HIDDEN."""

    table: Name
    exposure: Exposure


@dataclass(frozen=True, slots=True)
class SetCeiling:
    """ALTER TABLE ... SET PRIVACY CEILING; what is None stays as it was declared."""

    table: Name
    epsilon: Amount
    delta: Amount | None = None
    accountant: Composition | None = None


@dataclass(frozen=True, slots=True)
class SetBlocks:
    """ALTER TABLE ... SET PRIVACY BLOCKS BY; ``column`` is None for HIDDEN, which takes it back."""

    table: Name
    column: Name | None


@dataclass(frozen=True, slots=True)
class SetExpectedRows:
    """ALTER TABLE ... SET PRIVACY EXPECTED ROWS."""

    table: Name
    rows: Amount


@dataclass(frozen=True, slots=True)
class SetQuantiles:
    """ALTER TABLE ... SET PRIVACY QUANTILES OF ROWS: shares in percent, each with its number of rows."""

    table: Name
    shares: tuple[tuple[Amount, Literal], ...]
    within: Amount


@dataclass(frozen=True, slots=True)
class SetColumnQuantiles:
    """ALTER COLUMN ... SET PRIVACY QUANTILES OF GROUPS or OF VALUES."""

    table: Name
    column: Name
    of: Counted
    shares: tuple[tuple[Amount, Literal], ...]
    within: Amount


@dataclass(frozen=True, slots=True)
class SetComposite:
    """ALTER TABLE ... SET PRIVACY DOMAIN (...) REFERENCES target (...)."""

    table: Name
    columns: tuple[Name, ...]
    target: Name
    referenced: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class SetCompositeHidden:
    """ALTER TABLE ... SET PRIVACY DOMAIN (...) HIDDEN."""

    table: Name
    columns: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class SetForeignKey:
    """ALTER TABLE ... SET PRIVACY FOREIGN KEY (...) REFERENCES target (...)."""

    table: Name
    columns: tuple[Name, ...]
    target: Name
    referenced: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class SetForeignKeyHidden:
    """ALTER TABLE ... SET PRIVACY FOREIGN KEY (...) HIDDEN."""

    table: Name
    columns: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class SetBetween:
    """ALTER COLUMN ... SET PRIVACY DOMAIN BETWEEN."""

    table: Name
    column: Name
    low: Literal
    high: Literal
    outside: Outside = Outside.CLAMP
    not_null: bool = False


@dataclass(frozen=True, slots=True)
class SetMembers:
    """ALTER COLUMN ... SET PRIVACY DOMAIN IN."""

    table: Name
    column: Name
    values: tuple[Literal, ...]
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SetReferences:
    """ALTER COLUMN ... SET PRIVACY DOMAIN REFERENCES; ``target`` is (table, column)."""

    table: Name
    column: Name
    target: tuple[Name, Name]
    or_null: bool = False


@dataclass(frozen=True, slots=True)
class SetTaxonomy:
    """ALTER COLUMN ... SET PRIVACY DOMAIN TAXONOMY."""

    table: Name
    column: Name
    taxonomy: Name


@dataclass(frozen=True, slots=True)
class SetDiscovered:
    """ALTER COLUMN ... SET PRIVACY DOMAIN DISCOVERED."""

    table: Name
    column: Name


@dataclass(frozen=True, slots=True)
class SetColumnHidden:
    """ALTER COLUMN ... SET PRIVACY HIDDEN."""

    table: Name
    column: Name


@dataclass(frozen=True, slots=True)
class SetColumnClass:
    """ALTER COLUMN ... SET PRIVACY CLASS."""

    table: Name
    column: Name
    column_class: ColumnClass


@dataclass(frozen=True, slots=True)
class CreateBudget:
    """CREATE PRIVACY BUDGET; a name that exists gets the new limits, what was spent stays spent."""

    name: Name
    limit: Amount
    delta: Amount | None = None
    user_limit: Amount | None = None
    session_limit: Amount | None = None
    max_epsilon: Amount | None = None
    default_epsilon: Amount | None = None
    refresh: CalendarInterval | None = None
    shares: bool = False


@dataclass(frozen=True, slots=True)
class DropBudget:
    """DROP PRIVACY BUDGET."""

    name: Name


@dataclass(frozen=True, slots=True)
class GrantSelect:
    """GRANT SELECT ON ... TO ... [WITH PRIVACY BUDGET ...]."""

    tables: tuple[Name, ...]
    roles: tuple[Name, ...]
    budget: Name | None = None


@dataclass(frozen=True, slots=True)
class RevokeSelect:
    """REVOKE SELECT ON ... FROM ...; nothing happens where nothing was granted."""

    tables: tuple[Name, ...]
    roles: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class GrantExact:
    """GRANT EXACT SELECT ON ... TO ...."""

    tables: tuple[Name, ...]
    roles: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class RevokeExact:
    """REVOKE EXACT SELECT ON ... FROM ...; nothing happens where nothing was granted."""

    tables: tuple[Name, ...]
    roles: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class AdvanceDataVersion:
    """ADVANCE PRIVACY DATA VERSION: new data was loaded, stored answers no longer answer for it."""

    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class CreateTaxonomy:
    """CREATE PRIVACY TAXONOMY name ON table (code, parent); one that exists is replaced."""

    name: Name
    table: Name
    code: Name
    parent: Name


@dataclass(frozen=True, slots=True)
class DropTaxonomy:
    """DROP PRIVACY TAXONOMY."""

    name: Name


@dataclass(frozen=True, slots=True)
class Option:
    """One of WITH (...); ``position`` is that of the value."""

    name: Name
    value: OptionValue
    position: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class CreateView:
    """CREATE PROTECTED VIEW ... WITH (...) AS query, or a PRIVACY CUBE; ``offset`` is where the query starts."""

    name: Name
    options: tuple[Option, ...]
    query: str
    offset: int = field(default=0, compare=False)
    kind: str = VIEW


@dataclass(frozen=True, slots=True)
class DropView:
    """DROP PROTECTED VIEW, or PRIVACY CUBE."""

    name: Name
    kind: str = VIEW


@dataclass(frozen=True, slots=True)
class RefreshView:
    """REFRESH PROTECTED VIEW, or PRIVACY CUBE: build it again, which is charged again."""

    name: Name
    kind: str = VIEW


@dataclass(frozen=True, slots=True)
class VerifyViews:
    """VERIFY PROTECTED VIEW v, w, or PRIVACY CUBE."""

    names: tuple[Name, ...]
    kind: str = VIEW


@dataclass(frozen=True, slots=True)
class ResetBudget:
    """RESET PRIVACY BUDGET ... [FOR USER ...] REASON '...'."""

    budget: Name
    user: Name | None
    reason: str
    position: int | None = field(default=None, compare=False)


class Listing(Enum):
    """What SHOW PRIVACY lists."""

    BUDGETS = "BUDGETS"
    POLICY = "POLICY"
    GRANTS = "GRANTS"
    AUDIT = "AUDIT"
    HISTORY = "HISTORY"
    VIEWS = "VIEWS"
    TABLES = "TABLES"
    STATUS = "STATUS"


@dataclass(frozen=True, slots=True)
class Show:
    """SHOW PRIVACY ...; ``table`` only with POLICY FOR, ``before`` only with AUDIT, ``limit`` also with HISTORY."""

    listing: Listing
    table: Name | None = None
    position: int | None = field(default=None, compare=False)
    limit: int | None = None
    before: int | None = None
    """Entries of the audit log from this number on are left out."""


@dataclass(frozen=True, slots=True)
class Suggest:
    """SUGGEST PRIVACY FOR ... [WITH EPSILON ...]."""

    table: Name
    epsilon: Amount | None = None
    position: int | None = field(default=None, compare=False)


TableChange = SetKey | SetExposure | SetCeiling | SetExpectedRows | SetBlocks | SetQuantiles
CompositeChange = SetComposite | SetCompositeHidden
ForeignKeyChange = SetForeignKey | SetForeignKeyHidden
ColumnChange = (
    SetBetween
    | SetMembers
    | SetReferences
    | SetTaxonomy
    | SetDiscovered
    | SetColumnHidden
    | SetColumnClass
    | SetColumnQuantiles
)
BudgetChange = CreateBudget | DropBudget
GrantChange = GrantSelect | RevokeSelect | GrantExact | RevokeExact
TaxonomyChange = CreateTaxonomy | DropTaxonomy
ViewDeclaration = CreateView | DropView
ViewTask = RefreshView | VerifyViews
Change = (
    TableChange
    | CompositeChange
    | ForeignKeyChange
    | ColumnChange
    | BudgetChange
    | GrantChange
    | AdvanceDataVersion
    | TaxonomyChange
    | ViewDeclaration
)
Statement = Change | Show | Suggest | ViewTask | ResetBudget
