"""Text functions that differ between PostgreSQL and DuckDB."""

import re
import sys
from collections.abc import Mapping

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.pgcatalog.compiler import macros, objects
from dpproxy.pgcatalog.compiler.kind_rules import kind_of
from dpproxy.pgcatalog.compiler.moments import engine_zone
from dpproxy.pgcatalog.compiler.trees import call, text
from dpproxy.values.errors import NegativeLength, Unsupported
from dpproxy.values.pgtypes import (
    BOOL,
    BPCHAR,
    BYTEA,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    NAME,
    NUMERIC,
    TEXT,
    UNKNOWN,
    VARCHAR,
    element_of,
)

READ_AGAIN = frozenset({
    "array_append", "array_cat", "array_position", "array_prepend", "array_remove", "encode", "format",
    "generate_series", "string_to_array", "substring", "to_char",
})  # fmt: skip
"""Functions that the parser knows without a schema only, not as ``pg_catalog.f``."""
_TEMPLATE = re.compile(r"(?:%[YmdHMSfZ]|[-/.,:; T])+", re.ASCII)
_GROUP = re.compile(r"(?<!\\)\((?!\?)")


def match(node: exp.Expr) -> exp.Expr:
    """``substring(x FROM 'a=(.*)')``: the first group, or the whole match; NULL without a match.

    Raises:
        Unsupported: a pattern that is not constant.
    """
    pattern = node.expression
    if not (isinstance(pattern, exp.Literal) and pattern.is_string) or node.args.get("parameters"):
        raise Unsupported("a match takes a literal pattern and no flags here")
    group = node.args["group"] if _GROUP.search(pattern.name) else exp.Literal.number(0)
    found = call("regexp_extract", node.this.copy(), pattern.copy(), group)
    return exp.Case(ifs=[exp.If(this=exp.RegexpLike(this=node.this, expression=pattern), true=found)])


def substring(node: exp.Expr) -> exp.Expr:
    """Substring by positions; positions below 1 count, and are empty."""
    start, length = node.args.get("start"), node.args.get("length")
    if isinstance(start, exp.Literal) and start.is_string:
        return match(exp.RegexpExtract(this=node.this, expression=start, group=exp.Literal.number(1)))
    if isinstance(length, exp.Neg) and isinstance(length.this, exp.Literal) and length.name.strip("0"):
        raise NegativeLength("negative substring length not allowed")
    if start is None or (isinstance(start, exp.Literal) and start.name != "0"):
        return node
    return call(f"{macros.PREFIX}piece", node.this, start, *([length] if length is not None else []))


def length(node: exp.Expr) -> exp.Expr:
    """``length(x)``: of bytea the number of bytes."""
    kind = kind_of(node.this)
    return call("octet_length", node.this) if kind is not None and kind.oid == BYTEA.oid else node


def to_char(node: exp.Expr, settings: Mapping[str, str]) -> exp.Expr:
    """to_char of a timestamp, by a template of plain numbers.

    Raises:
        Unsupported: another template.
    """
    template = node.args["format"]
    if not (isinstance(template, exp.Literal) and template.is_string and _TEMPLATE.fullmatch(template.name)):
        raise Unsupported("to_char takes a template of YYYY, MM, DD, HH24, MI, SS, US and TZ here")
    if "%Z" in template.name and engine_zone(settings) != "UTC":
        raise Unsupported("to_char writes the zone where TimeZone is UTC alone", position=position(node))
    return call("strftime", node.this, text(template.name.replace("%Z", "UTC")))


def like(node: exp.Expr) -> exp.Expr:
    """LIKE, with backslash as the default escape character."""
    if isinstance(node.parent, exp.Escape) or isinstance(node.expression, exp.Any):
        return node
    plain = type(node)(this=node.this, expression=node.expression)
    escaped = exp.Escape(this=plain, expression=text("\\"))
    return exp.Not(this=exp.Paren(this=escaped)) if node.args.get("negate") else escaped


_WRITTEN_BY_KIND = {
    BYTEA.oid: "bytea_text",
    FLOAT4.oid: "float4_text",
    FLOAT8.oid: "float8_text",
    INTERVAL.oid: "interval_text",
    NUMERIC.oid: "numeric_text",
}


def as_text(node: exp.Expr) -> exp.Expr:
    """A cast to text, by the macro for the value's type; most types need none."""
    kind = kind_of(node)
    if (word := objects.of_kind(kind)) is not None:
        return objects.name_of(node, word)
    if kind is None:
        return call(f"{macros.PREFIX}as_text", node)
    macro = "list_text" if element_of(kind) is not None else _WRITTEN_BY_KIND.get(kind.oid, "as_text")
    return call(macros.PREFIX + macro, node)


def check_bytes(tree: exp.Expr, settings: Mapping[str, str]) -> None:
    """Refuse bytea as text in another form than the macros write.

    Raises:
        Unsupported: with bytea_output at escape.
    """
    if settings.get("bytea_output") != "escape":
        return
    for made in tree.find_all(exp.Anonymous):
        kind = kind_of(made.expressions[0]) if made.name.lower() in _OF_BYTES else None
        if kind is not None and (element_of(kind) or kind).oid == BYTEA.oid:
            raise Unsupported(
                "bytes are not cast to text here with bytea_output at escape",
                hint="SET bytea_output TO hex, or use encode(x, 'hex')",
                position=position(made),
            )


