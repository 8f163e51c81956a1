"""``$n`` in catalogue statements: their types, and their replacement by literals."""

from collections.abc import Callable, Sequence

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.pgcatalog.compiler import casts
from dpproxy.pgcatalog.compiler.kind_rules import note_kind, plain
from dpproxy.pgcatalog.fact_files import facts
from dpproxy.pgcatalog.relations import TABLES
from dpproxy.values.errors import InvalidText, UndefinedParameter, Unsupported
from dpproxy.values.pgtypes import (
    BOOL,
    BPCHAR,
    BY_OID,
    CHAR,
    INET,
    INT4,
    INT8,
    NAME,
    OBJECTS,
    TEXT,
    UNKNOWN,
    VARCHAR,
    SqlType,
)
from dpproxy.wire.values import encode_value

_COLUMNS = {name: kind for table in TABLES.values() for name, kind in table.types.items()}
"""Catalogue columns' types by name alone: their prefixes keep most of them apart."""


_DECLARED = {**BY_OID, INET.oid: INET, **{kind.oid: kind for kind in OBJECTS}}


def number(node: exp.Parameter) -> int:
    """N of ``$n``."""
    try:
        return int(node.name)
    except ValueError:
        raise Unsupported("only parameters of the form $1 are supported", position=position(node)) from None


def types(tree: exp.Expr, declared: Sequence[int]) -> tuple[SqlType, ...]:
    """The types of all parameters: declared, else those of what they are compared with, else text."""
    found = {number(node): node for node in tree.find_all(exp.Parameter)}
    count = max(max(found, default=0), len(declared))
    return tuple(
        _one(found.get(n), declared[n - 1] if n <= len(declared) else 0) for n in range(1, count + 1)
    )


def _one(node: exp.Parameter | None, declared: int) -> SqlType:
    if declared and declared != UNKNOWN.oid:
        return _DECLARED.get(declared, TEXT)
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
            return casts.named(kind)
        case exp.Limit() | exp.Offset():
            return INT8
        case exp.Anonymous():
            return _argument(parent, node)
        case _:
            return _PLACES.get(type(parent), _beside)(parent)


def _beside(parent: exp.Expr | None) -> SqlType:
    """The type of the column that a parameter is compared with."""
    if not isinstance(parent, _COMPARED):
        return TEXT
    column = next((c for c in (parent.this, parent.expression) if isinstance(c, exp.Column)), None)
    return TEXT if column is None else _COLUMNS.get(column.name.lower(), TEXT)


_COMPARED = (exp.EQ, exp.NEQ, exp.In, exp.LT, exp.GT, exp.LTE, exp.GTE, exp.Between)
_PLACES: dict[type[exp.Expr] | type[None], Callable[[exp.Expr | None], SqlType]] = {
    **dict.fromkeys((exp.And, exp.Or, exp.Not, exp.Where), lambda _: BOOL),
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod), lambda _: INT4),
}


def _argument(call: exp.Anonymous, node: exp.Expr) -> SqlType:
    """The type of a function's argument, text where several functions of the name take others."""
    place = next(at for at, given in enumerate(call.expressions) if given.unnest() is node)
    named = [row["proargtypes"] for row in facts("pg_proc") if row["proname"] == call.name.lower()]
    kinds = {taken[place] for taken in named if len(taken) == len(call.expressions)}
    return _DECLARED.get(kinds.pop(), TEXT) if len(kinds) == 1 else TEXT


def put_in(tree: exp.Expr, kinds: Sequence[SqlType], values: Sequence[object] | None) -> None:
    """Replace each ``$n`` by its value; without values by a NULL of its type.

    A text is inserted without a cast: like an unknown literal, it takes the type of what it is compared with. Other
    values are cast to their types, so that results have the described types.
    """
    for node in list(tree.find_all(exp.Parameter)):
        at = number(node) - 1
        if not 0 <= at < len(kinds) or (values is not None and at >= len(values)):
            raise UndefinedParameter(f"there is no parameter ${at + 1}", position=position(node))
        node.replace(_literal(kinds[at], None if values is None else values[at]))


def _literal(kind: SqlType, value: object) -> exp.Expr:
    if kind.oid in _BARE:
        made = exp.Null() if value is None else _text(value)
        note_kind(made, None if kind.oid in _OPEN else plain(kind))
        return made
    if kind.oid == INT4.oid and value is not None:
        return _number(value)
    inner = exp.Null() if value is None else _text(_literal_text(kind, value))
    return exp.Cast(this=inner, to=casts.written(kind.name))


_OPEN = frozenset({TEXT.oid, UNKNOWN.oid})
_BARE = _OPEN | {VARCHAR.oid, BPCHAR.oid, NAME.oid, CHAR.oid}
"""Texts, whose types are known of them where they are shown."""


def _literal_text(kind: SqlType, value: object) -> str:
    """As the type is read, by a cast."""
    if isinstance(value, str):
        return value
    return (encode_value(kind, value, 0) or b"").decode()


def _text(value: object) -> exp.Expr:
    if "\0" in str(value):
        raise InvalidText("a text holds a zero byte")
    return exp.Literal.string(str(value))


def _number(value: object) -> exp.Expr:
    text = str(value)
    literal: exp.Expr = exp.Literal.number(text.lstrip("-"))
    return exp.Paren(this=exp.Neg(this=literal)) if text.startswith("-") else literal
