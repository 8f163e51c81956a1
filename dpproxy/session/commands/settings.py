"""SET, SHOW and RESET."""

import re
from collections.abc import Callable, Mapping
from functools import partial

from msgspec.structs import replace

from dpproxy.algebra.plan import Answer, Notice
from dpproxy.config.settings import SETTINGS, find
from dpproxy.session.messages import Words
from dpproxy.session.state import Command, EngineShow, SessionState
from dpproxy.session.transaction import Status
from dpproxy.sql.lexer import Token, TokenKind
from dpproxy.sql.quoting import identifier
from dpproxy.values.errors import InvalidMoment, NoTransaction, SyntaxRefused, UndefinedObject, Unsupported
from dpproxy.values.pgtypes import TEXT, Column, typed_columns
from dpproxy.wire.intervals import HOUR, read_text, write_text

_LEVELS = ("serializable", "repeatable read", "read committed", "read uncommitted")
_SHOW_ALL = typed_columns("name setting description")


def read_modes(words: Words, prefix: str = "") -> tuple[tuple[str, str], ...]:
    """Transaction modes up to the end of the statement, as settings whose names begin with ``prefix``."""
    modes = []
    while words.token.kind is not TokenKind.END:
        modes.append(_read_mode(words))
        words.accept(",")
    return tuple((prefix + name, value) for name, value in modes)


def _read_mode(words: Words) -> tuple[str, str]:
    if words.accept("isolation", "level"):
        for level in _LEVELS:
            if words.accept(*level.split()):
                return "transaction_isolation", level
        words.refuse()
    access = {"only": "on", "write": "off"}
    if words.accept("read") and (word := words.accept_one(*access)):
        return "transaction_read_only", access[word]
    negated = words.accept("not")
    words.expect("deferrable")
    return "transaction_deferrable", "off" if negated else "on"


def read_set(words: Words) -> Command:
    """SET, after its first word."""
    if words.accept("session", "characteristics", "as", "transaction"):
        return _setting_all(read_modes(words, "default_"))
    if words.accept("transaction"):
        return Command(partial(_set_transaction, read_modes(words)))
    scope = words.accept_one("session", "local")
    for spelled, read_value in _SPELLED.items():
        if words.accept(*spelled.split()):
            return read_value(words, local=scope == "local")
    for word, read in _NO_SETTINGS.items():
        if words.accept(word):
            return read(words)
    name = _read_name(words)
    if not words.accept_one("=", "to"):
        words.refuse()
    return _read_value(name, words, local=scope == "local")


def _read_user(words: Words, own: str) -> Command:
    """SET ROLE and SET SESSION AUTHORIZATION, after those words: the user of a session cannot be changed."""
    start = words.position
    words.accept_one("=", "to")
    name = own if words.accept(own) else words.value()
    words.end()

    def run(state: SessionState) -> Answer:
        if name not in (own, state.transaction.settings["session_authorization"]):
            raise Unsupported(
                "changing the user of a session is not supported", hint="connect as that user", position=start
            )
        return Answer("SET")

    return Command(run)


def _read_constraints(words: Words) -> Command:
    """SET CONSTRAINTS, after those words: without effect, since no statement writes to tables."""
    words.expect("all")
    if not words.accept_one("deferred", "immediate"):
        words.refuse()
    words.end()
    return Command(lambda state: Answer("SET CONSTRAINTS", notices=_outside_block(state, "SET CONSTRAINTS")))


_NO_SETTINGS: Mapping[str, Callable[[Words], Command]] = {
    "constraints": _read_constraints,
    "authorization": partial(_read_user, own="default"),
    "role": partial(_read_user, own="none"),
}


def read_reset(words: Words) -> Command | None:
    """RESET, after its first word; None for what is not a setting."""
    if words.accept("privacy"):
        return None
    if words.accept("all"):
        words.end()
        return Command(_reset_all)
    if words.accept("session", "authorization") or words.accept("role"):
        words.end()
        return Command(lambda _: Answer("RESET"))
    name = _read_shown(words)
    words.end()
    return Command(partial(_reset, name))


def read_show(words: Words) -> Command | EngineShow | None:
    """SHOW, after its first word; None for what is not a setting."""
    if words.accept("privacy"):
        return None
    if words.accept("all"):
        words.end()
        return Command(_show_all, _SHOW_ALL)
    start = words.position
    name = _read_shown(words)
    words.end()
    setting = find(name, position=start)
    columns = (Column(setting.name, TEXT),)
    if setting.from_engine:
        return EngineShow(setting.name, columns)
    return Command(partial(_show, setting.name, columns), columns)


def _show(name: str, columns: tuple[Column, ...], state: SessionState) -> Answer:
    key = name.lower()
    if key not in state.transaction.settings:
        raise UndefinedObject(f'unrecognized configuration parameter "{name}"', hint="SHOW ALL lists them")
    return Answer("SHOW", columns, ((state.transaction.settings[key],),))


