"""The statements of a message, each with the settings that its hint gives it."""

import re

from msgspec import Struct, field

from dpproxy.config.settings import DEFAULTS, find, normalise
from dpproxy.sql.cursor import Cursor
from dpproxy.sql.lexer import Piece, Token, TokenKind, pieces, tokens
from dpproxy.values.errors import InvalidParameter, Refusal, SyntaxRefused, TooComplex

MOST_TEXT = 100_000
"""Characters in one message."""
MOST_DECLARED = 1_000_000
"""Characters in an administrator's message that begins with ALTER or CREATE: a domain can be a long list."""
MOST_STATEMENTS = 1000
"""Statements in one message."""

_DECLARES = re.compile(r"\s*(alter|create)\s", re.IGNORECASE).match
_IS_OURS = re.compile(r"/\*\+\s*dp\s*\(", re.IGNORECASE).match
_NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE).fullmatch
_HINT = "/*+ dp(epsilon=0.2, confidence=0.9) */"
_BEGINS = frozenset({"select", "with", "values", "table"})


class StatementText(Struct, frozen=True):
    """The text of one statement.

    ``offset`` counts characters from the start of the message. ``hint`` holds the settings that
    ``/*+ dp(name=value, ...) */`` before it, or behind its first word, gives to this statement alone.
    """

    text: str
    offset: int
    hint: dict[str, str] = field(default_factory=dict)


def split(sql: str, *, is_admin: bool = False) -> tuple[StatementText, ...]:
    """The statements of a message, without the empty ones; a message that is too long is refused unread.

    Errors: ``SyntaxRefused`` for an unfinished string, name or comment, and for a hint that does not read or is out
    of place; ``TooComplex``.

    >>> [source.text for source in split("SELECT ';' ; SHOW a -- b")]
    ["SELECT ';'", 'SHOW a']
    """
    most = MOST_DECLARED if is_admin and _DECLARES(sql) else MOST_TEXT
    if len(sql) > most:
        raise TooComplex(f"the statement is longer than {most} characters")
    hints = _hints(sql) if "/*+" in sql else {}
    found = tuple(StatementText(piece.text, piece.offset, _hint_of(piece, hints)) for piece in pieces(sql))
    for hint in hints.values():  # of no statement
        raise _misplaced(hint)
    if len(found) > MOST_STATEMENTS:
        raise TooComplex(f"more than {MOST_STATEMENTS} statements in one message")
    return found


def _hints(sql: str) -> dict[int, Token]:
    """Each ``/*+ dp(...) */``, by the place of the token that follows it."""
    found: dict[int, Token] = {}
    hint: Token | None = None
    for token in tokens(sql, comments=True):
        if token.kind is not TokenKind.COMMENT:
            found |= {} if hint is None else {token.position: hint}
            hint = None
        elif _IS_OURS(token.raw):
            if hint is not None:
                raise SyntaxRefused(
                    "a second hint", hint=f"write all of it in one: {_HINT}", position=token.position
                )
            hint = token
    return found


def _hint_of(piece: Piece, hints: dict[int, Token]) -> dict[str, str]:
    """The settings of a statement's own hint, which is removed from ``hints``.

    A hint may stand before the statement, or right behind the first word of its query. Elsewhere it is refused, since
    it would seem to apply to a part of the statement only.
    """
    if not hints:
        return {}
    settings: dict[str, str] = {}
    words = list(tokens(piece.text))
    query = next((i for i, token in enumerate(words) if token.raw.lower() in _BEGINS), 0)
    depth = 0
    for index, token in enumerate(words[:-1]):
        hint = hints.pop(piece.offset + token.position, None)
        if hint is not None:
            if settings or depth or index > query + 1:
                raise _misplaced(hint)
            settings = _assignments(hint)
        depth += (token.raw == "(") - (token.raw == ")")
    return settings


def _misplaced(hint: Token) -> SyntaxRefused:
    return SyntaxRefused(
        "a hint that is not before its statement",
        hint=f"One hint stands before the statement, {_HINT}, and holds for all of it.",
        position=hint.position,
    )


def _assignments(hint: Token) -> dict[str, str]:
    """``dp(name=value, ...)`` as settings, each checked."""
    words, settings = Words(StatementText(hint.raw[3:-2], 0)), dict[str, str]()
    try:
        words.expect("dp", "(")
        while not words.accept(")"):
            name = f"dp.{words.label()}"
            words.expect("=")
            settings[name] = _checked_value(name, words.value())
            if not words.accept(","):
                words.expect(")")
                break
        words.end()
    except SyntaxRefused:
        raise SyntaxRefused(
            "a hint that does not read", hint=f"write {_HINT}", position=hint.position
        ) from None
    except Refusal as refusal:
        refusal.position = hint.position
        raise
    return settings


def _checked_value(name: str, value: str) -> str:
    if find(name).lowers_only:
        raise InvalidParameter(f'parameter "{name}" cannot be given for one statement', hint="use SET")
    return normalise(name, value, DEFAULTS)


class Words(Cursor):
    """The tokens of a session command; a statement inside it is a source of its own."""

    def __init__(self, source: StatementText) -> None:
        super().__init__(source.text)
        self.source = source

    def value(self) -> str:
        """Take the value of a setting: a string, a name, or a decimal number with or without a sign.

        Errors: ``SyntaxRefused``; ``InvalidParameter`` for a number written in any other way.
        """
        if self.token.kind in _TEXTS:
            return self.take().text
        sign = self.accept_one("+", "-") or ""
        if self.token.kind is not TokenKind.NUMBER:
            self.refuse()
        number = self.take()
        if not _NUMBER(number.raw):
            raise InvalidParameter(
                "a number that is not plainly decimal",
                hint="write it in decimal digits, such as 0.1, or as a string",
                position=number.position,
            )
        return sign + number.raw.lower()

    def inner(self, text: str, start: int) -> StatementText:
        """A statement inside this one, which begins ``start`` characters behind it.

        Errors: ``SyntaxRefused`` where it is empty.
        """
        if not text:
            self.refuse()
        return StatementText(text, self.source.offset + start, self.source.hint)


_TEXTS = (TokenKind.TEXT, TokenKind.NAME, TokenKind.WORD)
