"""Casts in statements about the catalogue."""

from collections.abc import Mapping

from sqlglot import exp

from dpproxy.analysis.titles import written_name
from dpproxy.pgcatalog.compiler import arrays, casts, macros, numbers, objects, results, texts
from dpproxy.pgcatalog.compiler.kind_rules import KnownType, kind_of
from dpproxy.pgcatalog.compiler.trees import call, text
from dpproxy.pgcatalog.compiler.trees import cast as cast_to
from dpproxy.values.errors import UndefinedFunction
from dpproxy.values.pgtypes import BPCHAR, CHAR, FLOAT4, FLOATS, INTEGERS, VARCHAR, SqlType, element_of


def cast(node: exp.Expr, settings: Mapping[str, str]) -> exp.Expr:
    """A cast as the engine's.

    Raises:
        Refusal: a type that is not on the list, or a literal that does not read as it.
    """
    if not isinstance(node, exp.Cast):
        return node
    name = written_name(node.to)
    if name in results.OBJECTS:
        return objects.cast(node, results.OBJECTS[name])
    shown, source = casts.named(node.to), kind_of(node.this)
    stored = casts.stored(shown)
    if stored.startswith("VARCHAR") and (named := _of_objects(node.this, source, stored)) is not None:
        return named
    if stored == "UINTEGER" and objects.is_procedure(node.this):
        return objects.function_oid(node.this)
    if (made := _constant(node, shown, settings)) is not None:
        return made
    if stored == "VARCHAR":
        return _sized(_to_text(node, source, shown), shown)
    if stored == casts.DECIMAL:
        return _numeric(node.this, source)
    return cast_to(node.this, arrays.deep(node.this, stored))


def _constant(node: exp.Cast, kind: SqlType, settings: Mapping[str, str]) -> exp.Expr | None:
    """A cast of a quoted literal, or of each element of an array; None for other values."""
    made = arrays.constant(node, kind, settings)
    if made is None:
        made = arrays.elements(node, casts.stored(kind), lambda element: cast(element, settings))
    return made


def _of_objects(value: exp.Expr, source: KnownType, stored: str) -> exp.Expr | None:
    """A cast of object names or vectors to text; None for other values."""
    if stored == "VARCHAR" and arrays.is_vector(value):
        return call("array_to_string", value, text(" "))
    element = None if source is None else element_of(source)
    if stored == "VARCHAR[]" and element is not None and element.name == "regtype":
        return call(f"{macros.PREFIX}type_array", value)
    return None


def _to_text(node: exp.Cast, source: KnownType, shown: SqlType) -> exp.Expr:
    value: exp.Expr = node.this
    if shown == CHAR and source is not None and source.oid in INTEGERS:
        raise UndefinedFunction('a number is not cast to type "char" here')
    if isinstance(value, exp.Null) or (isinstance(value, exp.Literal) and value.is_string):
        return cast_to(value, "VARCHAR")
    return texts.as_text(value)


def _sized(value: exp.Expr, shown: SqlType) -> exp.Expr:
    """A cast that truncates to the type's length; trailing blanks of a ``character`` are insignificant."""
    if shown.modifier < 0 or shown.oid not in (VARCHAR.oid, BPCHAR.oid):
        return call("rtrim", value, text(" ")) if shown == BPCHAR else value
    cut = call("left", value, exp.Literal.number(shown.modifier - 4))
    return call("rtrim", cut, text(" ")) if shown.oid == BPCHAR.oid else cut


def _numeric(value: exp.Expr, source: KnownType) -> exp.Expr:
    """A cast to numeric without precision: 15 digits of a float, 6 of a real, all of another number."""
    if source is not None and source.oid in FLOATS:
        return call(f"{macros.PREFIX}{'float4' if source.oid == FLOAT4.oid else 'float8'}_digits", value)
    if source is not None and source.name == "numeric" and not isinstance(value, exp.Literal):
        return value
    return cast_to(value, numbers.decimal_of(value, source) or casts.DECIMAL)
