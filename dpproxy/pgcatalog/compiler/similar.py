"""``x SIMILAR TO 'pattern'`` with a constant pattern, read as a match of the whole text with a regular expression.

PostgreSQL translates the pattern too (regexp.c: similar_escape_internal). Patterns that its regular
expressions and the engine's could read differently are refused.
"""

import re
from typing import Final, NoReturn

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.values.errors import Unsupported

_META: Final = frozenset("\\.+*?()|[]{}^$-")
_MEMBER: Final = r"(?:\\.|[^][\\-])"
_CLASSES: Final = "alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit"
_TOKEN: Final = re.compile(
    rf"(?P<named>\[\^?\[:(?:{_CLASSES}):\]\])"
    rf"|\[(?P<inverse>\^?+)(?!\])(?P<set>-?(?:{_MEMBER}(?:-{_MEMBER})?)*-?)\]"
    r"|(?P<times>[*+?]|\{(?P<low>\d{1,3})(?:,(?P<high>\d{1,3})?)?\})(?![*+?{])"
    r"|(?P<special>[%_()|])|(?P<literal>\\[^\"]|[^\\*+?{[])",
    re.ASCII | re.DOTALL,
)
_SPECIAL: Final = {"%": (".*", "|"), "_": (".", "a"), "(": ("(?:", "(?:"), ")": (")", ")"), "|": ("|", "|")}
"""What they become, and what stands for them in the pattern's shape; ``|`` is what cannot be repeated."""
MOST_REPEATED: Final = 255
"""The largest n of ``{m,n}`` in PostgreSQL; the engine allows at most 1000 copies by nesting."""


class _Refused(Exception):
    """The reason why a pattern is refused."""


def replace_patterns(tree: exp.Expr) -> None:
    """Replace SIMILAR TO by matches of regular expressions.

    Raises:
        Unsupported: a pattern that is not constant, or not supported.
    """
    for node in list(tree.find_all(exp.SimilarTo)):
        outer = node.parent
        escaped = outer if isinstance(outer, exp.Escape) and outer.this is node else None
        escape = "\\" if escaped is None else _constant(escaped.expression)
        pattern = _constant(node.expression)
        if escape is None or pattern is None:
            _refuse(node, "a pattern that is not constant", "write the pattern and its ESCAPE as literals")
        try:
            expression = regular(pattern, escape)
        except _Refused as reason:
            _refuse(node, str(reason), "use the operator ~ with a regular expression")
        made = exp.RegexpLike(this=node.this, expression=exp.Literal.string(expression))
        (escaped or node).replace(made)


def _refuse(node: exp.Expr, what: str, hint: str) -> NoReturn:
    raise Unsupported(f"SIMILAR TO with {what} is not supported here", hint=hint, position=position(node))


def _constant(node: exp.Expr) -> str | None:
    inner = node.unnest()
    if isinstance(inner, exp.Cast) and inner.to.is_type("text"):
        inner = inner.this.unnest()
    is_text = isinstance(inner, exp.ByteString) or (isinstance(inner, exp.Literal) and inner.is_string)
    return str(inner.this) if is_text else None


def regular(pattern: str, escape: str) -> str:
    r"""The regular expression.

    >>> regular("pg/_%|x.", "/")
    '(?s)\\A(?:pg_.*|x\\.)\\z'
    """
    if len(escape) > 1:
        raise _Refused("an escape of more than one character")
    rest, made, shape, copies = _with_backslashes(pattern, escape), "", "", 1
    while rest:
        found = _TOKEN.match(rest)
        if found is None:
            raise _Refused(f"such a use of {rest[0]}")
        rest = rest[found.end() :]
        one, like = _translated(found)
        made, shape = made + one, shape + like
        copies *= max(1, *(int(found[bound] or 0) for bound in ("low", "high")))
    try:
        re.compile(shape)
    except (re.error, RecursionError):
        raise _Refused("such repetitions or brackets") from None
    if copies > MOST_REPEATED:
        raise _Refused("such repetitions")
    return f"(?s)\\A(?:{made})\\z"


def _translated(found: re.Match[str]) -> tuple[str, str]:
    """A part of the regular expression, and of the pattern's shape."""
    match found.lastgroup:
        case "special":
            return _SPECIAL[found[0]]
        case "literal":
            return _literal(found[0][-1]), "a"
        case "set":
            return f"[{found['inverse']}{_members(found['set'])}]", "a"
        case kind:
            return found[0], found[0] if kind == "times" else "a"


def _with_backslashes(pattern: str, escape: str) -> str:
    """The pattern with a backslash as its escape character."""
    made, letters = "", iter(pattern)
    for letter in letters:
        escaped = next(letters, "") if letter == escape else letter if letter == "\\" else None
        if escaped and escaped.isalnum():
            raise _Refused("a letter or a digit behind the escape character")
        made += (
            letter if escaped is None else f"\\{escaped}" if escaped else ""
        )  # PostgreSQL leaves out the last
    return made


def _members(written: str) -> str:
    """The members of a bracket expression."""
    if any(low[-1] > high[-1] for low, high in re.findall(f"({_MEMBER})-({_MEMBER})", written, re.DOTALL)):
        raise _Refused("such a range in brackets")
    return re.sub(r"\\(.)", lambda found: _literal(found[1]), written, flags=re.DOTALL)


def _literal(letter: str) -> str:
    return f"\\{letter}" if letter in _META else letter
