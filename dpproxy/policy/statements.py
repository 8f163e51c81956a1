"""Privacy statements as values, with positions in the text; not yet checked against a schema."""

from datetime import date, datetime
from enum import Enum
from fractions import Fraction

from msgspec import Struct

from dpproxy.policy.interval import CalendarInterval
from dpproxy.policy.model import VIEW, ColumnClass, Composition, Counted, Exposure, OptionValue, Outside
from dpproxy.sql.cursor import Name
from dpproxy.values.structs import PartlyCompared, PartlyShown


class LiteralKind(Enum):
    """How a constant was written."""

    NUMBER = "a number"
    TEXT = "a text"
    BOOL = "a truth value"
    NULL = "NULL"
    DATE = "a date"
    TIMESTAMP = "a timestamp"
    TIMESTAMPTZ = "a timestamp with time zone"


class Literal(PartlyShown, PartlyCompared, Struct, frozen=True):
    """A constant; numbers are int where whole, else Fraction; timestamps with time zone are in UTC."""

    HIDDEN = frozenset({"value"})

    kind: LiteralKind
    value: int | Fraction | str | bool | date | datetime | None
    position: int | None = None


class Amount(PartlyCompared, Struct, frozen=True):
    """A number of a clause; ``clause`` names it in messages."""

    clause: str
    value: int | Fraction
    position: int | None = None


class SetKey(Struct, frozen=True):
    """ALTER TABLE ... SET PRIVACY KEY; ``key`` is None for KEY ROW."""

    table: Name
    key: Name | None
    references: tuple[Name, Name] | None = None
    max_rows: Amount | None = None
    max_groups: Amount | None = None


class SetExposure(Struct, frozen=True):
    """ALTER TABLE ... SET PRIVACY PUBLIC | HIDDEN."""

    table: Name
    exposure: Exposure


class SetCeiling(Struct, frozen=True):
    """ALTER TABLE ... SET PRIVACY CEILING; what is None stays as it was declared."""

    table: Name
    epsilon: Amount
    delta: Amount | None = None
    accountant: Composition | None = None


class SetBlocks(Struct, frozen=True):
    """ALTER TABLE ... SET PRIVACY BLOCKS BY; ``column`` is None for HIDDEN, which takes it back."""

    table: Name
    column: Name | None


class SetExpectedRows(Struct, frozen=True):
    """ALTER TABLE ... SET PRIVACY EXPECTED ROWS."""

    table: Name
    rows: Amount


class SetQuantiles(Struct, frozen=True):
    """ALTER TABLE ... SET PRIVACY QUANTILES OF ROWS: shares in percent, each with its number of rows."""

    table: Name
    shares: tuple[tuple[Amount, Literal], ...]
    within: Amount


class SetColumnQuantiles(Struct, frozen=True):
    """ALTER COLUMN ... SET PRIVACY QUANTILES OF GROUPS or OF VALUES."""

    table: Name
    column: Name
    of: Counted
    shares: tuple[tuple[Amount, Literal], ...]
    within: Amount


class SetComposite(Struct, frozen=True):
    """ALTER TABLE ... SET PRIVACY DOMAIN (...) REFERENCES a table and columns of it, or HIDDEN without a target."""

    table: Name
    columns: tuple[Name, ...]
    target: tuple[Name, tuple[Name, ...]] | None = None


class SetForeignKey(Struct, frozen=True):
    """ALTER TABLE ... SET PRIVACY FOREIGN KEY (...) REFERENCES a table and columns of it, or HIDDEN."""

    table: Name
    columns: tuple[Name, ...]
    target: tuple[Name, tuple[Name, ...]] | None = None


class SetBetween(Struct, frozen=True):
    """ALTER COLUMN ... SET PRIVACY DOMAIN BETWEEN."""

    table: Name
    column: Name
    low: Literal
    high: Literal
    outside: Outside = Outside.CLAMP
    not_null: bool = False


class SetMembers(PartlyCompared, Struct, frozen=True):
    """ALTER COLUMN ... SET PRIVACY DOMAIN IN."""

    table: Name
    column: Name
    values: tuple[Literal, ...]
    position: int | None = None


class SetReferences(Struct, frozen=True):
    """ALTER COLUMN ... SET PRIVACY DOMAIN REFERENCES; ``target`` is (table, column)."""

    table: Name
    column: Name
    target: tuple[Name, Name]
    or_null: bool = False


class SetTaxonomy(Struct, frozen=True):
    """ALTER COLUMN ... SET PRIVACY DOMAIN TAXONOMY."""

    table: Name
    column: Name
    taxonomy: Name


