"""The statements of a message, cut at semicolons: one in a string, dollar quote or comment cuts nothing."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NoReturn

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from dpproxy.config.settings import DEFAULTS, checked, find
from dpproxy.sql.grammar import tokens
from dpproxy.values.errors import InvalidParameter, Refusal, SyntaxRefused, TooComplex

MOST_TEXT = 100_000
"""Characters in one message."""
MOST_DECLARED = 1_000_000
"""Characters in one message of an administrator that begins with a declaration: a domain can be a long list."""
MOST_STATEMENTS = 1000
"""Statements in one message."""

_QUOTED = frozenset({
    TokenType.STRING, TokenType.IDENTIFIER, TokenType.HEREDOC_STRING, TokenType.BYTE_STRING,
    TokenType.UNICODE_STRING,
})  # fmt: skip
_AS_WRITTEN = frozenset({
    TokenType.HEX_STRING, TokenType.BIT_STRING, TokenType.NATIONAL_STRING, TokenType.RAW_STRING,
})  # fmt: skip
"""Their text is not the value that they write: 0x10 has the text 10."""
_DECLARES = re.compile(r"\s*(alter|create)\s", re.IGNORECASE).match
_IS_OURS = re.compile(r"dp\s*\(", re.IGNORECASE).match
_COMMENT = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL).match
_PLAIN = re.compile(r"[^\W\d][\w$]*").fullmatch
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII).fullmatch
_STARTS_A_NUMBER = re.compile(r"[+-]?\.?\d").match
_HINT = "/*+ dp(epsilon=0.2, confidence=0.9) */"
_BEGINS = frozenset({"select", "with", "values", "table"})
_LITERALS = _QUOTED - {TokenType.IDENTIFIER}


@dataclass(frozen=True, slots=True)
class Word:
    """A token of a session statement; ``text`` is in lower case unless it was quoted."""

    text: str
    start: int
    """Offset from the statement's first character."""
    quoted: bool = False
    literal: bool = False
    """True for a string, False for a quoted name."""


@dataclass(frozen=True, slots=True)
class Source:
    """One statement as it was written.

    ``offset`` counts characters from the start of the message. ``hint`` holds the settings that
    ``/*+ dp(name=value, ...) */`` before it, or behind its first word, gives to this statement alone.
    """

    text: str
    offset: int
    words: tuple[Word, ...] = field(repr=False)
    hint: dict[str, str] = field(default_factory=dict)


def split(sql: str, *, is_admin: bool = False) -> tuple[Source, ...]:
    """The statements of ``sql``, without the empty ones; what is too long is not even cut into words.

    Errors: ``SyntaxRefused`` for an unfinished string, name or comment, and for a hint that does not read or is out
    of place; ``TooComplex``.

    >>> [source.text for source in split("SELECT ';' ; SHOW a -- b")]
    ["SELECT ';'", 'SHOW a']
    """
    most = MOST_DECLARED if is_admin and _DECLARES(sql) else MOST_TEXT
    if len(sql) > most:
        raise TooComplex(f"the statement is longer than {most} characters")
    found = []
    words = _tokens(sql)
    hints = _hints(sql, words)
    for run in _runs(words):
        start, end = run[0].start, run[-1].end + 1
        hint = _hint_of(run, hints)
        found.append(Source(sql[start:end], start, tuple(_word(token, sql, start) for token in run), hint))
    for position, _ in hints.values():  # behind the last word
        raise _misplaced(position)
    if len(found) > MOST_STATEMENTS:
        raise TooComplex(f"more than {MOST_STATEMENTS} statements in one message")
    return tuple(found)


def _tokens(sql: str) -> list[Token]:
    try:
        return tokens(sql)
    except TokenError:
        raise SyntaxRefused(
            "a string, quoted name or comment does not end",
            hint="close it; a quote inside one is written twice",
        ) from None


def _runs(tokens: list[Token]) -> list[list[Token]]:
    """Those in parentheses are parts of the EXPLAIN before them, which prices them together."""
    runs: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        inside = depth > 0 and bool(runs[-1]) and runs[-1][0].text.lower() == "explain"
        if token.token_type is TokenType.SEMICOLON and not inside:
            runs.append([])
            depth = 0
        else:
            runs[-1].append(token)
    return [run for run in runs if run]


