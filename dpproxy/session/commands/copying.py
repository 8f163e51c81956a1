"""COPY ... TO STDOUT: its options, in both of PostgreSQL's spellings."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NoReturn

from msgspec import Struct, field
from msgspec.structs import replace

from dpproxy.algebra.plan import Answer
from dpproxy.session.messages import StatementText, Words
from dpproxy.session.state import CopyOut, OuterStatement, PreparedStatement, SessionState, WrapperStatement
from dpproxy.sql.lexer import TokenKind
from dpproxy.sql.quoting import identifier
from dpproxy.values.errors import InvalidParameter, SyntaxRefused, Unsupported
from dpproxy.wire.copying import CopyLayout

_CSV: Final = CopyLayout("csv", ",", "", force_quote=frozenset())


class _Options(Struct):
    """The options that the statement gives, by the field of ``CopyLayout`` that they set."""

    given: dict[str, Any] = field(default_factory=dict)

    def layout(self) -> CopyLayout:
        """The layout: the defaults of the format, replaced by the options given.

        Errors: InvalidParameter, SyntaxRefused.
        """
        given = self.given
        layout = _CSV if given.get("format") == "csv" else CopyLayout()
        if "quote" in given and "escape" not in given:
            given = {**given, "escape": given["quote"]}
        layout = replace(layout, **given)
        if layout.format == "binary" and given.keys() - {"format"}:
            raise SyntaxRefused("COPY in binary takes no other options", hint="write (FORMAT binary) alone")
        if layout.format != "csv" and given.keys() & {"quote", "escape", "force_quote"}:
            raise Unsupported("quotes are for COPY in CSV", hint="write (FORMAT csv, ...)")
        if layout.delimiter in layout.null or layout.delimiter == layout.quote:
            raise InvalidParameter("the delimiter of COPY must be in neither NULL nor QUOTE")
        return layout


def read_copy(words: Words) -> OuterStatement:
    """COPY, after its first word."""
    inner = words.inner(*words.parenthesis()) if words.at("(") else _whole_table(words)
    if words.accept("from"):
        raise Unsupported(
            "COPY FROM, which would change data, is not supported",
            hint="COPY (SELECT ...) TO STDOUT reads it",
        )
    words.expect("to")
    if not words.accept("stdout") and not words.accept("stdin"):  # PHP writes the latter, which is the same
        _refuse_place(words)
    layout = _read_options(words)
    return OuterStatement(inner, partial(_copy, layout))


def _whole_table(words: Words) -> StatementText:
    """COPY of a table is COPY of its columns."""
    start = words.position
    name = _dotted(words)
    columns: tuple[str, ...] = ("*",)
    if words.accept("("):
        columns = words.comma_list(lambda _: _dotted(words))
        words.expect(")")
    return words.inner(f"SELECT {', '.join(columns)} FROM {name}", start)  # noqa: S608 - identifiers


def _dotted(words: Words) -> str:
    """A table's or column's name, qualified or not."""
    return ".".join(map(identifier, words.dotted_labels()))


def _refuse_place(words: Words) -> NoReturn:
    if words.accept("program") or words.token.kind is TokenKind.TEXT:
        raise Unsupported(
            "COPY to a file of the server is not supported",
            hint=r"COPY to STDOUT is, and psql writes files with \copy.",
        )
    words.refuse()


def _copy(layout: CopyLayout, inner: PreparedStatement) -> WrapperStatement:
    names = {column.name for column in inner.columns or ()}
    if layout.force_quote is not None and not layout.force_quote <= names:
        raise InvalidParameter("FORCE_QUOTE names a column that is not copied")

    def finish(_: SessionState, answer: Answer) -> Answer:
        tag = "COPY" if answer.stream is not None else f"COPY {len(answer.rows)}"
        return CopyOut(tag, notices=answer.notices, layout=layout, answer=answer)

    return WrapperStatement(inner, finish)


# --- options


def _read_options(words: Words) -> CopyLayout:
    options = _Options()
    words.accept("with")
    if words.accept("("):
        words.comma_list(lambda _: _read_option(options, words))
        words.expect(")")
    else:
        while words.token.kind is not TokenKind.END:
            _read_old_option(options, words)
    words.end()
    return options.layout()


def _read_option(options: _Options, words: Words) -> None:
    """``name value`` of the list in brackets."""
    start = words.position
    name = words.label()
    if name not in _OPTIONS:
        raise SyntaxRefused(f'option "{name}" not recognized', hint=_KNOWN, position=start)
    _put(options, name, words)


def _read_old_option(options: _Options, words: Words) -> None:
    """The spelling without brackets: BINARY, CSV, HEADER, DELIMITER AS ',' ..."""
    start = words.position
    word = words.accept_one(
        "binary", "csv", "header", "delimiter", "delimiters", "null", "quote", "escape", "force"
    )
    match word:
        case "binary" | "csv":
            options.given["format"] = word
        case "header":
            options.given["header"] = True
        case "force":
            words.expect("quote")
            options.given["force_quote"] = _read_columns(words)
        case None:
            raise SyntaxRefused("an option of COPY that does not read", hint=_KNOWN, position=start)
        case _:
            words.accept("as")
            _put(options, word.removesuffix("s"), words)


def _put(options: _Options, name: str, words: Words) -> None:
    field_name, read = _OPTIONS[name]
    value = read(words)
    if field_name:
        options.given[field_name] = value


def _read_format(words: Words) -> str:
    start = words.position
    value = words.value()
    if value not in ("text", "csv", "binary"):
        raise InvalidParameter(
            f'COPY format "{value}" not recognized', hint="text, csv or binary", position=start
        )
    return value


def _read_character(words: Words) -> str:
    start = words.position
    value = words.value()
    if len(value) != 1 or not value.isascii() or value in "\r\n":
        raise InvalidParameter("COPY takes one plain character here", position=start)
    return value


def _read_null(words: Words) -> str:
    start = words.position
    value = words.value()
    if "\r" in value or "\n" in value:
        raise InvalidParameter("NULL of COPY cannot hold a line break", position=start)
    return value


def _read_switch(words: Words) -> bool:
    if words.token.kind is TokenKind.END or words.at(",") or words.at(")"):
        return True
    start = words.position
    value = words.value().lower()
    if value not in ("true", "on", "1", "false", "off", "0"):
        raise InvalidParameter("header requires a Boolean value", position=start)
    return value in ("true", "on", "1")


def _read_encoding(words: Words) -> None:
    start = words.position
    if words.value().upper().replace("-", "") not in ("UTF8", "UNICODE"):
        raise Unsupported(
            "COPY in another encoding is not supported", hint="text is always UTF-8", position=start
        )


def _read_forced(words: Words) -> frozenset[str] | None:
    if words.accept("*"):
        return None
    words.expect("(")
    names = _read_columns(words)
    words.expect(")")
    return names


def _read_columns(words: Words) -> frozenset[str] | None:
    if words.accept("*"):
        return None
    return frozenset(words.comma_list(lambda _: words.label()))


_OPTIONS: Final[Mapping[str, tuple[str, Callable[[Words], object]]]] = {
    "format": ("format", _read_format),
    "delimiter": ("delimiter", _read_character),
    "null": ("null", _read_null),
    "header": ("header", _read_switch),
    "quote": ("quote", _read_character),
    "escape": ("escape", _read_character),
    "force_quote": ("force_quote", _read_forced),
    "encoding": ("", _read_encoding),
}
"""By name: the field of ``CopyLayout``, "" for none, and how the value is read."""
_KNOWN: Final = "known are " + ", ".join(_OPTIONS)
