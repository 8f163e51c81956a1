"""Regular expressions, over released values: those that PostgreSQL and the engine read alike."""

import re
from dataclasses import replace

from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed, boolean, null
from dpproxy.values.errors import InvalidText, UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import TEXT, TEXTS

LONGEST = 100
_ATOM = r"(?:[^\\\[\](){}*+?|^$.]|\\[-.^$*+?(){}\[\]|/\\]|\\[ds]|\.|\[\^?[A-Za-z0-9_ .,:;@/-]+\])"
_REPEATED = r"(?:[*+?]|\{\d{1,2}(?:,\d{0,2})?\})?"
_ALIKE = re.compile(rf"(?:{_ATOM}{_REPEATED}|\^|\$|\(|\||\){_REPEATED})*", re.ASCII).fullmatch
_ESCAPED = re.compile(r"\\(.?)", re.DOTALL).findall
_REPEATED_GROUP = re.compile(r"(?<!\\)\)[*+?{]").search
"""The first of two engines takes the longest match, the other the first one: with these they may differ."""
_HINT = "Patterns are made of characters, . [a-z] \\d ( | ) ^ $ and * + ? {2,3}."


def matches(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """``~`` and ``~*``."""
    value, pattern = _texts(node, arguments, scope)
    if pattern.is_null:
        return boolean(duck.cast(nodes.Null(), "BOOLEAN"), nullable=True)
    _check(node, pattern)
    options = "is" if isinstance(node, exp.RegexpILike) else "s"
    sql = duck.call("regexp_matches", value.sql, pattern.sql, nodes.Text(options))
    return boolean(sql, nullable=value.nullable)


def replaced(node: exp.RegexpReplace, arguments: list[Typed], scope: Scope) -> Typed:
    """REGEXP_REPLACE(text, pattern, new [, flags]): the first match, or with ``g`` each of them."""
    value, pattern, new, *flags = _texts(node, arguments, scope)
    given = str(flags[0].constant) if flags else ""
    if any(a.is_null for a in arguments[1:]):
        return null(TEXT)
    _check(node, pattern)
    text = str(pattern.constant)
    groups = re.compile(text).groups
    is_plain = isinstance(new.constant, str) and all(
        after.isdecimal() and 1 <= int(after) <= groups for after in _ESCAPED(new.constant)
    )
    if not is_plain or "|" in text or _REPEATED_GROUP(text) or not set(given) <= {"g", "i"}:
        raise Unsupported(
            "regexp_replace takes a pattern without | and repeated groups, a constant text, in which \\1 is the first "
            "group, and the flags g and i",
            hint="Write regexp_replace(x, '[0-9]+', '', 'g').",
            position=position(node),
        )
    sql = duck.call("regexp_replace", value.sql, pattern.sql, new.sql, nodes.Text(f"{given}s"))
    return Typed(sql, TEXT, nullable=value.nullable)


def _texts(node: exp.Expr, arguments: list[Typed], scope: Scope) -> list[Typed]:
    values = [settle(a, TEXT, scope, node) for a in arguments]
    if any(v.type.oid not in TEXTS for v in values):
        raise UndefinedFunction("a regular expression is matched with text", position=position(node))
    return [replace(v, type=TEXT) for v in values]


def _check(node: exp.Expr, pattern: Typed) -> None:
    """Raise ``Unsupported`` for a pattern that may mean two things, ``InvalidText`` for none at all."""
    if pattern.parameter is not None and not pattern.is_constant:  # its value is not known yet
        return
    text = pattern.constant
    if not isinstance(text, str) or len(text) > LONGEST or not _ALIKE(text):
        raise Unsupported("this regular expression is not answered here", hint=_HINT, position=position(node))
    try:
        re.compile(text)
    except re.error:
        raise InvalidText("invalid regular expression", position=position(node)) from None
