"""PREPARE, EXECUTE and DEALLOCATE, over the same prepared statements as the protocol's Parse and Bind."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from dpproxy.algebra.plan import Answer
from dpproxy.session.messages import Words
from dpproxy.session.state import (
    Command,
    DeferredStatement,
    OuterStatement,
    PreparedStatement,
    SessionState,
    WrapperStatement,
)
from dpproxy.sql.lexer import TokenKind
from dpproxy.values.errors import DuplicatePreparedStatement, SyntaxRefused, UndefinedObject, UnknownStatement
from dpproxy.values.pgtypes import TYPES
from dpproxy.wire.values import decode

_NAMES: Final = {t.name: t.oid for t in TYPES}
_TYPES: Final = _NAMES | {
    name: _NAMES[ours]
    for name, ours in {
        "smallint": "int2", "integer": "int4", "int": "int4", "bigint": "int8", "real": "float4", "float": "float8",
        "double precision": "float8", "decimal": "numeric", "boolean": "bool", "character varying": "varchar",
        "timestamp without time zone": "timestamp", "timestamp with time zone": "timestamptz",
    }.items()
}  # fmt: skip
"""PostgreSQL's names of the types, each with its OID."""


def read_prepare(words: Words) -> OuterStatement:
    """PREPARE, after its first word."""
    name = words.label()
    types: tuple[int, ...] = ()
    if words.accept("("):
        types = words.comma_list(lambda _: _read_type(words))
        words.expect(")")
    words.expect("as")
    return OuterStatement(words.inner(*words.rest()), partial(_prepare, name), types)


def _read_type(words: Words) -> int:
    start = words.position
    name = words.label()
    while words.token.kind is TokenKind.WORD:
        name += f" {words.label()}"
    if name not in _TYPES:
        raise UndefinedObject(f'type "{name}" does not exist', hint="or leave the types out", position=start)
    return _TYPES[name]


def _prepare(name: str, inner: PreparedStatement) -> Command:
    def run(state: SessionState) -> Answer:
        if name in state.statements:
            raise DuplicatePreparedStatement(
                f'prepared statement "{name}" already exists', hint="DEALLOCATE it first"
            )
        state.hold_statement(name, inner)
        return Answer("PREPARE", notices=())

    return Command(run)


def read_execute(words: Words) -> DeferredStatement:
    """EXECUTE, after its first word."""
    name, values = words.label(), tuple[str | None, ...]()
    if words.accept("(") and not words.accept(")"):
        values = words.comma_list(lambda _: _read_value(words))
        words.expect(")")
    words.end()
    return DeferredStatement(partial(_execute, name, values, words.source.hint))


def _read_value(words: Words) -> str | None:
    """A constant, None for NULL. A cast is ignored: the value is read as the parameter's type."""
    is_null = words.accept("null")
    text = None if is_null else words.value()
    if words.accept("::"):
        _read_type(words)
    return text


def _execute(
    name: str, values: Sequence[str | None], hint: dict[str, str], state: SessionState
) -> WrapperStatement:
    inner = state.statements.get(name)
    if inner is None:
        raise UnknownStatement(f'prepared statement "{name}" does not exist', hint="PREPARE it first")
    if len(values) != len(inner.parameters):
        raise SyntaxRefused(
            f'wrong number of parameters for prepared statement "{name}"',
            detail=f"Expected {len(inner.parameters)} parameters but got {len(values)}.",
        )
    given = tuple(
        None if text is None else decode(kind, text.encode(), 0)
        for kind, text in zip(inner.parameters, values, strict=True)
    )
    if hint and inner.source is not None:
        inner = replace(inner, source=replace(inner.source, hint={**inner.source.hint, **hint}))
    return WrapperStatement(inner, lambda _, answer: answer, values=given, columns=inner.columns)


def read_deallocate(words: Words) -> Command:
    """DEALLOCATE, after its first word."""
    words.accept("prepare")
    if words.accept("all"):
        words.end()
        return Command(_deallocate_all)
    name = words.label()
    words.end()
    return Command(partial(_deallocate, name))


def _deallocate(name: str, state: SessionState) -> Answer:
    if state.statements.pop(name, None) is None:
        raise UnknownStatement(f'prepared statement "{name}" does not exist')
    return Answer("DEALLOCATE")


def _deallocate_all(state: SessionState) -> Answer:
    state.statements.clear()
    return Answer("DEALLOCATE ALL")
