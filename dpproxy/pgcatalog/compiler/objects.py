"""Casts between objects' names and OIDs, and columns that store functions by name."""

import re

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.pgcatalog.compiler import macros, results
from dpproxy.pgcatalog.compiler.kind_rules import kind_of
from dpproxy.pgcatalog.compiler.trees import call, oid, text
from dpproxy.pgcatalog.table import PROCEDURE
from dpproxy.values.errors import (
    Refusal,
    UndefinedFunction,
    UndefinedObject,
    UndefinedSchema,
    UndefinedTable,
    Unsupported,
)
from dpproxy.values.pgtypes import SqlType

MISSING = "no such object"
"""The beginning of the engine's message for a name without an object; kind and name follow."""
_KINDS: dict[str, tuple[str, type[Refusal]]] = {
    "class": ("relation", UndefinedTable),
    "type": ("type", UndefinedObject),
    "schema": ("schema", UndefinedSchema),
    "role": ("role", UndefinedObject),
    "proc": ("function", UndefinedFunction),
    "procedure": ("function", UndefinedFunction),
}

_ELSEWHERE = """
anycompatiblemultirange anycompatiblenonarray anycompatiblerange anyenum anymultirange anyrange bit box cid circle
datemultirange daterange fdw_handler gtsvector index_am_handler int4multirange int4range int8multirange int8range
jsonpath line lseg macaddr macaddr8 money nummultirange numrange path pg_brin_bloom_summary
pg_brin_minmax_multi_summary pg_ddl_command pg_dependencies pg_lsn pg_mcv_list pg_ndistinct pg_snapshot polygon
refcursor regconfig regdictionary regoper regoperator table_am_handler tid tsm_handler tsmultirange tsquery tsrange
tstzmultirange tstzrange tsvector txid_snapshot varbit xid8
"""
ELSEWHERE = frozenset(_ELSEWHERE.split())
"""Types of PostgreSQL 15 that do not exist here: casts of their names are NULL, not errors."""


def missing(message: str) -> Refusal | None:
    """PostgreSQL's refusal for an unknown name; None where the message is about something else."""
    found = re.search(rf"{MISSING} (\w+): (.*)", message, re.DOTALL)
    if found is None:
        return None
    spoken, refusal = _KINDS[found[1]]
    return refusal(f'{spoken} "{found[2]}" does not exist')


def cast(node: exp.Cast, kind: str) -> exp.Expr:
    """``x::regclass`` and the like: an object's OID; columns of functions keep names."""
    return node.this if kind == "proc" and is_procedure(node.this) else number_of(node.this, kind)


def number_of(value: exp.Expr, kind: str) -> exp.Expr:
    """The OID of an object, given its name or OID."""
    if isinstance(value, exp.Literal) and value.name == "-":
        value = text("0")
    made = call(f"{macros.PREFIX}to_{kind}", value)
    is_named = isinstance(value, exp.Literal) and value.is_string
    if is_named and not (kind == "type" and _is_elsewhere(value.name)):
        return call("coalesce", made, call("error", text(f"{MISSING} {kind}: {value.name}")))
    return made


def _is_elsewhere(name: str) -> bool:
    *schema, own = name.split(".")
    return schema in ([], ["pg_catalog"]) and own in ELSEWHERE


def of_kind(kind: SqlType | None) -> str | None:
    """The kind of object that a number of a type refers to, in the macros' words; None for other types."""
    return None if kind is None or kind == PROCEDURE else results.OBJECTS.get(kind.name)


def name_of(value: exp.Expr, kind: str) -> exp.Expr:
    """The name of an object, given its OID."""
    return call(f"{macros.PREFIX}{kind}_name", value)


def comparison(node: exp.Expr) -> exp.Expr:
    """A comparison in which names compared with objects are looked up."""
    sides = [side for side in (node.this, node.args.get("expression"), *node.expressions) if side is not None]
    kind = next((word for side in sides if (word := of_kind(kind_of(side))) is not None), None)
    if kind is not None:
        for side in sides:
            if isinstance(side, exp.Literal) and side.is_string:
                side.replace(number_of(side.copy(), kind))
    return node


_PRIVILEGES = {
    "has_any_column_privilege": ("class", -2),
    "has_column_privilege": ("class", -3),
    "has_schema_privilege": ("schema", -2),
    "has_table_privilege": ("class", -2),
}
"""Privilege functions: the kind of object, and the position of that argument."""


def with_existence(node: exp.Anonymous, made: exp.Expr) -> exp.Expr:
    """``made``, with an error where a name in a literal does not exist."""
    kind, place = _PRIVILEGES.get(node.name.lower(), ("", 0))
    given = node.expressions[place] if kind and len(node.expressions) >= -place else None
    if not isinstance(given, exp.Literal) or not given.is_string:
        return made
    nothing = exp.Is(this=number_of(given.copy(), kind), expression=exp.Null())
    return exp.Case(ifs=[exp.If(this=nothing, true=exp.Null())], default=made)


def is_procedure(node: exp.Expr | None) -> bool:
    """Whether an expression is a function by its name, as columns hold them."""
    return kind_of(node) == PROCEDURE


def function_oid(node: exp.Expr) -> exp.Expr:
    """The OID of a function in such a column."""
    return call(f"{macros.PREFIX}to_proc", node)


def type_of(node: exp.Anonymous) -> exp.Expr:
    """``pg_typeof(x)``: the OID of a type."""
    given = node.expressions[0]
    kind = kind_of(given)
    if kind is None:
        raise Unsupported("the type of this expression is not known here", position=position(node))
    number = oid(kind.oid)
    if isinstance(given, exp.Literal | exp.Null):
        return number
    # What is asked about stays in the statement: it may be an aggregate.
    return exp.Case(
        ifs=[exp.If(this=exp.Is(this=given, expression=exp.Null()), true=number)], default=number.copy()
    )
