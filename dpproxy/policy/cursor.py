"""A place in the tokens of one statement and what a parser asks there; refusals say what was expected."""

from collections.abc import Callable, Container, Iterable, Mapping
from difflib import get_close_matches
from typing import NoReturn, TypeVar

from dpproxy.policy.statements import Name
from dpproxy.policy.tokens import Kind, Token, tokens
from dpproxy.values.errors import SyntaxRefused, UndefinedTable, Unsupported

T = TypeVar("T")

RESERVED = frozenset({
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "both", "case",
    "cast", "check", "collate", "column", "constraint", "create", "current_catalog", "current_date",
    "current_role", "current_time", "current_timestamp", "current_user", "default", "deferrable",
    "desc", "distinct", "do", "else", "end", "except", "false", "fetch", "for", "foreign", "from",
    "grant", "group", "having", "in", "initially", "intersect", "into", "lateral", "leading", "limit",
    "localtime", "localtimestamp", "not", "null", "offset", "on", "only", "or", "order", "placing",
    "primary", "references", "returning", "select", "session_user", "set", "some", "symmetric",
    "system_user", "table", "then", "to", "trailing", "true", "union", "unique", "user", "using",
    "variadic", "when", "where", "window", "with",
})  # fmt: skip
"""Words that PostgreSQL reserves (manual, appendix C), and SET: no names unless quoted."""


class Cursor:
    """The tokens of one statement and the one to read next."""

    def __init__(self, sql: str) -> None:
        self._sql = sql
        self._tokens = list(tokens(sql))
        self._at = 0
        self._tried: list[str] = []

    @property
    def token(self) -> Token:
        """The next token."""
        return self._tokens[self._at]

    @property
    def before(self) -> Token:
        """The token read last; the next one where none was."""
        return self._tokens[max(self._at - 1, 0)]

    def take(self) -> Token:
        """The next token, read; END is never passed."""
        token = self.token
        self._read(token.kind is not Kind.END)
        return token

    def at(self, *words: str) -> bool:
        """Whether the next tokens are these unquoted words."""
        following = self._tokens[self._at : self._at + len(words)]
        return [(t.kind, t.text) for t in following] == [(Kind.WORD, w) for w in words]

    def accept(self, *words: str) -> bool:
        """Read these words if they are next."""
        here = self.at(*words)
        if here:
            self._read(len(words))
        else:
            self._tried.append(" ".join(words).upper())
        return here

    def expect(self, *words: str, after: str) -> None:
        """Read these words, or refuse."""
        for word in words:
            if not self.accept(word):
                self.refuse([], after)
            after = word.upper()

    def accept_symbol(self, symbol: str) -> bool:
        """Read this character if it is next."""
        here = self.token.kind is Kind.SYMBOL and self.token.text == symbol
        if here:
            self._read(1)
        else:
            self._tried.append(f'"{symbol}"')
        return here

    def symbol(self, symbol: str, after: str) -> None:
        """Read this character, or refuse."""
        if not self.accept_symbol(symbol):
            self.refuse([], after)

    def choose(self, choices: Mapping[str, T], after: str | None, unlisted: Container[str] = ()) -> T:
        """Read one of these words, or refuse; what it stands for. Refusals do not list the ``unlisted``."""
        token = self.token
        if token.kind is not Kind.WORD or token.text not in choices:
            self.refuse([word.upper() for word in choices if word not in unlisted], after)
        self.take()
        return choices[token.text]

    def refuse(self, expected: Iterable[str], after: str | None, hint: str | None = None) -> NoReturn:
        """Raise a syntax error at the next token; a word close to an expected one is suggested.

        What was tried here without success is expected, too.

        Raises:
            SyntaxRefused: always.
        """
        shown = list(dict.fromkeys([*self._tried, *expected]))
        token = self.token
        if hint is None and token.kind is Kind.WORD:
            near = get_close_matches(token.text.upper(), shown, n=1, cutoff=0.6)
            hint = f"Did you mean {near[0]}?" if near else None
        listed = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"
        place = f" after {after}" if after else ""
        raise SyntaxRefused(
            f"expected {listed}{place}, found {token.shown}", hint=hint, position=token.position
        )

    def _read(self, count: int) -> None:
        self._at += count
        self._tried.clear()

    def unsupported(self, construct: str, hint: str | None = None, position: int | None = None) -> NoReturn:
        """Refuse a construct that is known and not there.

        Raises:
            Unsupported: always.
        """
        where = self.token.position if position is None else position
        raise Unsupported(f"{construct} is not supported yet", hint=hint, position=where)

    def name(self, what: str, after: str) -> Name:
        """An identifier, or refuse."""
        token = self.token
        if token.kind is Kind.WORD and token.text in RESERVED:
            hint = f'The word "{token.text}" is reserved: as a name it is written in double quotes.'
            self.refuse([f"the {what}'s name"], after, hint)
        if token.kind not in {Kind.WORD, Kind.QUOTED}:
            self.refuse([f"the {what}'s name"], after)
        self.take()
        return Name(token.text, token.position)

    def table(self, after: str) -> Name:
        """A table's name; the schema ``public`` may stand before it.

        Raises:
            UndefinedTable: another schema.
        """
        first = self.name("table", after)
        if not self.accept_symbol("."):
            return first
        if first.text != "public":
            raise UndefinedTable(
                "no such schema", hint='Every table is in the schema "public".', position=first.position
            )
        return self.name("table", "the schema's name")

    def listed(self, read: Callable[[str], T], after: str) -> tuple[T, ...]:
        """One or more, separated by commas."""
        items = [read(after)]
        while self.accept_symbol(","):
            items.append(read('","'))
        return tuple(items)

    def rest(self) -> tuple[str, int]:
        """The text from the next token to the end, read, without semicolons behind it; and where it starts."""
        start, last = self.token.position, self._tokens[-1].position
        for token in reversed(self._tokens[:-1]):
            if token.kind is not Kind.SYMBOL or token.text != ";":
                break
            last = token.position
        self._read(len(self._tokens) - 1 - self._at)
        return self._sql[start:last].strip(), start

    def end(self, after: str) -> None:
        """Refuse anything more than semicolons."""
        while self.token.kind is Kind.SYMBOL and self.token.text == ";":
            self.take()
        if self.token.kind is not Kind.END:
            self.refuse(["the end of the statement"], after)
