"""PostgreSQL's SQL as the parser reads it, with eight repairs.

``$1,$2`` is two parameters and no dollar-quoted string; ``oid[]`` is read as ``_oid``, which is the same type, and
so is ``regtype[]``; in ``date '2024-01-02'::text`` the date is read first; ``E'..'``, ``U&'..'``, ``N'..'`` and
``$$..$$`` are texts like others, with the escapes that PostgreSQL knows; texts of intervals are
read to their ends; ``j.k`` of ``USING (k) AS j`` is ``k``; the step of a series is what it is
written as; and where that is asked for,
``pg_catalog.count(*)`` is ``count(*)``, since the parser knows no function behind a schema.

A ``$`` before a digit never opens a quote in PostgreSQL, but the parser's tokenizer reads ``$1,$`` as one. So each is
replaced by a mark, a character that no text may hold, and put back where it turns out to be part of a string.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import ClassVar, Final

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.tokenizer_core import Token, TokenType

from dpproxy.sql import lexer
from dpproxy.values.errors import NumberOutOfRange, SyntaxRefused, TooComplex

_MARK: Final = "\ufdd0"
"""Not a character: Unicode reserves it for use inside of programs."""
_PARAMETER: Final = re.compile(r"(?<![\w$])\$(?=[0-9])")

_OPENING: Final = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING: Final = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_TYPES: Final = frozenset(Postgres.Parser.TYPE_TOKENS)
_LIMITS: Final = frozenset({TokenType.LIMIT, TokenType.OFFSET})
"""What the parser reads twice, with types and brackets behind them; found by trying all pairs of constructs."""
_STARTING: Final = frozenset({
    TokenType.COMMA, TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.SELECT, TokenType.FROM, TokenType.GROUP_BY,
    TokenType.ORDER_BY, TokenType.VALUES, TokenType.SEMICOLON,
})  # fmt: skip
"""A list starts behind these, unless they are names: no comma may follow."""
_ENDING: Final = frozenset({
    TokenType.COMMA, TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.SEMICOLON, TokenType.FROM, TokenType.WHERE,
    TokenType.GROUP_BY, TokenType.HAVING, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH,
    TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT, TokenType.ON, TokenType.USING,
})  # fmt: skip
"""A list ends before these: reserved words, which name nothing without quotes."""
_DEEPEST: Final = 30
MOST_WORK: Final = 50_000
"""Tokens that may be read again; each takes some microseconds."""

LONGEST_NUMBER: Final = 1_000
"""Characters of a number."""
MOST_WHOLE: Final = 131_072
MOST_DECIMALS: Final = 16_383
"""PostgreSQL's numeric has no more digits before the point, and behind it."""

_OBJECTS: Final = re.compile(r"(?<=::)(reg[a-z]+|oid)\[\]", re.IGNORECASE)


class _Tokenizer(Postgres.Tokenizer):
    """The dialect's tokenizer, which knows the mark as the start of a parameter."""

    SINGLE_TOKENS: ClassVar[dict[str, TokenType]] = {
        **Postgres.Tokenizer.SINGLE_TOKENS,
        _MARK: TokenType.PARAMETER,
    }


_COMMANDS: Final = Postgres.Tokenizer.COMMANDS


class _Words(_Tokenizer):
    """One that cuts every statement into tokens, where the dialect's takes some commands as one string."""

    COMMANDS: ClassVar[set[TokenType]] = set()


NAME: Final = "name"
"""The key in the ``meta`` of a function's node for the name in the statement, as some names share a class of nodes."""


class _Marked(Postgres):
    ORIGINAL_NAME_META_KEY: str | None = NAME

    class Tokenizer(_Tokenizer):
        """The dialect's own."""


_NOT_PLAIN: Final = re.compile(r"--|/\*|[;$\\\x00-\x1f\x7f]|[^\x00-\x7f]")
"""What may end a statement, or make it read otherwise than it looks."""
_QUERY: Final = re.compile(r"select\s", re.IGNORECASE).match


def is_plain(sql: str) -> bool:
    """Whether a text is one SELECT and nothing else, as far as that shows without tokens."""
    return _QUERY(sql) is not None and _NOT_PLAIN.search(sql) is None and sql[-1] != " "


