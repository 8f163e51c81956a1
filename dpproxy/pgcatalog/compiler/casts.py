"""Types in casts, and the DuckDB types that replace them."""

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.analysis.titles import written_name
from dpproxy.pgcatalog.compiler.results import OBJECTS as OBJECT_KINDS
from dpproxy.values.errors import InvalidParameter, Unsupported
from dpproxy.values.pgtypes import (
    BPCHAR,
    CHAR,
    IN_DUCKDB,
    INET,
    INT2VECTOR,
    JSON,
    JSONB,
    NAME,
    NUMERIC,
    OBJECTS,
    OIDVECTOR,
    VARCHAR,
    XID,
    SqlType,
    array_of,
)

_TEXTS = """
text varchar char character bpchar name cstring regoper regoperator json jsonb inet aclitem xml unknown pg_node_tree
sql_identifier character_data yes_or_no regcollation
"""
"""Types that the engine holds as texts."""
_STORED: dict[str, str] = {
    **{kind.name: stored for stored, kind in IN_DUCKDB.items()},
    "boolean": "BOOLEAN",
    "smallint": "SMALLINT",
    **dict.fromkeys(("int", "integer", "cardinal_number"), "INTEGER"),
    "bigint": "BIGINT",
    **dict.fromkeys(("float", "real"), "FLOAT"),
    "double": "DOUBLE",
    **dict.fromkeys(("numeric", "decimal"), "DECIMAL(38,10)"),
    **dict.fromkeys(("oid", "xid", *OBJECT_KINDS), "UINTEGER"),
    "timestampntz": "TIMESTAMP",
    "varbinary": "BLOB",
    "int2vector": "SMALLINT[]",
    "oidvector": "UINTEGER[]",
    **dict.fromkeys(_TEXTS.split(), "VARCHAR"),
}
"""The DuckDB type by the name in a cast, without schema; the parser calls real ``float``, and float ``double``."""

_SHOWN = {
    "character": BPCHAR,
    "character varying": VARCHAR,
    **{
        kind.name: kind
        for kind in (NAME, CHAR, BPCHAR, INET, VARCHAR, JSON, JSONB, XID, INT2VECTOR, OIDVECTOR, *OBJECTS)
    },
}
"""The client's type, where several types share a type of the engine."""

LONGEST_TEXT = 10_485_760
"""The largest n of ``character(n)``, as in PostgreSQL."""
_MOST_OF_REAL = 24
"""The largest n for which ``float(n)`` is a real."""
_TIMES = frozenset({"interval", "time", "timestamp", "timestampntz", "timestamptz"})


def _pieces(kind: exp.Expr) -> tuple[str, exp.Expr, str]:
    """The element type's name and the brackets of an array type; ``_oid`` is ``oid[]``."""
    if isinstance(kind, exp.DataType) and kind.this == exp.DataType.Type.ARRAY:
        return written_name(kind.expressions[0]), kind.expressions[0], "[]"
    name = written_name(kind)
    if name.startswith("_") and name[1:] in _STORED:
        return name[1:], kind, "[]"
    return name, kind, ""


def element(kind: exp.Expr) -> exp.Expr:
    """The element type of an array type."""
    name, found, _ = _pieces(kind)
    if found is not kind:
        return found
    return exp.DataType(this=exp.DType.USERDEFINED, kind=exp.to_identifier(name))


def duckdb_type_of(name: str) -> str:
    """The DuckDB type of a type's values, by pg_type.typname; empty where it has none."""
    return _STORED.get(name, "")


def client_type(kind: exp.Expr) -> SqlType | None:
    """The client's type of a cast; None where it follows from the engine's type."""
    name, element, brackets = _pieces(kind)
    found = BPCHAR if getattr(element, "this", None) == exp.DType.CHAR else _SHOWN.get(name)
    numbers = sizes(element)
    if found in (VARCHAR, BPCHAR) and (numbers or written_name(element) != "bpchar"):
        is_bare = not numbers and found == VARCHAR
        if max(numbers, default=0) > LONGEST_TEXT:
            raise InvalidParameter(
                f"length for type {written_name(element)} cannot exceed {LONGEST_TEXT}",
                position=position(kind),
            )
        found = found if is_bare else replace(found, modifier=(numbers or [1])[0] + 4)
    if name in _DECIMALS and numbers:
        found = (
            NUMERIC.with_precision(*numbers[:2])
            if len(numbers) > 1
            else NUMERIC.with_precision(numbers[0], 0)
        )
    return array_of(found) if found is not None and brackets else found


_DECIMALS = ("numeric", "decimal")


def sizes(kind: exp.Expr) -> list[int]:
    """The numbers in parentheses after a type."""
    return [int(p.name) for p in kind.expressions if isinstance(p, exp.DataTypeParam) and p.name.isdigit()]


def duckdb_type(kind: exp.Expr) -> str:
    """The DuckDB type for the type of a cast.

    Raises:
        Unsupported: a type that is not on the list.
    """
    name, element, brackets = _pieces(kind)
    if name not in _STORED:
        raise Unsupported(f'type "{name}" is not supported here', position=position(kind))
    numbers = sizes(element)
    if name in _DECIMALS and numbers:
        return f"DECIMAL({','.join(map(str, numbers))}){brackets}"
    if name == "double" and numbers:
        return ("FLOAT" if numbers[0] <= _MOST_OF_REAL else "DOUBLE") + brackets
    if numbers and name in _TIMES:
        raise Unsupported(f"{name} with a precision is not supported here", position=position(kind))
    return _STORED[name] + brackets
