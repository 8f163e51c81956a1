"""The tokens of SQL text by PostgreSQL's lexical rules (manual, section 4.1), and the statements of a text.

Where it differs: a literal is not continued on the next line, UESCAPE is no part of one, and an operator is a symbol
for each character, but for five of two. The time is linear in the length of the text, whatever it holds.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from msgspec import Struct

from dpproxy.values.errors import SyntaxRefused


class TokenKind(Enum):
    """What a token is; the value is its name in messages."""

    TEXT = "text"
    PREFIXED = "constant with a prefix"
    NAME = "quoted name"
    WORD = "word"
    NUMBER = "number"
    PARAMETER = "parameter"
    DOLLAR = "dollar quote"
    COMMENT = "comment"
    SYMBOL = "symbol"
    END = "end of the statement"


class Token(NamedTuple):
    """One token as it is written, and where it begins."""

    kind: TokenKind
    raw: str
    position: int

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.position + len(self.raw)

    @property
    def text(self) -> str:
        """What it means: a word in lower case, the content of a text or a quoted name; everything else as written.

        Raises:
            SyntaxRefused: an escape that is not supported, an empty name, a zero character.
        """
        match self.kind:
            case TokenKind.WORD:
                return self.raw.lower() if self.raw.isascii() else self.raw.translate(_FOLD)
            case TokenKind.TEXT | TokenKind.NAME:
                return _content(self)
            case _:
                return self.raw

    @property
    def description(self) -> str:
        """The token in an error message, without the content of a literal."""
        if self.kind in {TokenKind.WORD, TokenKind.SYMBOL}:
            return f'"{self.text}"'
        return self.kind.value if self.kind is TokenKind.END else f"a {self.kind.value}"


_TOKEN = re.compile(
    r"""
    (?: [ \t\n\r\f\v]++ | --[^\n\r]*+ )*+
    (?: ( [eE]' (?: [^'\\] | '' | \\. )*+ ' | (?: [uU]& )? ' (?: [^'] | '' )*+ ' )  # TEXT
      | ( [bBnNxX] ' (?: [^'] | '' )*+ ' )  # PREFIXED
      | ( (?: [uU]& )? " (?: [^"] | "" )*+ " )  # NAME
      | ( (?! [beEBnNxX]' | [uU]&['"] )
          [^\x00-@\[-^`{-\x7f] [^\x00-\#%-/:-@\[-^`{-\x7f]*+ )  # WORD; what is not ASCII is a letter
      | ( (?: [0-9]++ (?: \.[0-9]*+ )? | \.[0-9]++ ) (?: [eE][+-]?[0-9]++ )?
          (?: [^\x00-@\[-^`{-\x7f] [^\x00-\#%-/:-@\[-^`{-\x7f]*+ )? )  # NUMBER, letters after it
      | ( \$[0-9]++ )  # PARAMETER
      | ( \$ (?: [^\x00-@\[-^`{-\x7f] [^\x00-/:-@\[-^`{-\x7f]*+ )? \$ )  # DOLLAR
      | ( /\* )  # COMMENT
      | ( :: | <> | [!<>]= | [!\#$%&()*+,\-./:;<=>?@\[\\\]^`{|}~] )  # SYMBOL
      | ( \Z )  # END
    )
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS = (TokenKind.END, *TokenKind)
"""By the number of the group."""
_SPACE = re.compile(r"(?: [ \t\n\r\f\v]++ | --[^\n\r]*+ )*+", re.VERBOSE)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_FOLD = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_UNFINISHED = {"'": "text", '"': "quoted name"} | dict.fromkeys("eEuUbBnNxX", "literal")
_CLOSE = "close it; a quote inside one is written twice"


def tokens(sql: str, *, comments: bool = False) -> Iterator[Token]:
    """The tokens of a text, lazily, the last one of kind END; comments in ``/* */`` only where they are asked for.

    Raises:
        SyntaxRefused: at the first character that starts no token.
    """
    at, kind = 0, TokenKind.SYMBOL
    while kind is not TokenKind.END:
        found = _TOKEN.match(sql, at)
        if found is None:
            raise _unreadable(sql, at)
        group = found.lastindex or 0
        kind = _KINDS[group]
        start, at = found.span(group)
        if kind is TokenKind.DOLLAR:
            kind, at = TokenKind.TEXT, _dollar_end(sql, start, found[group])
        elif kind is TokenKind.COMMENT:
            at = _comment_end(sql, start)
            if not comments:
                continue
        yield Token(kind, sql[start:at], start)


def _unreadable(sql: str, at: int) -> SyntaxRefused:
    found = _SPACE.match(sql, at)
    start = found.end() if found else at
    if (what := _UNFINISHED.get(sql[start])) is not None:
        return SyntaxRefused(f"unterminated {what}", hint=_CLOSE, position=start)
    return SyntaxRefused("unexpected character", position=start)


def _dollar_end(sql: str, start: int, quote: str) -> int:
    end = sql.find(quote, start + len(quote))
    if end < 0:
        raise SyntaxRefused("unterminated text", hint=f"close it with {quote}", position=start)
    return end + len(quote)


def _comment_end(sql: str, start: int) -> int:
    """Where a comment ends; comments nest."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(sql, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    raise SyntaxRefused("unterminated comment", hint="close it; comments nest", position=start)


def constants(sql: str) -> list[tuple[int, int]]:
    """Where the numbers and the texts of a plain SELECT begin and end, with what is not readable none."""
    found, at = list[tuple[int, int]](), 0
    for token in _TOKEN.finditer(sql):
        if token.start() != at:
            return []
        at = token.end()
        if token.lastindex in _CONSTANT:
            found.append(token.span(token.lastindex))
    return found


_CONSTANT = frozenset((_KINDS.index(TokenKind.TEXT), _KINDS.index(TokenKind.NUMBER)))


# --- statements


class Piece(Struct, frozen=True):
    """One statement of a text of several, and where it begins there."""

    text: str
    offset: int


def pieces(sql: str) -> Iterator[Piece]:
    """The statements of a text, which end at semicolons, without the empty ones.

    Those in parentheses are parts of the EXPLAIN before them, which prices them together.

    >>> [(p.text, p.offset) for p in pieces("/* two */ ADVANCE ; ; SHOW 'a;b' -- c")]
    [('ADVANCE', 10), ("SHOW 'a;b'", 22)]
    """
    start, end, depth, is_explain = -1, 0, 0, False
    for token in tokens(sql):
        kind, raw, position = token
        if kind is TokenKind.SYMBOL:
            depth += (raw == "(") - (raw == ")")
        if kind is TokenKind.END or (raw == ";" and not (is_explain and depth > 0)):
            if start >= 0:
                yield Piece(sql[start:end], start)
            start, depth = -1, 0
            continue
        if start < 0:
            start, is_explain = position, token.raw.lower() == "explain"
        end = position + len(raw)


# --- literals

_DOUBLED_OR_ESCAPED = re.compile(
    r"''|\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))", re.DOTALL
)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_UNICODE = ("u", "U")
_FIRST_OF_SEVERAL = 128
"""The first byte that is no character of its own in UTF-8: such escapes are refused."""
_CODE = re.compile(r"\\(?:\\|([0-9a-fA-F]{4})|\+([0-9a-fA-F]{6})|)")


def _content(token: Token) -> str:
    """What a literal or a quoted name holds."""
    raw = token.raw
    quote = raw[-1]
    if raw[0] in "eE":
        text = _DOUBLED_OR_ESCAPED.sub(lambda one: _unescaped(one, token), raw[2:-1])
    elif raw[0] == "$":
        size = raw.index("$", 1) + 1
        text = raw[size:-size]
    elif raw[0] in "uU":
        text = _CODE.sub(lambda one: _coded(one, token), raw[3:-1].replace(quote * 2, quote))
    else:
        text = raw[1:-1].replace(quote * 2, quote)
    if "\0" in text:
        raise SyntaxRefused("a zero character in a literal", position=token.position)
    if token.kind is TokenKind.NAME and not text:
        raise SyntaxRefused("a quoted name is empty", position=token.position)
    return text


def _unescaped(one: re.Match[str], token: Token) -> str:
    """A quote that is written twice, or an escape of E'...'."""
    four, eight, byte, octal, other = one.groups()
    position = token.position + 2 + one.start()
    if four or eight:
        return _character(four or eight, token, position)
    if byte or octal:
        value = int(byte, 16) if byte else int(octal, 8)
        return _character(f"{value:x}" if value < _FIRST_OF_SEVERAL else "", token, position)
    return _character("", token, position) if other in _UNICODE else _ESCAPED.get(other, other or "'")


def _coded(one: re.Match[str], token: Token) -> str:
    """An escape of U&'...'."""
    return "\\" if one[0] == "\\\\" else _character(one[1] or one[2] or "", token, token.position)


def _character(digits: str, token: Token, position: int) -> str:
    value = int(digits or "0", 16)
    if not 0 < value <= 0x10FFFF or 0xD800 <= value <= 0xDFFF:
        raise SyntaxRefused(f"an escape that is not supported, in a {token.kind.value}", position=position)
    return chr(value)