def tokens(sql: str) -> list[Token]:
    """The tokens of a text; positions are those of ``sql``.

    Errors: SyntaxRefused; sqlglot.errors.TokenError where a string or a comment does not end.
    """
    found = list(_Words().tokenize(_with_marks(sql)))
    for token in found:
        if _MARK in token.text:
            token.text = restored(token.text)
    return found


def parse(sql: str, *, bare: bool = False) -> list[exp.Expr]:
    """The statements of a text, without the empty ones; ``bare`` drops ``pg_catalog.`` before the functions of `BARE`.

    Errors: SyntaxRefused; TooComplex; NumberOutOfRange; sqlglot.errors.SqlglotError where it does not read.
    """
    marked, lowered = _with_marks(sql), sql.lower()
    words = tokens(sql)
    _check_numbers(words)
    _check_commas(words)
    _check_work(words)
    dialect, renamed = _Marked(), _with_array_names(marked)
    is_cut = renamed is sql and not any(token.token_type in _COMMANDS for token in words)
    found = _with_plain_texts(words if is_cut else dialect.tokenize(renamed), sql)
    for word, repair in _REPAIRS.items():
        found = repair(found) if word in lowered and (bare or word != _SCHEMA) else found
    found = _labels_as_names(found)
    trees = [tree for tree in dialect.parser().parse(found, renamed) if tree is not None]
    if _DATE_PART in lowered:
        trees = [_with_date_part(tree) for tree in trees]
    for node in (node for tree in trees for node in tree.walk() if marked is not sql):
        node.comments = None
        text = node.args.get("this")
        if isinstance(text, str):
            node.set("this", restored(text))
    return trees


def is_writable(text: str) -> bool:
    """Whether a number is short, even with all its digits written out."""
    exponent = text.lower().partition("e")[2]
    if len(text) > LONGEST_NUMBER or not exponent.lstrip("+-").isdigit():
        return len(text) <= LONGEST_NUMBER
    return -MOST_DECIMALS <= int(exponent) < MOST_WHOLE


def _check_numbers(found: Sequence[Token]) -> None:
    """Raise ``NumberOutOfRange`` where a number would be far longer than it is written."""
    for token in found:
        if token.token_type == TokenType.NUMBER and not is_writable(token.text):
            raise NumberOutOfRange("value overflows numeric format", position=token.start)


def _check_commas(found: Sequence[Token]) -> None:
    """Raise ``SyntaxRefused`` where a comma has no item before or behind it, which the parser reads past."""
    padded = [None, None, *found, None]
    for index, token in enumerate(found):
        if token.token_type != TokenType.COMMA:
            continue
        named, before, _, after = padded[index : index + 4]
        is_name = named is not None and named.token_type in (TokenType.ALIAS, TokenType.DOT)
        if before is None or (before.token_type in _STARTING and not is_name):
            raise SyntaxRefused('syntax error at or near ","', position=token.start)
        if after is None:
            raise SyntaxRefused("syntax error at end of input", position=token.end + 1)
        if after.token_type in _ENDING:
            raise SyntaxRefused(f'syntax error at or near "{after.text}"', position=after.start)


