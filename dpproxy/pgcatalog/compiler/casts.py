"""Types as casts write them, and the engine's types that hold their values."""

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.analysis.titles import written_name
from dpproxy.values.errors import InvalidParameter, Unsupported
from dpproxy.values.pgtypes import (
    BOOL,
    BPCHAR,
    BYTEA,
    CHAR,
    FLOAT4,
    FLOAT8,
    IN_DUCKDB,
    INET,
    INT2,
    INT2VECTOR,
    INT4,
    INT8,
    INTERVAL,
    JSON,
    JSONB,
    NAME,
    NUMERIC,
    OBJECTS,
    OID,
    OIDVECTOR,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    XID,
    SqlType,
    array_of,
    element_of,
)

_OTHERS = (NUMERIC, NAME, CHAR, BPCHAR, INET, VARCHAR, JSONB, OID, XID, INT2VECTOR, OIDVECTOR, *OBJECTS)
_TEXTS = """
cstring regoper regoperator aclitem xml unknown pg_node_tree sql_identifier character_data yes_or_no regcollation
"""
"""Types that are texts here."""
TYPES: dict[str, SqlType] = {
    **{kind.name: kind for kind in (*IN_DUCKDB.values(), *_OTHERS)},
    **dict.fromkeys(("int", "integer", "cardinal_number"), INT4),
    **dict.fromkeys(("float", "real"), FLOAT4),
    **dict.fromkeys(_TEXTS.split(), TEXT),
    "boolean": BOOL,
    "smallint": INT2,
    "bigint": INT8,
    "double": FLOAT8,
    "decimal": NUMERIC,
    "character": BPCHAR,
    "character varying": VARCHAR,
    "timestampntz": TIMESTAMP,
    "varbinary": BYTEA,
}
"""By the name in a cast, without schema; the parser calls real ``float``, and float ``double``."""

LONGEST_TEXT = 10_485_760
"""The largest n of ``character(n)``, as in PostgreSQL."""
_MOST_OF_REAL = 24
"""The largest n for which ``float(n)`` is a real."""
_TIMES = (INTERVAL, TIME, TIMESTAMP, TIMESTAMPTZ)


def _pieces(kind: exp.Expr) -> tuple[str, exp.Expr, bool]:
    """The name of a type or of its elements, and whether it is that of an array; ``_oid`` is ``oid[]``."""
    if isinstance(kind, exp.DataType) and kind.this == exp.DataType.Type.ARRAY:
        return written_name(kind.expressions[0]), kind.expressions[0], True
    name = written_name(kind)
    is_array = name.startswith("_") and name[1:] in TYPES
    return name[1:] if is_array else name, kind, is_array


def element(kind: exp.Expr) -> exp.Expr:
    """The element type of an array type."""
    name, found, _ = _pieces(kind)
    return written(name) if found is kind else found


def written(name: str) -> exp.Expr:
    """The type of a cast, by pg_type.typname."""
    return exp.DataType(this=exp.DType.USERDEFINED, kind=exp.to_identifier(name))


def named(kind: exp.Expr) -> SqlType:
    """The type that a cast names.

    Raises:
        Unsupported: a type that is not on the list.
        InvalidParameter: a text with a larger length than there is.
    """
    name, element, is_array = _pieces(kind)
    found = BPCHAR if getattr(element, "this", None) == exp.DType.CHAR else TYPES.get(name)
    if found is None:
        raise Unsupported(f'type "{name}" is not supported here', position=position(kind))
    found = _sized(found, kind, element)
    return array_of(found) if is_array else found


def _sized(found: SqlType, kind: exp.Expr, element: exp.Expr) -> SqlType:
    """With the numbers in parentheses after it; ``character`` alone has one character."""
    numbers = [
        int(p.name) for p in element.expressions if isinstance(p, exp.DataTypeParam) and p.name.isdigit()
    ]
    if found == BPCHAR and not numbers and written_name(element) != BPCHAR.name:
        numbers = [1]
    if not numbers:
        return found
    if found in (VARCHAR, BPCHAR):
        if numbers[0] > LONGEST_TEXT:
            message = f"length for type {written_name(element)} cannot exceed {LONGEST_TEXT}"
            raise InvalidParameter(message, position=position(kind))
        return replace(found, modifier=numbers[0] + 4)
    if found in _TIMES:
        name = written_name(element)
        raise Unsupported(f"{name} with a precision is not supported here", position=position(kind))
    if found == NUMERIC:
        return NUMERIC.with_precision(*[*numbers, 0][:2])
    return FLOAT4 if found == FLOAT8 and numbers[0] <= _MOST_OF_REAL else found


DECIMAL = "DECIMAL(38,10)"
"""The engine's type for a numeric without precision, where nothing else is known."""
_HELD = {
    **{kind.oid: name for name, kind in IN_DUCKDB.items() if kind != JSON},
    **dict.fromkeys((kind.oid for kind in (OID, XID, *OBJECTS)), "UINTEGER"),
    NUMERIC.oid: DECIMAL,
}


def stored(kind: SqlType) -> str:
    """The engine's type that holds the values of a type.

    >>> stored(array_of(OID)), stored(INT2VECTOR), stored(NUMERIC.with_precision(5, 2)), stored(JSONB)
    ('UINTEGER[]', 'SMALLINT[]', 'DECIMAL(5,2)', 'VARCHAR')
    """
    element = element_of(kind)
    if element is not None:
        return f"{stored(element)}[]"
    if kind.oid == NUMERIC.oid and kind.scale is not None:
        return f"DECIMAL({kind.precision},{kind.scale})"
    return _HELD.get(kind.oid, "VARCHAR")
