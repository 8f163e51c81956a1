"""Statements and portals of one session: the simple and the extended query protocol."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, Final, NoReturn

from msgspec.structs import replace

from dpproxy.algebra.plan import Answer, Caller, Notice, Scrollable, Settings
from dpproxy.algebra.request import ExplainOne, Prepared, Request, complete
from dpproxy.session.arrays import ListParameters, lists
from dpproxy.session.commands.signals import Signal
from dpproxy.session.commands.table import STATEMENTS, recognise
from dpproxy.session.messages import StatementText, split
from dpproxy.session.rows import check_described, send_answer, send_rows, send_stream
from dpproxy.session.state import (
    Command,
    CopyOut,
    DeferredStatement,
    EngineShow,
    OuterStatement,
    Portal,
    PreparedStatement,
    SessionState,
    WrapperStatement,
)
from dpproxy.session.transaction import Status, Transaction
from dpproxy.session.work import Engine, Steps, work
from dpproxy.sql.grammar import is_plain
from dpproxy.values.errors import (
    Cancelled,
    DuplicatePortal,
    DuplicatePreparedStatement,
    FailedTransaction,
    PortalState,
    ProtocolViolation,
    Refusal,
    SyntaxRefused,
    UnknownPortal,
    UnknownStatement,
    Unsupported,
)
from dpproxy.values.pgtypes import SqlType
from dpproxy.wire import messages as m
from dpproxy.wire.rows import expand_formats, row_description
from dpproxy.wire.styles import styled_columns, styled_types
from dpproxy.wire.values import decode

SHORT: Final = 4000
"""Characters of a text, or bytes of parameters, that are read on the event loop; longer ones are not."""
COMMANDS: Final = STATEMENTS.keys() - {"select"}
"""The first words of session commands."""


class Queries:
    """The statements of one authenticated session.

    ``offset`` is where the current statement starts in its message: positions of refusals are relative to it.
    """

    __slots__ = ("_caller", "_engine", "offset", "state")

    def __init__(self, engine: Engine, caller: Caller, state: SessionState) -> None:
        self._engine = engine
        self._caller = caller
        self.state = state
        self.offset = 0

    def fail(self) -> None:
        """A statement was refused: its transaction fails, or is rolled back."""
        self.state.fail()

    def finish(self) -> None:
        """A message, or an extended sequence, has ended: so does a transaction that no BEGIN opened."""
        if self.state.transaction.status is Status.IDLE:
            self.state.commit()
        self.state.transaction.several = False

    def _prepare(self, source: StatementText, types: Sequence[int], state: SessionState) -> PreparedStatement:
        """Read one statement; called off the event loop."""
        self.offset = source.offset
        action = recognise(source)
        match action:
            case OuterStatement(inner, wrap, declared):
                return self._wrap(source, wrap, self._prepare(inner, declared or types, state))
            case DeferredStatement(read):
                return PreparedStatement(source, read(state))
            case Signal():
                signal = action.typed(types)
                return PreparedStatement(source, signal, signal.parameters)
            case None:
                pass
            case _:
                return PreparedStatement(source, action)
        if state.transaction.status is Status.FAILED:
            _refuse_failed()
        settings = {**state.transaction.settings, **source.hint}
        found = lists(source.text)
        asked = (source.text, types) if found is None else (found.single(), found.element_types(types))
        prepared = complete(self._engine.prepare(self._caller, *asked, settings))
        parameters = prepared.parameters if found is None else found.types(prepared.parameters)
        return PreparedStatement(source, prepared, parameters, found)

    def _find_prepared(self, sql: str, types: Sequence[int]) -> PreparedStatement | None:
        """The query of a text that has one statement, where the engine has prepared it before; never waits."""
        self.offset = 0
        if self.state.transaction.status is Status.FAILED or len(sql) > SHORT:
            return None
        source = StatementText(sql, 0)
        if not is_plain(sql):  # else it may be a session command, which the engine does not know
            sources = split(sql)
            if len(sources) != 1 or recognise(sources[0]) is not None or lists(sources[0].text) is not None:
                return None
            source = sources[0]
        settings = {**self.state.transaction.settings, **source.hint}
        prepared = self._engine.prepare(self._caller, source.text, types, settings, only_at_hand=True)
        return None if prepared is None else PreparedStatement(source, prepared, prepared.parameters)

    def _wrap(
        self,
        source: StatementText,
        wrap: Callable[[PreparedStatement], Command | WrapperStatement],
        inner: PreparedStatement,
    ) -> PreparedStatement:
        if not isinstance(inner.action, Prepared) or inner.columns is None:
            raise SyntaxRefused(
                "expected a query that returns rows",
                hint="A query begins with SELECT, WITH, VALUES or TABLE.",
                position=0,
            )
        action = wrap(inner)
        return PreparedStatement(
            source, action, inner.parameters if isinstance(action, WrapperStatement) else ()
        )

    def _perform(self, statement: PreparedStatement, values: Sequence[object] = ()) -> Steps[Answer]:
        _check_usable(statement, self.state.transaction)
        self.offset = statement.source.offset if statement.source else 0
        settings = statement.settings(self.state.transaction)
        match statement.action:
            case Command(run, waits=waits):
                return (yield from work(partial(run, self.state))) if waits else run(self.state)
            case EngineShow(name, columns):
                text = yield from work(partial(self._engine.show, self._caller, name, settings))
                return Answer("SHOW", columns, ((text,),))
            case WrapperStatement(inner, finish, check):
                check(self.state)
                own = statement.action.values
                answer = yield from self._perform(inner, values if own is None else own)
                if statement.action.scrolls and isinstance(answer.stream, Scrollable):
                    rows = yield from work(answer.stream.whole, continues=True)
                    answer = replace(answer, rows=rows, stream=None)
                return finish(self.state, answer)
            case Prepared() as prepared:
                if statement.lists is not None:
                    spread = partial(self._spread, statement, statement.lists, values, settings)
                    prepared, values = yield from work(spread)
                request = Request(self._caller, prepared, values, settings)
                answer = yield from work(
                    partial(self._engine.run, request),
                    charged=prepared.charged,
                    deadline=prepared.deadline,
                    notices=self._news if prepared.is_slow else None,
                    at_hand=partial(self._engine.run, request, only_at_hand=True),
                )
                self.state.hold_stream(answer.stream)
                return replace(answer, columns=answer.columns and styled_columns(answer.columns, settings))
            case Signal() | None as signal:
                return Answer("") if signal is None else signal.run(self.state.send, values)

    def _news(self) -> list[m.NoticeResponse]:
        """The notices of the running statement since the last call."""
        return self._responses(self._engine.news(self._caller.session))

    def _responses(self, notices: Sequence[Notice]) -> list[m.NoticeResponse]:
        """The notices that the session's client_min_messages lets pass: ``error`` stops all, ``warning`` NOTICE."""
        least = self.state.transaction.settings["client_min_messages"]
        stopped = {"error": ("NOTICE", "WARNING"), "warning": ("NOTICE",)}.get(least, ())
        return [
            m.NoticeResponse(n.sqlstate, n.message, n.detail, n.hint, n.severity)
            for n in notices
            if n.severity not in stopped
        ]

    def _spread(
        self,
        statement: PreparedStatement,
        found: ListParameters,
        values: Sequence[object],
        settings: Settings,
    ) -> tuple[Prepared, tuple[object, ...]]:
        """The statement with as many parameters as its lists have values."""
        text, flat, types = found.spread(values, [kind.oid for kind in statement.parameters])
        return complete(self._engine.prepare(self._caller, text, types, settings)), flat

    # --- simple query

    def query(self, message: m.Query) -> Steps[None]:
        """Run the statements of one message."""
        self.state.statements.pop("", None)
        self.state.portals.pop("", None)
        command = self._command(message.sql)
        known = partial(self._known_alone, message.sql)
        planned = [command] if command else (yield from work(partial(self._plan, message.sql), at_hand=known))
        self.state.transaction.several = len(planned) > 1
        if not planned:
            yield m.EmptyQueryResponse()
        for statement in planned:
            answer = yield from self._perform(statement)
            if answer.columns is not None:
                yield row_description(answer.columns, ())
            tag = yield from send_answer(answer, ())
            self.state.reading.clear()
            yield from self._responses(answer.notices)
            yield m.CommandComplete(tag)

    def _command(self, sql: str) -> PreparedStatement | None:
        """A session command that stands alone, like ROLLBACK: what else the session has at work is not waited for."""
        first = sql.split(None, 1)[:1]
        if not first or first[0].rstrip(";").lower() not in COMMANDS or len(sql) > SHORT:
            return None
        self.offset = 0
        sources = split(sql, is_admin=self._caller.is_admin)
        found = recognise(sources[0]) if len(sources) == 1 else None
        return (
            PreparedStatement(sources[0], found) if isinstance(found, Command) and not found.waits else None
        )

    def _known_alone(self, sql: str) -> list[PreparedStatement] | None:
        known = self._find_prepared(sql, ())
        return None if known is None else [known]

    def _plan(self, sql: str) -> list[PreparedStatement]:
        """Every statement of a message, prepared with the settings that those before it will have left.

        At most one may be charged. Statements after a session command that will be refused are not prepared. Where one
        is refused, those before it are still run, up to one that is charged or changes what all sessions see.
        """
        self.offset = 0
        sources = split(sql, is_admin=self._caller.is_admin)
        trial = self.state.copy()
        trial.transaction.several = len(sources) > 1
        planned: list[PreparedStatement] = []
        for source in sources:
            try:
                planned.append(self._prepare(source, (), trial))
            except Refusal as refusal:
                if not planned or isinstance(refusal, SyntaxRefused | Cancelled):
                    raise
                late = PreparedStatement(source, Command(partial(_refuse, refusal), runs_in_failed=True))
                return [*takewhile(PreparedStatement.is_undone, planned), late]
            if sum(statement.charged for statement in planned) > 1:
                raise Unsupported(
                    "more than one statement over protected tables in one message is not supported",
                    hint="send them one by one",
                    position=0,
                )
            if planned[-1].charged and any(map(_is_priced, planned)):
                raise Unsupported(
                    "EXPLAIN (PRIVACY) prices the first of these statements, and another would be charged",
                    hint="For both prices put them in parentheses behind EXPLAIN (PRIVACY), or send them one by one.",
                    position=0,
                )
            if not _passes(planned[-1], trial):
                break
        return planned

    # --- extended query

    def parse(self, message: m.Parse) -> Steps[None]:
        """Prepare a statement under a name."""
        self.offset = 0
        statements = self.state.statements
        if not message.name:
            statements.pop("", None)
        if message.name in statements:
            raise DuplicatePreparedStatement(f'prepared statement "{message.name}" already exists')
        known = partial(self._find_prepared, message.sql, message.types)
        statement = self._command(message.sql)
        if statement is None:
            statement = yield from work(partial(self._prepare_one, message), at_hand=known)
        _check_usable(statement, self.state.transaction)
        self.state.hold_statement(message.name, statement)
        yield m.ParseComplete()

    def _prepare_one(self, message: m.Parse) -> PreparedStatement:
        sources = split(message.sql, is_admin=self._caller.is_admin)
        if len(sources) > 1:
            raise SyntaxRefused(
                "cannot insert multiple commands into a prepared statement",
                hint="send them one by one",
                position=sources[1].offset,
            )
        if not sources:
            return PreparedStatement(None, None)
        return self._prepare(sources[0], message.types, self.state)

    def bind(self, message: m.Bind) -> Steps[None]:
        """Make a portal of a statement and its parameters."""
        statement = self._statement(message.statement)
        _check_usable(statement, self.state.transaction)
        portals = self.state.portals
        if message.portal and message.portal in portals:
            raise DuplicatePortal(f'portal "{message.portal}" already exists')
        sent, wanted = len(message.values), len(statement.parameters)
        if sent != wanted:
            raise ProtocolViolation(f"bind message supplies {sent} parameters, but {wanted} are needed")
        size = sum(4 + len(data or b"") for data in message.values)
        self.state.check_room(message.portal, size)
        formats = expand_formats(message.formats, sent)
        kinds = styled_types(statement.parameters, self.state.transaction.settings)
        read = partial(_decode_values, kinds, message.values, formats)
        values = read() if size <= SHORT else (yield from work(read))
        shown = expand_formats(message.result_formats, len(statement.columns or ()))
        portals[message.portal] = Portal(statement, values, shown, size=size)
        yield m.BindComplete()

    def describe(self, message: m.Describe) -> Steps[None]:
        """Send the types of a statement's parameters and columns, or of a portal's columns."""
        if message.kind == b"S":
            statement = self._statement(message.name)
            yield m.ParameterDescription(tuple(kind.oid for kind in statement.parameters))
            formats: tuple[int, ...] = ()
        else:
            portal = self._portal(message.name)
            statement, formats = portal.statement, portal.formats
        if statement.columns is None:
            yield m.NoData()
        else:
            yield row_description(statement.columns, formats)

    def execute(self, message: m.Execute) -> Steps[None]:
        """Run a portal, or send its next rows."""
        portal = self._portal(message.portal)
        if portal.statement.source is None:
            yield m.EmptyQueryResponse()
            return
        if portal.answer is None:
            answer = yield from self._perform(portal.statement, portal.values)
            check_described(portal.statement.columns, answer.columns)
            portal.answer = answer
            yield from self._responses(portal.answer.notices)
        elif portal.answer.columns is None:
            raise PortalState(f'portal "{message.portal}" cannot be run again')
        elif portal.answer.still is not None:
            yield from work(portal.answer.check)
        self.state.reading.append(portal)
        tag = yield from self._part(portal, portal.answer, message.limit)
        self.state.reading.clear()
        yield m.PortalSuspended() if tag is None else m.CommandComplete(tag)

    def _part(self, portal: Portal, answer: Answer, limit: int) -> Steps[str | None]:
        """Send the next rows of a portal; returns the command tag, None where there may be more rows."""
        if isinstance(answer, CopyOut):
            return (yield from send_answer(answer, portal.formats))
        if answer.stream is not None:
            count = yield from send_stream(answer, answer.stream, portal.formats, limit)
            portal.position += count
            return None if limit and count == limit else f"{answer.tag} {count}"
        part = portal.part(limit)
        yield from send_rows(answer.columns or (), portal.formats, part)
        if limit and len(part) == limit:
            return None
        return f"SELECT {len(part)}" if answer.tag.startswith("SELECT ") else answer.tag

    def close(self, message: m.Close) -> Steps[None]:
        """Forget a statement or a portal."""
        held: dict[str, Any] = self.state.statements if message.kind == b"S" else self.state.portals
        held.pop(message.name, None)
        yield m.CloseComplete()

    def _statement(self, name: str) -> PreparedStatement:
        try:
            return self.state.statements[name]
        except KeyError:
            raise UnknownStatement(f'prepared statement "{name}" does not exist') from None

    def _portal(self, name: str) -> Portal:
        try:
            return self.state.portals[name]
        except KeyError:
            raise UnknownPortal(f'portal "{name}" does not exist') from None


