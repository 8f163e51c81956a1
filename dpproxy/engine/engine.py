"""The engine of one data source: decides what kind a statement is, and hands it to the module that answers it."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Self, assert_never

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.accounting.declared import overspent
from dpproxy.accounting.files import starting
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.limits import LimitReached
from dpproxy.accounting.model import Cost
from dpproxy.algebra.plan import Answer, Caller, Drawn, Notice, Plan, PublicPlan, Settings
from dpproxy.algebra.request import (
    Administration,
    CatalogueQuery,
    ExplainOne,
    ExplainSeveral,
    OfUsers,
    Oids,
    PolicyChange,
    PolicyPreview,
    PolicyRead,
    Prepared,
    ProbeRun,
    Request,
    SelectStatement,
    ViewChange,
    ViewRead,
    complete,
)
from dpproxy.analysis.casts import is_known
from dpproxy.analysis.present import mentions, row_of
from dpproxy.analysis.scopes import Parameters
from dpproxy.backends.asker import asked_by, unpaid
from dpproxy.backends.duckdb.prepared import PreparedTables
from dpproxy.backends.facts import Facts
from dpproxy.backends.opening import nothing_to_read, open_source
from dpproxy.backends.secret import load_secret
from dpproxy.backends.source import Opened, Source
from dpproxy.config import settings as session_settings
from dpproxy.config.configuration import Config
from dpproxy.engine import administration, relations, status, user_statements, view_statements
from dpproxy.engine.answers import Answers, may_be_kept
from dpproxy.engine.cubes import Cubes
from dpproxy.engine.known import ANSWERS, KnownAnswers
from dpproxy.engine.marks import LoadMark, declared
from dpproxy.engine.pages import listed
from dpproxy.engine.payment import Receipt
from dpproxy.engine.plans import Plans
from dpproxy.engine.pricing import EXPLAIN_COLUMNS, Desk, explain_lines, tolerance
from dpproxy.engine.proposals import proposed_lines
from dpproxy.engine.protected import ProtectedViews
from dpproxy.engine.replays import Execution
from dpproxy.engine.sessions import Sessions
from dpproxy.engine.view_statements import ViewContext, begin
from dpproxy.engine.visible import catalogue_view, fitting
from dpproxy.observe.audit_entry import AuditOutcome
from dpproxy.observe.audit_log import AuditLog
from dpproxy.observe.records import exact_notice, recorder
from dpproxy.pgcatalog.catalogue import Catalogue
from dpproxy.pgcatalog.compiler.calls import asks_the_session
from dpproxy.pgcatalog.compiler.paging import paged
from dpproxy.pgcatalog.compiler.scopes import engine_settings, own_names
from dpproxy.pgcatalog.own import is_about_catalogue
from dpproxy.pgcatalog.view import CatalogueView
from dpproxy.planner.accept import parse
from dpproxy.planner.access import Context
from dpproxy.planner.explain import Explain, split_explain
from dpproxy.planner.near import with_statement
from dpproxy.planner.refusals import GENERAL
from dpproxy.planner.routing import routed_notice
from dpproxy.planner.views import read_views
from dpproxy.policy.files import apply_files
from dpproxy.policy.model import Policy
from dpproxy.policy.parser import is_privacy_statement
from dpproxy.policy.statements import Listing, Show, Suggest
from dpproxy.policy.store import PolicyStore
from dpproxy.sql.grammar import is_qualified
from dpproxy.state.directory import prepare
from dpproxy.values.errors import Cancelled, NotGranted, Refusal, Unsupported
from dpproxy.values.jobs import Jobs
from dpproxy.values.pgtypes import BY_OID
from dpproxy.values.recent import Recent
from dpproxy.values.work import cancelled_by


class Engine:
    """Everything behind the wire, for one data source. Its methods may be called from any thread."""

    def __init__(
        self,
        config: Config,
        backend: Source,
        world: ViewContext,
        ledger: Ledger,
        secret: bytes,
        log: AuditLog,
        progress: Callable[[str], None],
    ) -> None:
        self.log = log
        self._database, self._databases, self._users = config.database, config.databases, config.users
        self._backend = backend
        self._world, self._schema, self._store, self._facts = world, world.schema, world.store, world.facts
        self._ledger = ledger
        self._jobs = Jobs()
        self._ended = threading.Event()
        self._watcher: threading.Thread | None = None
        self.sources: Callable[[], Mapping[str, bool]] = lambda: {config.database: True}
        """Which data sources are served; to be replaced where there are others."""
        self._prepared = PreparedTables(backend, secret, progress, config.padding, self._jobs)
        self._answers = Answers(backend, ledger, secret, self._prepared, config.padding)
        self._cubes = Cubes(world, backend)
        self._answers.replays.cubes = self._cubes.following
        self._catalogue = Catalogue()
        self._sessions = Sessions()
        self._known = KnownAnswers(self._ledger)
        self._of_sessions = Recent[Answer](ANSWERS)
        begin(world, progress, partial(recorder, log), build=config.begins)
        counted = self._answers.replays.smallest_group
        self._plans = Plans(world, backend, self._prepared, counted, self._answers.earlier, log, config)

    @classmethod
    def start(cls, config: Config, progress: Callable[[str], None]) -> Self:
        """Import or open the data, verify the ledger, apply the policy files. Raises ``StartupError``."""
        prepare(config, progress)
        config.state.mkdir(exist_ok=True, mode=0o700)
        with starting(config.state, progress):
            return cls._start(config, progress)

    @classmethod
    def _start(cls, config: Config, progress: Callable[[str], None]) -> Self:
        ledger = Ledger.open(config.state, url=config.data.ledger, high_water=config.data.high_water)
        opened: list[Callable[[], None]] = [ledger.close]
        try:
            store = PolicyStore.open(config.state)
            opened.append(store.close)
            secret = load_secret(config.state)
            log = AuditLog.open(config.state, secret, keep_days=config.audit_days)
            opened.append(log.close)
            source = open_source(config, secret, progress)
            backend = source.backend
            opened.append(backend.close)
            schema = read_views(backend.schema())
            if not schema.tables:
                progress(nothing_to_read(config))
            before = store.current
            after = apply_files(store, config.policy_files, schema, tell=progress, weakened=config.applying)
            for notice in overspent(before, after, ledger):
                progress(f"{notice.message} ({notice.detail})")
            facts = Facts(backend)
            for line in fitting(store.current, schema, session_settings.DEFAULTS, facts).lines:
                progress(line)
            views = ProtectedViews(config.state, backend, ledger, secret)
            opened.append(views.close)
            engine = cls(
                config, backend, ViewContext(views, store, schema, facts), ledger, secret, log, progress
            )
        except BaseException:
            for close in reversed(opened):
                close()
            raise
        engine._plans.snapshot = source.state
        engine._watch(config, source, secret, progress)
        return engine

    def _watch(self, config: Config, source: Opened, secret: bytes, progress: Callable[[str], None]) -> None:
        """Begin to look at the mark of a load, where one is declared."""
        nobody = Caller("", frozenset(), f"load mark of {self._database}")
        if config.data.load_mark_table is not None:
            self.open(nobody)
        say = declared(config.data, partial(self.answer, nobody)) if config.begins else None
        if say is None:
            return
        advance = partial(administration.advance, self._world, self.log, self._database)

        def renew(between: Callable[[], None]) -> None:
            self._plans.snapshot = source.renew(between)

        mark = LoadMark(say, config.state, secret)
        mark.begin(advance)
        self._watcher = mark.watch(renew, advance, self._ended.wait, progress)

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._plans.policy

    # --- sessions ---------------------------------------------------------------------------------

    def open(self, caller: Caller) -> None:
        """Begin a session."""
        self._sessions.open(caller.session)

    def close(self, caller: Caller) -> None:
        """End a session; its account stays in the ledger."""
        self._sessions.close(caller.session)

    def cancel(self, session: str, *, only_unpaid: bool = False) -> None:
        """Interrupt the statement that a session runs, if any; reserved charges stay charged.

        With ``only_unpaid``, a statement that was charged runs to its end.
        """
        if not only_unpaid:
            self._sessions.find(session).cancel()
        self._facts.interrupt(session)
        self._answers.interrupt(unpaid(session) if only_unpaid else session)

    def news(self, session: str) -> list[Notice]:
        """The notices of the session's running statement since the last call, such as the progress of a long build."""
        return self._sessions.find(session).news()

    def show(self, caller: Caller, name: str, settings: Settings) -> str:
        """The value of a read-only setting: dp.budget_remaining or dp.last_cost."""
        last, wanted = self._sessions.find(caller.session).last_cost, session_settings.budget(settings)
        return relations.setting_value(name, self.policy, self._ledger, caller, wanted, last)

    # --- statements -------------------------------------------------------------------------------

    def prepare(
        self, caller: Caller, sql: str, types: Oids, settings: Settings, *, only_at_hand: bool = False
    ) -> Prepared | None:
        """Parse and type a statement; nothing is spent. Raises a ``Refusal``."""
        if only_at_hand:
            is_current = self._plans.is_current
            return (
                self._plans.find_statement(sql, types, self._plans.state(caller, settings))
                if is_current
                else None
            )
        with self._cancellable(caller):
            prepared = self._prepare(caller, sql, types, settings)
            if self._sessions.find(caller.session).cancelled.is_set():
                raise Cancelled("canceling statement due to user request")
            return prepared

    @contextmanager
    def _cancellable(self, caller: Caller) -> Iterator[None]:
        """Let a cancel request that arrives inside the block stop this statement, and add hints to refusals."""
        try:
            session = self._sessions.find(caller.session)
            with session.inside(), asked_by(caller.session), cancelled_by(session.cancelled.is_set):
                yield
        except Refusal as refusal:
            refusal.hint = refusal.hint or GENERAL.get(refusal.sqlstate)
            if isinstance(refusal, LimitReached):
                refusal.detail = self._ledger.explained(refusal, caller.user, is_admin=caller.is_admin)
            raise

    def _prepare(self, caller: Caller, sql: str, types: Sequence[int], settings: Settings) -> Prepared:
        if is_privacy_statement(sql):
            return administration.prepare(sql, caller, self.policy)
        state = self._plans.state(caller, settings)
        known = self._plans.find_statement(sql, types, state)
        if known is not None:
            return known
        explain = split_explain(sql)
        if explain is not None and (found := _explained(sql, explain, caller)) is not None:
            return found
        caller = caller if explain is None else _with_role(caller, explain.role)
        asked = sql if explain is None else explain.sql
        tree = parse(asked, self._database, bare=False)
        is_own = explain is None and self._catalogue.covers(tree)
        if is_own and (is_about_catalogue(tree) or not all(map(is_known, types))):
            return self._of_catalogue(caller, sql, tree, types, settings)
        bare = parse(asked, self._database) if is_qualified(asked) else tree
        return self._planned(caller, sql, bare, types, settings, explain)

    def _of_catalogue(
        self, caller: Caller, sql: str, tree: exp.Expr, types: Sequence[int], settings: Settings
    ) -> Prepared:
        kinds, columns = self._catalogue.prepare(self._view(caller, settings), tree, types)
        prepared = Prepared(sql, kinds, columns, CatalogueQuery(tree, tuple(types), mentions(tree)))
        if asks_the_session(tree):
            self._plans.remember(prepared, types, self._plans.state(caller, settings))
        return prepared

    def _planned(
        self, caller: Caller, sql: str, tree: exp.Expr, types: Sequence[int], settings: Settings,
        explain: Explain | None,
    ) -> Prepared:  # fmt: skip
        state = self._plans.state(caller, settings)
        parameters = Parameters({n: BY_OID[oid] for n, oid in enumerate(types, 1) if oid in BY_OID})
        try:
            plan = self._plans.route(tree, caller, sql, parameters, settings)
        except Refusal as refusal:
            with_statement(refusal, tree, partial(self._plans.check, caller, parameters, settings))
            raise
        kinds, select = parameters.all_types(), SelectStatement(tree, mentions(tree))
        columns = tuple(o.column for o in plan.outputs)
        prepared = Prepared(sql, kinds, columns, select, not plan.free, plan.deadline)
        if explain is not None:
            prepared = Prepared(
                sql,
                kinds,
                EXPLAIN_COLUMNS,
                ExplainOne(prepared, explain.as_json, explain.verbose, explain.role),
            )
        self._plans.keep(prepared, types, state, plan)
        if explain is None and not types and not kinds and isinstance(plan, Plan):
            self._plans.learn(prepared, caller, settings, state, plan)
        return prepared

    def answer(self, caller: Caller, sql: str) -> Answer:
        """Prepare and run a statement without parameters, under the settings that sessions begin with."""
        prepared = complete(self.prepare(caller, sql, (), session_settings.DEFAULTS))
        return complete(self.run(Request(caller, prepared, (), session_settings.DEFAULTS)))

    def run(self, request: Request, *, only_at_hand: bool = False) -> Answer | None:
        """Answer a prepared statement. Raises a ``Refusal``."""
        if only_at_hand:
            return self._at_hand(request)
        request = _timed(request)
        with self._cancellable(request.caller):
            match request.prepared.statement:
                case SelectStatement():
                    return self._query(request)
                case CatalogueQuery() as query:
                    return self._describe(request, query)
                case ExplainOne() | ExplainSeveral() as explain:
                    return self._explain(request, explain)
                case administrative:
                    return self._administer(request, administrative)

    def _administer(self, request: Request, administrative: Administration) -> Answer:
        check = partial(self._check_may, administrative, request.caller)
        check()
        administration.check_names(administrative, request, self._world)
        match administrative:
            case ProbeRun(statement):
                return self._probe(request, statement)
            case PolicyRead(Show(listing=Listing.STATUS)):
                return replace(self._status(), still=check)
            case PolicyRead(statement):
                answer = administration.read(statement, request.caller, self._world, self._ledger, self.log)
            case PolicyPreview():
                answer = administration.preview(administrative, request, self._world, self._ledger)
            case PolicyChange(statement):
                answer = administration.change(statement, request, self._world, self._ledger)
            case OfUsers(statement):
                return replace(user_statements.run(statement, request.caller, self._users), still=check)
            case ViewRead(statement) | ViewChange(statement):
                session = self._sessions.find(request.caller.session)
                record = recorder(self.log, request.caller, request.prepared.sql)
                answer = view_statements.run(statement, request, session, self._world, record, self._jobs)
            case _:
                assert_never(administrative)
        more = view_statements.view_notices(administrative.statement, self._world)
        return replace(answer, notices=(*more, *answer.notices), still=check)

    def _status(self) -> Answer:
        found = self._ledger, len(self._sessions), self._jobs
        listed = status.rows(self.sources(), self.policy, *found, prepares=self._prepared.usable)
        return Answer("SHOW", status.COLUMNS, list(listed))

    def _check_may(self, administrative: Administration, caller: Caller) -> None:
        """Raise ``NotGranted`` where the policy in force does not let the caller send this privacy statement."""
        administration.check(administrative.statement, caller, self.policy)

    def _probe(self, request: Request, statement: Suggest) -> Answer:
        caller, settings = request.caller, request.settings
        own = {**session_settings.DEFAULTS, "dp.session_epsilon": settings["dp.session_epsilon"]}

        def context(policy: Policy, given: Settings, losses: tuple[Drawn, ...] | None) -> Context:
            return self._plans.context(policy, caller, {**own, **given}, losses)

        is_cancelled = self._sessions.find(caller.session).cancelled.is_set
        ask = administration.charged_planner(self._answers, caller, is_cancelled, context)
        return administration.run_probe(statement, self._store.current, self._schema, self._ledger, ask)

    def _query(self, request: Request) -> Answer:
        caller, prepared = request.caller, request.prepared
        # Before the plan is made: no answer of what was allowed before is held under a policy that came meanwhile.
        state = self._plans.state(caller, request.settings)
        plan = self._plans.plan(request)
        # dp.intervals or the policy may have changed since the statement was prepared; and a statement that was not
        # prepared as charged is not padded, so it must not be charged now.
        is_dearer = not plan.free and not prepared.charged
        if is_dearer or tuple(o.column for o in plan.outputs) != prepared.columns:
            raise Unsupported("cached plan must not change result type", hint="Prepare the statement again.")
        if isinstance(plan, PublicPlan):
            return self._public(request, plan)

        def replan(losses: tuple[Drawn, ...]) -> Plan:
            again = self._plans.plan(request, losses)
            return again if isinstance(again, Plan) else plan

        session, receipt = self._sessions.find(caller.session), self._receipt(request, plan)
        key = self._known.key(request, state) if may_be_kept(plan) else None
        if (known := self._known.get(key)) is not None:
            session.last_cost = 0
            return known
        tolerated = tolerance(request.settings)
        execution = Execution(caller, plan, session.cancelled.is_set, *tolerated, on_charge=receipt.take)
        rows, cost = self._answers.rows(execution, replan)
        self._known.note(request)
        answer = receipt.answer(rows, cost, session, execution.notices)
        self._known.put(key, answer)
        return answer

    def _public(self, request: Request, plan: PublicPlan) -> Answer:
        caller, prepared = request.caller, request.prepared
        if plan.exact:
            recorder(self.log, caller, prepared.sql, request.values)(AuditOutcome.EXACT)
        answer, is_exact = self._answers.public(plan, caller.session), bool(plan.exact)
        notices = (exact_notice(plan),) if is_exact else (routed_notice(plan.view),) if plan.view else ()
        still = partial(self._plans.check_readable, plan, request)
        return replace(answer, columns=prepared.columns, notices=notices, is_exact=is_exact, still=still)

    def _at_hand(self, request: Request) -> Answer | None:
        prepared, caller = request.prepared, request.caller
        if not prepared.charged:
            return self._free_at_hand(request)
        if not isinstance(prepared.statement, SelectStatement) or not self._plans.is_current:
            return None
        key = self._known.key(request, self._plans.state(caller, request.settings), only_at_hand=True)
        if key is None:
            return None
        answer = self._known.get(key) or (self._replayed(request) if self._ledger.is_near else None)
        if answer is not None:
            self._known.put(key, answer)
            self._sessions.find(caller.session).last_cost = 0
        return answer

    def _free_at_hand(self, request: Request) -> Answer | None:
        """The answer to a statement that reads no relation, as pools ask for a sign of life; None for others."""
        prepared = request.prepared
        match prepared.statement:
            case _ if request.values:
                return None
            case CatalogueQuery():
                return self._of_sessions.get(_session_key(request))
            case SelectStatement(tree, is_of_present=True) if tree is not None:
                row = row_of(tree, _timed(request).settings)
                return None if row is None else Answer("SELECT 1", prepared.columns, (row,))
            case SelectStatement() if self._plans.is_current:
                plan = self._plans.find_plan(request)
                is_same = plan is not None and tuple(o.column for o in plan.outputs) == prepared.columns
                rows = self._answers.kept(plan) if isinstance(plan, PublicPlan) and is_same else None
                return None if rows is None else Answer(f"SELECT {len(rows)}", prepared.columns, rows)
            case _:
                return None

    def _replayed(self, request: Request) -> Answer | None:
        def find(losses: tuple[Drawn, ...] | None) -> Plan | None:
            found = self._plans.find_plan(request, losses)
            return found if isinstance(found, Plan) else None

        caller, plan = request.caller, find(None)
        if plan is None or tuple(o.column for o in plan.outputs) != request.prepared.columns:
            return None
        execution = Execution(caller, plan, lambda: False, *tolerance(request.settings))
        rows = self._answers.at_hand(execution, find)
        if rows is None:
            return None
        session = self._sessions.find(caller.session)
        return self._receipt(request, plan).answer(rows, Cost(), session, execution.notices)

    def _receipt(self, request: Request, plan: Plan) -> Receipt:
        return Receipt(plan, request, self._ledger)

    def _explain(self, request: Request, statement: ExplainOne | ExplainSeveral) -> Answer:
        def prepared(text: str) -> Prepared:
            query = self._prepare(request.caller, text, (), request.settings)
            if not isinstance(query.statement, SelectStatement) or query.parameters:
                raise Unsupported("EXPLAIN (PRIVACY) prices queries without parameters", position=0)
            return query

        if isinstance(statement, ExplainOne):
            request = replace(request, caller=_with_role(request.caller, statement.role))
        shared = self._answers, self._ledger, self.policy, request
        desk = Desk(
            *shared,
            self._plans.plan,
            prepared,
            self._backend.shown,
            self._cubes,
            self._schema.tables.__getitem__,
        )
        if isinstance(statement, ExplainSeveral) and statement.cube:
            lines = proposed_lines(statement, desk)
        else:
            lines = explain_lines(statement, desk)
        return Answer("EXPLAIN", EXPLAIN_COLUMNS, [(line,) for line in lines])

    # --- the catalogue ----------------------------------------------------------------------------

    def _view(self, caller: Caller, settings: Settings) -> CatalogueView:
        policy = self.policy
        views = self._plans.views, self._world.views.relations
        found = catalogue_view(policy, self._schema, caller, settings, self._database, *views)
        return replace(found, databases=self._databases, role_defaults=self._world.role_defaults(caller))

    def _describe(self, request: Request, query: CatalogueQuery) -> Answer:
        caller, settings, tree = request.caller, request.settings, query.tree
        if asks_the_session(tree):
            return self._of_session(request, tree)
        session = self._sessions.find(caller.session)
        by_page = paged(tree, request.values)
        if by_page is not None:
            view, is_cancelled = self._view(caller, settings), session.cancelled.is_set

            def answer(rows: relations.Rows) -> Answer:
                fresh = {"ledger": (relations.LEDGER, rows)}
                return self._catalogue.run(
                    view, by_page.tree, request.values, fresh, is_cancelled, query.types
                )

            conditions, is_descending = by_page.conditions, by_page.is_descending
            found = relations.ledger_rows(self._ledger, caller, conditions, is_descending=is_descending)
            return listed(found, answer, by_page.limit, by_page.offset)
        rows = relations.rows(self.policy, self._ledger, caller, own_names(tree), session.last_paid)
        fresh = {name: (columns, rows[name]) for name, columns in relations.OWN.items()}
        told = {name: self.show(caller, name, settings) for name in engine_settings(tree)}
        view = self._view(caller, {**settings, **told})
        is_cancelled = session.cancelled.is_set
        return self._catalogue.run(view, tree, request.values, fresh, is_cancelled, query.types)

    def _of_session(self, request: Request, tree: exp.Expr) -> Answer:
        """The answer to a question that depends on the caller and the settings alone, kept for the next time."""
        caller, settings, key = request.caller, request.settings, _session_key(request)
        answer = self._of_sessions.get(key)
        if answer is None:
            answer = self._catalogue.run(self._view(caller, settings), tree, (), {})
            self._of_sessions.put(key, answer)
        return answer

    def commits(self) -> tuple[int, float]:
        """The number of the ledger's commits since the start, and the seconds they took in all."""
        return self._ledger.writer.commits, self._ledger.writer.seconds

    def shut_down(self) -> None:
        """Close everything, after pending writes."""
        self._ended.set()
        if self._watcher is not None:
            self._watcher.join()
        opened = (
            self._catalogue,
            self._prepared,
            self._answers,
            self._ledger,
            self._store,
            self._world.views,
        )
        for each in (*opened, self._backend, self.log):
            each.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shut_down()


