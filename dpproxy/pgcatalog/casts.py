"""Types as statements write them, and what DuckDB is given instead."""

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.errors import Unsupported
from dpproxy.pgtypes import (
    BPCHAR,
    CHAR,
    INT2VECTOR,
    JSON,
    JSONB,
    NAME,
    OIDVECTOR,
    VARCHAR,
    XID,
    SqlType,
    array_of,
)

_STORED: dict[str, str] = {
    "bool": "BOOLEAN",
    "boolean": "BOOLEAN",
    "int2": "SMALLINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "int4": "INTEGER",
    "integer": "INTEGER",
    "int8": "BIGINT",
    "bigint": "BIGINT",
    "float": "DOUBLE",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "real": "FLOAT",
    "double": "DOUBLE",
    "numeric": "DECIMAL(38,10)",
    "decimal": "DECIMAL(38,10)",
    "oid": "UINTEGER",
    "xid": "UINTEGER",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "timestampntz": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "time": "TIME",
    "interval": "INTERVAL",
    "uuid": "UUID",
    "bytea": "BLOB",
    "varbinary": "BLOB",
    "cardinal_number": "INTEGER",
    "int2vector": "SMALLINT[]",
    "oidvector": "UINTEGER[]",
    **dict.fromkeys(
        [
            "text",
            "varchar",
            "char",
            "character",
            "bpchar",
            "name",
            "cstring",
            "regproc",
            "regprocedure",
            "regoper",
            "regoperator",
            "json",
            "jsonb",
            "inet",
            "aclitem",
            "xml",
            "unknown",
            "pg_node_tree",
            "sql_identifier",
            "character_data",
            "yes_or_no",
            "regcollation",
        ],
        "VARCHAR",
    ),
}
"""By the name after a cast, without its schema; what is shown by name is text here."""

_SHOWN = {
    "name": NAME,
    "char": CHAR,
    "bpchar": BPCHAR,
    "character": BPCHAR,
    "varchar": VARCHAR,
    "json": JSON,
    "jsonb": JSONB,
    "xid": XID,
    "int2vector": INT2VECTOR,
    "oidvector": OIDVECTOR,
}
"""Types that share the engine's type with others."""

OBJECTS = {
    "regclass": "class",
    "regtype": "type",
    "regnamespace": "schema",
    "regrole": "role",
    "regproc": "proc",
    "regprocedure": "procedure",
}
"""Casts that look a name up, and the macros that do it."""

_SCHEMAS = frozenset({"pg_catalog", "information_schema"})


def written_name(kind: exp.Expr) -> str:
    """The type's name without schema, parameters and brackets, lower case."""
    inner = kind.args.get("kind")
    match inner:
        case exp.Dot(this=exp.Identifier(name=schema), expression=exp.Identifier(name=name)):
            return name.lower() if schema.lower() in _SCHEMAS else f"{schema}.{name}"
        case exp.Identifier(name=name):
            return name.lower()
        case _:
            return str(getattr(kind.this, "value", kind.this)).lower()


def _pieces(kind: exp.Expr) -> tuple[str, exp.Expr, str]:
    """The name of the elements' type, where it is written, and brackets for an array; ``_oid`` is ``oid[]``."""
    if isinstance(kind, exp.DataType) and kind.this == exp.DataType.Type.ARRAY:
        return written_name(kind.expressions[0]), kind.expressions[0], "[]"
    name = written_name(kind)
    if name.startswith("_") and name[1:] in _STORED:
        return name[1:], kind, "[]"
    return name, kind, ""


def element_name(kind: exp.Expr) -> str:
    """The type's name, of an array that of its elements."""
    name, element, _ = _pieces(kind)
    return "bpchar" if getattr(element, "this", None) == exp.DType.CHAR else name


def held(name: str) -> str:
    """The DuckDB type of a type's values, by pg_type.typname; empty where it has none."""
    return _STORED.get(name, "")


def shown(kind: exp.Expr) -> SqlType | None:
    """The type that a cast gives, as a client sees it; None where the engine's type tells."""
    name, element, brackets = _pieces(kind)
    if getattr(element, "this", None) == exp.DType.CHAR:
        found: SqlType | None = BPCHAR
    else:
        found = _SHOWN.get(name)
    return array_of(found) if found is not None and brackets else found


def stored(kind: exp.Expr) -> str:
    """The DuckDB type.

    Raises:
        Unsupported: a type that is not on the list.
    """
    name, element, brackets = _pieces(kind)
    if name not in _STORED:
        raise Unsupported(f'type "{name}" is not supported here', position=position(kind))
    parameters = [p.name for p in element.expressions if isinstance(p, exp.DataTypeParam)]
    if name in ("numeric", "decimal") and parameters:
        return f"DECIMAL({','.join(str(int(p)) for p in parameters)}){brackets}"
    return _STORED[name] + brackets
