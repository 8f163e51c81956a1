"""Regular expressions: those that PostgreSQL and the engine read alike.

The engine's matcher never goes back: it takes at most so many steps a character as a pattern has states.
"""

import re

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.texts import check_length
from dpproxy.analysis.typed import Typed, boolean, null
from dpproxy.values.errors import InvalidText, TooComplex, UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import TEXT, TEXTS

LONGEST = 100
MOST_STATES = 500
MOST_GROUPS = 9
"""The engine numbers no more."""
_ATOM = r"(?:[^\\\[\](){}*+?|^$.]|\\[-.^$*+?(){}\[\]|/\\]|\\[ds]|\.|\[\^?[A-Za-z0-9_ .,:;@/-]+\])"
_REPEATED = r"(?:[*+?]|\{\d{1,2}(?:,\d{0,2})?\})?"
_ALIKE = re.compile(rf"(?:{_ATOM}{_REPEATED}|\^|\$|\((?:\?:)?|\||\){_REPEATED})*", re.ASCII).fullmatch
_OPTIONAL_GROUP = re.compile(rf"\((?:\?:)?(?:{_ATOM})*\)\?", re.ASCII)
_ESCAPED = re.compile(r"\\(.?)", re.DOTALL).findall
_REPEATED_GROUP = re.compile(r"(?<!\\)\)[*+?{]").search
"""The first of two engines takes the longest match, the other the first one: with these they may differ."""
_TOKENS = re.compile(r"\\.|\[[^\]]*\]|\{(\d+)(?:,(\d*))?\}|.", re.DOTALL).finditer
_HINT = "Patterns are made of characters, . [a-z] \\d ( | ) ^ $ and * + ? {2,3}."


def matches(node: exp.Expr, arguments: list[Typed], scope: Scope) -> Typed:
    """``~`` and ``~*``."""
    value, pattern = _texts(node, arguments, scope)
    if pattern.is_null:
        return boolean(duck.cast(nodes.Null(), "BOOLEAN"), nullable=True)
    _check(pattern)
    options = "is" if isinstance(node, exp.RegexpILike) else "s"
    sql = duck.call("regexp_matches", value.sql, pattern.sql, nodes.Text(options))
    return boolean(sql, nullable=value.nullable)


def replaced(node: exp.RegexpReplace, arguments: list[Typed], scope: Scope) -> Typed:
    """REGEXP_REPLACE(text, pattern, new [, flags]): the first match, or with ``g`` each of them."""
    value, pattern, new, *flags = _texts(node, arguments, scope)
    given = str(flags[0].constant) if flags else ""
    if any(a.is_null for a in arguments[1:]):
        return null(TEXT)
    _check(pattern)
    text = str(pattern.constant)
    groups = re.compile(text).groups
    used = _ESCAPED(new.constant) if isinstance(new.constant, str) else [""]
    is_plain = all(after.isascii() and after.isdecimal() and 1 <= int(after) <= groups for after in used)
    if not is_plain or not _takes_the_same(text) or not set(given) <= {"g", "i"}:
        raise Unsupported(
            "regexp_replace takes a pattern without | and repeated groups, a constant text, in which \\1 is the first "
            "group, and the flags g and i",
            hint="Write regexp_replace(x, '[0-9]+', '', 'g').",
        )
    longest = None
    if value.longest is not None:  # no character is in two matches, and a group holds no more than its match
        others = len(str(new.constant)) - 2 * len(used)
        longest = value.longest * max(1, len(used)) + others * (value.longest + 1 if "g" in given else 1)
    check_length(longest)
    sql = duck.call("regexp_replace", value.sql, pattern.sql, new.sql, nodes.Text(f"{given}s"))
    return Typed(sql, TEXT, nullable=value.nullable, longest=longest)


def part(node: exp.RegexpExtract | exp.RegexpSubstr, arguments: list[Typed], scope: Scope) -> Typed:
    """What a group of the first match holds, by its number in the tree; NULL without a match.

    The whole match, where the pattern has no groups.
    """
    value, pattern, *flags = _texts(node, arguments, scope)
    given = str(flags[0].constant) if flags else ""
    if any(a.is_null for a in arguments[1:]):
        return null(TEXT)
    _check(pattern)
    text = str(pattern.constant)
    if not _takes_the_same(text) or given not in ("", "i"):
        raise Unsupported(
            "a match is taken by a pattern without | and repeated groups, and the flag i",
            hint="Write substring(x FROM '[0-9]+').",
            position=position(node),
        )
    number, groups = node.args.get("group"), re.compile(text).groups
    group = 0 if number is None else int(number.name)
    if group > max(groups, 1):
        return null(TEXT)
    if group > MOST_GROUPS:
        raise Unsupported(
            f"of a match the first {MOST_GROUPS} groups are taken",
            hint="Write (?: ) for groups that are not taken.",
        )
    options = nodes.Text(f"{given}s")
    found = duck.call("regexp_extract", value.sql, pattern.sql, duck.integer(min(group, groups)), options)
    sql = duck.case([(duck.call("regexp_matches", value.sql, pattern.sql, options), found)], None)
    return Typed(sql, TEXT, nullable=True, longest=value.longest)


def _takes_the_same(pattern: str) -> bool:
    """Whether the longest match is the first one.

    A group of single characters may be there or not where both ends are held: greed alone decides.
    """
    is_held = pattern.startswith("^") and pattern.endswith("$") and not pattern.endswith("\\$")
    rest = _OPTIONAL_GROUP.sub("", pattern) if is_held else pattern
    return "|" not in pattern and not _REPEATED_GROUP(rest)


def states(pattern: str) -> int:
    """The characters of a pattern with what it repeats written out, once more than that.

    Each takes a step at a character of the text.

    >>> states("a(b[c-e]){3}")
    9
    """
    found, last = [0], 0
    for token in _TOKENS(pattern):
        match token[0][0]:
            case "(":
                found.append(0)
            case ")" if len(found) > 1:
                last = max(found.pop(), 1)  # the engine multiplies what groups repeat, empty ones too
                found[-1] += last
            case "{" if token[1]:
                times = max(int(token[2] or token[1]), int(token[1]) + 1, 1)
                found[-1] += last * (times - 1)
                last *= times
            case "*" | "+" | "?" | "|" | "^" | "$":
                pass
            case _:
                last = 1
                found[-1] += 1
    return sum(found)


def _texts(node: exp.Expr, arguments: list[Typed], scope: Scope) -> list[Typed]:
    values = [settle(a, TEXT, scope, node) for a in arguments]
    if any(v.type.oid not in TEXTS for v in values):
        raise UndefinedFunction("a regular expression is matched with text")
    return [replace(v, type=TEXT) for v in values]


def _check(pattern: Typed) -> None:
    """Raise ``Unsupported`` for a pattern that may mean two things, ``InvalidText`` for none at all."""
    if pattern.parameter is not None and not pattern.is_constant:  # its value is not known yet
        return
    text = pattern.constant
    if not isinstance(text, str) or len(text) > LONGEST or not _ALIKE(text):
        raise Unsupported("this regular expression is not answered here", hint=_HINT)
    if states(text) > MOST_STATES:
        raise TooComplex(
            f"a regular expression has at most {MOST_STATES} characters with what it repeats written out",
            hint="Repeat a group less often: x ~ '^(ab){2,9}$'.",
        )
    try:
        re.compile(text)
    except re.error:
        raise InvalidText("invalid regular expression") from None
