"""The policy in force, and a cache of plans under it.

A plan is found again by its statement's text, or by its shape: statements that differ only in constants, written in the
text or given as parameters, share a plan in which these are filled in.
"""

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Caller, Drawn, Plan, PreparedTable, PublicPlan, Settings
from dpproxy.algebra.request import EngineStatement, Prepared, Request, SelectStatement
from dpproxy.analysis.scopes import Parameters
from dpproxy.backends.asker import asked_by
from dpproxy.backends.duckdb.prepared import PreparedTables
from dpproxy.backends.source import Source
from dpproxy.config import settings as session_settings
from dpproxy.config.configuration import Config
from dpproxy.engine.view_statements import ViewContext
from dpproxy.engine.visible import Views, fitting
from dpproxy.observe.audit_log import AuditLog
from dpproxy.observe.records import recorder
from dpproxy.planner.accept import parse
from dpproxy.planner.access import LONGEST_WORK, Context, Estimates, no_check
from dpproxy.planner.routing import plan_routed, plan_unasked
from dpproxy.planner.rows.scans import prepared_names
from dpproxy.planner.shapes import (
    Cut,
    Template,
    bound_template,
    class_of,
    cut,
    exact_values,
    open_parameters,
    open_places,
    template,
)
from dpproxy.policy.model import Policy
from dpproxy.values.errors import NotGranted, Refusal
from dpproxy.values.pgtypes import BY_OID, SqlType
from dpproxy.values.recent import Recent

PLANS = 512
"""The most plans, and prepared statements, in the cache."""
SHAPES = 512
"""The most shapes in the cache."""
TRIES = 6
"""How often a shape is tried beside one statement, each time with a constant fewer: each is another plan."""
LARGEST_KEPT = 16_000
"""The most characters of a statement and its parameters that are cached."""
_OUT_OF_ORDER = frozenset({"57", "58", "XX"})
"""SQLSTATE classes of refusals that say nothing about the caller's rights."""
Losses = tuple[Drawn, ...] | None
"""What the parts of a plan are answered from; None where each part is drawn as planned."""
State = tuple[object, ...]


_Planner = Callable[[exp.Expr, Parameters], Plan | PublicPlan]


class _Shape(Struct, frozen=True):
    """A shape seen before. A template is tried at the second statement; None where the plan depends on the numbers."""

    is_tried: bool = False
    template: Template | None = None
    prepared: Prepared | None = None


class BoundStatement(Struct, frozen=True):
    """A statement with the values of its parameters, and everything else that a plan depends on."""

    sql: str
    kinds: tuple[SqlType, ...]
    values: tuple[object, ...]
    state: object