def _check_work(found: Sequence[Token]) -> None:
    """Raise ``TooComplex`` where types, arrays or limits nest so deep that parsing would take too long.

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


_WRITTEN_OTHERWISE: Final = frozenset({
    TokenType.BYTE_STRING, TokenType.HEREDOC_STRING, TokenType.NATIONAL_STRING, TokenType.RAW_STRING,
    TokenType.UNICODE_STRING,
})  # fmt: skip


def _with_plain_texts(found: Sequence[Token], sql: str) -> list[Token]:
    """The tokens, with each text in the form that has no escapes; ``N'..'`` is a text."""
    return [_plain(token, sql) if token.token_type in _WRITTEN_OTHERWISE else token for token in found]


def _plain(token: Token, sql: str) -> Token:
    raw = sql[token.start : token.end + 1]
    raw = raw[1:] if token.token_type == TokenType.NATIONAL_STRING else raw
    text = lexer.Token(lexer.TokenKind.TEXT, raw, token.start).text
    return Token(TokenType.STRING, text, token.line, token.col, token.start, token.end)


BARE: Final = frozenset({
    "abs", "avg", "bool_and", "bool_or", "btrim", "ceil", "ceiling", "char_length", "character_length", "concat",
    "corr", "count", "covar_pop", "covar_samp", "cume_dist", "date_part", "date_trunc", "degrees", "dense_rank",
    "every", "exp", "first_value", "floor", "lag", "last_value", "lead", "left", "length", "ln", "log", "log10",
    "lower", "ltrim", "max", "min", "mod", "nth_value", "ntile", "percent_rank", "percentile_cont",
    "percentile_disc", "power", "radians", "rank", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept",
    "regr_r2", "regr_slope", "replace", "right", "round", "row_number", "rtrim", "sign", "sqrt", "starts_with",
    "stddev", "stddev_pop", "stddev_samp", "string_agg", "strpos", "substr", "substring", "sum", "to_date",
    "to_timestamp", "trunc", "upper", "var_pop", "var_samp", "variance", "width_bucket",
})  # fmt: skip
"""Functions whose calls mean the same with their schema: none with a syntax of its own, such as ``position``."""
_SCHEMA: Final = "pg_catalog"


def is_qualified(sql: str) -> bool:
    """Whether a text may call a function with its schema, so that ``bare`` makes a difference."""
    return _SCHEMA in sql.lower()


def _without_schema(found: list[Token]) -> list[Token]:
    """The tokens, without ``pg_catalog.`` before calls of `BARE`."""
    made = list[Token]()
    skipped = 0
    for at, token in enumerate(found):
        if skipped:
            skipped -= 1
        elif _is_qualified_call(found, at):
            skipped = 1
        else:
            made.append(token)
    return made


def _is_qualified_call(found: list[Token], at: int) -> bool:
    """Whether such a call begins at ``at`` with its schema."""
    words = found[at : at + 4]
    if len(words) < 4 or _name_of(words[0]) != _SCHEMA or _name_of(words[2]) not in BARE:
        return False
    is_first = at == 0 or found[at - 1].token_type != TokenType.DOT
    return is_first and (words[1].token_type, words[3].token_type) == (TokenType.DOT, TokenType.L_PAREN)


def _name_of(token: Token) -> str:
    """The name that a token stands for; empty for a text."""
    if token.token_type == TokenType.STRING:
        return ""
    return token.text if token.token_type == TokenType.IDENTIFIER else token.text.lower()


_LABELS: Final = frozenset({TokenType.SELECT, TokenType.NOT})
"""Words that the parser takes for no name behind AS or a point, where PostgreSQL takes every word."""
_NAMING: Final = frozenset({TokenType.ALIAS, TokenType.DOT})
_ENDS: Final = frozenset({TokenType.COMMA, TokenType.FROM, TokenType.R_PAREN, TokenType.SEMICOLON})


def _labels_as_names(found: list[Token]) -> list[Token]:
    """The tokens, with those words as names in a select list."""
    for at, token in enumerate(found):
        ends = at + 1 == len(found) or found[at + 1].token_type in _ENDS
        if token.token_type in _LABELS and ends and at and found[at - 1].token_type in _NAMING:
            token.token_type = TokenType.VAR
    return found


_DATE_PART: Final = "date_part"
_PART: Final = f"{_MARK}{_DATE_PART}"


def _without_date_part(found: list[Token]) -> list[Token]:
    """The tokens, with date_part under a name that the parser does not know: it would make EXTRACT of it."""
    for before, token, after in zip(found, found[1:], found[2:], strict=False):
        kinds = before.token_type == TokenType.DOT, token.token_type, after.token_type
        if kinds == (False, TokenType.VAR, TokenType.L_PAREN) and token.text.lower() == "date_part":
            token.text = _PART
    return found


def _with_date_part(tree: exp.Expr) -> exp.Expr:
    """The tree, with those calls as EXTRACT that keeps the name date_part."""
    for node in [node for node in tree.find_all(exp.Anonymous) if node.this == _PART]:
        part = node.expressions[0] if len(node.expressions) == 2 else None
        if isinstance(part, exp.Literal) and part.is_string:
            made = exp.Extract(this=exp.Var(this=part.name.upper()), expression=node.expressions[1])
            made.meta.update({**node.meta, NAME: "date_part"})
            node.replace(made)
        else:
            node.set("this", "date_part")
    return tree


def _with_bracketed_literals(found: list[Token]) -> list[Token]:
    """The tokens, with brackets around typed literals before a cast: the parser would cast the bare literal first."""
    made = list[Token]()
    for at, token in enumerate(found):
        is_cast = found[at + 1 : at + 2] and found[at + 1].token_type == TokenType.DCOLON
        start = _type_before(found, at) if is_cast and token.token_type == TokenType.STRING else None
        made.append(token)
        if start is not None:
            made.insert(len(made) - 1 - (at - start), _beside(TokenType.L_PAREN, "(", found[start]))
            made.append(_beside(TokenType.R_PAREN, ")", token))
    return made


_PAIR: Final = re.compile(r"\d\s*[a-z]+", re.IGNORECASE | re.ASCII)
_ONE_PAIR: Final = re.compile(r"\s*[+-]?\d+(\.\d+)?\s*[a-z]+\s*", re.IGNORECASE | re.ASCII)


def _with_whole_spans(found: list[Token]) -> list[Token]:
    """The tokens, with no year or no millennium before the texts of intervals that have more than a number and a unit.

    Of a text with one such pair the parser takes the pair alone: ``1 day ago`` would be a day, ``1 day 02:00`` too.
    """
    for before, token in pairwise(found):
        is_span = before.token_type == TokenType.INTERVAL and token.token_type == TokenType.STRING
        if is_span and len(_PAIR.findall(token.text)) == 1 and not _ONE_PAIR.fullmatch(token.text):
            text = token.text.lstrip(" @")
            is_iso = text.startswith("P")
            token.text = (
                f"P0Y{text[1:]}" if is_iso and "Y" not in text else text if is_iso else f"0 mil {text}"
            )
    return found


def _without_using_names(found: list[Token]) -> list[Token]:
    """The tokens, without the name behind USING (...), and without it before the columns that USING merges.

    Unchanged where the name stands for anything else, or stands in a subquery, where a bare name may be another.
    """
    queries = _queries(found)
    dropped, merged = set[int](), dict[tuple[str, int], set[str]]()
    for at, token in enumerate(found):
        if token.token_type != TokenType.USING:
            continue
        end = next((n for n in range(at, len(found)) if found[n].token_type == TokenType.R_PAREN), at)
        if [t.token_type for t in found[end + 1 : end + 2]] == [TokenType.ALIAS] and end + 2 < len(found):
            dropped |= {end + 1, end + 2}
            key = (_name_of(found[end + 2]), queries[at])
            merged.setdefault(key, set()).update(map(_name_of, found[at + 2 : end]))
    names = {name for name, _ in merged}
    for at, token in enumerate(found):
        name = _name_of(token)
        if name not in names or at in dropped or found[at - 1].token_type == TokenType.DOT:
            continue
        _, point, column = [*found[at : at + 3], token, token][:3]
        if point.token_type != TokenType.DOT or _name_of(column) not in merged.get((name, queries[at]), ()):
            return found
        dropped |= {at, at + 1}
    return [token for at, token in enumerate(found) if at not in dropped]


_STARTS: Final = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.VALUES})
_SET_OPERATIONS: Final = frozenset({TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT})


def _queries(found: Sequence[Token]) -> list[int]:
    """Of each token a number that is the same for all of one SELECT, without its subqueries."""
    numbers, open_, last = list[int](), [0], 0
    for at, token in enumerate(found):
        if token.token_type == TokenType.L_PAREN:
            is_query = at + 1 < len(found) and found[at + 1].token_type in _STARTS
            last += is_query
            open_.append(last if is_query else open_[-1])
        elif token.token_type == TokenType.R_PAREN and len(open_) > 1:
            open_.pop()
        elif token.token_type in _SET_OPERATIONS:
            last += 1
            open_[-1] = last
        numbers.append(open_[-1])
    return numbers


_SETS: Final = frozenset({TokenType.ROLLUP, TokenType.CUBE, TokenType.GROUPING_SETS})
_CONDITIONS: Final = frozenset(
    {TokenType.IS, TokenType.NOT, TokenType.AND, TokenType.OR, TokenType.IN, TokenType.BETWEEN, TokenType.LIKE}
    | {TokenType.ILIKE, TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE}
)  # fmt: skip


def _with_bracketed_conditions(found: list[Token]) -> list[Token]:
    """The tokens, with brackets around conditions in ROLLUP, CUBE and GROUPING SETS: the parser reads no bare ones."""
    made, starts = list[Token](), list[int | None]()  # of each open bracket, where an element of sets began
    conditions = set[int]()  # the depths at which the element that is read has one
    for at, token in enumerate(found):
        depth, kind = len(starts), token.token_type
        is_end = kind in (TokenType.COMMA, TokenType.R_PAREN) and depth
        start = starts[-1] if is_end else None
        if start is not None and depth in conditions:
            made.insert(start, _beside(TokenType.L_PAREN, "(", made[start]))
            made.append(_beside(TokenType.R_PAREN, ")", made[-1]))
        made.append(token)
        if is_end:
            conditions.discard(depth)
            starts[-1] = None if start is None else len(made)
        if kind == TokenType.R_PAREN and depth:
            starts.pop()
        elif kind == TokenType.L_PAREN:
            is_set = at > 0 and found[at - 1].token_type in _SETS
            starts.append(len(made) if is_set else None)
        elif kind in _CONDITIONS:
            conditions.add(depth)
    return made


_SERIES: Final = "generate_series"


def _with_bracketed_steps(found: list[Token]) -> list[Token]:
    """The tokens, with brackets around a text that ends a series: the parser would make an interval of any."""
    made, opened = list[Token](), [False]  # of each open bracket, whether it is that of a series
    for at, token in enumerate(found):
        if token.token_type in _OPENING:
            opened.append(at > 0 and found[at - 1].text.lower() == _SERIES)
        elif token.token_type in _CLOSING and len(opened) > 1:
            is_text = (
                found[at - 1].token_type == TokenType.STRING and found[at - 2].token_type == TokenType.COMMA
            )
            if opened.pop() and is_text:
                made.insert(-1, _beside(TokenType.L_PAREN, "(", made[-1]))
                made.append(_beside(TokenType.R_PAREN, ")", made[-1]))
        made.append(token)
    return made


_ZONE: Final = ("time", "zone")


def _type_before(found: Sequence[Token], at: int) -> int | None:
    """Where the type of the literal at ``at`` begins, None for a literal that has none before it."""
    ends_so = tuple(token.text.lower() for token in found[max(at - 2, 0) : at]) == _ZONE
    start = at - 4 if ends_so else at - 1
    return start if start >= 0 and found[start].token_type in _TYPES else None


_REPAIRS: Final[dict[str, Callable[[list[Token]], list[Token]]]] = {
    "interval": _with_whole_spans,
    "using": _without_using_names,
    _SCHEMA: _without_schema,
    _DATE_PART: _without_date_part,
    "::": _with_bracketed_literals,
    _SERIES: _with_bracketed_steps,
    "rollup": _with_bracketed_conditions,
    "cube": _with_bracketed_conditions,
    "grouping": _with_bracketed_conditions,
}
"""What is done with the tokens of a statement that has a word, in this order."""


def _beside(kind: TokenType, text: str, token: Token) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end)


def _with_array_names(marked: str) -> str:
    """The text, with ``_oid`` for ``oid[]`` and the like, and every other character in its place."""
    if _OBJECTS.search(marked) is None:
        return marked
    texts = [range(t.start, t.end + 1) for t in _Words().tokenize(marked) if t.token_type == TokenType.STRING]

    def name(found: re.Match[str]) -> str:
        return found[0] if any(found.start() in text for text in texts) else f"_{found[1]} "

    return _OBJECTS.sub(name, marked)


def restored(text: str) -> str:
    """The original text of a piece of the marked text."""
    return text.replace(_MARK, "$")


def _with_marks(sql: str) -> str:
    if _MARK in sql:
        raise SyntaxRefused("a character that is none", position=sql.index(_MARK))
    return _PARAMETER.sub(_MARK, sql) if "$" in sql else sql
