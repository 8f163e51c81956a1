"""Statements about protected views: CREATE, REFRESH, DROP, VERIFY, SHOW, and the views of policy files."""

from collections.abc import Callable, Iterable
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.accounting.declared import changed
from dpproxy.accounting.tally import tallied
from dpproxy.algebra.plan import Answer, Caller, Notice
from dpproxy.algebra.request import Request
from dpproxy.backends.facts import Facts
from dpproxy.config.settings import DEFAULTS
from dpproxy.engine.protected import BuildOrder, PlannedView, Positions, ProtectedViews, at_offset
from dpproxy.engine.sessions import EngineSession
from dpproxy.observe.audit_entry import AuditOutcome
from dpproxy.planner.access import Context
from dpproxy.planner.rewrites.search_path import written_in_schemas
from dpproxy.policy.apply import apply
from dpproxy.policy.apply_view import known_view
from dpproxy.policy.dump import protected_view
from dpproxy.policy.model import VIEW, Policy, ProtectedView
from dpproxy.policy.role_statements import RoleChange
from dpproxy.policy.statements import (
    CreateView,
    DropView,
    GrantSelect,
    Listing,
    RefreshView,
    Show,
    Statement,
    VerifyViews,
)
from dpproxy.policy.store import PolicyStore, change_of
from dpproxy.policy.usable import usable
from dpproxy.sql.lexer import tokens
from dpproxy.state.role_settings import RoleSettings
from dpproxy.values.errors import Refusal, UndefinedTable
from dpproxy.values.jobs import Jobs
from dpproxy.values.pgtypes import Schema
from dpproxy.views import listing, verify
from dpproxy.views.manifest import newest
from dpproxy.views.notices import built_notice, masked_notices

Record = Callable[[AuditOutcome], None]
"""Records an outcome in the audit log, durably."""
ViewStatement = CreateView | RefreshView | DropView | VerifyViews | Show
FILES = "policy files"
"""The name under which views of policy files are built."""


class ViewContext(Struct, frozen=True):
    """What statements about views need of a data source: its views, policy, schema and facts."""

    views: ProtectedViews
    store: PolicyStore
    schema: Schema
    facts: Facts

    @property
    def roles(self) -> RoleSettings:
        """The settings of roles, which all data sources share."""
        return RoleSettings(self.store.directory.parent)

    def role_defaults(self, caller: Caller) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """The settings that roles start with, as far as the caller may see them: role, database, settings."""
        return tuple(
            (one.role, one.database, tuple(one.assignments)) for one in self.roles.visible_to(caller)
        )

    def context(self, policy: Policy) -> Context:
        """The context for planning a view's query: not a caller's, so that names mean the same for everybody."""
        nobody = Caller("", frozenset(), "")
        fits, _ = usable(policy, self.schema)
        return Context(fits, self.schema, nobody, DEFAULTS, None, self.facts, views=self.views.relations)

    def fit(self) -> list[str]:
        """Load the policy's views; returns a line for each that has no build."""
        taken = self.schema.tables.keys() | self.schema.views.keys()
        return self.views.fit(self.store.current, taken.__contains__)


def run(
    statement: ViewStatement,
    request: Request,
    session: EngineSession,
    world: ViewContext,
    record: Record,
    jobs: Jobs,
) -> Answer:
    """Build, list, verify or drop views. Raises a ``Refusal``; one before the charge of a build changes nothing.

    ``record`` is called before exact figures are shown, and before rows are read for a charged build.
    """
    caller, sql = request.caller, request.prepared.sql
    tell, stop = session.notices.append, session.cancelled.is_set
    charged = partial(record, AuditOutcome.BUILDING)
    match statement:
        case CreateView() | RefreshView():
            if isinstance(statement, CreateView):
                statement, sql = in_schemas(statement, sql, request, world)
            positions = positions_of(statement)
            with jobs.job("view", statement.name.text) as job:
                order = BuildOrder(caller.user, caller.session, tell, stop, positions, charged, job.move)
                return _made(statement, sql, order, world)
        case DropView():
            before = world.store.current
            after = world.store.change(statement, sql, world.schema, caller.user)
            world.fit()
            world.views.remove_files(statement.name.text)
            return Answer(
                f"DROP {statement.kind.upper()}",
                notices=changed(before, after, world.store.files, world.schema),
            )
        case VerifyViews():
            return _verified(statement, caller, partial(record, AuditOutcome.EXACT), world)
        case Show():
            return Answer("SHOW", listing.COLUMNS, _view_rows(world))


def _parenthesis(sql: str) -> int:
    """Where the first one is; a name may hold one, too."""
    return next((token.position for token in tokens(sql) if token.raw == "("), len(sql))


def in_schemas(
    statement: CreateView, sql: str, request: Request, world: ViewContext
) -> tuple[CreateView, str]:
    """The statement and its text, with the schemas that the session's search path finds its tables in."""
    start, begun = statement.offset, "" if statement.kind == VIEW else "SELECT 1 FROM "
    query = (
        statement.query if statement.kind == VIEW else begun + sql[start : start + _parenthesis(sql[start:])]
    )
    context = replace(world.context(world.store.current), caller=request.caller, settings=request.settings)
    for position, schema in reversed(written_in_schemas(query, context)):
        at = start + position - len(begun)
        sql = sql[:at] + schema + sql[at:]
    made = change_of(sql)
    return (made, sql) if isinstance(made, CreateView) else (statement, sql)