def _with_role(caller: Caller, role: str | None) -> Caller:
    """The caller as somebody who has one role alone, where it is named. Raises ``NotGranted`` for analysts."""
    if role is not None and not caller.is_admin:
        raise NotGranted("prices of other roles are for administrators", position=0)
    return caller if role is None else replace(caller, roles=frozenset({role}))


def _explained(sql: str, explain: Explain, caller: Caller) -> Prepared | None:
    """EXPLAIN of something else than one query; None for one query."""
    if explain.role is not None and (explain.several or is_privacy_statement(explain.sql)):
        raise Unsupported("ROLE is for the price of one query", position=0)
    if is_privacy_statement(explain.sql):
        return administration.prepare_preview(sql, explain, caller)
    if explain.several:
        several = ExplainSeveral(explain.several, explain.as_json, explain.budget, explain.cube)
        return Prepared(sql, (), EXPLAIN_COLUMNS, several)
    return None


def _session_key(request: Request) -> tuple[object, ...]:
    return request.caller.user, request.text, tuple(request.settings.items())


def _timed(request: Request) -> Request:
    """The request with the current time among its settings, where its plan depends on that."""
    if not request.prepared.is_of_present or session_settings.PRESENT in request.settings:
        return request
    now = datetime.now(UTC)
    present = {session_settings.PRESENT: session_settings.moments(now, now)}
    return replace(request, settings={**request.settings, **present})