class ShapeCache:
    """Plans by shape, the most recent ones; its methods may be called from any thread."""

    def __init__(self) -> None:
        self._places = Recent[tuple[int, ...]](SHAPES)
        self._parameters = Recent[frozenset[int]](SHAPES)
        self._shapes = Recent[_Shape](SHAPES)

    def find(self, sql: str, state: object) -> tuple[Prepared, Plan] | None:
        """The prepared statement and plan of a text, where the cache has its shape; never waits."""
        found = cut(sql)
        places = None if found is None else self._places.get(found.shape)
        if found is None or not places:
            return None
        shape = self._shapes.get(_shape_key(found, places, state))
        if shape is None or shape.template is None or shape.prepared is None:
            return None
        values = found.values(places)
        if not shape.template.fits(values):
            return None
        return replace(shape.prepared, sql=sql), shape.template.with_(values)

    def learn(self, prepared: Prepared, tree: exp.Expr, plan: Plan, state: object, planner: _Planner) -> None:
        """Remember the shape of a statement without parameters, with a template of its plan from the second time on."""
        found = cut(prepared.sql)
        if found is None:
            return
        places = self._places.get(found.shape)
        if places is None:
            places = open_places(tree, found)
            self._places.put(found.shape, places)
        known = replace(prepared, statement=SelectStatement())
        for turn in range(TRIES):
            make = partial(template, tree, found, places, plan, planner)
            key = _shape_key(found, places, state)
            looked = self._try(key, make, known, is_first=not turn) if places else None
            if looked is None:
                return
            seen = list(found.opened(places))[looked]
            places = tuple(place for place in places if found.constants[place] != seen)
            self._places.put(found.shape, places)

    def plan_of(self, bound: BoundStatement) -> Plan | None:
        """The plan of a statement with parameters, where the cache has its shape; never waits."""
        numbers = self._parameters.get(bound.sql)
        if not numbers:
            return None
        places, key = _bound_key(bound, numbers)
        shape = self._shapes.get(key)
        values = exact_values([bound.values[place] for place in places])
        if shape is None or shape.template is None or not shape.template.fits(values):
            return None
        return shape.template.with_(values)

    def learn_bound(self, bound: BoundStatement, tree: exp.Expr, plan: Plan, planner: _Planner) -> None:
        """Remember the shape of a statement with parameters, as ``learn`` does for one without."""
        numbers = self._parameters.get(bound.sql)
        if numbers is None:
            numbers = open_parameters(tree)
            self._parameters.put(bound.sql, numbers)
        places, key = _bound_key(bound, numbers)
        given = Parameters(dict(enumerate(bound.kinds, 1)), bound.values)
        for turn in range(TRIES):
            make = partial(bound_template, places, given, plan, partial(planner, tree))
            looked = self._try(key, make, is_first=not turn) if places else None
            if looked is None:
                return
            numbers -= {places[looked] + 1}
            self._parameters.put(bound.sql, numbers)
            places, key = _bound_key(bound, numbers)

    def _try(
        self,
        key: object,
        make: Callable[[], Template | None],
        prepared: Prepared | None = None,
        *,
        is_first: bool,
    ) -> int | None:
        """Make the template of a shape that is known but has not been tried, and of one that is not the first.

        Returns which of its open places planning looked at: with that one closed it is another shape.
        """
        known = self._shapes.get(key)
        if known is None and is_first:
            self._shapes.put(key, _Shape())
        elif known is None or not known.is_tried:
            made, looked = _tried(make)
            self._shapes.put(key, _Shape(is_tried=True, template=made, prepared=prepared))
            return looked
        return None


def _shape_key(found: Cut, places: Sequence[int], state: object) -> object:
    return found.shape, found.fixed(places), state


def _bound_key(bound: BoundStatement, numbers: frozenset[int]) -> tuple[list[int], object]:
    """The places of the values that a template fills in, and the key of the shape."""
    places: list[int] = []
    parts: list[object] = []
    for place, (value, kind) in enumerate(zip(bound.values, bound.kinds, strict=True)):
        found = class_of(value, kind) if place + 1 in numbers else None
        parts.append(_frozen(value) if found is None else found)
        if found is not None:
            places.append(place)
    return places, (bound.sql, bound.kinds, tuple(parts), bound.state)


def _tried(make: Callable[[], Template | None]) -> tuple[Template | None, int | None]:
    """The template, or the place that was looked at."""
    try:
        return make(), None
    except nodes.Looked as look:
        return None, look.place
    except Exception:  # noqa: BLE001 - whatever a number that is none leads to
        return None, None


