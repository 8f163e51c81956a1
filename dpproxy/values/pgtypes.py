"""The PostgreSQL types of answers: name, OID and size (pg_type), and the Python types of their values."""

from msgspec import Struct, field
from msgspec.structs import replace


class SqlType(Struct, frozen=True):
    """A type as a client sees it; ``modifier`` is pg_attribute.atttypmod, -1 for none."""

    name: str
    oid: int
    size: int
    modifier: int = -1
    style: str = ""
    """The style of values that can be written in several ways: a time zone, IntervalStyle, bytea_output."""

    def with_precision(self, precision: int, scale: int) -> "SqlType":
        """numeric(precision, scale)."""
        return replace(self, modifier=((precision << 16) | scale) + 4)

    @property
    def shown(self) -> str:
        """The name in PostgreSQL's messages, as returned by format_type.

        >>> INT4.shown, array_of(FLOAT8).shown, NUMERIC.with_precision(5, 1).shown
        ('integer', 'double precision[]', 'numeric')
        """
        if self.name.startswith("_"):
            return _SHOWN.get(self.name[1:], self.name[1:]) + "[]"
        return _SHOWN.get(self.name, self.name)

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


_SHOWN = {
    "bool": "boolean", "bpchar": "character", "char": '"char"', "float4": "real", "float8": "double precision",
    "int2": "smallint", "int4": "integer", "int8": "bigint", "time": "time without time zone",
    "timestamp": "timestamp without time zone", "timestamptz": "timestamp with time zone",
    "timetz": "time with time zone", "varchar": "character varying",
}  # fmt: skip

BOOL = SqlType("bool", 16, 1)
BYTEA = SqlType("bytea", 17, -1)
CHAR = SqlType("char", 18, 1)
"""One byte, in the catalogue only; CHAR(n) of SQL is ``BPCHAR``."""
NAME = SqlType("name", 19, 64)
INT8 = SqlType("int8", 20, 8)
INT2 = SqlType("int2", 21, 2)
INT2VECTOR = SqlType("int2vector", 22, -1)
INT4 = SqlType("int4", 23, 4)
TEXT = SqlType("text", 25, -1)
OID = SqlType("oid", 26, 4)
REGPROC = SqlType("regproc", 24, 4)
XID = SqlType("xid", 28, 4)
OIDVECTOR = SqlType("oidvector", 30, -1)
JSON = SqlType("json", 114, -1)
FLOAT4 = SqlType("float4", 700, 4)
FLOAT8 = SqlType("float8", 701, 8)
UNKNOWN = SqlType("unknown", 705, -2)
INET = SqlType("inet", 869, -1)
BPCHAR = SqlType("bpchar", 1042, -1)
VARCHAR = SqlType("varchar", 1043, -1)
DATE = SqlType("date", 1082, 4)
TIME = SqlType("time", 1083, 8)
TIMESTAMP = SqlType("timestamp", 1114, 8)
TIMESTAMPTZ = SqlType("timestamptz", 1184, 8)
INTERVAL = SqlType("interval", 1186, 16)
TIMETZ = SqlType("timetz", 1266, 12)
NUMERIC = SqlType("numeric", 1700, -1)
RECORD = SqlType("record", 2249, -1)
"""Written in text alone."""
REGPROCEDURE = SqlType("regprocedure", 2202, 4)
REGCLASS = SqlType("regclass", 2205, 4)
REGTYPE = SqlType("regtype", 2206, 4)
UUID = SqlType("uuid", 2950, 16)
JSONB = SqlType("jsonb", 3802, -1)
REGNAMESPACE = SqlType("regnamespace", 4089, 4)
REGROLE = SqlType("regrole", 4096, 4)

TYPES: tuple[SqlType, ...] = (
    BOOL, BYTEA, CHAR, NAME, INT8, INT2, INT4, TEXT, OID, XID, JSON, FLOAT4, FLOAT8, UNKNOWN, BPCHAR, VARCHAR, DATE,
    TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL, TIMETZ, NUMERIC, UUID, JSONB,
)  # fmt: skip
"""The scalar types."""
OBJECTS = frozenset({REGPROC, REGPROCEDURE, REGCLASS, REGTYPE, REGNAMESPACE, REGROLE})
"""Numbers of the catalogue's objects that are shown by name; their values are ``ObjectName``."""
ARRAYS: dict[int, SqlType] = {
    199: JSON, 1008: REGPROC, 1041: INET, 1000: BOOL, 1001: BYTEA, 1002: CHAR, 1003: NAME, 1005: INT2, 1007:
    INT4, 1009: TEXT, 1011: XID, 1014: BPCHAR, 1015: VARCHAR, 1016: INT8, 1021: FLOAT4, 1022: FLOAT8, 1028: OID,
    1115: TIMESTAMP, 1182: DATE, 1183: TIME, 1185: TIMESTAMPTZ, 1187: INTERVAL, 1231: NUMERIC, 1270: TIMETZ,
    2207: REGPROCEDURE, 2210: REGCLASS, 2211: REGTYPE, 2951: UUID, 3807: JSONB, 4090: REGNAMESPACE, 4097:
    REGROLE,
}  # fmt: skip
"""By the OID of the array type, the type of its elements (pg_type.typelem)."""
_OF_ARRAYS = {element.oid: oid for oid, element in ARRAYS.items()}
VECTORS: dict[int, SqlType] = {INT2VECTOR.oid: INT2, OIDVECTOR.oid: OID}
"""The same for the catalogue's own lists of one dimension, which are counted from 0."""


