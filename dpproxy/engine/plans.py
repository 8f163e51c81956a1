"""The policy in force, and plans under it, kept for statements seen before."""

from collections.abc import Callable, Sequence
from functools import partial

from sqlglot import exp

from dpproxy.algebra.plan import Caller, Drawn, Plan, PublicPlan, Settings
from dpproxy.algebra.request import EngineStatement, Prepared, Request, Select
from dpproxy.analysis.scopes import Parameters
from dpproxy.backends.asker import asked_by
from dpproxy.backends.prepared import PreparedTables
from dpproxy.backends.source import Source
from dpproxy.config import settings as session_settings
from dpproxy.config.configuration import Config
from dpproxy.engine.shaped import Bound, Shaped
from dpproxy.engine.view_statements import World
from dpproxy.engine.visible import Views, fitting
from dpproxy.observe.audit_log import AuditLog
from dpproxy.observe.records import recorder
from dpproxy.planner.accept import parse
from dpproxy.planner.access import LONGEST_WORK, Context
from dpproxy.planner.routing import plan_routed
from dpproxy.planner.scans import prepared_names
from dpproxy.policy.model import Policy
from dpproxy.values.errors import NotGranted, Refusal
from dpproxy.values.pgtypes import BY_OID
from dpproxy.values.recent import Recent

PLANS = 512
"""Plans kept for statements seen before."""
LARGEST_KEPT = 16_000
"""Characters of a statement and its parameters at most, for its plan to be kept."""
_OUT_OF_ORDER = frozenset({"57", "58", "XX"})
"""Classes of refusals that say nothing about rights."""
Losses = tuple[Drawn, ...] | None
"""What stored releases answer the parts of a plan with; None for draws of their own."""
State = tuple[object, ...]


