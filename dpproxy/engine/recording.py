"""An engine with a record: each statement, its outcome and its cost go to the audit log and to watchers."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from msgspec.structs import replace

from dpproxy.accounting.tally import Tally, tallied
from dpproxy.algebra.plan import Answer, Caller, Settings
from dpproxy.algebra.request import Oids, Prepared, Request
from dpproxy.config.configuration import Config
from dpproxy.engine.engine import Engine
from dpproxy.observe.audit_entry import AuditEntry, AuditOutcome
from dpproxy.observe.logs import JsonLines
from dpproxy.observe.metrics import ADDRESS, Metrics, Spent
from dpproxy.observe.records import entry_of
from dpproxy.planner.explain import is_draft
from dpproxy.values.errors import Internal, InvalidPassword, Refusal

_OF_DRAFTS = frozenset({AuditOutcome.EXPLAINED, AuditOutcome.REFUSED})
OPERATOR = Caller("dpproxy", frozenset({"admin"}), "metrics")


class Watcher(Protocol):
    """Observes sessions and outcomes as they happen. Its methods must return quickly."""

    def session_opened(self) -> None:
        """A session begins."""

    def session_closed(self) -> None:
        """A session ends."""

    def statement_ended(self, entry: AuditEntry, seconds: float) -> None:
        """A statement has ended, ``seconds`` after it began."""


class RecordingEngine:
    """The engine as sessions see it, with a record. Catalogue queries are answered without an audit entry."""

    def __init__(self, engine: Engine, watchers: Sequence[Watcher] = ()) -> None:
        self._engine = engine
        self._watchers = watchers
        self._running = 0
        self._lock = threading.Lock()
        self.cancel, self.news, self.show = engine.cancel, engine.news, engine.show

    def login_failed(self, user: str, address: str) -> None:
        """Record a failed login."""
        refusal = InvalidPassword(f"password authentication failed, from {address}")
        who = Caller(user, frozenset(), "")
        self._note(time.monotonic(), entry_of(self._now(), who, AuditOutcome.NO_LOGIN, "", refusal=refusal))

    def open(self, caller: Caller) -> None:
        """A session begins."""
        self._engine.open(caller)
        for watcher in self._watchers:
            watcher.session_opened()

    def close(self, caller: Caller) -> None:
        """A session ends."""
        self._engine.close(caller)
        for watcher in self._watchers:
            watcher.session_closed()

    def prepare(
        self, caller: Caller, sql: str, types: Oids, settings: Settings, *, only_at_hand: bool = False
    ) -> Prepared | None:
        """Parse and type a statement; a refusal is recorded."""
        begun = time.monotonic()
        try:
            return self._engine.prepare(caller, sql, types, settings, only_at_hand=only_at_hand)
        except Refusal as refusal:
            self._note(begun, entry_of(self._now(), caller, AuditOutcome.REFUSED, sql, refusal=refusal))
            raise

    def run(self, request: Request, *, only_at_hand: bool = False) -> Answer | None:
        """Answer a statement, and record its outcome and charge, also when it is refused while rows are being sent.

        A refusal with ``only_at_hand`` returns None: the full run that follows is refused, too, and records it.
        """
        begun = time.monotonic()
        if only_at_hand:
            try:
                answer, nano = self._engine.run(request, only_at_hand=True), 0
            except Refusal:
                return None
        else:
            with self._refusals(request) as charged, self._under_way():
                answer = self._engine.run(request)
            nano = charged.nano
        if answer is None:
            return None
        if not request.prepared.is_catalogue:
            outcome, asked = self._outcome(request.prepared, answer), (request.prepared.sql, request.values)
            self._note(begun, entry_of(self._now(), request.caller, outcome, *asked, nano=nano))
        if answer.still is None:
            return answer
        return replace(answer, still=partial(self._recheck, request, answer.still))

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        with self._lock:
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1

    def _recheck(self, request: Request, check: Callable[[], object]) -> None:
        with self._refusals(request):
            check()

    @contextmanager
    def _refusals(self, request: Request) -> Iterator[Tally]:
        """Record a failure with what was charged by then, and re-raise it."""
        begun = time.monotonic()
        with tallied() as charged:
            try:
                yield charged
            except Exception as error:
                # The text of an internal error is not recorded: it may quote a value of a row.
                refusal = error if isinstance(error, Refusal) else Internal("internal error")
                asked = request.caller, AuditOutcome.REFUSED, request.prepared.sql, request.values
                entry = entry_of(self._now(), *asked, nano=charged.nano, refusal=refusal)
                self._note(begun, entry)
                raise

    def _outcome(self, prepared: Prepared, answer: Answer) -> AuditOutcome:
        """What became of a statement that was answered."""
        kind = answer.tag.partition(" ")[0]
        if answer.is_exact:
            return AuditOutcome.EXACT
        if kind != "SELECT":
            return AuditOutcome.EXPLAINED if kind == "EXPLAIN" else AuditOutcome.ADMINISTERED
        if not prepared.charged:
            return AuditOutcome.FREE
        return AuditOutcome.ANSWERED if answer.nano else AuditOutcome.REPLAYED

    def _now(self) -> int:
        return self._engine.log.now()

    def _note(self, begun: float, entry: AuditEntry) -> None:
        if entry.outcome in _OF_DRAFTS and is_draft(entry.statement):
            return
        if entry.outcome is not AuditOutcome.EXACT:  # the engine wrote that one before it read rows
            self._engine.log.note(entry)
        for watcher in self._watchers:
            watcher.statement_ended(entry, time.monotonic() - begun)

    def accounts(self) -> list[Spent]:
        """What was spent of each budget, of each user's part of it, and of each ceiling."""
        answer = self._engine.answer(OPERATOR, "SHOW PRIVACY BUDGETS")
        names = [column.name for column in answer.columns or ()]
        places = [names.index(name) for name in ("kind", "name", "limit_epsilon", "spent")]
        found = []
        for row in answer.rows:
            kind, name, limit, spent = (row[place] for place in places)
            known = None if limit is None else float(str(limit))
            found.append(Spent(str(kind), str(name), known, float(str(spent))))
        return found

    def running(self) -> int:
        """Statements that are being planned, computed or waited for."""
        return self._running


Record = Callable[[str, Engine], RecordingEngine]
"""Wraps the engine of a data source, given its name, in one that records."""


def watching(config: Config) -> tuple[JsonLines | None, Metrics | None]:
    """The configured watchers: JSON log lines and metrics. Raises ``StartupError`` where a package is missing."""
    lines = JsonLines() if config.log_format == "json" else None
    return lines, Metrics() if config.metrics_port is not None else None


@contextmanager
def recording(config: Config, tell: Callable[[str], None]) -> Iterator[Record]:
    """Start the configured watchers, which all engines share, and stop them at the end. Raises ``StartupError``."""
    lines, metrics = watching(config)
    if lines is not None:
        lines.install()
    if metrics is not None:
        tell(f"metrics on http://{ADDRESS}:{metrics.start(config.metrics_port or 0)}/metrics")

    def record(database: str, engine: Engine) -> RecordingEngine:
        watchers: list[Watcher] = [] if lines is None else [lines.of(database)]
        recorded = RecordingEngine(engine, watchers)
        if metrics is not None:
            watchers.append(metrics.of(database, recorded.accounts, engine.commits, recorded.running))
        return recorded

    try:
        yield record
    finally:
        if metrics is not None:
            metrics.close()