def _made(statement: CreateView | RefreshView, sql: str, order: BuildOrder, world: ViewContext) -> Answer:
    if isinstance(statement, CreateView):
        return _create(statement, sql, order, world)
    view = known_view(world.store.current, statement.name, statement.kind)
    planned = world.views.plan(view, world.context(world.store.current), {})
    return _build(f"REFRESH {view.kind.upper()}", planned, order, world, lambda: None)


def _create(statement: CreateView, sql: str, order: BuildOrder, world: ViewContext) -> Answer:
    tag, name = f"CREATE {statement.kind.upper()}", statement.name.text
    before = world.store.current
    after = apply(before, statement, world.schema)
    view = after.views[name]
    if before.views.get(name) == view and world.views.build_of(view) is not None:
        same = Notice(f"{view.title} is built as declared already", hint="REFRESH builds it anew.")
        return Answer(tag, notices=(same,))
    planned = planned_view(statement, after, order.positions, world)
    declare = partial(world.store.change, statement, sql, world.schema, order.by)
    answer = _build(tag, planned, order, world, declare)
    different = changed(before, world.store.current, world.store.files, world.schema)
    return replace(answer, notices=(*answer.notices, *different))


def planned_view(
    statement: CreateView, after: Policy, positions: Positions, world: ViewContext
) -> PlannedView:
    """A view of the policy that its statement makes; errors have their position there. Raises a ``Refusal``."""
    try:
        return world.views.plan(after.views[statement.name.text], world.context(after), positions)
    except Refusal as refusal:
        at_option = refusal.position is not None and refusal.position in positions.values()
        raise refusal if at_option else at_offset(refusal, statement.offset) from None


def _build(
    tag: str, planned: PlannedView, order: BuildOrder, world: ViewContext, declare: Callable[[], object]
) -> Answer:
    built = world.views.build(planned, world.store.current, order, declare)
    world.fit()
    notice = built_notice(built, planned.query.left_out, planned.build)
    return Answer(tag, notices=(notice,), nano=built.nano)


def _verified(
    statement: VerifyViews, caller: Caller, record: Callable[[], None], world: ViewContext
) -> Answer:
    for name in statement.names:
        world.views.await_figures(name.text)
    policy, builds, rows, hidden = world.store.current, world.views.builds(), [], []
    for name in statement.names:
        view = known_view(policy, name, statement.kind)
        build = newest(builds, view.name, protected_view(view))
        if build is None:
            raise UndefinedTable(
                f"{view.title} is not built",
                hint=f"REFRESH {view.kind.upper()} builds it.",
                position=name.position,
            )
        exact = may_see_exact(policy, caller, build.tables)
        hidden += [] if exact else [view.name]
        rows.append(verify.verified(view, build, exact=exact))
    if len(hidden) < len(rows):
        record()
    return Answer("VERIFY", verify.COLUMNS, rows, verify.notices(hidden))


def may_see_exact(policy: Policy, caller: Caller, tables: Iterable[str]) -> bool:
    """Whether the caller's roles together have EXACT SELECT on all these tables; administrators need the grant, too."""
    granted = policy.exact_to(caller.roles)
    return set(tables) <= granted


def _view_rows(world: ViewContext) -> listing.Rows:
    policy = world.store.current
    context = world.context(policy)

    def digest(view: ProtectedView) -> str | None:
        try:
            return world.views.plan(view, context, {}).digest
        except Refusal:
            return None

    builds, unfinished = world.views.builds(), world.views.unfinished()
    return listing.listed(policy.views, builds, digest, policy.data_version, unfinished)


def begin(
    world: ViewContext,
    progress: Callable[[str], None],
    record: Callable[[Caller, str], Record],
    *,
    build: bool = True,
) -> None:
    """Load the policy's views and build those without any build on record; after a failed build, REFRESH is needed."""
    left_out = world.fit()
    policy = world.store.current
    begun = {(b.view, b.definition) for b in world.views.builds()}
    for view in policy.views.values() if build else ():
        if (view.name, protected_view(view)) in begun:
            continue
        charged = partial(record(Caller(FILES, frozenset(), ""), protected_view(view)), AuditOutcome.BUILDING)
        session = f"view {view.name}"
        order = BuildOrder(
            FILES, session, lambda notice: progress(notice.message), lambda: False, {}, charged
        )
        try:
            planned = world.views.plan(view, world.context(policy), {})
            with tallied():
                answer = _build(f"REFRESH {view.kind.upper()}", planned, order, world, lambda: None)
            progress(answer.notices[0].message)
        except Refusal as refusal:
            hint = f" ({refusal.hint})" if refusal.hint else ""
            progress(f"{view.title} is not built: {refusal.message}{hint}")
    for line in world.fit() if left_out else ():
        progress(line)


def view_notices(statement: Statement | RoleChange, world: ViewContext) -> tuple[Notice, ...]:
    """Notices for GRANT and SHOW PRIVACY BUDGETS about views whose privacy loss is unbounded."""
    notices = masked_notices(world.store.current, world.views.relations)
    if isinstance(statement, Show) and statement.listing is Listing.BUDGETS:
        return notices
    if isinstance(statement, GrantSelect):
        return _of(notices, (n.text for n in statement.tables))
    return ()


def _of(notices: Iterable[Notice], names: Iterable[str]) -> tuple[Notice, ...]:
    listed = tuple(f'view "{name}"' for name in names)
    return tuple(n for n in notices if any(name in n.message for name in listed))


def positions_of(statement: Statement) -> dict[str, int | None]:
    """The position of each option's value in the statement, by the option's name."""
    return {o.name.text: o.position for o in statement.options} if isinstance(statement, CreateView) else {}
