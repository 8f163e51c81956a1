"""Functions of text, in characters: total, and no longer than the declared values let them be."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.casts import as_text
from dpproxy.analysis.image import image
from dpproxy.analysis.literals import LONGEST_LITERAL, from_value, settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import ExpressionLevel, Scope
from dpproxy.analysis.typed import Typed, boolean, null
from dpproxy.values.errors import (
    InvalidParameter,
    NegativeLength,
    TooComplex,
    UndefinedFunction,
    Unsupported,
)
from dpproxy.values.pgtypes import BOOL, INT4, INTEGERS, TEXT, TEXTS

Rule = Callable[[Any, list[Typed], Scope], Typed]

LONGEST_TEXT = 2_000
"""Characters that a text put together may have: what one row costs is bounded."""
_SIDES = {"LEADING": "ltrim", "TRAILING": "rtrim", "BOTH": "trim", None: "trim"}
_UNKNOWN_LENGTH = 2**31 - 1


def check_length(longest: int | None) -> None:
    """Raise ``TooComplex`` for a text that could be too long."""
    if longest is not None and longest > LONGEST_TEXT:
        raise TooComplex(f"the text could be longer than {LONGEST_TEXT} characters")


def _texts(node: exp.Expr, name: str, arguments: list[Typed], scope: Scope) -> list[Typed]:
    values = [settle(a, TEXT, scope, node) for a in arguments]
    if any(v.type.oid not in TEXTS for v in values):
        kinds = ", ".join(v.type.name for v in values)
        raise UndefinedFunction(f"function {name}({kinds}) does not exist", hint="It takes text.")
    return values


def case_mapped(name: str) -> Rule:
    """LOWER and UPPER: one character for one. Of a constant a constant, which LIKE takes as a pattern."""

    def apply(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
        [value] = _texts(node, name, arguments, scope)
        if value.parameter is not None and not value.is_constant:  # its value is not known yet
            return replace(null(TEXT), is_constant=False, parameter=value.parameter)
        if isinstance(value.constant, str):
            [mapped] = image(duck.text(duck.call(name, value.sql)), ())
            return from_value(mapped, TEXT)
        return Typed(duck.call(name, value.sql), TEXT, nullable=value.nullable, longest=value.longest)

    return apply


def trim(node: exp.Trim, arguments: list[Typed], scope: Scope) -> Typed:
    """TRIM, LTRIM, RTRIM, BTRIM: of spaces, or of the characters of a constant."""
    name = _SIDES[node.args.get("position")]
    value, *characters = _texts(node, name, arguments, scope)
    if characters and not (characters[0].is_constant or characters[0].parameter is not None):
        raise Unsupported(f"{name} takes constant characters")
    removed = characters[0] if characters else None
    _spend(scope, node, value, removed)
    sql = duck.call(name, value.sql, nodes.Text(" ") if removed is None else removed.sql)
    nullable = value.nullable or (removed is not None and removed.nullable)
    return Typed(sql, TEXT, nullable=nullable, longest=value.longest)


def length(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """LENGTH, in characters."""
    [value] = _texts(node, "length", arguments, scope)
    longest = _UNKNOWN_LENGTH if value.longest is None else value.longest
    return Typed(duck.call("length", value.sql), INT4, 0, Fraction(0), Fraction(longest), value.nullable)


def substring(node: exp.Substring, arguments: list[Typed], scope: Scope) -> Typed:
    """SUBSTRING(x FROM start FOR length): what stands before the first character counts, and is empty."""
    [value] = _texts(node, "substring", arguments[:1], scope)
    start, *rest = [constant_place(node, "substring", a, scope) for a in arguments[1:]]
    if rest and rest[0] < 0:
        raise NegativeLength("negative substring length not allowed")
    end = _UNKNOWN_LENGTH if not rest else start + rest[0]
    start = max(start, 1)
    size = max(end - start, 0)
    sql = duck.call("substring", value.sql, duck.integer(start), duck.integer(size))
    longest = _at_most(value, size) if rest else value.longest
    return Typed(sql, TEXT, nullable=value.nullable, longest=longest)


def end_of(name: str) -> Rule:
    """LEFT and RIGHT: so many characters, or all but so many."""

    def apply(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
        [value] = _texts(node, name, arguments[:1], scope)
        count = constant_place(node, name, arguments[1], scope)
        sql = duck.call(name, value.sql, duck.integer(count))
        longest = _at_most(value, count) if count >= 0 else value.longest
        return Typed(sql, TEXT, nullable=value.nullable, longest=longest)

    return apply


def _at_most(value: Typed, size: int) -> int:
    return size if value.longest is None else min(value.longest, size)


def constant_place(node: exp.Expr, name: str, value: Typed, scope: Scope) -> int:
    """A constant whole number, 1 for a parameter that is not known yet. Raises ``Unsupported`` for others."""
    value = settle(value, INT4, scope, node)
    if value.parameter is not None:  # its value is not known yet
        return 1
    if not value.is_integer or not isinstance(value.constant, int) or abs(value.constant) > 10**6:
        raise Unsupported(
            f"{name} takes constant whole numbers, -1000000 to 1000000", hint=f"Write {name}(x, 1)."
        )
    return value.constant


def find(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """POSITION and STRPOS: the first place, from 1, or 0."""
    value, part = _texts(node, "strpos", arguments, scope)
    _spend(scope, node, value, part)
    longest = _UNKNOWN_LENGTH if value.longest is None else value.longest + 1
    sql = duck.call("strpos", value.sql, part.sql)
    return Typed(sql, INT4, 0, Fraction(0), Fraction(longest), value.nullable or part.nullable)


def starts_with(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """STARTS_WITH."""
    value, part = _texts(node, "starts_with", arguments, scope)
    return boolean(duck.call("starts_with", value.sql, part.sql), nullable=value.nullable or part.nullable)


def replaced(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """REPLACE: every part that is found; the result is bounded by the longest replacement of the shortest part."""
    value, part, new = _texts(node, "replace", arguments, scope)
    _spend(scope, node, value, part)
    longest = None
    if value.longest is not None and new.longest is not None:
        shortest = max(len(part.constant), 1) if isinstance(part.constant, str) else 1
        parts, rest = divmod(value.longest, shortest)
        longest = max(value.longest, parts * new.longest + rest)
    check_length(longest)
    nullable = value.nullable or part.nullable or new.nullable
    sql = duck.call("replace", value.sql, part.sql, new.sql)
    return Typed(sql, TEXT, nullable=nullable, longest=longest)


def translated(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """TRANSLATE: each character of a list becomes the one at its place in another, or is left out."""
    value, old, new = _texts(node, "translate", arguments, scope)
    _spend(scope, node, value, old)
    nullable = value.nullable or old.nullable or new.nullable
    sql = duck.call("translate", value.sql, old.sql, new.sql)
    return Typed(sql, TEXT, nullable=nullable, longest=value.longest)


def split_part(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """SPLIT_PART(text, separator, n): the nth part, from the end where n is below zero. Of rows, both are constants."""
    value, separator = _texts(node, "split_part", arguments[:2], scope)
    place = settle(arguments[2], INT4, scope, node)
    if place.type.oid not in INTEGERS:
        raise UndefinedFunction(f"function split_part(text, text, {place.type.shown}) does not exist")
    if place.is_constant and place.constant == 0:
        raise InvalidParameter("field position must not be zero")
    sql = place.sql
    if scope.level is ExpressionLevel.ROW:
        sql = duck.integer(constant_place(node, "split_part", arguments[2], scope))
        if not (separator.is_constant or separator.parameter is not None):
            raise Unsupported("split_part takes a constant separator of rows", position=position(node))
    _spend(scope, node, value, separator)
    found: nodes.Expr = duck.call("split_part", value.sql, separator.sql, sql)
    if separator.constant == "":  # which the engine takes for one between all characters
        found = value.sql if place.constant in (1, -1) else nodes.Text("")
    nullable = value.nullable or separator.nullable or place.nullable
    return Typed(found, TEXT, nullable=nullable, longest=value.longest)


def of_constants(values: list[Typed]) -> Typed | None:
    """What constants put together are, a constant: none yet where a parameter among them is still open.

    None where one is no constant text, and for more than a literal may hold.
    """
    is_open = [v.parameter for v in values if v.parameter is not None and not v.is_constant]
    texts = [v.constant for v in values if isinstance(v.constant, str)]
    if len(texts) + len(is_open) < len(values) or sum(map(len, texts)) > LONGEST_LITERAL:
        return None
    if is_open:
        return replace(null(TEXT), is_constant=False, parameter=is_open[0])
    return from_value("".join(texts), TEXT)


def concatenated(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """CONCAT: NULLs are left out; what is no text is written as PostgreSQL writes it."""
    values = _texts(
        node, "concat", [written_bare(settle(a, TEXT, scope, node), scope) for a in arguments], scope
    )
    if (constant := of_constants(values)) is not None:
        return constant
    lengths = [v.longest for v in values if v.longest is not None]
    longest = sum(lengths) if len(lengths) == len(values) else None
    check_length(longest)
    return Typed(duck.call("concat", *(v.sql for v in values)), TEXT, nullable=False, longest=longest)


def written_bare(value: Typed, scope: Scope) -> Typed:
    """A value as CONCAT writes it: a truth value by its letter."""
    if value.type.oid != BOOL.oid:
        return as_text(value, scope) or value
    letters = [(value.sql, nodes.Text("t")), (nodes.Not(value.sql), nodes.Text("f"))]
    return Typed(duck.case(letters, None), TEXT, nullable=value.nullable, presence=value.presence, longest=1)


def _spend(scope: Scope, node: exp.Expr, value: Typed, part: Typed | None) -> None:
    """Searching takes up to text times part steps: on one row it must not take time that shows."""
    if part is None or scope.level is ExpressionLevel.RELEASED:
        return
    sizes = [LONGEST_TEXT if v.longest is None else v.longest for v in (value, part)]
    scope.parameters.spend(sizes[0] * sizes[1], node)