def _read_shown(words: Words) -> str:
    if words.accept("transaction", "isolation", "level"):
        return "transaction_isolation"
    if words.accept("time", "zone"):
        return "timezone"
    if words.accept("session", "authorization"):
        return "session_authorization"
    return _read_name(words)


def _read_name(words: Words) -> str:
    return ".".join(words.dotted_labels())


def _read_value(name: str, words: Words, *, local: bool) -> Command:
    if words.accept_one("default"):
        words.end()
        return _setting(lambda state: state.transaction.reset(name, local=local), local=local)
    values = words.comma_list(lambda _: words.value())
    text = ", ".join(map(identifier, values) if name.lower() == "search_path" else values)
    words.end()
    return _setting(lambda state: state.transaction.set(name, text, local=local), local=local)


def _read_zone(words: Words, *, local: bool) -> Command:
    """SET TIME ZONE, after those words: DEFAULT, LOCAL, a name, hours, or an interval of them."""
    if not words.accept("interval"):
        if words.accept("local"):
            words.end()
            return _setting(lambda state: state.transaction.reset("timezone", local=local), local=local)
        return _read_value("timezone", words, local=local)
    if words.accept("("):
        words.value()
        words.expect(")")
    if words.token.kind is not TokenKind.TEXT:
        words.refuse()
    given = words.take()
    text = _interval(given, _read_fields(words))
    words.end()
    return _setting(
        lambda state: state.transaction.set("timezone", f"INTERVAL '{text}'", local=local), local=local
    )


_FIELDS = ("year", "month", "day", "hour", "minute", "second")


def _read_fields(words: Words) -> str | None:
    """The last field of an interval, None where none is written."""
    start = words.position
    first = words.accept_one(*_FIELDS)
    last = words.accept_one(*_FIELDS) if first and words.accept("to") else first
    if (first, last) not in _HOURS_AND_MINUTES:
        raise SyntaxRefused("time zone interval must be HOUR or HOUR TO MINUTE", position=start)
    return last


_HOURS_AND_MINUTES = ((None, None), ("hour", "hour"), ("hour", "minute"), ("minute", "minute"))


def _interval(given: Token, last: str | None) -> str:
    """An interval truncated to a field; a number alone is in units of that field."""
    try:
        is_number = last is not None and re.fullmatch(r"\s*[+-]?\d+\s*", given.text)
        interval = read_text(f"{given.text} {last}".encode() if is_number else given.text.encode())
    except (ValueError, OverflowError):
        message = f'invalid input syntax for type interval: "{given.text}"'
        raise InvalidMoment(message, position=given.position) from None
    unit = {"hour": HOUR, "minute": HOUR // 60, None: 1}[last]
    ticks = interval.microseconds
    whole = abs(ticks) // unit * unit
    return write_text(replace(interval, microseconds=-whole if ticks < 0 else whole)).decode()


_SPELLED: Mapping[str, Callable[..., Command]] = {
    "time zone": _read_zone,
    "names": partial(_read_value, "client_encoding"),
    "schema": partial(_read_value, "search_path"),
}


def _setting(change: Callable[[SessionState], None], *, local: bool) -> Command:
    def run(state: SessionState) -> Answer:
        change(state)
        return Answer("SET", notices=_outside_block(state, "SET LOCAL") if local else ())

    return Command(run)


def _setting_all(values: tuple[tuple[str, str], ...]) -> Command:
    def run(state: SessionState) -> Answer:
        for name, value in values:
            state.transaction.set(name, value)
        return Answer("SET")

    return Command(run)


def _set_transaction(modes: tuple[tuple[str, str], ...], state: SessionState) -> Answer:
    for name, value in modes:
        state.transaction.set(name, value, local=True)
    return Answer("SET", notices=_outside_block(state, "SET TRANSACTION"))


def _outside_block(state: SessionState, statement: str) -> tuple[Notice, ...]:
    if state.transaction.status is Status.BLOCK or state.transaction.several:
        return ()
    message = f"{statement} can only be used in transaction blocks"
    return (Notice(message, sqlstate=NoTransaction.sqlstate, severity="WARNING"),)


def _show_all(state: SessionState) -> Answer:
    rows = tuple(
        (setting.name, state.transaction.settings[key], setting.description)
        for key, setting in sorted(SETTINGS.items())
        if not setting.from_engine
    )
    return Answer("SHOW", _SHOW_ALL, rows)


def _reset(name: str, state: SessionState) -> Answer:
    state.transaction.reset(name)
    return Answer("RESET")


def _reset_all(state: SessionState) -> Answer:
    state.transaction.reset_all()
    return Answer("RESET")
