"""Casts that look an object up by its name, and columns that hold functions by theirs."""

import re
from collections.abc import Callable

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.pgcatalog import macros, results
from dpproxy.pgcatalog.calls import call, text
from dpproxy.pgcatalog.column_types import PROCEDURES
from dpproxy.pgcatalog.kind_rules import kind_of
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
"""How the engine's message begins where a literal names nothing; its kind and name follow."""
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
"""Types of PostgreSQL 15 that nothing here has: their names have no number, and are no mistake of who asks."""


def missing(message: str) -> Refusal | None:
    """What PostgreSQL says of a name that is nobody's; None where the message is about something else."""
    found = re.search(rf"{MISSING} (\w+): (.*)", message, re.DOTALL)
    if found is None:
        return None
    spoken, refusal = _KINDS[found[1]]
    return refusal(f'{spoken} "{found[2]}" does not exist')


Use = Callable[[str], None]
"""Told each macro that is used."""


def cast(node: exp.Cast, kind: str, use: Use) -> exp.Expr:
    """``x::regclass`` and its like: the number of an object; a column of functions keeps their names."""
    return node.this if kind == "proc" and is_procedure(node.this) else number_of(node.this, kind, use)


def number_of(value: exp.Expr, kind: str, use: Use) -> exp.Expr:
    """The number of an object by its name, or by its number."""
    use(f"to_{kind}")
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
    """The macros' word for the objects that a type numbers; None for every other type."""
    return None if kind is None else results.OBJECTS.get(kind.name)


def name_of(value: exp.Expr, kind: str, use: Use) -> exp.Expr:
    """The name of an object."""
    use(f"{kind}_name")
    return call(f"{macros.PREFIX}{kind}_name", value)


def comparison(node: exp.Expr, use: Use) -> exp.Expr:
    """A comparison: the names beside objects are looked up."""
    sides = [side for side in (node.this, node.args.get("expression"), *node.expressions) if side is not None]
    kind = next((word for side in sides if (word := of_kind(kind_of(side))) is not None), None)
    if kind is not None:
        for side in sides:
            if isinstance(side, exp.Literal) and side.is_string:
                side.replace(number_of(side.copy(), kind, use))
    return node


_PRIVILEGES = {
    "has_any_column_privilege": ("class", -2),
    "has_column_privilege": ("class", -3),
    "has_schema_privilege": ("schema", -2),
    "has_table_privilege": ("class", -2),
}
"""Questions about privileges: what is asked of, and its place among the arguments."""


def with_existence(node: exp.Anonymous, made: exp.Expr, use: Use) -> exp.Expr:
    """The answer ``made``, where what a literal names exists."""
    kind, place = _PRIVILEGES.get(node.name.lower(), ("", 0))
    given = node.expressions[place] if kind and len(node.expressions) >= -place else None
    if not isinstance(given, exp.Literal) or not given.is_string:
        return made
    nothing = exp.Is(this=number_of(given.copy(), kind, use), expression=exp.Null())
    return exp.Case(ifs=[exp.If(this=nothing, true=exp.Null())], default=made)


def is_procedure(node: object) -> bool:
    """A column of functions."""
    return isinstance(node, exp.Column) and node.name in PROCEDURES


def function_oid(node: exp.Expr, use: Use) -> exp.Expr:
    """What stands in such a column, as a number."""
    use("to_proc")
    return call(f"{macros.PREFIX}to_proc", node)


def type_of(node: exp.Anonymous, use: Use) -> exp.Expr:
    """``pg_typeof(x)``: the number of a type."""
    given = node.expressions[0]
    kind = kind_of(given)
    if kind is None:
        raise Unsupported("the type of this expression is not known here", position=position(node))
    use("type_name")
    number = exp.Cast(this=exp.Literal.number(kind.oid), to=exp.DataType.build("UINTEGER", dialect="duckdb"))
    if isinstance(given, exp.Literal | exp.Null):
        return number
    # What is asked about stays in the statement: it may be an aggregate.
    return exp.Case(
        ifs=[exp.If(this=exp.Is(this=given, expression=exp.Null()), true=number)], default=number.copy()
    )
