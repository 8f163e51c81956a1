"""Casts that look an object up by its name, and columns that hold functions by theirs."""

import re
from collections.abc import Callable

from sqlglot import exp

from dpproxy.errors import Refusal, UndefinedFunction, UndefinedObject, UndefinedTable
from dpproxy.pgcatalog import casts, macros
from dpproxy.pgcatalog.calls import call, text

MISSING = "no such object"
"""How the engine's message begins where a literal names nothing; its kind and name follow."""
_KINDS: dict[str, tuple[str, type[Refusal]]] = {
    "class": ("relation", UndefinedTable),
    "type": ("type", UndefinedObject),
    "schema": ("schema", UndefinedObject),
    "role": ("role", UndefinedObject),
    "proc": ("function", UndefinedFunction),
    "procedure": ("function", UndefinedFunction),
}


def missing(message: str) -> Refusal | None:
    """What PostgreSQL says of a name that is nobody's; None where the message is about something else."""
    found = re.search(rf"{MISSING} (\w+): (.*)", message, re.DOTALL)
    if found is None:
        return None
    spoken, refusal = _KINDS[found[1]]
    return refusal(f'{spoken} "{found[2]}" does not exist')


_AS_TEXT = frozenset({"text", "varchar", "name", "char", "bpchar"})
_NUMBERED = (
    exp.EQ,
    exp.NEQ,
    exp.In,
    exp.LT,
    exp.GT,
    exp.LTE,
    exp.GTE,
    exp.Any,
    exp.NullSafeEQ,
    exp.NullSafeNEQ,
    exp.Anonymous,
)
"""What takes an OID."""
_PROCEDURES = frozenset({
    "prosupport", "typsubscript", "typinput", "typoutput", "typreceive", "typsend", "typmodin", "typmodout",
    "typanalyze", "amhandler",
})  # fmt: skip
"""Columns of functions, kept by name: a dash where there is none, which PostgreSQL numbers 0."""

Use = Callable[[str], None]
"""Told each macro that is used."""


def cast(node: exp.Cast, kind: str, use: Use) -> exp.Expr:
    """``x::regclass`` and its like: an OID where one is compared or cast on, a name where it is shown."""
    parent = node.parent
    while isinstance(parent, exp.Paren):
        parent = parent.parent
    is_number = isinstance(parent, _NUMBERED) or (
        isinstance(parent, exp.Cast) and casts.written_name(parent.to) not in _AS_TEXT
    )
    value: exp.Expr = node.this
    if is_procedure(value) and not is_number:
        return value
    use(f"to_{kind}")
    if isinstance(value, exp.Literal) and value.name == "-":
        value = text("0")
    found = call(f"{macros.PREFIX}to_{kind}", value)
    if isinstance(value, exp.Literal) and value.is_string:
        found = call("coalesce", found, call("error", text(f"{MISSING} {kind}: {value.name}")))
    if is_number:
        return found
    use(f"{kind}_name")
    return call(f"{macros.PREFIX}{kind}_name", found)


def of_array(node: exp.Expr, name: str, use: Use) -> exp.Expr:
    """A column of OIDs by the objects' names, cast to ``_regtype`` or its like."""
    if name == "_regtype":
        use("type_array")
        return call(f"{macros.PREFIX}type_array", node)
    # Of the others every array in the catalogue is empty.
    return exp.Cast(this=node, to=exp.DataType.build("VARCHAR[]", dialect="duckdb"))


def is_procedure(node: object) -> bool:
    """A column of functions."""
    return isinstance(node, exp.Column) and node.name in _PROCEDURES


def function_oid(node: exp.Expr, use: Use) -> exp.Expr:
    """What stands in such a column, as a number."""
    use("to_proc")
    return call(f"{macros.PREFIX}to_proc", node)
