"""Types as statements write them, and what DuckDB is given instead."""

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.errors import Unsupported

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
    "timestamptz": "TIMESTAMP",
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
            "uuid",
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
"""By the name after a cast, without its schema; the ``regproc`` family is shown by name, so it is text here."""

OBJECTS = {
    "regclass": "class",
    "regtype": "type",
    "regnamespace": "schema",
    "regrole": "role",
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


def _pieces(kind: exp.Expr) -> tuple[exp.Expr, str]:
    if isinstance(kind, exp.DataType) and kind.this == exp.DataType.Type.ARRAY:
        return kind.expressions[0], "[]"
    return kind, ""


def stored(kind: exp.Expr) -> str:
    """The DuckDB type.

    Raises:
        Unsupported: a type that is not on the list.
    """
    element, brackets = _pieces(kind)
    name = written_name(element)
    if name not in _STORED:
        raise Unsupported(f'type "{name}" is not supported here', position=position(kind))
    parameters = [p.name for p in element.expressions if isinstance(p, exp.DataTypeParam)]
    if name in ("numeric", "decimal") and parameters:
        return f"DECIMAL({','.join(str(int(p)) for p in parameters)}){brackets}"
    return _STORED[name] + brackets
