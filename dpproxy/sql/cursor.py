"""A cursor over the tokens of one statement, from which parsers read and which makes their refusals."""

from collections.abc import Callable, Container, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from typing import NoReturn, TypeVar

from msgspec import Struct

from dpproxy.sql.lexer import Token, TokenKind, tokens
from dpproxy.sql.quoting import RESERVED
from dpproxy.values.errors import SyntaxRefused, UndefinedTable, Unsupported
from dpproxy.values.structs import PartlyCompared

T = TypeVar("T")

_UNQUOTED = (TokenKind.WORD, TokenKind.SYMBOL)
_NAMES = (TokenKind.WORD, TokenKind.NAME)


class Name(PartlyCompared, Struct, frozen=True):
    """An identifier and its position in the statement."""

    text: str
    position: int | None = None


class Cursor:
    """The tokens of one statement, read from the left and no further than is needed.

    Refusals that know what comes before (``after``) say what was expected; the others are PostgreSQL's syntax errors.
    """

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._stream = tokens(sql)
        self._tokens: list[Token] = []
        self._at = 0
        self._tried: list[tuple[str, ...]] = []

    # --- looking

    def _peek(self, ahead: int = 0) -> Token:
        """A token ahead; beyond the end, the END."""
        wanted = self._at + ahead
        if wanted >= len(self._tokens):
            self._tokens.extend(islice(self._stream, wanted + 1 - len(self._tokens)))
            wanted = min(wanted, len(self._tokens) - 1)
        return self._tokens[wanted]

    @property
    def token(self) -> Token:
        """The next token."""
        return self._peek()

    @property
    def position(self) -> int:
        """Where it stands."""
        return self._peek().position

    @property
    def before(self) -> Token:
        """The token read last; the next one where none was."""
        return self._tokens[self._at - 1] if self._at else self._peek()

    @property
    def is_last(self) -> bool:
        """Whether one token is left."""
        return self._peek().kind is not TokenKind.END and self._peek(1).kind is TokenKind.END

    def at(self, *words: str) -> bool:
        """Whether the next tokens are these unquoted words, or symbols."""
        for ahead, word in enumerate(words):
            token = self._peek(ahead)
            if len(token.raw) != len(word) or token.kind not in _UNQUOTED or token.text != word:
                return False
        return True

    # --- reading

    def take(self) -> Token:
        """The next token, read; END is never passed."""
        token = self._peek()
        self._read(token.kind is not TokenKind.END)
        return token

    def accept(self, *words: str) -> bool:
        """Read these words or symbols if they are next."""
        here = self.at(*words)
        if here:
            self._read(len(words))
        else:
            self._tried.append(words)
        return here

    def accept_one(self, *words: str) -> str | None:
        """Read one of these words if it is next."""
        return next((word for word in words if self.accept(word)), None)

    def expect(self, *words: str, after: str | None = None) -> None:
        """Read these words or symbols, or refuse."""
        for word in words:
            if not self.accept(word):
                self.refuse([], after)
            after = after and word.upper()

    def choose(self, choices: Mapping[str, T], after: str | None, unlisted: Container[str] = ()) -> T:
        """Read one of these words, or refuse; returns its value. Refusals do not list the ``unlisted``."""
        token = self.token
        if token.kind is not TokenKind.WORD or token.text not in choices:
            self.refuse([word.upper() for word in choices if word not in unlisted], after)
        self.take()
        return choices[token.text]

    def name(self, what: str, after: str) -> Name:
        """An identifier, or refuse."""
        token = self.token
        if token.kind is TokenKind.WORD and token.text in RESERVED:
            hint = f'The word "{token.text}" is reserved: as a name it is written in double quotes.'
            self.refuse([f"the {what}'s name"], after, hint)
        if token.kind not in _NAMES:
            self.refuse([f"the {what}'s name"], after)
        self.take()
        return Name(token.text, token.position)

    def label(self) -> str:
        """A name for which every word will do, or refuse."""
        if self.token.kind not in _NAMES:
            self.refuse()
        return self.take().text

    def dotted_labels(self) -> list[str]:
        """Labels separated by points."""
        parts = [self.label()]
        while self.accept("."):
            parts.append(self.label())
        return parts

    def table(self, after: str) -> Name:
        """A table's name, with its schema where that is not ``public``."""
        first = self.name("table", after)
        if not self.accept("."):
            return first
        own = self.name("table", "the schema's name")
        return own if first.text == "public" else Name(f"{first.text}.{own.text}", first.position)

    def view(self, after: str) -> Name:
        """A protected view's name; the schema ``public`` may stand before it.

        Raises:
            UndefinedTable: another schema.
        """
        first = self._peek()
        name = self.table(after)
        if name.position == first.position and name.text != first.text:
            raise UndefinedTable(
                "no such schema",
                hint='Every protected view is in the schema "public".',
                position=first.position,
            )
        return name

    def comma_list(self, read: Callable[[str], T], after: str = "") -> tuple[T, ...]:
        """Read one or more items separated by commas; ``read`` gets what each one follows."""
        items = [read(after)]
        while self.accept(","):
            items.append(read('","'))
        return tuple(items)

    def rest(self) -> tuple[str, int]:
        """Take the text from the next token to the end, without trailing semicolons, and its position."""
        start = end = self.position
        while (token := self.take()).kind is not TokenKind.END:
            end = end if token.raw == ";" else token.end
        return self._sql[start:end], start

    def parenthesis(self) -> tuple[str, int]:
        """Take parentheses; returns the text inside and its position."""
        self.expect("(")
        start, end, depth = self.position, self.position, 1
        while depth:
            token = self.take()
            if token.kind is TokenKind.END:
                self.refuse()
            depth += (token.raw == "(") - (token.raw == ")")
            end = token.end if depth else end
        return self._sql[start:end], start

    def expression(self, after: str, *stops: str) -> str:
        """Take the text up to a comma, a closing parenthesis or a word of ``stops``, or refuse."""
        start = end = self.position
        while not (
            self.at(",") or self.at(")") or self.token.kind is TokenKind.END or any(map(self.at, stops))
        ):
            if self.at("("):
                self.parenthesis()
            else:
                self.take()
            end = self.before.end
        if start == end:
            self.refuse(["an expression"], after)
        return self._sql[start:end]

    def end(self, after: str | None = None) -> None:
        """Refuse anything more than semicolons."""
        while self.at(";"):
            self.take()
        if self.token.kind is not TokenKind.END:
            self.refuse([] if after is None else ["the end of the statement"], after)

    def _read(self, count: int) -> None:
        self._at += count
        self._tried.clear()

    # --- refusing

    def refuse(
        self, expected: Sequence[str] = (), after: str | None = None, hint: str | None = None
    ) -> NoReturn:
        """Raise a syntax error at the next token; a word close to an expected one is suggested.

        What was tried here without success is expected, too.

        Raises:
            SyntaxRefused: always.
        """
        token = self.token
        shown = list(dict.fromkeys([*map(_quoted_words, self._tried), *expected]))
        if after is None and not expected:
            near = "at end of input" if token.kind is TokenKind.END else f'at or near "{token.raw}"'
            raise SyntaxRefused(f"syntax error {near}", position=token.position)
        if hint is None and token.kind is TokenKind.WORD:
            close = get_close_matches(token.text.upper(), shown, n=1, cutoff=0.6)
            hint = f"Did you mean {close[0]}?" if close else None
        listed = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
        place = f" after {after}" if after else ""
        raise SyntaxRefused(
            f"expected {listed}{place}, found {token.description}", hint=hint, position=token.position
        )

    def unsupported(self, construct: str, hint: str | None = None, position: int | None = None) -> NoReturn:
        """Refuse a construct of PostgreSQL that is not supported.

        Raises:
            Unsupported: always.
        """
        where = self.position if position is None else position
        raise Unsupported(f"{construct} is not supported yet", hint=hint, position=where)


def _quoted_words(words: tuple[str, ...]) -> str:
    """Words or a symbol, as a message names them."""
    return " ".join(words).upper() if words[0][0].isalpha() else f'"{words[0]}"'