class Plans:
    """Plans for one data source; its methods may be called from any thread.

    ``counted`` returns the released number of rows of a plan's smallest group, where a count was released to the
    caller, ``earlier`` the rows of its answer from what was; ``snapshot`` identifies the state of the data.
    """

    def __init__(
        self,
        world: ViewContext,
        backend: Source,
        prepared: PreparedTables,
        counted: Callable[[Caller, Plan], float | None],
        earlier: Callable[[Caller, Plan], Estimates | None],
        log: AuditLog,
        config: Config,
    ) -> None:
        self._database = config.database
        self._longest_work = min(LONGEST_WORK, config.statement_timeout / 2)
        self._world, self._schema, self._store, self._facts = world, world.schema, world.store, world.facts
        self._backend = backend
        self._prepared = prepared
        self._counted, self._earlier = counted, earlier
        self._log = log
        self.snapshot = ""
        self._plans, self._statements = Recent[Plan | PublicPlan](PLANS), Recent[Prepared](PLANS)
        self._shaped = ShapeCache()
        self._fitting = self._fit(self._store.current)

    @property
    def policy(self) -> Policy:
        """The policy in force: a table that no longer fits its declarations is hidden."""
        stored = self._store.current
        if self._fitting[0] is not stored:
            self._fitting = self._fit(stored)
        return self._fitting[1]

    def _fit(self, stored: Policy) -> tuple[Policy, Policy, dict[str, object], Views]:
        """A stored policy, the part of it that fits the data, its prepared tables and its views; drops other tables."""
        layouts: dict[str, object] = {}
        nobody, given = Caller("", frozenset(), ""), session_settings.DEFAULTS
        fits = fitting(stored, self._schema, given, self._facts)
        context = Context(fits.policy, self._schema, nobody, given, None, self._facts, layouts)
        self._prepared.keep(prepared_names(context) | self._world.views.tables)
        return stored, fits.policy, layouts, fits.views

    @property
    def is_current(self) -> bool:
        """Whether policy and views are those that cached plans were made under, so that lookups need no work."""
        return self._fitting[0] is self._store.current and self._world.views.are_loaded

    @property
    def views(self) -> Views:
        """The views that fit."""
        return self._fitting[3]

    # --- statements

    def state(self, caller: Caller, settings: Settings) -> State:
        """Everything that a plan depends on beside the statement's text and parameters."""
        return self._state(self.policy, caller, settings)

    def find_statement(self, sql: str, types: Sequence[int], state: State) -> Prepared | None:
        """The prepared statement in the cache, of the same text or of the same shape; None where there is none."""
        key = sql, tuple(types), state
        found = self._statements.get(key)
        if found is None and not types and (shaped := self._shaped.find(sql, state)) is not None:
            found, plan = shaped
            self._plans.put((sql, (), (), None, state), plan)
            self._statements.put(key, found)
        return found

    def keep(self, prepared: Prepared, types: Sequence[int], state: State, plan: Plan | PublicPlan) -> None:
        """Cache a prepared statement, and its plan unless that depends on parameters or on the current time."""
        sql = prepared.sql
        if len(sql) > LARGEST_KEPT:
            return
        if not prepared.parameters and not prepared.is_of_present:
            self._plans.put((sql, (), (), None, state), plan)
        self.remember(prepared, types, state)

    def remember(self, prepared: Prepared, types: Sequence[int], state: State) -> None:
        """Keep a prepared statement of a length that is kept."""
        if len(prepared.sql) <= LARGEST_KEPT:
            self._statements.put((prepared.sql, tuple(types), state), prepared)

    def learn(self, prepared: Prepared, caller: Caller, settings: Settings, state: State, plan: Plan) -> None:
        """Remember the shape of a statement without parameters, so that the next of its shape need not be planned."""
        statement = prepared.statement
        if not isinstance(statement, SelectStatement) or statement.tree is None or statement.is_of_present:
            return
        if settings["dp.target_error"]:
            return  # epsilon is solved for the target, and depends on stored releases

        def planner(tree: exp.Expr, given: Parameters) -> Plan | PublicPlan:
            return plan_routed(tree, context, given, recorder(self._log, caller, prepared.sql))

        context = replace(self.context(self.policy, caller, settings, None), check=no_check)
        self._shaped.learn(prepared, statement.tree, plan, state, planner)

    def route(
        self, tree: exp.Expr, caller: Caller, sql: str, parameters: Parameters, settings: Settings
    ) -> Plan | PublicPlan:
        """A new plan, with types and values of its parameters as far as they are known. Raises a ``Refusal``."""
        context = self.context(self.policy, caller, settings, None)
        return plan_routed(tree, context, parameters, recorder(self._log, caller, sql))

    def check(self, caller: Caller, parameters: Parameters, settings: Settings, sql: str) -> None:
        """Plan a statement that is not asked yet: nothing is recorded. Raises a ``Refusal``."""
        plan_unasked(
            parse(sql, self._database), self.context(self.policy, caller, settings, None), parameters
        )

    def find_plan(self, request: Request, losses: Losses = None) -> Plan | PublicPlan | None:
        """The plan with the parameters' values in place, where the cache has it; never waits."""
        return self._plans.get(_key(request, losses, self.state(request.caller, request.settings)))

    def plan(self, request: Request, losses: Losses = None) -> Plan | PublicPlan:
        """The plan with the parameters' values in place, from the cache or new. Raises a ``Refusal``."""
        policy, prepared, settings = self.policy, request.prepared, request.settings
        key = _key(request, losses, self._state(policy, request.caller, settings))
        if (kept := self._plans.get(key)) is not None:
            return kept
        context = self.context(policy, request.caller, settings, losses)
        bound = BoundStatement(
            prepared.sql, tuple(BY_OID[oid] for oid in prepared.types), tuple(request.values), key[-1]
        )
        is_free = not settings["dp.target_error"] and not prepared.is_of_present
        is_shaped = losses is None and bool(request.values) and is_free
        plan: Plan | PublicPlan | None = self._shaped.plan_of(bound) if is_shaped else None
        if plan is None:
            plan = self._bound(bound, prepared.statement, context, is_shaped=is_shaped)
        if len(prepared.sql) + sum(len(str(v)) for v in request.values) <= LARGEST_KEPT:
            self._plans.put(key, plan)
        return plan

    def _bound(
        self, bound: BoundStatement, statement: EngineStatement, context: Context, *, is_shaped: bool
    ) -> Plan | PublicPlan:
        """A new plan with the parameters' values in place; remembers its shape where ``is_shaped``."""
        if not isinstance(statement, SelectStatement):
            raise TypeError("only queries have plans")
        tree = parse(bound.sql, self._database) if statement.tree is None else statement.tree

        record = recorder(self._log, context.caller, bound.sql, bound.values)
        plan = plan_routed(tree, context, Parameters(dict(enumerate(bound.kinds, 1)), bound.values), record)
        if is_shaped and isinstance(plan, Plan):
            open_context = replace(context, check=no_check)
            self._shaped.learn_bound(
                bound, tree, plan, lambda tree, given: plan_routed(tree, open_context, given, record)
            )
        return plan

    def check_readable(self, plan: PublicPlan, request: Request) -> None:
        """Raise ``NotGranted`` where the policy in force no longer lets the caller read these rows, or not in this way.

        Raises other refusals that say nothing about rights, such as a data source that cannot be reached.
        """
        try:
            with asked_by(request.caller.session):
                now = self.plan(request)
        except Refusal as refusal:
            if refusal.sqlstate[:2] in _OUT_OF_ORDER:
                raise
            now = None
        if not isinstance(now, PublicPlan) or _rights_and_columns(now) != _rights_and_columns(plan):
            raise NotGranted(
                "the rows of this answer may no longer be read",
                hint="What they are of was revoked or changed meanwhile: close the cursor, and ask anew.",
            )

    def context(self, policy: Policy, caller: Caller, settings: Settings, losses: Losses) -> Context:
        """The context of planning, under a policy and for a caller."""
        _, fits, layouts, _ = self._fitting
        prepared = layouts if policy is fits and self._prepared.usable else None
        released = partial(self._counted, caller), partial(self._earlier, caller)
        given = self._facts, prepared, *released, self.snapshot
        more = self._world.views.relations, self._check
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

    def _check(self, query: nodes.Query, prepares: Sequence[PreparedTable]) -> None:
        self._backend.check(query, prepares)

    def _state(self, policy: Policy, caller: Caller, settings: Settings) -> State:
        given = (
            *(settings[name] for name in session_settings.PLANNED_BY),
            settings.get(session_settings.PRESENT),
        )
        named = {"public", *(schema for schema, _ in self._schema.places.values())}
        own = caller.user if caller.user in named else ""  # what "$user" of a search path stands for
        who = caller.user if settings["dp.target_error"] else ""
        state = policy.version, policy.data_version, self._prepared.usable, self._world.views.tables
        return given, own, who, caller.roles, state, self._backend.epoch


def _rights_and_columns(plan: PublicPlan) -> tuple[object, ...]:
    """The rights that a plan reads rows by, and the columns it shows."""
    return plan.exact, plan.view, tuple(output.column for output in plan.outputs)


def _key(request: Request, losses: Losses, state: State) -> tuple[object, ...]:
    prepared = request.prepared
    return prepared.sql, prepared.types, tuple(map(_frozen, request.values)), losses, state


def _frozen(value: object) -> tuple[object, ...]:
    """A hashable key of a value and its type; of a list, of each element."""
    return (list, *map(_frozen, value)) if isinstance(value, list) else (type(value), value)
