"""The only path from a statement to its answer: replay? reserve, run, release, post-process, keep."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Self

from dpproxy.accounting.declared import overspent
from dpproxy.accounting.files import starting
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.limits import LimitReached
from dpproxy.accounting.model import Cost
from dpproxy.algebra.plan import Answer, Caller, Drawn, Notice, Plan, Prepared, PublicPlan, Settings
from dpproxy.analysis.clocks import utc_of
from dpproxy.analysis.present import mentions
from dpproxy.analysis.scopes import Parameters
from dpproxy.backends.asker import asked_by, unpaid
from dpproxy.backends.facts import Facts
from dpproxy.backends.opening import open_source
from dpproxy.backends.prepared import PreparedTables
from dpproxy.backends.secret import load_secret
from dpproxy.backends.source import Source
from dpproxy.config import settings as session_settings
from dpproxy.config.configuration import Config
from dpproxy.engine import administration, relations, view_statements
from dpproxy.engine.administration import read
from dpproxy.engine.answers import Answers
from dpproxy.engine.body import Body
from dpproxy.engine.look import Look
from dpproxy.engine.planning import Planning
from dpproxy.engine.pricing import EXPLAINED, Desk, explained, tolerance
from dpproxy.engine.probing import asker
from dpproxy.engine.protected import ProtectedViews
from dpproxy.engine.replays import Asking
from dpproxy.engine.sessions import Sessions
from dpproxy.engine.view_statements import World, begin
from dpproxy.engine.visible import fitting, visible
from dpproxy.observe.audit_entry import Outcome
from dpproxy.observe.audit_log import AuditLog
from dpproxy.observe.records import exact_notice, recorder
from dpproxy.pgcatalog.catalogue import Catalogue
from dpproxy.pgcatalog.scopes import asked_settings, own_names
from dpproxy.pgcatalog.view import CatalogueView
from dpproxy.planner.accept import parse
from dpproxy.planner.access import Context
from dpproxy.planner.explain import split_explain
from dpproxy.planner.refusals import GENERAL
from dpproxy.planner.routing import routed_notice
from dpproxy.planner.views import read_views
from dpproxy.policy.files import apply_files
from dpproxy.policy.model import Policy
from dpproxy.policy.parser import is_privacy_statement
from dpproxy.policy.store import PolicyStore
from dpproxy.sql.grammar import is_qualified
from dpproxy.state.directory import prepare
from dpproxy.values.errors import Cancelled, Refusal, Unsupported
from dpproxy.values.pgtypes import BY_OID
from dpproxy.values.recent import Recent
from dpproxy.wire.zones import zone

GIVEN = 2048
"""Answers kept for those who paid for them."""


class Engine:
    """Everything behind the wire, for one data source. Its methods may be called from any thread."""

    def __init__(
        self,
        config: Config,
        backend: Source,
        world: World,
        ledger: Ledger,
        secret: bytes,
        log: AuditLog,
        progress: Callable[[str], None],
    ) -> None:
        self.log = log
        self._database, self._databases = config.database, config.databases
        self._backend = backend
        self._world, self._schema, self._store, self._facts = world, world.schema, world.store, world.facts
        self._ledger = ledger
        self._prepared = PreparedTables(backend, secret, progress, config.padding)
        self._answers = Answers(backend, ledger, secret, self._prepared, config.padding)
        self._catalogue = Catalogue()
        self._sessions = Sessions()
        self._given = Recent[Answer](GIVEN)
        self._answered = Recent[bool](GIVEN)
        begin(world, progress, partial(recorder, log), build=config.begins)
        counted = self._answers.replays.counted
        self._planning = Planning(world, backend, self._prepared, counted, log, config)

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
            before = store.current
            after = apply_files(store, config.policy_files, schema, tell=progress, weakened=config.applying)
            for notice in overspent(before, after, ledger):
                progress(f"{notice.message} ({notice.detail})")
            facts = Facts(backend)
            for line in fitting(store.current, schema, session_settings.DEFAULTS, facts).lines:
                progress(line)
            views = ProtectedViews(config.state, backend, ledger, secret)
            opened.append(views.close)
            engine = cls(config, backend, World(views, store, schema, facts), ledger, secret, log, progress)
        except BaseException:
            for close in reversed(opened):
                close()
            raise
        engine._planning.snapshot = source.state
        return engine

    @property
    def policy(self) -> Policy:
        """The policy in force."""
        return self._planning.policy

    # --- sessions ---------------------------------------------------------------------------------

    def database_exists(self, name: str) -> bool:
        """True for the one data source."""
        return name == self._database

    def open(self, caller: Caller) -> None:
        """Remember a session."""
        self._sessions.open(caller.session)

    def close(self, caller: Caller) -> None:
        """Forget a session; its account stays in the ledger."""
        self._sessions.close(caller.session)

    def cancel(self, session: str) -> None:
        """Interrupt what a session runs, if anything; what it reserved stays charged."""
        self._sessions.find(session).cancel()
        self._facts.interrupt(session)
        self._answers.interrupt(session)

    def cancel_unpaid(self, session: str) -> None:
        """Interrupt what a session waits for before anything is charged; a statement that is paid for runs on."""
        self._facts.interrupt(session)
        self._answers.interrupt(unpaid(session))

    def show(self, caller: Caller, name: str, settings: Settings) -> str:
        """A read-only setting: dp.budget_remaining or dp.last_cost."""
        last, wanted = self._sessions.find(caller.session).last_cost, session_settings.budget(settings)
        return relations.shown(name, self.policy, self._ledger, caller, wanted, last)

    # --- statements -------------------------------------------------------------------------------

    def prepare(self, caller: Caller, sql: str, types: Sequence[int], settings: Settings) -> Prepared:
        """Parse and type a statement; nothing is spent. Raises a ``Refusal``."""
        with self._cancellable(caller):
            prepared = self._prepare(caller, sql, types, settings)
            if self._sessions.find(caller.session).cancelled.is_set():
                raise Cancelled("canceling statement due to user request")
            return prepared

    def known(self, caller: Caller, sql: str, types: Sequence[int], settings: Settings) -> Prepared | None:
        """What ``prepare`` returned for the same statement, if it is kept. Never waits."""
        if not self._planning.is_current:
            return None
        return self._planning.known(sql, types, self._planning.state(caller, settings))

    @contextmanager
    def _cancellable(self, caller: Caller) -> Iterator[None]:
        """A cancel that arrives inside is for this statement, any other is for none; refusals get a hint."""
        try:
            with self._sessions.find(caller.session).inside(), asked_by(caller.session):
                yield
        except Refusal as refusal:
            refusal.hint = refusal.hint or GENERAL.get(refusal.sqlstate)
            if isinstance(refusal, LimitReached):
                refusal.detail = self._ledger.explained(refusal, caller.user, is_admin=caller.is_admin)
            raise

    def _prepare(self, caller: Caller, sql: str, types: Sequence[int], settings: Settings) -> Prepared:
        if is_privacy_statement(sql):
            return self._administrative(caller, sql)
        state = self._planning.state(caller, settings)
        kept = self._planning.known(sql, types, state)
        if kept is not None:
            return kept
        explain = split_explain(sql)
        if explain is not None and explain.several:
            told = Body("explain", explain=explain, present=True)
            return Prepared(sql, (), EXPLAINED, charged=False, body=told, is_of_present=True)
        asked = sql if explain is None else explain.sql
        tree = parse(asked, self._database, bare=False)
        if explain is None and self._catalogue.covers(tree):
            kinds, columns = self._catalogue.prepare(self._view(caller, settings), tree, types)
            now = mentions(tree)
            told = Body("describe", tree, tuple(types), present=now)
            return Prepared(
                sql, kinds, columns, charged=False, body=told, is_of_present=now, is_catalogue=True
            )
        if is_qualified(asked):
            tree = parse(asked, self._database)
        parameters = Parameters({n: BY_OID[oid] for n, oid in enumerate(types, 1) if oid in BY_OID})
        plan = self._planning.routed(tree, caller, sql, parameters, settings)
        kinds = parameters.all_types()
        oids, now = tuple(k.oid for k in kinds), mentions(tree)
        if explain is not None:
            told = Body("explain", tree, oids, explain, now)
            prepared = Prepared(sql, kinds, EXPLAINED, charged=False, body=told, is_of_present=now)
        else:
            columns = tuple(o.column for o in plan.outputs)
            ask = Body("ask", tree, oids, present=now)
            prepared = Prepared(
                sql, kinds, columns, not plan.free, ask, deadline=plan.deadline, is_of_present=now
            )
        self._planning.keep(prepared, types, state, plan)
        if explain is None and not types and not kinds and isinstance(plan, Plan):
            self._planning.learn(prepared, caller, settings, state, plan)
        return prepared

    def _administrative(self, caller: Caller, sql: str) -> Prepared:
        statement = read(sql, caller, self.policy)
        if view_statements.is_of_views(statement):
            shown, body = view_statements.columns(statement), Body("views")
            return Prepared(sql, (), shown, charged=False, body=body, is_slow=True)
        listed, is_probe = administration.columns(statement, self.policy), administration.is_probe(statement)
        return Prepared(sql, (), listed, is_probe, Body("probe" if is_probe else "administer"))

    def run(self, caller: Caller, prepared: Prepared, values: Sequence[object], settings: Settings) -> Answer:
        """Answer a prepared statement. Raises a ``Refusal``."""
        body = prepared.body
        if not isinstance(body, Body):
            raise TypeError("a statement of another engine")
        settings = body.timed(settings)
        with self._cancellable(caller):
            match body.kind:
                case "administer":
                    clock = partial(utc_of, zone=zone(settings["timezone"]))
                    given = self._store, self._schema, self._ledger, self._facts, self.log, clock
                    answer = administration.run(prepared.sql, caller, *given)
                    told = view_statements.besides(read(prepared.sql, caller, self.policy), self._world)
                    still = partial(self._may_read, caller, prepared.sql)
                    return replace(answer, notices=(*told, *answer.notices), still=still)
                case "views":
                    still = partial(self._may_read, caller, prepared.sql)
                    return replace(self._of_views(caller, prepared.sql), still=still)
                case "probe":
                    return self._probe(caller, prepared.sql, settings)
                case "describe":
                    return self._describe(caller, body, values, settings)
                case "explain":
                    return self._explain(caller, prepared.sql, body, values, settings)
                case _:
                    return self._query(caller, prepared, body, values, settings)

    def _may_read(self, caller: Caller, sql: str) -> None:
        """Whether a privacy statement is still one of the caller's. Raises ``NotGranted``."""
        read(sql, caller, self.policy)

    def _of_views(self, caller: Caller, sql: str) -> Answer:
        session, statement = self._sessions.find(caller.session), read(sql, caller, self.policy)
        record = recorder(self.log, caller, sql)
        return view_statements.run(statement, sql, caller, session, self._world, record)

    def told(self, session: str) -> list[Notice]:
        """What a running statement had to say since it was last asked; a build that takes long tells how far it is."""
        return self._sessions.find(session).news()

    def _probe(self, caller: Caller, sql: str, settings: Settings) -> Answer:
        own = {**session_settings.DEFAULTS, "dp.session_epsilon": settings["dp.session_epsilon"]}

        def context(policy: Policy, given: Settings, losses: tuple[Drawn, ...] | None) -> Context:
            return self._planning.context(policy, caller, {**own, **given}, losses)

        ask = asker(self._answers, caller, self._sessions.find(caller.session).cancelled.is_set, context)
        statement = read(sql, caller, self.policy)
        return administration.run_probe(statement, self._store.current, self._schema, self._ledger, ask)

    def _query(
        self, caller: Caller, prepared: Prepared, body: Body, values: Sequence[object], settings: Settings
    ) -> Answer:
        sql = prepared.sql
        plan = self._planning.plan(caller, sql, body, values, settings, None)
        # dp.intervals or the policy may have moved since; what was not said to be charged is not padded either.
        is_dearer = not plan.free and not prepared.charged
        if is_dearer or tuple(o.column for o in plan.outputs) != prepared.columns:
            raise Unsupported("cached plan must not change result type", hint="Prepare the statement again.")
        if isinstance(plan, PublicPlan):
            if plan.exact:
                recorder(self.log, caller, sql, values)(Outcome.EXACT)
            found, is_exact = self._answers.public(plan, caller.session), bool(plan.exact)
            told = (exact_notice(plan),) if is_exact else (routed_notice(plan.view),) if plan.view else ()
            still = partial(self._planning.check_still, plan, caller, sql, body, values, settings)
            return replace(found, columns=prepared.columns, notices=told, is_exact=is_exact, still=still)

        def replan(losses: tuple[Drawn, ...]) -> Plan:
            again = self._planning.plan(caller, sql, body, values, settings, losses)
            return again if isinstance(again, Plan) else plan

        session, look = self._sessions.find(caller.session), self._look(caller, plan, settings)
        asking = Asking(caller, plan, session.cancelled.is_set, *tolerance(settings), charged=look.take)
        rows, cost = self._answers.rows(asking, replan)
        self._answered.put((sql, tuple((type(v), v) for v in values)), value=True)
        return look.answer(rows, cost, session, settings, asking.told)

    def again(
        self, caller: Caller, prepared: Prepared, values: Sequence[object], settings: Settings
    ) -> Answer | None:
        """What ``run`` answers for nothing, where all it takes is at hand; else None. Never waits."""
        body = prepared.body
        text = prepared.sql, tuple((type(v), v) for v in values)
        if not isinstance(body, Body) or not prepared.charged or self._answered.get(text) is None:
            return None  # never answered before: there is nothing to look for
        is_near = self._planning.is_current and self._ledger.is_near
        if body.kind != "ask" or not is_near:
            return None
        asked = text, body.types, tuple(settings.items())
        key = caller, asked, self._planning.state(caller, settings), self._ledger.moment()
        answer = self._given.get(key) or self._again(caller, prepared, body, values, settings)
        if answer is not None:
            self._given.put(key, answer)
            self._sessions.find(caller.session).last_cost = 0
        return answer

    def _again(
        self, caller: Caller, prepared: Prepared, body: Body, values: Sequence[object], settings: Settings
    ) -> Answer | None:
        def kept(losses: tuple[Drawn, ...] | None) -> Plan | None:
            found = self._planning.kept(caller, prepared.sql, body, values, settings, losses)
            return found if isinstance(found, Plan) else None

        plan = kept(None)
        if plan is None or tuple(o.column for o in plan.outputs) != prepared.columns:
            return None
        rows = self._answers.again(Asking(caller, plan, lambda: False, *tolerance(settings)), kept)
        if rows is None:
            return None
        look = self._look(caller, plan, settings)
        return look.answer(rows, Cost(), self._sessions.find(caller.session), settings)

    def _look(self, caller: Caller, plan: Plan, settings: Settings) -> Look:
        limited = partial(relations.accounts, self.policy, caller, session_settings.budget(settings))
        return Look(plan, caller, self._ledger, limited)

    def _explain(
        self, caller: Caller, sql: str, body: Body, values: Sequence[object], settings: Settings
    ) -> Answer:
        def plan_at(text: str, given: Settings, losses: tuple[Drawn, ...] | None) -> Plan | PublicPlan:
            if body.explain.several:
                return self._planning.plan(caller, text, self._asked(caller, text, given), (), given, losses)
            return self._planning.plan(caller, sql, body, values, given, losses)

        desk = Desk(self._answers, self._ledger, self.policy, caller, settings, plan_at, self._backend.shown)
        return Answer("EXPLAIN", EXPLAINED, [(line,) for line in explained(body.explain, desk)])

    def _asked(self, caller: Caller, sql: str, settings: Settings) -> Body:
        """A query that stands beside others. Raises a ``Refusal``."""
        body = self._prepare(caller, sql, (), settings).body
        if not isinstance(body, Body) or body.kind != "ask" or body.types:
            raise Unsupported("EXPLAIN (PRIVACY) prices queries without parameters", position=0)
        return body

    # --- the catalogue ----------------------------------------------------------------------------

    def _view(self, caller: Caller, settings: Settings) -> CatalogueView:
        policy = self.policy
        views = self._planning.views, self._world.views.found
        found = visible(policy, self._schema, caller, settings, self._database, *views)
        return replace(found, databases=self._databases, configured=self._world.configured(caller))

    def _describe(self, caller: Caller, body: Body, values: Sequence[object], settings: Settings) -> Answer:
        if body.tree is None:
            raise AssertionError("a query has a tree")
        session = self._sessions.find(caller.session)
        rows = relations.rows(self.policy, self._ledger, caller, own_names(body.tree), session.last_paid)
        fresh = {name: (columns, rows[name]) for name, columns in relations.OWN.items()}
        told = {name: self.show(caller, name, settings) for name in asked_settings(body.tree)}
        view = self._view(caller, {**settings, **told})
        return self._catalogue.run(view, body.tree, values, fresh, session.cancelled.is_set, body.types)

    def commits(self) -> tuple[int, float]:
        """How many commits the ledger made since the start, and how many seconds they took."""
        return self._ledger.writer.commits, self._ledger.writer.seconds

    def shut_down(self) -> None:
        """Close everything; what waits to be written is written."""
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