def _word(token: Token, sql: str, start: int = 0) -> Word:
    quoted = token.token_type in _QUOTED
    written = sql[token.start : token.end + 1] if token.token_type in _AS_WRITTEN else token.text
    text = written if quoted else written.lower()
    return Word(text, token.start - start, quoted, token.token_type in _LITERALS)


def _hints(sql: str, every: list[Token]) -> dict[int, tuple[int, str]]:
    """The place and the text of each ``/*+ dp(...) */``, by the start of the token that follows it."""
    if "/*+" not in sql:
        return {}
    ends, starts = [0, *(t.end + 1 for t in every)], [*(t.start for t in every), len(sql)]
    found: dict[int, tuple[int, str]] = {}
    for end, start in zip(ends, starts, strict=True):
        for hint in _hints_between(sql[end:start], end):
            if start in found:
                raise SyntaxRefused(
                    "a second hint", hint=f"write all of it in one: {_HINT}", position=hint[0]
                )
            found[start] = hint
    return found


def _hints_between(gap: str, offset: int) -> Iterator[tuple[int, str]]:
    """In the comments between two tokens."""
    at = 0
    while at < len(gap):
        comment = _COMMENT(gap, at)
        end = comment.end() if comment else at + 1
        body = gap[at:end].removeprefix("/*+").removesuffix("*/").strip()
        if gap.startswith("/*+", at) and _IS_OURS(body):
            yield offset + at, body
        at = end


def _hint_of(run: list[Token], hints: dict[int, tuple[int, str]]) -> dict[str, str]:
    """The settings of a statement's own hint, which is taken out of ``hints``.

    It stands before the statement, or up to the place right behind the first word of its query. Further on it would
    seem to be said of a part of the statement.
    """
    if not hints:
        return {}
    settings: dict[str, str] = {}
    query = next((i for i, token in enumerate(run) if token.text.lower() in _BEGINS), 0)
    depth = 0
    for index, token in enumerate(run):
        if token.start in hints:
            position, body = hints.pop(token.start)
            if settings or depth or index > query + 1:
                raise _misplaced(position)
            settings = _assignments(body, position)
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
    return settings


def _misplaced(position: int) -> SyntaxRefused:
    return SyntaxRefused(
        "a hint that is not before its statement",
        hint=f"one hint stands before the statement and holds for all of it: {_HINT} SELECT ...",
        position=position,
    )


def _assignments(body: str, position: int) -> dict[str, str]:
    """``dp(name=value, ...)`` as settings, each checked."""
    try:
        return _checked(body)
    except SyntaxRefused:
        raise SyntaxRefused("a hint that does not read", hint=f"write {_HINT}", position=position) from None
    except Refusal as refusal:
        refusal.position = position
        raise


def _checked(body: str) -> dict[str, str]:
    words = Words(Source(body, 0, tuple(_word(token, body) for token in _tokens(body))))
    words.expect("dp", "(")
    settings: dict[str, str] = {}
    while not words.take(")"):
        name = f"dp.{words.name()}"
        words.expect("=")
        settings[name] = _checked_value(name, words.value())
        if not words.take(","):
            words.expect(")")
            break
    words.end()
    return settings


def _checked_value(name: str, value: str) -> str:
    if find(name).lowers_only:
        raise InvalidParameter(f'parameter "{name}" cannot be given for one statement', hint="use SET")
    return checked(name, value, DEFAULTS)


