"""The PostgreSQL types we answer with: name, OID, wire size (pg_type), and the Python values that stand for them."""

from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class SqlType:
    """A type as a client sees it; ``modifier`` is pg_attribute.atttypmod, -1 for none."""

    name: str
    oid: int
    size: int
    modifier: int = -1

    def with_precision(self, precision: int, scale: int) -> "SqlType":
        """numeric(precision, scale)."""
        return replace(self, modifier=((precision << 16) | scale) + 4)

    @property
    def scale(self) -> int | None:
        """Digits after the point of a numeric with a modifier, else None."""
        return None if self.modifier < 0 else (self.modifier - 4) & 0xFFFF

    @property
    def precision(self) -> int | None:
        """All digits of a numeric with a modifier, else None."""
        return None if self.modifier < 0 else (self.modifier - 4) >> 16

    def is_same(self, other: "SqlType") -> bool:
        """Equal apart from the modifier."""
        return self.oid == other.oid


BOOL = SqlType("bool", 16, 1)
BYTEA = SqlType("bytea", 17, -1)
NAME = SqlType("name", 19, 64)
INT8 = SqlType("int8", 20, 8)
INT2 = SqlType("int2", 21, 2)
INT4 = SqlType("int4", 23, 4)
TEXT = SqlType("text", 25, -1)
OID = SqlType("oid", 26, 4)
FLOAT4 = SqlType("float4", 700, 4)
FLOAT8 = SqlType("float8", 701, 8)
UNKNOWN = SqlType("unknown", 705, -2)
VARCHAR = SqlType("varchar", 1043, -1)
DATE = SqlType("date", 1082, 4)
TIMESTAMP = SqlType("timestamp", 1114, 8)
TIMESTAMPTZ = SqlType("timestamptz", 1184, 8)
NUMERIC = SqlType("numeric", 1700, -1)

TYPES: tuple[SqlType, ...] = (
    BOOL, BYTEA, NAME, INT8, INT2, INT4, TEXT, OID, FLOAT4, FLOAT8, UNKNOWN, VARCHAR, DATE, TIMESTAMP, TIMESTAMPTZ,
    NUMERIC,
)  # fmt: skip
BY_OID: dict[int, SqlType] = {t.oid: t for t in TYPES}
ARRAYS: dict[int, SqlType] = {
    1000: BOOL, 1003: NAME, 1005: INT2, 1007: INT4, 1009: TEXT, 1015: VARCHAR, 1016: INT8, 1021: FLOAT4, 1022: FLOAT8,
    1028: OID, 1115: TIMESTAMP, 1182: DATE, 1185: TIMESTAMPTZ, 1231: NUMERIC,
}  # fmt: skip
"""By the OID of the array type, the type of its elements (pg_type.typelem)."""
_OF_ARRAYS = {element.oid: oid for oid, element in ARRAYS.items()}
INTEGERS = frozenset({INT2.oid, INT4.oid, INT8.oid})
FLOATS = frozenset({FLOAT4.oid, FLOAT8.oid})
TEXTS = frozenset({TEXT.oid, VARCHAR.oid})


def array_of(element: SqlType) -> SqlType:
    """The array type; of an element type that has none here, that of text."""
    oid = _OF_ARRAYS.get(element.oid, 1009)
    return SqlType(f"_{ARRAYS[oid].name}", oid, -1)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of an answer, of a table, or of a released relation."""

    name: str
    type: SqlType
    not_null: bool = False


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """PRIMARY KEY or UNIQUE; ``columns`` as declared."""

    table: str
    columns: tuple[str, ...]
    primary: bool = False


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """FOREIGN KEY (columns) REFERENCES target (referenced), in corresponding order."""

    table: str
    columns: tuple[str, ...]
    target: str
    referenced: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """CHECK; ``expression`` in the engine's SQL. A row for which it is NULL passes."""

    table: str
    expression: str


Constraint = UniqueKey | ForeignKey | Check


@dataclass(frozen=True, slots=True)
class View:
    """A view of the data source: a name for a query, which is planned and never run as a view.

    ``sql`` is CREATE VIEW in the engine's SQL, ``columns`` are the names of its columns there. What the query ``reads``
    are tables and views by name; ``flaw`` says why it cannot be used.
    """

    sql: str
    columns: tuple[str, ...]
    reads: tuple[str, ...] = ()
    flaw: str | None = "its text has not been read"


@dataclass(frozen=True, slots=True)
class Schema:
    """Tables of one data source, by name; public facts (DDL), never content."""

    tables: dict[str, tuple[Column, ...]]
    constraints: tuple[Constraint, ...] = ()
    """As declared: a column of theirs may be of a type that does not exist here."""
    views: dict[str, View] = field(default_factory=dict)
    """None of them has the name of a table."""
    left_out: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By table, the columns that do not exist here, for their type or their collation."""

    def column(self, table: str, name: str) -> Column | None:
        """The column, or None."""
        return next((c for c in self.tables.get(table, ()) if c.name == name), None)

    def bases(self, name: str) -> tuple[str, ...]:
        """The tables a view reads, those behind other views too; a table reads itself."""
        view = self.views.get(name)
        if view is None:
            return (name,)
        return tuple(dict.fromkeys(table for read in view.reads for table in self.bases(read)))
