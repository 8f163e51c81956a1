"""``$n`` in catalogue statements: their types, and their values put in as literals."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.errors import InvalidText, UndefinedParameter, Unsupported
from dpproxy.pgcatalog import casts
from dpproxy.pgcatalog.column_types import of_table
from dpproxy.pgcatalog.relations import TABLES
from dpproxy.pgcatalog.results import column_type
from dpproxy.pgtypes import (
    BOOL,
    BY_OID,
    CHAR,
    INT4,
    INT8,
    NAME,
    OID,
    PLAIN,
    TEXT,
    TEXTS,
    UNKNOWN,
    SqlType,
    element_of,
)
from dpproxy.wire.values import encode_value

_COLUMNS = {name: kind for table in TABLES.values() for name, kind in of_table(table).items()}
"""Catalogue columns' types by name alone: their prefixes keep most of them apart."""


def number(node: exp.Parameter) -> int:
    """N of ``$n``."""
    try:
        return int(node.name)
    except ValueError:
        raise Unsupported("only parameters of the form $1 are supported", position=position(node)) from None


def types(tree: exp.Expr, declared: Sequence[int]) -> tuple[SqlType, ...]:
    """Types of all parameters: the declared, else by what stands beside, else text."""
    found = {number(node): node for node in tree.find_all(exp.Parameter)}
    count = max(max(found, default=0), len(declared))
    return tuple(
        _one(found.get(n), declared[n - 1] if n <= len(declared) else 0) for n in range(1, count + 1)
    )


def _one(node: exp.Parameter | None, declared: int) -> SqlType:
    if declared and declared != UNKNOWN.oid:
        return BY_OID.get(declared, TEXT)
    return TEXT if node is None else _inferred(node)


def _inferred(node: exp.Parameter) -> SqlType:
    inner: exp.Expr = node
    while isinstance(inner.parent, exp.Paren):
        inner = inner.parent
    parent = inner.parent
    match parent:
        case exp.If():
            is_condition = inner.arg_key == "this" and not (parent.parent and parent.parent.args.get("this"))
            return BOOL if is_condition else TEXT
        case exp.Bracket():
            return INT4 if inner.arg_key == "expressions" else TEXT
        case exp.Cast(to=kind) if not isinstance(kind, exp.ObjectIdentifier) or kind.name.upper() == "OID":
            return casts.shown(kind) or column_type(casts.stored(kind))
        case exp.Limit() | exp.Offset():
            return INT8
        case exp.Anonymous():
            return _argument(parent, node)
        case _:
            return _PLACES.get(type(parent), _beside)(parent)


def _beside(parent: exp.Expr | None) -> SqlType:
    """The type of the column that it is compared with."""
    if not isinstance(parent, _COMPARED):
        return TEXT
    column = next((c for c in (parent.this, parent.expression) if isinstance(c, exp.Column)), None)
    return TEXT if column is None else _COLUMNS.get(column.name.lower(), TEXT)


_COMPARED = (exp.EQ, exp.NEQ, exp.In, exp.LT, exp.GT, exp.LTE, exp.GTE, exp.Between)
_PLACES: dict[type[exp.Expr] | type[None], Callable[[exp.Expr | None], SqlType]] = {
    **dict.fromkeys((exp.And, exp.Or, exp.Not, exp.Where), lambda _: BOOL),
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod), lambda _: INT4),
}
_ARGUMENTS: dict[str, tuple[SqlType, ...]] = {
    **dict.fromkeys(
        ("pg_get_constraintdef", "pg_get_ruledef", "pg_get_triggerdef", "pg_get_viewdef"), (OID, BOOL)
    ),
    **dict.fromkeys(
        ("pg_table_is_visible", "pg_type_is_visible", "pg_get_userbyid", "pg_get_partkeydef"), (OID,)
    ),
    "pg_get_indexdef": (OID, INT4, BOOL),
    "pg_get_expr": (TEXT, OID, BOOL),
    "format_type": (OID, INT4),
    "col_description": (OID, INT4),
    "obj_description": (OID, NAME),
    "shobj_description": (OID, NAME),
    "set_config": (TEXT, TEXT, BOOL),
}
"""What functions of the catalogue take; the others take texts, or anything."""


def _argument(call: exp.Anonymous, node: exp.Expr) -> SqlType:
    place = next(at for at, given in enumerate(call.expressions) if given.unnest() is node)
    return dict(enumerate(_ARGUMENTS.get(call.name.lower(), ()))).get(place, TEXT)


def put_in(tree: exp.Expr, kinds: Sequence[SqlType], values: Sequence[object] | None) -> None:
    """Replace each ``$n`` by its value; without values by a NULL of its type.

    A text is put in bare: like PostgreSQL's unknown literal, it takes the type of what stands beside it.
    """
    for node in list(tree.find_all(exp.Parameter)):
        at = number(node) - 1
        if not 0 <= at < len(kinds) or (values is not None and at >= len(values)):
            raise UndefinedParameter(f"there is no parameter ${at + 1}", position=position(node))
        node.replace(_literal(kinds[at], None if values is None else values[at]))


def _literal(kind: SqlType, value: object) -> exp.Expr:
    if value is None:
        return exp.Null() if kind.oid in TEXTS or kind.oid in _BARE else _typed(exp.Null(), kind)
    build = _LITERALS.get(type(value))
    if build is not None and kind.oid not in PLAIN:
        return build(value)
    written = encode_value(kind, value, 0) or b""
    return _typed(_text(written.decode()), kind)


def _typed(value: exp.Expr, kind: SqlType) -> exp.Expr:
    element = element_of(kind)
    return _cast(value, _NULLS.get((element or kind).name, "text") + "[]" * (element is not None))


_NULLS = {
    "bool": "boolean",
    "int2": "smallint",
    "int4": "int",
    "int8": "bigint",
    "oid": "bigint",
    "xid": "bigint",
    "float4": "real",
    "float8": "double precision",
    "date": "date",
    "time": "time",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
    "interval": "interval",
    "numeric": "numeric",
    "uuid": "uuid",
    "bytea": "bytea",
    "json": "json",
    "jsonb": "jsonb",
}
"""Casts for a value, by its type's name; the others are text."""
_BARE = frozenset({NAME.oid, CHAR.oid, UNKNOWN.oid})
"""Shown as text, and nothing else."""


def _cast(value: exp.Expr, kind: str) -> exp.Expr:
    return exp.Cast(this=value, to=exp.DataType.build(kind, dialect="postgres"))


def _text(value: object) -> exp.Expr:
    if "\0" in str(value):
        raise InvalidText("a text holds a zero byte")
    return exp.Literal.string(str(value))


def _number(value: object) -> exp.Expr:
    text = format(value, "f") if isinstance(value, Decimal) else str(value)
    literal: exp.Expr = exp.Literal.number(text.lstrip("-"))
    return exp.Paren(this=exp.Neg(this=literal)) if text.startswith("-") else literal


_LITERALS: dict[type, Callable[[Any], exp.Expr]] = {
    str: _text,
    bool: lambda value: exp.Boolean(this=value),
    int: _number,
    float: lambda value: _cast(_text(repr(value)), "double precision"),
    Decimal: _number,
    datetime: lambda value: _cast(_text(str(value)), "timestamp" if value.tzinfo is None else "timestamptz"),
    date: lambda value: _cast(_text(str(value)), "date"),
}
