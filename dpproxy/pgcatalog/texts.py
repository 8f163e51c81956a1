"""Functions of texts that PostgreSQL and DuckDB spell differently."""

import re

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.errors import Unsupported
from dpproxy.pgcatalog import macros
from dpproxy.pgcatalog.calls import call, text
from dpproxy.pgcatalog.relations import TABLES

READ_AGAIN = frozenset({
    "array_append", "array_cat", "array_position", "array_prepend", "array_remove", "encode", "format",
    "generate_series", "string_to_array", "substring", "to_char",
})  # fmt: skip
"""Functions that the parser knows by their bare names only, not as ``pg_catalog.f``."""
_TEMPLATE = re.compile(r"(?:%[YmdHMSfZ]|[-/.,:; T])+", re.ASCII)
_GROUP = re.compile(r"(?<!\\)\((?!\?)")


def substring(node: exp.Expr) -> exp.Expr:
    """``substring(x FROM 'a=(.*)')``: the first group, or all that matches; NULL where nothing does."""
    pattern = node.args.get("start")
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        return node
    group = exp.Literal.number(1 if _GROUP.search(pattern.name) else 0)
    found = call("regexp_extract", node.this.copy(), pattern.copy(), group)
    return exp.Case(ifs=[exp.If(this=exp.RegexpLike(this=node.this, expression=pattern), true=found)])


def to_char(node: exp.Expr) -> exp.Expr:
    """A moment by a template of plain numbers. All moments of the catalogue are in UTC.

    Raises:
        Unsupported: another template.
    """
    template = node.args["format"]
    if not (isinstance(template, exp.Literal) and template.is_string and _TEMPLATE.fullmatch(template.name)):
        raise Unsupported(
            "to_char takes a template of YYYY, MM, DD, HH24, MI, SS, US and TZ here", position=position(node)
        )
    return call("strftime", node.this, text(template.name.replace("%Z", "UTC")))


def like(node: exp.Expr) -> exp.Expr:
    """LIKE, where a backslash escapes without being declared to."""
    if isinstance(node.parent, exp.Escape) or isinstance(node.expression, exp.Any):
        return node
    plain = type(node)(this=node.this, expression=node.expression)
    escaped = exp.Escape(this=plain, expression=text("\\"))
    return exp.Not(this=exp.Paren(this=escaped)) if node.args.get("negate") else escaped


_WRITTEN_BY_TYPE = {
    "DOUBLE": "float8_text",
    "FLOAT": "float4_text",
    "REAL": "float4_text",
    "INTERVAL": "interval_text",
    "DECIMAL(38, 10)": "numeric_text",
}
_WRITTEN_BY_COLUMN = {
    name: "list_text" if stored.endswith("[]") else _WRITTEN_BY_TYPE[stored]
    for table in TABLES.values()
    for name, stored in table.columns.items()
    if stored.endswith("[]") or stored in _WRITTEN_BY_TYPE
}


def written(node: exp.Expr) -> exp.Expr:
    """A value that is cast to text, by the macro for its type where it shows; the engine writes most of them alike."""
    value = node.unnest()
    macro = "as_text"
    match value:
        case exp.Cast(to=kind):
            stored = kind.sql("duckdb")
            macro = "list_text" if stored.endswith("[]") else _WRITTEN_BY_TYPE.get(stored, macro)
        case exp.Column():
            macro = _WRITTEN_BY_COLUMN.get(value.name.lower(), macro)
        case exp.Array():
            macro = "list_text"
        case exp.Add() if any(call.name == "to_microseconds" for call in value.find_all(exp.Anonymous)):
            macro = "interval_text"
        case _:
            pass
    return call(macros.PREFIX + macro, node)


_PLACE = re.compile(r"%([sIL%])")
_WRITTEN = {"s": "as_text", "I": "quote_identifier", "L": "quote_null"}
"""The macros for the places of a format."""


def format_of(node: exp.Expr) -> tuple[exp.Expr, list[str]]:
    """``format('%I.%s', a, b)`` as the texts it is joined of, and the macros it uses.

    Raises:
        Unsupported: a format that is no literal, of other places, or of another number of them.
    """
    pattern, given = node.this, list(node.expressions)
    pieces = _PLACE.split(pattern.name) if isinstance(pattern, exp.Literal) and pattern.is_string else ["%"]
    places = [place for place in pieces[1::2] if place != "%"]
    if any("%" in piece for piece in pieces[::2]) or len(places) != len(given):
        raise Unsupported("format takes a literal of %s, %I and %L here", position=position(node))
    values = iter(given)
    parts: list[exp.Expr] = []
    for at, piece in enumerate(pieces):
        is_place = at % 2 == 1 and piece != "%"
        parts.append(call(macros.PREFIX + _WRITTEN[piece], next(values)) if is_place else text(piece))
    return call("concat", *parts), [_WRITTEN[place] for place in places]


def encode(node: exp.Expr) -> exp.Expr:
    """Of a column of bytes, all of which are NULL here.

    Raises:
        Unsupported: of anything else.
    """
    if not isinstance(node.this, exp.Column):
        raise Unsupported("encode takes a column here", position=position(node))
    return call(f"{macros.PREFIX}as_text", node.this)
