"""``x SIMILAR TO 'pattern'`` with a constant pattern, read as a match of the whole text with a regular expression.

PostgreSQL translates the pattern too (regexp.c: similar_escape_internal). Patterns that its regular
expressions and the engine's could read differently are refused.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, NoReturn

from msgspec import Struct
from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.values.errors import Unsupported

_META: Final = frozenset("\\.+*?()|[]{}^$-")
_REPEATED: Final = re.compile(r"[*+?]|\{(\d{1,3})(?:,(\d{1,3})?)?\}", re.ASCII)
_CLASS: Final = re.compile(
    r"\[\^?\[:(?:alnum|alpha|blank|cntrl|digit|graph|lower|print|punct|space|upper|xdigit):\]\]"
)
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


class _Reader(Struct):
    """A reader of a pattern."""

    pattern: str
    escape: str
    at: int = 0
    depth: int = 0
    operand: bool = False
    """Whether there is an operand before the next character, which may be repeated."""
    copies: int = 1
    """The most copies of an operand, if all repetitions are nested."""

    def next(self) -> str:
        """The regular expression for the next element."""
        letter = self.pattern[self.at]
        if letter == self.escape:
            return self._escaped()
        return _SPECIAL.get(letter, _Reader.plain)(self)

    def plain(self) -> str:
        """A character that stands for itself."""
        self.operand = True
        self.at += 1
        return _literal(self.pattern[self.at - 1])

    def _escaped(self) -> str:
        self.at += 1
        letter = self.pattern[self.at : self.at + 1]
        if not letter:
            self.at += 1
            return ""  # PostgreSQL leaves it out
        if letter.isalnum() or letter == '"':
            raise _Refused("a letter, a digit or a quote behind the escape character")
        return self.plain()

    def any_text(self) -> str:
        """``%``."""
        self.at += 1
        self.operand = False
        return ".*"

    def any_letter(self) -> str:
        """``_``."""
        self.at += 1
        self.operand = True
        return "."

    def opened(self) -> str:
        """``(``."""
        self.at += 1
        self.depth += 1
        self.operand = False
        return "(?:"

    def closed(self) -> str:
        """``)``."""
        self.at += 1
        self.depth -= 1
        self.operand = True
        if self.depth < 0:
            raise _Refused("brackets that are not balanced")
        return ")"

    def either(self) -> str:
        """``|``."""
        self.at += 1
        self.operand = False
        return "|"

    def repeated(self) -> str:
        """``*``, ``+``, ``?`` or ``{m,n}``."""
        found = _REPEATED.match(self.pattern, self.at)
        if found is None or not self.operand:
            raise _Refused("a repetition of nothing")
        counts = [int(count) for count in found.groups() if count]
        self.copies *= max([1, *counts])
        if counts != sorted(counts) or self.copies > MOST_REPEATED:
            raise _Refused("such a repetition")
        self.at = found.end()
        self.operand = False
        return found[0]

    def bracket(self) -> str:
        """``[...]``: a named class, or characters and ranges."""
        named = _CLASS.match(self.pattern, self.at)
        if named is not None and self.escape not in (*named[0],):
            self.at = named.end()
            self.operand = True
            return named[0]
        self.at += 1
        inverted = self.pattern.startswith("^", self.at) and self.escape != "^"
        self.at += inverted
        members = self._members()
        self.operand = True
        return f"[{'^' * inverted}{members}]"

    def _members(self) -> str:
        letters = list[tuple[str, bool]]()
        while not (found := self._member())[2]:
            letters.append(found[:2])
        if not letters:
            raise _Refused("such a bracket expression")
        return _ranges(letters)

    def _member(self) -> tuple[str, bool, bool]:
        """A character, whether it was escaped, and whether it is the end."""
        letter = self.pattern[self.at : self.at + 1]
        is_escaped = bool(letter) and letter == self.escape
        if is_escaped:
            self.at += 1
            letter = self.pattern[self.at : self.at + 1]
        if not letter or (letter == "[" and not is_escaped) or (is_escaped and letter.isalnum()):
            raise _Refused("such a bracket expression")
        self.at += 1
        return letter, is_escaped, letter == "]" and not is_escaped


_SPECIAL: Final[Mapping[str, Callable[[_Reader], str]]] = {
    "%": _Reader.any_text,
    "_": _Reader.any_letter,
    "(": _Reader.opened,
    ")": _Reader.closed,
    "|": _Reader.either,
    "[": _Reader.bracket,
    **dict.fromkeys("*+?{", _Reader.repeated),
}


def _ranges(letters: list[tuple[str, bool]]) -> str:
    """The members of a bracket expression; a bare ``-`` between two of them makes a range."""
    made, at = "", 0
    while at < len(letters):
        first = letters[at]
        if letters[at + 1 : at + 2] == [("-", False)] and at + 2 < len(letters):
            last = letters[at + 2]
            if ("-", False) in (first, last) or first[0] > last[0]:
                raise _Refused("such a range in brackets")
            made += f"{_literal(first[0])}-{_literal(last[0])}"
            at += 3
        else:
            if first == ("-", False) and 0 < at < len(letters) - 1:
                raise _Refused("such a range in brackets")
            made += _literal(first[0])
            at += 1
    return made


def _literal(letter: str) -> str:
    return f"\\{letter}" if letter in _META else letter


def regular(pattern: str, escape: str) -> str:
    r"""The regular expression.

    >>> regular("pg/_%|x.", "/")
    '(?s)\\A(?:pg_.*|x\\.)\\z'
    """
    if len(escape) > 1:
        raise _Refused("an escape of more than one character")
    reader, made = _Reader(pattern, escape), ""
    while reader.at < len(pattern):
        made += reader.next()
    if reader.depth:
        raise _Refused("brackets that are not balanced")
    return f"(?s)\\A(?:{made})\\z"
