"""Functions of one value, by allow-list: each line says why no row can make it fail."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.arithmetic import divided, require_numbers, rounded
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed, as_double, inexact
from dpproxy.errors import UndefinedFunction, Unsupported
from dpproxy.pgtypes import FLOAT8, INT4, NUMERIC, TEXT, TEXTS

Rule = Callable[[Any, list[Typed], Scope], Typed]


@dataclass(frozen=True, slots=True)
class Function:
    """One allowed function; ``reason`` says why it is total (no argument makes it raise)."""

    rule: Rule
    reason: str

    def __call__(self, node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
        return self.rule(node, arguments, scope)


def _number(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    value = settle(arguments[0], NUMERIC, scope, node)
    require_numbers(node, type(node).__name__.lower(), value)
    return value


def _abs(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    value = _number(node, arguments, scope)
    high = value.magnitude
    spans_zero = value.low is None or value.high is None or value.low <= 0 <= value.high
    low = Fraction(0) if spans_zero else min(abs(value.low or Fraction(0)), abs(value.high or Fraction(0)))
    operand = value.sql if value.scale is None else duck.cast(value.sql, "HUGEINT")
    kind = replace(value.type, modifier=-1)
    return replace(value, sql=duck.call("abs", operand), type=kind, low=low, high=high, is_constant=False)


def _sign(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    value = _number(node, arguments, scope)
    sign, low, high = duck.call("sign", value.sql), Fraction(-1), Fraction(1)
    if value.scale is None:
        return inexact(duck.cast(sign, "DOUBLE"), FLOAT8, low, high, nullable=value.nullable)
    return Typed(sign, NUMERIC, 0, low, high, value.nullable)


def _whole(name: str) -> Rule:
    """FLOOR or CEIL: of exact numbers by whole numbers, of others by the engine."""
    pick = math.floor if name == "floor" else math.ceil

    def apply(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
        if len(arguments) > 1:
            raise UndefinedFunction(f"{name} takes one number", position=position(node))
        value = _number(node, arguments, scope)
        if value.scale == 0:
            return value
        low, high = (None if b is None else Fraction(pick(b)) for b in (value.low, value.high))
        if value.scale is None:
            return inexact(duck.call(name, value.sql), value.type, low, high, nullable=value.nullable)
        rest = 10**value.scale - 1
        sql = divided(value, value.scale, *((-rest, 0) if name == "floor" else (0, rest)))
        return Typed(sql, NUMERIC, 0, low, high, value.nullable, presence=value.presence)

    return apply


def _round(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    value = _number(node, arguments, scope)
    digits = _digits(node, arguments[1]) if len(arguments) > 1 else 0
    if value.scale is not None:
        return rounded(value, digits, value.type if value.is_integer else NUMERIC)
    step = Fraction(10) ** -digits
    low = None if value.low is None else value.low - step
    high = None if value.high is None else value.high + step
    sql = duck.call("round", value.sql, duck.integer(digits))
    return inexact(sql, value.type, low, high, nullable=value.nullable)


def _digits(node: exp.Expr, digits: Typed) -> int:
    if digits.parameter is not None:  # its value is not known yet
        return 0
    if not digits.is_integer or not isinstance(digits.constant, int) or not -15 <= digits.constant <= 15:
        raise Unsupported("round takes a constant number of digits, -15 to 15", position=position(node))
    return digits.constant


def _root(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    value = _number(node, arguments, scope)
    high = None if value.magnitude is None else Fraction(math.isqrt(math.ceil(value.magnitude)) + 1)
    return inexact(duck.call("sqrt", as_double(value)), FLOAT8, Fraction(0), high, nullable=value.nullable)


def _logarithm(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    value = _number(node, arguments, scope)
    low = high = None
    if value.low is not None and value.high is not None and float(value.low) > 0:
        low, high = Fraction(math.log(value.low)) - 1, Fraction(math.log(value.high)) + 1
    return inexact(duck.call("ln", as_double(value)), FLOAT8, low, high, nullable=value.nullable)


def _exponential(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    value = _number(node, arguments, scope)
    low, high = Fraction(0), None
    if value.high is not None and value.high < 700:
        high = Fraction(math.exp(value.high)) * Fraction(1001, 1000)
    return inexact(duck.call("exp", as_double(value)), FLOAT8, low, high, nullable=value.nullable)


def _text(name: str) -> Rule:
    def apply(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
        value = settle(arguments[0], TEXT, scope, node)
        extra = {k for k, v in node.args.items() if v} - {"this", "binary", "encoding"}
        if value.type.oid not in TEXTS or extra:
            raise UndefinedFunction(
                f"function {name}({value.type.name}) does not exist", position=position(node)
            )
        more = [exp.Literal.string(" ")] if name == "trim" else []
        sql = duck.call(name, value.sql, *more)
        return Typed(sql, TEXT, nullable=value.nullable, longest=value.longest)

    return apply


def _length(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    value = _text("length")(node, arguments, scope)
    longest = 2**31 - 1 if value.longest is None else value.longest
    return Typed(value.sql, INT4, 0, Fraction(0), Fraction(longest), value.nullable)


FUNCTIONS: dict[type[exp.Expr], Function] = {
    exp.Abs: Function(_abs, "of HUGEINT or DOUBLE; the least HUGEINT is outside every bound"),
    exp.Sign: Function(_sign, "every number has a sign"),
    exp.Floor: Function(_whole("floor"), "of exact numbers in 128 bits, or DOUBLE to DOUBLE"),
    exp.Ceil: Function(_whole("ceil"), "of exact numbers in 128 bits, or DOUBLE to DOUBLE"),
    exp.Round: Function(_round, "of exact numbers in 128 bits; of DOUBLE with a constant number of digits"),
    exp.Sqrt: Function(_root, "DOUBLE to DOUBLE; NaN below zero, which counts as above the upper bound"),
    exp.Ln: Function(
        _logarithm, "DOUBLE to DOUBLE; -infinity at zero and NaN below, which the argument's clamp removes"
    ),
    exp.Exp: Function(_exponential, "DOUBLE overflow is infinity, which the argument's clamp removes"),
    exp.Lower: Function(_text("lower"), "total on text"),
    exp.Upper: Function(_text("upper"), "total on text"),
    exp.Trim: Function(_text("trim"), "total on text"),
    exp.Length: Function(_length, "total on text"),
}