_OF_BYTES = frozenset({f"{macros.PREFIX}bytea_text", f"{macros.PREFIX}list_text"})


def _spoken(node: exp.Expr) -> exp.Expr:
    """A value as an argument of text functions, which write a boolean as one letter."""
    kind = kind_of(node)
    if kind is not None and kind.oid == BOOL.oid:
        return call(f"{macros.PREFIX}flag_text", node)
    return node if kind is None or kind.oid in _BARE else as_text(node)


_BARE = frozenset({UNKNOWN.oid, TEXT.oid, VARCHAR.oid, BPCHAR.oid, NAME.oid, INT2.oid, INT4.oid, INT8.oid})


def concat(node: exp.Expr) -> exp.Expr:
    """``concat(...)``."""
    node.set("expressions", [_spoken(each) for each in node.expressions])
    return node


def concatenation(node: exp.Expr) -> exp.Expr:
    """``||`` of texts, or of an array and an element."""
    sides = node.this, node.expression
    lists = [kind is not None and element_of(kind) is not None for kind in map(kind_of, sides)]
    match lists:
        case _ if any(kind is not None and kind.oid == BYTEA.oid for kind in map(kind_of, sides)):
            return node
        case [True, True]:
            return node
        case [True, False]:
            return node if _is_open(sides[1]) else call("list_append", *sides)
        case [False, True]:
            return node if _is_open(sides[0]) else call("list_prepend", *sides)
        case _:
            made = [
                side if (k := kind_of(side)) is None or k.oid in _BARE else as_text(side) for side in sides
            ]
            return exp.DPipe(this=made[0], expression=made[1])


def _is_open(node: exp.Expr) -> bool:
    kind = kind_of(node)
    return kind is None or kind.oid == UNKNOWN.oid


_LISTS_BY_KIND = {BOOL.oid: "flag_texts", FLOAT4.oid: "float4_texts", FLOAT8.oid: "float8_texts"}


def join(node: exp.Expr) -> exp.Expr:
    """``array_to_string(list, separator [, null])``."""
    kind = kind_of(node.this)
    element = None if kind is None else element_of(kind)
    macro = _LISTS_BY_KIND.get(element.oid) if element is not None else None
    listed = node.this if macro is None else call(macros.PREFIX + macro, node.this)
    null = node.args.get("null")
    return call(f"{macros.PREFIX}array_to_string", listed, node.expression, *([null] if null else []))


def split(node: exp.Expr) -> exp.Expr:
    """``string_to_array(text, separator)``: empty for an empty text."""
    if node.args.get("null") is not None or isinstance(node.expression, exp.Null):
        raise Unsupported("string_to_array takes a text and a separator here", position=position(node))
    return call(f"{macros.PREFIX}split", node.this, node.expression)


_PLACE = re.compile(r"%([sIL%])")
_QUOTED = {"I": "quote_ident", "L": "quote_nullable"}
"""The macros for the placeholders of format that quote."""


def character(node: exp.Expr) -> exp.Expr:
    """``chr(27)``.

    Raises:
        Unsupported: anything but the number of a character.
    """
    given = node.expressions[0] if node.expressions else node.this
    number = int(given.name) if isinstance(given, exp.Literal) and given.name.isdecimal() else 0
    if not 0 < number <= sys.maxunicode or 0xD800 <= number < 0xE000:
        raise Unsupported("chr takes the number of a character here")
    return text(chr(number))


def format_of(node: exp.Expr) -> exp.Expr:
    """``format('%I.%s', a, b)`` as a concatenation.

    Raises:
        Unsupported: a format that is not a literal, or has other placeholders, or another number of them.
    """
    pattern, given = node.this, list(node.expressions)
    pieces = _PLACE.split(pattern.name) if isinstance(pattern, exp.Literal) and pattern.is_string else ["%"]
    places = [place for place in pieces[1::2] if place != "%"]
    if any("%" in piece for piece in pieces[::2]) or len(places) != len(given):
        raise Unsupported("format takes a literal of %s, %I and %L here")
    values = iter(given)
    parts: list[exp.Expr] = []
    for at, piece in enumerate(pieces):
        is_place = at % 2 == 1 and piece != "%"
        parts.append(_format_argument(piece, next(values)) if is_place else text(piece))
    return call("concat", *parts)


def _format_argument(place: str, value: exp.Expr) -> exp.Expr:
    if place == "s":
        return _spoken(value)
    return call(macros.PREFIX + _QUOTED[place], value)


def encode(node: exp.Expr) -> exp.Expr:
    """``encode(bytes, 'hex')``; of a column of bytes, which are all NULL here, in any format.

    Raises:
        Unsupported: another format.
    """
    if isinstance(node.this, exp.Column):
        return call(f"{macros.PREFIX}as_text", node.this)
    kind, form = kind_of(node.this), node.args.get("charset")
    if kind is None or kind.oid != BYTEA.oid or form is None or form.name.lower() != "hex":
        raise Unsupported("encode takes bytes and 'hex' here")
    return call("lower", call("hex", node.this))