class ObjectName(str):
    """The name of an object, with its number."""

    __slots__ = ("oid",)
    oid: int

    def __new__(cls, name: str, oid: int) -> "ObjectName":
        """Equal to its name."""
        made = super().__new__(cls, name)
        made.oid = oid
        return made


def array_of(element: SqlType) -> SqlType:
    """The array type, with the modifier of its elements; of an element type that has none here, that of text."""
    oid = _OF_ARRAYS.get(element.oid, 1009)
    return SqlType(f"_{ARRAYS[oid].name}", oid, -1, element.modifier, element.style)


def element_of(kind: SqlType) -> SqlType | None:
    """The type of an array's or a vector's elements, None for what is neither."""
    element = ARRAYS.get(kind.oid) or VECTORS.get(kind.oid)
    return None if element is None else replace(element, modifier=kind.modifier, style=kind.style)


BY_OID: dict[int, SqlType] = {
    **{t.oid: t for t in (*TYPES, INT2VECTOR, OIDVECTOR)},
    **{oid: SqlType(f"_{element.name}", oid, -1) for oid, element in ARRAYS.items()},
}
IN_DUCKDB: dict[str, SqlType] = {
    "BOOLEAN": BOOL, "SMALLINT": INT2, "INTEGER": INT4, "BIGINT": INT8, "FLOAT": FLOAT4, "DOUBLE": FLOAT8,
    "VARCHAR": TEXT, "DATE": DATE, "TIME": TIME, "TIMESTAMP": TIMESTAMP, "TIMESTAMP WITH TIME ZONE": TIMESTAMPTZ,
    "INTERVAL": INTERVAL, "UUID": UUID, "BLOB": BYTEA, "JSON": JSON,
}  # fmt: skip
"""By the name DuckDB gives it, each type without parameters that both have."""
INTEGERS = frozenset({INT2.oid, INT4.oid, INT8.oid})
FLOATS = frozenset({FLOAT4.oid, FLOAT8.oid})
TEXTS = frozenset({TEXT.oid, VARCHAR.oid})
MOMENTS = frozenset({DATE.oid, TIME.oid, TIMESTAMP.oid, TIMESTAMPTZ.oid, INTERVAL.oid})


PLAIN = frozenset({BYTEA.oid, JSON.oid, TIME.oid, TIMESTAMPTZ.oid, INTERVAL.oid, UUID.oid, *ARRAYS})
"""Types of columns that are only shown and compared, in public data, and never computed with."""


class Column(Struct, frozen=True, cache_hash=True):
    """One column of an answer, of a table, or of a released relation."""

    name: str
    type: SqlType
    not_null: bool = False


_BY_NAME = {kind.name: kind for kind in TYPES}


def typed_columns(listed: str) -> tuple[Column, ...]:
    """Columns from a list of names, each with its type behind a colon; text where none is said.

    >>> [(column.name, column.type.name) for column in typed_columns("at:timestamp who")]
    [('at', 'timestamp'), ('who', 'text')]
    """
    pairs = (each.partition(":") for each in listed.split())
    return tuple(Column(name, _BY_NAME[kind or TEXT.name]) for name, _, kind in pairs)


class UniqueKey(Struct, frozen=True):
    """PRIMARY KEY or UNIQUE; ``columns`` as declared."""

    table: str
    columns: tuple[str, ...]
    primary: bool = False


class ForeignKey(Struct, frozen=True):
    """FOREIGN KEY (columns) REFERENCES target (referenced), in corresponding order."""

    table: str
    columns: tuple[str, ...]
    target: str
    referenced: tuple[str, ...]


class CheckConstraint(Struct, frozen=True):
    """CHECK; ``expression`` in the engine's SQL. A row for which it is NULL passes."""

    table: str
    expression: str


Constraint = UniqueKey | ForeignKey | CheckConstraint


class View(Struct, frozen=True):
    """A view of the data source: a name for a query, which is planned and never run as a view.

    ``sql`` is CREATE VIEW in the engine's SQL, ``columns`` are the names of its columns there. What the query ``reads``
    are tables and views by name; ``flaw`` says why it cannot be used.
    """

    sql: str
    columns: tuple[str, ...]
    reads: tuple[str, ...] = ()
    flaw: str | None = "its text has not been read"


class Schema(Struct, frozen=True):
    """Tables of one data source, by name; public facts (DDL), never content."""

    tables: dict[str, tuple[Column, ...]]
    constraints: tuple[Constraint, ...] = ()
    """The constraints as declared; a column in them may have a type that does not exist here."""
    views: dict[str, View] = field(default_factory=dict)
    """The views; none has the name of a table."""
    left_out: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By table, the columns that are left out for their type or collation."""
    documents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Of those, the ones that hold JSON documents: fields of them can be declared."""
    places: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Of each table in another schema than public, ``clinic.visits``, that schema and its name there."""
    spellings: dict[str, str] = field(default_factory=dict)
    """Of each name that is served otherwise than the engine spells it, how it is served."""

    def column(self, table: str, name: str) -> Column | None:
        """The column, or None."""
        return next((c for c in self.tables.get(table, ()) if c.name == name), None)

    def bases(self, name: str) -> tuple[str, ...]:
        """The tables a view reads, those behind other views too; a table reads itself."""
        view = self.views.get(name)
        if view is None:
            return (name,)
        return tuple(dict.fromkeys(table for read in view.reads for table in self.bases(read)))
