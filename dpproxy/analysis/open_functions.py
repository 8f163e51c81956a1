"""Functions that stand only where nothing is private: over released rows, over public tables, and without FROM.

They are compiled as PostgreSQL types them. Beside rows of people they are refused: nobody has shown there that no row
can make one fail, or how long its text can be.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.arithmetic import common_type
from dpproxy.analysis.literals import from_value, settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Level, Scope
from dpproxy.analysis.texts import written_bare
from dpproxy.analysis.typed import Typed, null
from dpproxy.values.errors import InvalidParameter, UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import INT2, INT4, INTEGERS, TEXT, TEXTS, SqlType

Rule = Callable[[Any, list[Typed], Scope], Typed]


def only_open(name: str, rule: Rule) -> Rule:
    """A rule that is refused beside rows of people."""

    def apply(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
        if scope.level is Level.ROW:
            raise Unsupported(
                f"{name} is not computed of rows of people",
                hint="Compare with =, IN or LIKE. It is answered over public tables and released values.",
                position=position(node),
            )
        return rule(node, arguments, scope)

    return apply


def of_texts(name: str, kinds: Sequence[SqlType] = (TEXT,)) -> Rule:
    """A function of texts and whole numbers that gives a text, and that the engine has under the same name."""

    def apply(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
        values = [settle(a, k, scope, node) for a, k in zip(arguments, kinds, strict=True)]
        if not all(_is_of(v, k) for v, k in zip(values, kinds, strict=True)):
            shown = ", ".join(v.type.shown for v in values)
            raise UndefinedFunction(f"function {name}({shown}) does not exist", position=position(node))
        sql = duck.call(name, *(v.sql for v in values))
        return Typed(sql, TEXT, nullable=any(v.nullable for v in values))

    return apply


def _is_of(value: Typed, kind: SqlType) -> bool:
    return value.type.oid in (TEXTS if kind is TEXT else INTEGERS)


def split_part(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """SPLIT_PART(text, separator, n): the nth part, from the end where n is below zero."""
    if arguments[2].constant == 0 and arguments[2].is_constant:
        raise InvalidParameter("field position must not be zero", position=position(node))
    return of_texts("split_part", (TEXT, TEXT, INT4))(node, arguments, scope)


def joined(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """CONCAT_WS: what is NULL is left out, and its separator."""
    separator, *values = [written_bare(settle(a, TEXT, scope, node), scope) for a in arguments]
    if any(v.type.oid not in TEXTS for v in (separator, *values)):
        raise UndefinedFunction("concat_ws does not take values of these types", position=position(node))
    if separator.is_null:
        return null(TEXT)
    sql = duck.call("concat_ws", separator.sql, *(v.sql for v in values))
    return Typed(sql, TEXT, nullable=separator.nullable)


def character(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """CHR of a constant: the character with that number, a constant."""
    values = [settle(a, INT4, scope, node) for a in arguments]
    if len(values) != 1 or values[0].type.oid not in (INT2.oid, INT4.oid):
        shown = ", ".join(v.type.shown for v in values)
        raise UndefinedFunction(f"function chr({shown}) does not exist", position=position(node))
    [value] = values
    if value.is_null:
        return null(TEXT)
    if value.parameter is not None and not value.is_constant:  # its value is not known yet
        return replace(null(TEXT), is_constant=False, parameter=value.parameter)
    number = value.constant if isinstance(value.constant, int) else 0
    if not 0 < number <= sys.maxunicode or 0xD800 <= number < 0xE000:
        raise Unsupported(
            "chr takes the number of a character", hint="Write chr(65).", position=position(node)
        )
    return from_value(chr(number), TEXT)


def bits(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """``&`` and ``|`` of whole numbers."""
    left, right = arguments
    a = settle(left, right.type if right.is_integer else INT4, scope, node)
    b = settle(right, a.type if a.is_integer else INT4, scope, node)
    sign = duck.OPERATORS[type(node)]
    if not (a.type.oid in INTEGERS and b.type.oid in INTEGERS):
        raise UndefinedFunction(
            f"operator does not exist: {a.type.shown} {sign} {b.type.shown}", position=position(node)
        )
    sides = [duck.cast(v.sql, "BIGINT") for v in (a, b)]
    sql = nodes.Paren(nodes.Binary(sign, *sides))
    return Typed(sql, common_type(a.type, b.type), 0, nullable=a.nullable or b.nullable)
