"""Functions that PostgreSQL has and few ask for.

Most stand only where nothing is private: over released rows, over public tables, and without FROM. Beside rows of
people they are refused: nobody has shown there that no row can make one fail, or how long its text can be.
"""

import math
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.arithmetic import common_type, require_numbers
from dpproxy.analysis.literals import from_value, settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.spans import undefined
from dpproxy.analysis.texts import check_length, constant_place, written_bare
from dpproxy.analysis.typed import Typed, as_double, inexact, null, number
from dpproxy.values.errors import UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import FLOAT8, INT2, INT4, INTEGERS, TEXT, TEXTS, SqlType

Rule = Callable[[Any, list[Typed], Scope], Typed]


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


def backwards(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """REVERSE."""
    value = _of_text(node, arguments[0], scope)
    return Typed(duck.call("reverse", value.sql), TEXT, nullable=value.nullable, longest=value.longest)


def joined(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """CONCAT_WS: what is NULL is left out, and its separator."""
    separator, *values = [written_bare(settle(a, TEXT, scope, node), scope) for a in arguments]
    if not values or any(v.type.oid not in TEXTS for v in (separator, *values)):
        raise UndefinedFunction("concat_ws does not take values of these types")
    if separator.is_null:
        return null(TEXT)
    sql = duck.call("concat_ws", separator.sql, *(v.sql for v in values))
    lengths = [v.longest for value in values for v in (separator, value) if v.longest is not None]
    longest = sum(lengths) if len(lengths) == 2 * len(values) else None
    check_length(longest)
    return Typed(sql, TEXT, nullable=separator.nullable, longest=longest)


def character(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """CHR of a constant: the character with that number, a constant."""
    values = [settle(a, INT4, scope, node) for a in arguments]
    if len(values) != 1 or values[0].type.oid not in (INT2.oid, INT4.oid):
        shown = ", ".join(v.type.shown for v in values)
        raise UndefinedFunction(f"function chr({shown}) does not exist")
    [value] = values
    if value.is_null:
        return null(TEXT)
    if value.parameter is not None and not value.is_constant:  # its value is not known yet
        return replace(null(TEXT), is_constant=False, parameter=value.parameter)
    number = value.constant if isinstance(value.constant, int) else 0
    if not 0 < number <= sys.maxunicode or 0xD800 <= number < 0xE000:
        raise Unsupported("chr takes the number of a character", hint="Write chr(65).")
    return from_value(chr(number), TEXT)


def bits(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """``&`` and ``|`` of whole numbers."""
    left, right = arguments
    a = settle(left, right.type if right.is_integer else INT4, scope, node)
    b = settle(right, a.type if a.is_integer else INT4, scope, node)
    sign = duck.OPERATORS[type(node)]
    if not (a.type.oid in INTEGERS and b.type.oid in INTEGERS):
        raise undefined(node, a, b)
    sides = [duck.cast(v.sql, "BIGINT") for v in (a, b)]
    sql = nodes.Paren(nodes.Binary(sign, *sides))
    return Typed(sql, common_type(a.type, b.type), 0, nullable=a.nullable or b.nullable)


def exclusive(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """``#``: the bits that one of two whole numbers has."""
    value = bits(exp.BitwiseOr(**node.args), arguments, scope)
    sides = [duck.cast(v.sql, "BIGINT") for v in (settle(a, value.type, scope, node) for a in arguments)]
    return replace(value, sql=duck.call("xor", *sides))


def opposite(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """``~``: every bit turned over."""
    value = settle(arguments[0], INT4, scope, node)
    if value.type.oid not in INTEGERS:
        raise UndefinedFunction(f"operator does not exist: ~ {value.type.shown}", position=position(node))
    sql = duck.binary("-", duck.integer(-1), duck.cast(value.sql, "HUGEINT"))
    return Typed(sql, replace(value.type, modifier=-1), 0, nullable=value.nullable)


def of_doubles(name: str) -> Rule:
    """A function of double precision that the engine has under the same name."""

    def apply(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
        values = [settle(a, FLOAT8, scope, node) for a in arguments]
        require_numbers(name, *values)
        sql = duck.call(name, *map(as_double, values))
        return inexact(sql, FLOAT8, None, None, nullable=any(v.nullable for v in values))

    return apply


def pi(_node: exp.Expr, _arguments: list[Typed], _scope: Scope) -> Typed:
    """PI()."""
    return number(Fraction(math.pi), float_type=FLOAT8)


def counted(name: str, factor: int = 1) -> Rule:
    """So many times a number of a text."""

    def apply(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
        value = _of_text(node, arguments[0], scope)
        sql = duck.binary("*", duck.call(name, value.sql), duck.integer(factor))
        most = Fraction(sys.maxunicode) if factor == 1 else None
        return Typed(sql, INT4, 0, Fraction(0), most, value.nullable)

    return apply


def repeated(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """REPEAT(x, n), of a constant number."""
    value, count = (
        _of_text(node, arguments[0], scope),
        max(constant_place(node, "repeat", arguments[1], scope), 0),
    )
    longest = None if value.longest is None else value.longest * count
    if longest is None:
        raise Unsupported(
            "repeat takes a text whose length is bounded",
            hint="Write repeat(CAST(x AS varchar(20)), 2).",
            position=position(node),
        )
    check_length(longest)
    sql = duck.call("repeat", value.sql, duck.integer(count))
    return Typed(sql, TEXT, nullable=value.nullable, longest=longest)


def padded(node: exp.Pad, arguments: list[Typed], scope: Scope) -> Typed:
    """LPAD and RPAD to a constant length, with the characters of a constant."""
    name = "lpad" if node.args.get("is_left") else "rpad"
    value, size = _of_text(node, arguments[0], scope), max(constant_place(node, name, arguments[1], scope), 0)
    fill = _of_text(node, arguments[2], scope) if len(arguments) > 2 else from_value(" ", TEXT)
    if fill.parameter is None and not fill.constant:
        raise Unsupported(f"{name} takes constant characters", position=position(node))
    check_length(size)
    sql = duck.call(name, value.sql, duck.integer(size), fill.sql)
    return Typed(sql, TEXT, nullable=value.nullable, longest=size)


def capitalized(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """INITCAP: the first of the letters and digits that stand together in upper case, the others in lower case."""
    value = _of_text(node, arguments[0], scope)
    sql = nodes.Formula(WORDS, (value.sql,))
    return Typed(sql, TEXT, nullable=value.nullable, longest=value.longest)


WORDS: Final = (
    "array_to_string(list_transform(regexp_extract_all(lower(",
    "), '[\\p{L}\\p{N}]+|[^\\p{L}\\p{N}]+'), lambda w: upper(left(w, 1)) || substring(w, 2)), '')",
)


def _of_text(node: exp.Expr, argument: Typed, scope: Scope) -> Typed:
    value = settle(argument, TEXT, scope, node)
    if value.type.oid not in TEXTS:
        name = type(node).__name__.lower()
        raise UndefinedFunction(f"function {name}({value.type.shown}) does not exist")
    return value