class SetDiscovered(Struct, frozen=True):
    """ALTER COLUMN ... SET PRIVACY DOMAIN DISCOVERED."""

    table: Name
    column: Name


class SetColumnHidden(Struct, frozen=True):
    """ALTER COLUMN ... SET PRIVACY HIDDEN."""

    table: Name
    column: Name


class SetColumnClass(Struct, frozen=True):
    """ALTER COLUMN ... SET PRIVACY CLASS."""

    table: Name
    column: Name
    column_class: ColumnClass


class CreateBudget(Struct, frozen=True):
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


class DropBudget(Struct, frozen=True):
    """DROP PRIVACY BUDGET."""

    name: Name


class GrantSelect(Struct, frozen=True):
    """GRANT SELECT ON ... TO ... [WITH PRIVACY BUDGET ...]."""

    tables: tuple[Name, ...]
    roles: tuple[Name, ...]
    budget: Name | None = None


class RevokeSelect(Struct, frozen=True):
    """REVOKE SELECT ON ... FROM ...; nothing happens where nothing was granted."""

    tables: tuple[Name, ...]
    roles: tuple[Name, ...]


class SetExact(Struct, frozen=True):
    """GRANT or REVOKE EXACT SELECT ON ...; nothing is revoked where nothing was granted."""

    tables: tuple[Name, ...]
    roles: tuple[Name, ...]
    granted: bool


class AdvanceDataVersion(PartlyCompared, Struct, frozen=True):
    """ADVANCE PRIVACY DATA VERSION: new data was loaded, stored answers no longer answer for it."""

    position: int | None = None


class CreateTaxonomy(Struct, frozen=True):
    """CREATE PRIVACY TAXONOMY name ON table (code, parent); one that exists is replaced."""

    name: Name
    table: Name
    code: Name
    parent: Name


class DropTaxonomy(Struct, frozen=True):
    """DROP PRIVACY TAXONOMY."""

    name: Name


class Option(PartlyCompared, Struct, frozen=True):
    """One of WITH (...); ``position`` is that of the value."""

    name: Name
    value: OptionValue
    position: int | None = None


class CreateView(PartlyCompared, Struct, frozen=True):
    """CREATE PROTECTED VIEW ... WITH (...) AS query, or a PRIVACY CUBE; ``offset`` is where the query starts."""

    UNCOMPARED = frozenset({"offset"})

    name: Name
    options: tuple[Option, ...]
    query: str
    offset: int = 0
    kind: str = VIEW


class DropView(Struct, frozen=True):
    """DROP PROTECTED VIEW, or PRIVACY CUBE."""

    name: Name
    kind: str = VIEW


class RefreshView(Struct, frozen=True):
    """REFRESH PROTECTED VIEW, or PRIVACY CUBE: build it again, which is charged again."""

    name: Name
    kind: str = VIEW


class VerifyViews(Struct, frozen=True):
    """VERIFY PROTECTED VIEW v, w, or PRIVACY CUBE."""

    names: tuple[Name, ...]
    kind: str = VIEW


class ResetBudget(PartlyCompared, Struct, frozen=True):
    """RESET PRIVACY BUDGET ... [FOR USER ...] REASON '...'."""

    budget: Name
    user: Name | None
    reason: str
    position: int | None = None


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


class Show(PartlyCompared, Struct, frozen=True):
    """SHOW PRIVACY ...; ``table`` only with POLICY FOR, ``before`` only with AUDIT, ``limit`` also with HISTORY."""

    listing: Listing
    table: Name | None = None
    position: int | None = None
    limit: int | None = None
    before: int | None = None
    """Entries of the audit log from this number on are left out."""


class Suggest(PartlyCompared, Struct, frozen=True):
    """SUGGEST PRIVACY FOR ... [WITH EPSILON ...]."""

    table: Name
    epsilon: Amount | None = None
    position: int | None = None


TableChange = SetKey | SetExposure | SetCeiling | SetExpectedRows | SetBlocks | SetQuantiles
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
GrantChange = GrantSelect | RevokeSelect | SetExact
TaxonomyChange = CreateTaxonomy | DropTaxonomy
ViewDeclaration = CreateView | DropView
ViewTask = RefreshView | VerifyViews
Change = (
    TableChange
    | SetComposite
    | SetForeignKey
    | ColumnChange
    | BudgetChange
    | GrantChange
    | AdvanceDataVersion
    | TaxonomyChange
    | ViewDeclaration
)
Statement = Change | Show | Suggest | ViewTask | ResetBudget