class Plans:
    """Plans for one data source; its methods may be called from any thread.

    ``counted`` tells how many rows a plan's smallest group was released to have, ``snapshot`` names the data.
    """

    def __init__(
        self,
        world: World,
        backend: Source,
        prepared: PreparedTables,
        counted: Callable[[Caller, Plan], float | None],
        log: AuditLog,
        config: Config,
    ) -> None:
        self._database = config.database
        self._longest_work = min(LONGEST_WORK, config.statement_timeout / 2)
        self._world, self._schema, self._store, self._facts = world, world.schema, world.store, world.facts
        self._backend = backend
        self._prepared = prepared
        self._counted = counted
        self._log = log
        self.snapshot = ""
        self._plans, self._statements = Recent[Plan | PublicPlan](PLANS), Recent[Prepared](PLANS)
        self._shaped = Shaped()
        self._fitting = self._fit(self._store.current)

    @property
    def policy(self) -> Policy:
        """The policy in force: a table that no longer fits its declarations is hidden."""
        stored = self._store.current
        if self._fitting[0] is not stored:
            self._fitting = self._fit(stored)
        return self._fitting[1]

    def _fit(self, stored: Policy) -> tuple[Policy, Policy, dict[str, object], Views]:
        """A policy, what of it fits the data, its prepared tables, and its views; those of others are dropped."""
        layouts: dict[str, object] = {}
        nobody, given = Caller("", frozenset(), ""), session_settings.DEFAULTS
        fits = fitting(stored, self._schema, given, self._facts)
        context = Context(fits.policy, self._schema, nobody, given, None, self._facts, layouts)
        self._prepared.keep(prepared_names(context) | self._world.views.tables)
        return stored, fits.policy, layouts, fits.views

    @property
    def is_current(self) -> bool:
        """Whether ``state`` and ``kept`` take no work: nothing has changed since plans were made."""
        return self._fitting[0] is self._store.current and self._world.views.are_loaded

    @property
    def views(self) -> Views:
        """The views that fit."""
        return self._fitting[3]

    # --- statements

    def state(self, caller: Caller, settings: Settings) -> State:
        """Everything beside its text and parameters that a plan depends on, as it is before it is made."""
        return self._state(self.policy, caller, settings)

    def known(self, sql: str, types: Sequence[int], state: State) -> Prepared | None:
        """What ``keep`` was given for the same statement, or for another one of its shape."""
        key = sql, tuple(types), state
        found = self._statements.get(key)
        if found is None and not types and (shaped := self._shaped.find(sql, state)) is not None:
            found, plan = shaped
            self._plans.put((sql, (), (), None, state), plan)
            self._statements.put(key, found)
        return found

    def keep(self, prepared: Prepared, types: Sequence[int], state: State, plan: Plan | PublicPlan) -> None:
        """Keep what became of a statement, and its plan where no parameter's value and no present is missing."""
        sql = prepared.sql
        if len(sql) > LARGEST_KEPT:
            return
        if not prepared.parameters and not prepared.is_of_present:
            self._plans.put((sql, (), (), None, state), plan)
        self._statements.put((sql, tuple(types), state), prepared)

    def learn(self, prepared: Prepared, caller: Caller, settings: Settings, state: State, plan: Plan) -> None:
        """Keep the shape of a question without parameters, so that the next one of it need not be planned."""
        statement = prepared.statement
        if not isinstance(statement, Select) or statement.tree is None or statement.is_of_present:
            return
        if settings["dp.target_error"]:
            return  # a target is met by what was released before

        def planned(tree: exp.Expr, given: Parameters) -> Plan | PublicPlan:
            return self.routed(tree, caller, prepared.sql, given, settings)

        self._shaped.learn(prepared, statement.tree, plan, state, planned)

    def routed(
        self, tree: exp.Expr, caller: Caller, sql: str, parameters: Parameters, settings: Settings
    ) -> Plan | PublicPlan:
        """A new plan, with what is known of its parameters so far. Raises a ``Refusal``."""
        context = self.context(self.policy, caller, settings, None)
        return plan_routed(tree, context, parameters, recorder(self._log, caller, sql))

    def find(self, request: Request, losses: Losses = None) -> Plan | PublicPlan | None:
        """The plan with the parameters' values in place, if it is kept; never waits."""
        return self._plans.get(_key(request, losses, self.state(request.caller, request.settings)))

    def plan(self, request: Request, losses: Losses = None) -> Plan | PublicPlan:
        """The plan with the parameters' values in place, kept for the next time. Raises a ``Refusal``."""
        policy, prepared, settings = self.policy, request.prepared, request.settings
        key = _key(request, losses, self._state(policy, request.caller, settings))
        if (kept := self._plans.get(key)) is not None:
            return kept
        context = self.context(policy, request.caller, settings, losses)
        asked = Bound(
            prepared.sql, tuple(BY_OID[oid] for oid in prepared.types), tuple(request.values), key[-1]
        )
        is_free = not settings["dp.target_error"] and not prepared.is_of_present
        is_shaped = losses is None and bool(request.values) and is_free
        plan: Plan | PublicPlan | None = self._shaped.bound(asked) if is_shaped else None
        if plan is None:
            plan = self._bound(asked, prepared.statement, context, is_shaped=is_shaped)
        if len(prepared.sql) + sum(len(str(v)) for v in request.values) <= LARGEST_KEPT:
            self._plans.put(key, plan)
        return plan

    def _bound(
        self, asked: Bound, statement: EngineStatement, context: Context, *, is_shaped: bool
    ) -> Plan | PublicPlan:
        """A new plan with the parameters' values in place; its shape is kept where that may be."""
        if not isinstance(statement, Select):
            raise TypeError("only queries have plans")
        tree = parse(asked.sql, self._database) if statement.tree is None else statement.tree

        def planned(tree: exp.Expr, given: Parameters) -> Plan | PublicPlan:
            record = recorder(self._log, context.caller, asked.sql, asked.values)
            return plan_routed(tree, context, given, record)

        plan = planned(tree, Parameters(dict(enumerate(asked.kinds, 1)), asked.values))
        if is_shaped and isinstance(plan, Plan):
            self._shaped.learn_bound(asked, tree, plan, planned)
        return plan

    def check_still(self, plan: PublicPlan, request: Request) -> None:
        """Whether rows that a plan gave the caller may still be shown, by the policy in force now.

        Raises ``NotGranted``, also where the policy has them be read in another way; else what is out of order.
        """
        try:
            with asked_by(request.caller.session):
                now = self.plan(request)
        except Refusal as refusal:
            if refusal.sqlstate[:2] in _OUT_OF_ORDER:
                raise
            now = None
        if not isinstance(now, PublicPlan) or _shown(now) != _shown(plan):
            raise NotGranted(
                "the rows of this answer may no longer be read",
                hint="What they are of was revoked or changed meanwhile: close the cursor, and ask anew.",
            )

    def context(self, policy: Policy, caller: Caller, settings: Settings, losses: Losses) -> Context:
        """What a statement is planned in."""
        _, fits, layouts, _ = self._fitting
        prepared = layouts if policy is fits and self._prepared.usable else None
        given = self._facts, prepared, partial(self._counted, caller), self.snapshot
        more = self._world.views.found, self._backend.check
        return Context(
            policy,
            self._schema,
            caller,
            settings,
            losses,
            *given,
            *more,
            longest_work=self._longest_work,
            epoch=lambda: self._backend.epoch,
        )

    def _state(self, policy: Policy, caller: Caller, settings: Settings) -> State:
        given = (
            *(settings[name] for name in session_settings.PLANNED_BY),
            settings.get(session_settings.PRESENT),
        )
        who = caller.user if settings["dp.target_error"] else ""
        state = policy.version, policy.data_version, self._prepared.usable, self._world.views.tables
        return given, who, caller.roles, state, self._backend.epoch


def _shown(plan: PublicPlan) -> tuple[object, ...]:
    """By which right rows are read, and what of them."""
    return plan.exact, plan.view, tuple(output.column for output in plan.outputs)


def _key(request: Request, losses: Losses, state: State) -> tuple[object, ...]:
    prepared = request.prepared
    return prepared.sql, prepared.types, tuple(map(_frozen, request.values)), losses, state


def _frozen(value: object) -> tuple[object, ...]:
    """A value with its type, and of a list those of its values."""
    return (list, *map(_frozen, value)) if isinstance(value, list) else (type(value), value)