class Words:
    """A statement's words, taken from the left."""

    __slots__ = ("_at", "_source")

    def __init__(self, source: Source) -> None:
        self._source = source
        self._at = 0

    @property
    def ahead(self) -> tuple[Word, ...]:
        """The next word, nothing at the end."""
        return self._source.words[self._at : self._at + 1]

    def take(self, *keywords: str) -> bool:
        """Take these keywords if they come next."""
        following = self._source.words[self._at : self._at + len(keywords)]
        if tuple(w.text for w in following) != keywords or any(w.quoted for w in following):
            return False
        self._at += len(keywords)
        return True

    def take_one(self, *keywords: str) -> str | None:
        """Take one of these keywords if it comes next."""
        return next((keyword for keyword in keywords if self.take(keyword)), None)

    def expect(self, *keywords: str) -> None:
        """Take these keywords.

        Errors: ``SyntaxRefused``.
        """
        if not self.take(*keywords):
            self.refuse()

    def next(self) -> Word:
        """Take any word.

        Errors: ``SyntaxRefused`` at the end.
        """
        if not self.ahead:
            self.refuse()
        self._at += 1
        return self._source.words[self._at - 1]

    def name(self) -> str:
        """Take a name, quoted or not.

        Errors: ``SyntaxRefused``.
        """
        if (
            not self.ahead
            or self.ahead[0].literal
            or not (self.ahead[0].quoted or _PLAIN(self.ahead[0].text))
        ):
            self.refuse()
        return self.next().text

    def value(self) -> str:
        """Take the value of a setting: a string, a name, or a decimal number with or without a sign.

        Errors: ``SyntaxRefused``; ``InvalidParameter`` for a number written in any other way.
        """
        if self.ahead and (self.ahead[0].quoted or _PLAIN(self.ahead[0].text)):
            return self.next().text
        number = (self.take_one("+", "-") or "") + (self.take_one(".") or "")
        if not self.ahead or not _STARTS_A_NUMBER(number + self.ahead[0].text):
            self.refuse()
        word = self.next()
        number += word.text
        # 1_0 and 0o7 come as two words without a space between them.
        adjoined = self.ahead and self.ahead[0].start == word.start + len(word.text)
        if not _NUMBER(number) or (adjoined and _PLAIN(self.ahead[0].text)):
            raise InvalidParameter(
                "a number that is not plainly decimal",
                hint="write it in decimal digits, such as 0.1, or as a string",
                position=word.start,
            )
        return number

    @property
    def hint(self) -> dict[str, str]:
        """The settings of the statement's own hint."""
        return self._source.hint

    def qualified(self) -> str:
        """Take a name with or without those it is in, and give it as it is written.

        Errors: ``SyntaxRefused``.
        """
        begun = self._at
        self.name()
        while self.take("."):
            self.name()
        end = self._at
        self._at = begun
        text = self._cut(end).text
        self._at = end
        return text

    def made(self, text: str, start: int) -> Source:
        """Another statement in place of this one; ``start`` is where its refusals point to."""
        (source,) = split(text)
        return replace(source, offset=self._source.offset + start, hint=self._source.hint)

    @property
    def is_last(self) -> bool:
        """True where one word is left."""
        return self._at == len(self._source.words) - 1

    def rest(self) -> Source:
        """Everything that is left, as a statement of its own.

        Errors: ``SyntaxRefused`` where nothing is.
        """
        return self._cut(len(self._source.words))

    def bracketed(self) -> Source:
        """Take what is in the brackets that come next, as a statement of its own.

        Errors: ``SyntaxRefused``.
        """
        self.expect("(")
        depth, end = 1, self._at
        while depth and end < len(self._source.words):
            word = self._source.words[end]
            depth += 0 if word.quoted else (word.text == "(") - (word.text == ")")
            end += 1
        if depth:
            self._at = end
            self.refuse()
        inner = self._cut(end - 1)
        self._at = end
        return inner

    def _cut(self, end: int) -> Source:
        """The words from here to ``end``."""
        words = self._source.words[self._at : end]
        if not words:
            self.refuse()
        whole = self._source
        start = words[0].start
        stop = whole.words[end].start if end < len(whole.words) else len(whole.text)
        return Source(
            whole.text[start:stop].rstrip(),
            whole.offset + start,
            tuple(replace(word, start=word.start - start) for word in words),
            whole.hint,
        )

    def end(self) -> None:
        """Nothing may follow.

        Errors: ``SyntaxRefused``.
        """
        if self.ahead:
            self.refuse()

    def refuse(self) -> NoReturn:
        """Refuse what comes next.

        Errors: ``SyntaxRefused``, always.
        """
        if self.ahead:
            word = self.ahead[0]
            raise SyntaxRefused(f'syntax error at or near "{word.text}"', position=word.start)
        raise SyntaxRefused("syntax error at end of input", position=len(self._source.text))