def _decode_values(
    kinds: Sequence[SqlType], sent: Sequence[bytes | None], formats: Sequence[int]
) -> tuple[object, ...]:
    return tuple(
        None if data is None else decode(kind, data, code)
        for kind, data, code in zip(kinds, sent, formats, strict=True)
    )


def _check_usable(statement: PreparedStatement, transaction: Transaction) -> None:
    if transaction.status is Status.FAILED and not statement.runs_in_failed:
        _refuse_failed()


def _refuse_failed() -> NoReturn:
    message = "current transaction is aborted, commands ignored until end of transaction block"
    raise FailedTransaction(message, hint="end it with ROLLBACK")


def _refuse(refusal: Refusal, _: SessionState) -> NoReturn:
    raise refusal


def _is_priced(statement: PreparedStatement) -> bool:
    """Whether it is EXPLAIN (PRIVACY) of one query."""
    return isinstance(statement.action, Prepared) and isinstance(statement.action.statement, ExplainOne)


def _passes(statement: PreparedStatement, trial: SessionState) -> bool:
    """Try a session statement on a copy of the state; False where it would be refused."""
    try:
        _check_usable(statement, trial.transaction)
        match statement.action:
            case Command(run):
                run(trial)
            case WrapperStatement(inner, finish, check):
                check(trial)
                finish(trial, Answer("", inner.columns))
            case _:
                pass
    except Refusal:
        return False
    return True
