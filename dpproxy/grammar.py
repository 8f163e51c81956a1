"""PostgreSQL's SQL as the parser reads it, with two repairs.

``$1,$2`` is two parameters and no dollar-quoted string; ``oid[]`` is read as ``_oid``, which is the same type, and
so is ``regtype[]``.

A ``$`` before a digit never opens a quote in PostgreSQL. The parser's tokenizer takes ``$1,$`` for one; so it is given
another character in that place, one that no text may hold, and gives the ``$`` back in what was a string all along.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar, Final

import sqlglot
from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.tokenizer_core import Token, TokenType

from dpproxy.errors import SyntaxRefused, TooComplex

_MARK: Final = "\ufdd0"
"""No character: Unicode keeps it free for programs."""
_PARAMETER: Final = re.compile(r"(?<![\w$])\$(?=[0-9])")

_OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_TYPES: Final = frozenset(Postgres.Parser.TYPE_TOKENS)
_LIMITS: Final = frozenset({TokenType.LIMIT, TokenType.OFFSET})
"""Nothing else is read twice: tried over all pairs of constructs that nest."""
_DEEPEST: Final = 30
MOST_WORK: Final = 50_000
"""Words that are read once more; each takes some microseconds."""

_OBJECTS: Final = re.compile(r"(?<=::)(reg[a-z]+|oid)\[\]", re.IGNORECASE)


class _Tokenizer(Postgres.Tokenizer):
    """With the mark; no keyword swallows the rest of its statement as one string."""

    SINGLE_TOKENS: ClassVar[dict[str, TokenType]] = {
        **Postgres.Tokenizer.SINGLE_TOKENS,
        _MARK: TokenType.PARAMETER,
    }


class _Words(_Tokenizer):
    COMMANDS: ClassVar[set[TokenType]] = set()


class _Marked(Postgres):
    class Tokenizer(_Tokenizer):
        """The dialect's own."""


def tokens(sql: str) -> list[Token]:
    """The tokens of a text; positions are those of ``sql``.

    Errors: SyntaxRefused; sqlglot.errors.TokenError where a string or a comment does not end.
    """
    found = list(_Words().tokenize(_marked(sql)))
    for token in found:
        if _MARK in token.text:
            token.text = restored(token.text)
    return found


def parse(sql: str) -> list[exp.Expr]:
    """The statements of a text, without the empty ones.

    Errors: SyntaxRefused; TooComplex; sqlglot.errors.SqlglotError where it does not read.
    """
    marked = _marked(sql)
    _check_work(tokens(sql))
    trees = [tree for tree in sqlglot.parse(_renamed(marked), read=_Marked) if tree is not None]
    for node in (node for tree in trees for node in tree.walk() if marked is not sql):
        node.comments = None
        text = node.args.get("this")
        if isinstance(text, str):
            node.set("this", restored(text))
    return trees


def _check_work(found: Sequence[Token]) -> None:
    """Raise ``TooComplex`` where types, arrays or limits nest so deep that the parser would not come to an end.

    The brackets after the name of a type, or after ARRAY, are read as those of a type first, and what follows LIMIT or
    OFFSET is read in two ways: whatever is inside is read twice, and inside of two of them four times.
    """
    work, depth, opened, limited = 0, 0, list[bool](), [False]
    for before, token in pairwise(found):
        if token.token_type in _OPENING:
            opened.append(limited[-1] or before.token_type in _TYPES or before.text.lower() == "if")
            limited.append(False)
            depth += opened[-1]
        elif token.token_type in _CLOSING and opened:
            depth -= opened.pop()
            limited.pop()
        elif token.token_type in _LIMITS:
            limited[-1] = True
        work += (1 << min(depth, _DEEPEST)) - 1
        if work > MOST_WORK:
            raise TooComplex("types, arrays or limits are nested too deeply", position=token.start)


def _renamed(marked: str) -> str:
    """The arrays of ``oid``, ``regtype`` and their like under their own names, every character in its place."""
    if _OBJECTS.search(marked) is None:
        return marked
    texts = [range(t.start, t.end + 1) for t in _Words().tokenize(marked) if t.token_type == TokenType.STRING]

    def name(found: re.Match[str]) -> str:
        return found[0] if any(found.start() in text for text in texts) else f"_{found[1]} "

    return _OBJECTS.sub(name, marked)


def restored(text: str) -> str:
    """A piece of what was read, as it was written."""
    return text.replace(_MARK, "$")


def _marked(sql: str) -> str:
    if _MARK in sql:
        raise SyntaxRefused("a character that is none", position=sql.index(_MARK))
    return _PARAMETER.sub(_MARK, sql) if "$" in sql else sql
