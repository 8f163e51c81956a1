"""Words of a privacy statement, by PostgreSQL's lexical rules (manual, section 4.1), each with its offset.

Narrower on purpose: no ``$``, no ``U&``, ``B`` or ``X`` literals, no numbers with underscores.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import chain, islice

from dpproxy.values.errors import SyntaxRefused


class Kind(Enum):
    """What a token is."""

    WORD = "word"
    QUOTED = "quoted name"
    STRING = "text"
    NUMBER = "number"
    SYMBOL = "symbol"
    END = "end of the statement"


@dataclass(frozen=True, slots=True)
class Token:
    """One token; ``text`` is folded for words, unescaped for names and strings, as written for numbers."""

    kind: Kind
    text: str
    position: int
    end: int

    @property
    def shown(self) -> str:
        """How a message names it: never the content of a literal."""
        if self.kind in {Kind.WORD, Kind.SYMBOL}:
            return f'"{self.text}"'
        return self.kind.value if self.kind is Kind.END else f"a {self.kind.value}"


@dataclass(frozen=True, slots=True)
class Piece:
    """One statement of a text of several, and where it starts there."""

    text: str
    offset: int


_TOKEN = re.compile(
    r"""
      (?P<space>   (?: [ \t\n\r\f\v] | --[^\n\r]* )++ )
    | (?P<comment> /\* )
    | (?P<escape>  [eE] ' (?: [^'\\] | '' | \\. )*+ ' )
    | (?P<string>  ' (?: [^'] | '' )*+ ' )
    | (?P<quoted>  " (?: [^"] | "" )*+ " )
    | (?P<number>  (?: [0-9]++ (?: \.[0-9]*+ )? | \.[0-9]++ ) (?: [eE][+-]?[0-9]++ )? )
    | (?P<word>    [^\x00-@\[-^`{-\x7f][^\x00-/:-@\[-^`{-\x7f]*+ )  # what is not ASCII is a letter
    | (?P<symbol>  [!\#%&()*+,\-./:;<=>?@\[\\\]^`{|}~] )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_AFTER_NUMBER = re.compile(r"[^\x00-/:-@\[-^`{-\x7f]")
_ESCAPE = re.compile(r"''|\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'"}
_FOLD = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_UNREADABLE = {
    "'": "unterminated text",
    '"': "unterminated quoted name",
    "$": 'the character "$" has no meaning in a privacy statement',
}


def tokens(text: str) -> Iterator[Token]:
    """The tokens of ``text``, lazily, the last one of kind END.

    Raises:
        SyntaxRefused: at the first character that starts no token.
    """
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise SyntaxRefused(_UNREADABLE.get(text[at], "unexpected character"), position=at)
        if found.lastgroup == "comment":
            at = _comment_end(text, at)
            continue
        at = found.end()
        if found.lastgroup != "space":
            yield _token(found)
    yield Token(Kind.END, "", len(text), len(text))


def split_statements(text: str) -> list[Piece]:
    """The statements of a policy file, ended by semicolons; the last semicolon may be missing.

    >>> [(p.text, p.offset) for p in split_statements("/* the tables */ ADVANCE ; ; SHOW 'a;b'")]
    [('ADVANCE', 17), ("SHOW 'a;b'", 29)]
    """
    pieces: list[Piece] = []
    start: int | None = None
    end = 0
    for token in tokens(text):
        if token.kind is Kind.END or (token.kind is Kind.SYMBOL and token.text == ";"):
            if start is not None:
                pieces.append(Piece(text[start:end], start))
            start = None
        else:
            start = token.position if start is None else start
            end = token.end
    return pieces


_HEADS: dict[str, frozenset[str]] = {
    "create": frozenset({"privacy", "protected"}),
    "drop": frozenset({"privacy", "protected"}),
    "refresh": frozenset({"protected"}),
    "reset": frozenset({"privacy"}),
    "verify": frozenset({"protected"}),
    "advance": frozenset({"privacy"}),
    "show": frozenset({"privacy"}),
    "suggest": frozenset({"privacy"}),
}
"""First word to second words; GRANT, REVOKE and ALTER TABLE have rules of their own."""


def is_privacy_statement(sql: str) -> bool:
    """Whether ``sql`` is for this package's parser: judged from its words alone, never raises.

    >>> is_privacy_statement("alter table t set privacy public"), is_privacy_statement("SHOW timezone")
    (True, False)
    """
    stream = tokens(sql)
    try:
        first, second = _words(islice(stream, 2))
        match first:
            case "grant" | "revoke":
                return True
            case "alter" if second in ("role", "user"):
                return True
            case "alter":
                return second == "table" and any(t.kind is Kind.WORD and t.text == "privacy" for t in stream)
            case _:
                return second in _HEADS.get(first, frozenset())
    except SyntaxRefused:
        return False


def _words(stream: Iterator[Token]) -> tuple[str, str]:
    """The first two tokens' texts, empty where they are no words."""
    texts = (token.text if token.kind is Kind.WORD else "" for token in stream)
    first, second = islice(chain(texts, ("", "")), 2)
    return first, second


def _token(found: re.Match[str]) -> Token:
    """The value of a match other than space and comment."""
    start, end, raw = found.start(), found.end(), found.group()
    match found.lastgroup:
        case "word":
            return Token(Kind.WORD, raw.translate(_FOLD), start, end)
        case "quoted":
            return Token(Kind.QUOTED, _quoted(raw, start), start, end)
        case "string":
            return Token(Kind.STRING, _without_nul(raw[1:-1].replace("''", "'"), start), start, end)
        case "escape":
            return Token(Kind.STRING, _without_nul(_unescape(raw, start), start), start, end)
        case "number":
            if _AFTER_NUMBER.match(found.string, end):
                raise SyntaxRefused("a letter or digit stands right after a number", position=end)
            return Token(Kind.NUMBER, raw, start, end)
        case _:
            return Token(Kind.SYMBOL, raw, start, end)


def _comment_end(text: str, start: int) -> int:
    """The offset after a comment that opens at ``start``; comments nest."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge.group() == "/*" else -1
        if depth == 0:
            return edge.end()
    raise SyntaxRefused("unterminated comment", position=start)


def _quoted(raw: str, position: int) -> str:
    name = _without_nul(raw[1:-1].replace('""', '"'), position)
    if not name:
        raise SyntaxRefused("a quoted name is empty", position=position)
    return name


def _without_nul(text: str, position: int) -> str:
    if "\0" in text:
        raise SyntaxRefused("a zero character in a literal", position=position)
    return text


def _unescape(raw: str, position: int) -> str:
    """The content of E'...'."""

    def one(found: re.Match[str]) -> str:
        code = found.group(1)
        if code is None:
            return "'"
        if code in _ESCAPED:
            return _ESCAPED[code]
        value = int(code[1:], 16) if len(code) > 1 else -1
        if not 0 < value <= 0x10FFFF or 0xD800 <= value <= 0xDFFF:
            raise SyntaxRefused("an escape that is not supported", position=position + 2 + found.start())
        return chr(value)

    return _ESCAPE.sub(one, raw[2:-1])
