"""Privacy statements: who may send which, and their answers."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.accounting import spending
from dpproxy.accounting.declared import changed, overspent
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import NANO, Account, Cost, Debit, Reset, format_epsilon, nano_limit
from dpproxy.accounting.windows import users
from dpproxy.algebra.plan import Answer, Caller, Drawn, Notice, Plan, Settings
from dpproxy.algebra.request import (
    Administration,
    PolicyChange,
    PolicyPreview,
    PolicyRead,
    Prepared,
    ProbeRun,
    Request,
    ViewChange,
    ViewRead,
)
from dpproxy.analysis.clocks import utc_of
from dpproxy.analysis.scopes import Parameters
from dpproxy.config.settings import DEFAULTS, search_path
from dpproxy.engine import payment, status, user_statements
from dpproxy.engine.answers import Answers
from dpproxy.engine.pricing import EXPLAIN_COLUMNS
from dpproxy.engine.protected import begun
from dpproxy.engine.relations import since
from dpproxy.engine.replays import Execution
from dpproxy.engine.view_statements import ViewContext, in_schemas, planned_view, positions_of
from dpproxy.observe import records
from dpproxy.observe.audit_entry import AuditOutcome
from dpproxy.observe.audit_log import AuditLog
from dpproxy.planner.accept import accept
from dpproxy.planner.accept import parse as parse_query
from dpproxy.planner.access import Context, Facts
from dpproxy.planner.explain import Explain, split_explain
from dpproxy.planner.query import plan_query, view_columns
from dpproxy.planner.routing import runnable, settled
from dpproxy.policy import amounts
from dpproxy.policy.apply import apply
from dpproxy.policy.difference import Effect, differences, explanation
from dpproxy.policy.model import Policy, TablePolicy
from dpproxy.policy.parser import parse
from dpproxy.policy.role_statements import RoleChange, is_role_statement, read_role_statement
from dpproxy.policy.search_path import check_bare
from dpproxy.policy.show import Listed, show_grants, show_policy, show_tables
from dpproxy.policy.statements import (
    AdvanceDataVersion,
    Amount,
    Change,
    CreateView,
    DropView,
    GrantSelect,
    Listing,
    RefreshView,
    ResetBudget,
    Show,
    Statement,
    Suggest,
    VerifyViews,
)
from dpproxy.policy.store import change_of
from dpproxy.policy.suggest import SUGGEST_COLUMNS, suggest
from dpproxy.policy.suggest_limits import probes, with_released
from dpproxy.policy.suggest_probe import CONFIDENCE
from dpproxy.policy.suggest_unit import Proposal
from dpproxy.policy.units import unit_table
from dpproxy.policy.usable import usable
from dpproxy.policy.user_statements import UserStatement, is_user_statement
from dpproxy.sql.cursor import Cursor, Name
from dpproxy.sql.quoting import identifier, table_text
from dpproxy.state.role_settings import Move
from dpproxy.values.errors import (
    BoundsMissing,
    InvalidParameter,
    NotGranted,
    Refusal,
    UndefinedObject,
    Unsupported,
)
from dpproxy.values.pgtypes import Schema
from dpproxy.views import listing, verify
from dpproxy.views.notices import details, price
from dpproxy.wire.zones import zone

Rows = Sequence[tuple[object, ...]]


class ChargedStatement(Struct, frozen=True):
    """A planned charged statement: the accounts it debits, and a call that returns its rows and nano-epsilon."""

    debits: Sequence[Debit]
    run: Callable[[], tuple[Rows, int]]


ChargedPlanner = Callable[[Policy, str, Settings], ChargedStatement]
"""Plans a charged statement under a policy and settings. Raises a ``Refusal``, which costs nothing."""
ContextOf = Callable[[Policy, Settings, tuple[Drawn, ...] | None], Context]
"""Makes the context of planning, from a policy, settings, and what stored releases answer."""


def prepare(sql: str, caller: Caller, policy: Policy) -> Prepared:
    """Parse a privacy statement. Raises ``NotGranted`` before parsing where the caller may not send any."""
    if is_user_statement(sql):
        return user_statements.prepare(sql, caller)
    statement: Statement | RoleChange
    if is_role_statement(sql):
        statement = read_role_statement(sql)
    elif caller.is_admin or _sees_exact(caller, policy) or Cursor(sql).at("show", "privacy", "history"):
        statement = parse(sql)
        check(statement, caller, policy)
    else:
        raise _not_granted()
    return _prepared(sql, statement, policy)


def _prepared(sql: str, statement: Statement | RoleChange, policy: Policy) -> Prepared:
    match statement:
        case VerifyViews():
            return Prepared(sql, (), verify.COLUMNS, ViewRead(statement))
        case Show(listing=Listing.VIEWS):
            return Prepared(sql, (), listing.COLUMNS, ViewRead(statement))
        case Show():
            return Prepared(sql, (), _list(statement, policy, None, None)[0], PolicyRead(statement))
        case Suggest():
            is_probe = statement.epsilon is not None
            own = ProbeRun(statement) if is_probe else PolicyRead(statement)
            return Prepared(sql, (), SUGGEST_COLUMNS, own, charged=is_probe)
        case CreateView() | RefreshView() | DropView():
            return Prepared(sql, (), None, ViewChange(statement))
        case _:
            return Prepared(sql, (), None, PolicyChange(statement))


def prepare_preview(sql: str, explain: Explain, caller: Caller) -> Prepared:
    """Parse EXPLAIN (PRIVACY) of a statement that changes the policy. Raises ``NotGranted``, ``SyntaxRefused``."""
    if not caller.is_admin:
        raise _not_granted()
    if is_user_statement(explain.sql) or is_role_statement(explain.sql):
        raise Unsupported("users and settings of roles change nothing of the policy", position=0)
    return Prepared(sql, (), EXPLAIN_COLUMNS, PolicyPreview(change_of(explain.sql), explain.as_json))


def preview(asked: PolicyPreview, request: Request, world: ViewContext, ledger: Ledger) -> Answer:
    """What a statement would change of the policy in force, and what that means for guarantees and limits."""
    before, clock = world.store.current, partial(utc_of, zone=zone(request.settings["timezone"]))
    if isinstance(asked.statement, GrantSelect):
        _check_views(asked.statement, before, world.schema, world.facts)
    statement, explain = asked.statement, split_explain(request.prepared.sql)
    if isinstance(statement, CreateView) and explain is not None:
        statement, _ = in_schemas(statement, explain.sql, request, world)
    after = apply(before, statement, world.schema, clock)
    found = differences(before, after)
    predicted = _predicted(statement, after, world)
    if asked.as_json:
        rows = [(d.subject, d.was, d.now, d.effect.value, d.meaning) for d in found]
        lines = [json.dumps([dict(zip(_DIFFERENCE, row, strict=True)) for row in rows], indent=2)]
    else:
        lines = [*(list(explanation(found)) or ["nothing would change"]), *predicted]
    return Answer(
        "EXPLAIN", EXPLAIN_COLUMNS, [(line,) for line in lines], tuple(overspent(before, after, ledger))
    )


def _predicted(statement: Change, after: Policy, world: ViewContext) -> list[str]:
    """What a view or cube would cost and how far off it would be, planned as its build is. Raises a ``Refusal``."""
    if not isinstance(statement, CreateView):
        return []
    planned = planned_view(statement, after, positions_of(statement), world)
    would = begun(planned, after, "")
    return [
        f"{planned.view.title}: {price(would)}",
        f"  {details(would, planned.query.left_out, planned.build)}",
    ]


_DIFFERENCE = ("subject", "was", "now", "effect", "meaning")


def check(statement: Statement | RoleChange | UserStatement, caller: Caller, policy: Policy) -> None:
    """Raise ``NotGranted`` where the caller may not send the statement.

    Callers with EXACT SELECT on some table may list the audit log and protected views. Everybody may list their own
    history, and send statements about roles' settings; whether they may change those of others is checked when the
    statement runs.
    """
    if isinstance(statement, UserStatement):
        user_statements.check(statement, caller)
        return
    if caller.is_admin or isinstance(statement, RoleChange):
        return
    if isinstance(statement, Show) and statement.listing is Listing.HISTORY:
        return
    is_shown = isinstance(statement, Show) and statement.listing in (Listing.AUDIT, Listing.VIEWS)
    if not (is_shown or isinstance(statement, VerifyViews)) or not _sees_exact(caller, policy):
        raise _not_granted()


def check_names(administrative: Administration, request: Request, world: ViewContext) -> None:
    """Refuse tables that the session's search path finds in another schema. Raises ``InvalidParameter``."""
    explain = split_explain(request.prepared.sql) if isinstance(administrative, PolicyPreview) else None
    sql = request.prepared.sql if explain is None else explain.sql
    path = search_path(request.settings, request.caller.user)
    check_bare(administrative.statement, sql, path, world.schema)


def _sees_exact(caller: Caller, policy: Policy) -> bool:
    return any(grant.role in caller.roles for grant in policy.exact)


def _not_granted() -> NotGranted:
    return NotGranted(
        "privacy statements are for administrators",
        hint="SELECT * FROM dp.budgets; shows what you may spend.",
        position=0,
    )


def read(
    statement: Show | Suggest, caller: Caller, world: ViewContext, ledger: Ledger, log: AuditLog
) -> Answer:
    """Answer a statement that lists declarations or spending, or proposes declarations."""
    policy = world.store.current
    if isinstance(statement, Suggest):
        return _proposed(suggest(policy, world.schema, statement.table))
    if statement.listing is Listing.AUDIT:
        found = log.last(statement.limit or records.DEFAULT_LIMIT, statement.before)
        return Answer("SHOW", records.COLUMNS, records.audit_rows(found))
    if statement.listing is Listing.HISTORY:
        return _history(caller, log, statement.limit or records.DEFAULT_LIMIT)
    return Answer("SHOW", *_list(statement, policy, ledger, world.schema))


def _history(caller: Caller, log: AuditLog, limit: int) -> Answer:
    """What the caller was answered, as long as the name is theirs; nothing where that is not known."""
    begun = since(caller)
    if begun is None:
        told = f'the users file does not say since when the name "{caller.user}" is yours'
        notice = Notice(told, hint="Set a new password: your history begins with it.")
        return Answer("SHOW", records.OWN_COLUMNS, [], (notice,))
    found = log.of_user(caller.user, begun, records.OWN_OUTCOMES, limit)
    return Answer("SHOW", records.OWN_COLUMNS, records.own_rows(found))


def change(
    statement: Change | ResetBudget | RoleChange, request: Request, world: ViewContext, ledger: Ledger
) -> Answer:
    """Change the policy, or roles' settings and budgets, which are stored beside it; durable when this returns.

    Notices say what the change means for limits and policy files. Timestamps in bounds that are written without a
    zone are read in the session's time zone.
    """
    if isinstance(statement, RoleChange):
        moves = world.roles.change(statement, request.caller)
        return Answer(
            "ALTER ROLE", notices=tuple(_moved(each) for each in moves if each.setting.startswith("dp."))
        )
    before = world.store.current
    if isinstance(statement, ResetBudget):
        return _reset(statement, request.caller, before, ledger)
    if isinstance(statement, GrantSelect):
        _check_views(statement, before, world.schema, world.facts)
    clock = partial(utc_of, zone=zone(request.settings["timezone"]))
    sql = request.prepared.sql
    after = world.store.change(statement, sql, world.schema, request.caller.user, clock)
    notices = changed(before, after, world.store.files, world.schema), overspent(before, after, ledger)
    advanced = [_ADVANCED] if after.data_version != before.data_version else []
    return Answer(_tag(sql), notices=(*chain.from_iterable(notices), *advanced))


def advance(world: ViewContext, log: AuditLog, database: str) -> None:
    """Advance the version of the data, as an administrator would, because a loader has moved its mark."""
    caller = Caller(f"data.{database}.load_mark", frozenset(), "", database)
    world.store.change(AdvanceDataVersion(0), _ADVANCE, world.schema, caller.user)
    records.recorder(log, caller, _ADVANCE)(AuditOutcome.ADMINISTERED)


_ADVANCE = "ADVANCE PRIVACY DATA VERSION"
_ADVANCED = Notice("the data: stored answers are no longer used; the next ones are charged")


def _moved(found: Move) -> Notice:
    mark = {None: "", True: f" [{Effect.STRONGER.value}]", False: f" [{Effect.WEAKER.value}]"}[found.lowers]
    return Notice(
        f"setting {found.setting}{mark}: sessions start with it from the next login on",
        detail=f"was: {found.was or 'nothing'}; now: {found.now or 'nothing'}",
    )


def _reset(statement: ResetBudget, caller: Caller, policy: Policy, ledger: Ledger) -> Answer:
    """Reset what a budget, or one user of it, has spent."""
    budget, user = statement.budget.text, statement.user
    if budget not in policy.budgets:
        raise UndefinedObject(
            f'budget "{budget}" does not exist',
            hint="SHOW PRIVACY BUDGETS lists those there are.",
            position=statement.budget.position,
        )
    account = Account.budget(budget) if user is None else Account.user(budget, user.text)
    if user is not None and account not in ledger.read(users):
        raise UndefinedObject(
            f'user "{user.text}" has spent nothing of budget "{budget}"',
            hint="SHOW PRIVACY BUDGETS lists who has.",
            position=user.position,
        )
    of_user = "" if user is None else f" for user {identifier(user.text)}"
    label = f"reset budget {identifier(budget)}{of_user}"
    ledger.reset(Reset(caller.user, account, statement.reason, label, policy.version, policy.data_version))
    ceilings = ", ".join(owner.name for owner in spending.ceilings(policy, policy.budgets[budget]))
    told = f"what was spent stays spent of the ceiling of {ceilings}" if ceilings else "no ceiling was reset"
    return Answer("RESET", notices=(Notice(f"{label}: {told}"),))


def _check_views(grant: GrantSelect, policy: Policy, schema: Schema, facts: Facts) -> None:
    """Refuse to grant a view that no query could use under the policy."""
    granted, _ = usable(apply(policy, grant, schema), schema)
    context = Context(granted, schema, Caller("", frozenset(), ""), DEFAULTS, None, facts)
    for name in grant.tables:
        if name.text in schema.views:
            try:
                view_columns(name.text, context)
            except Refusal as refusal:
                refusal.position = name.position
                raise


def charged_planner(
    answers: Answers, caller: Caller, cancelled: Callable[[], bool], context_of: ContextOf
) -> ChargedPlanner:
    """A planner of charged statements for this caller; what it returns pays and runs as it was planned."""

    def ask(policy: Policy, sql: str, given: Settings) -> ChargedStatement:
        def planned(losses: tuple[Drawn, ...] | None) -> Plan:
            context = context_of(policy, given, losses)

            def made() -> Plan:
                plan = plan_query(accept(parse_query(sql)), context, Parameters())
                if not isinstance(plan, Plan):
                    raise TypeError("a probe reads protected rows")
                return runnable(plan, context)

            return settled(made, context)

        def run() -> tuple[Rows, int]:
            rows, cost = answers.rows(Execution(caller, plan, cancelled), planned)
            return rows, cost.nano

        plan = planned(None)
        return ChargedStatement(payment.accounts(plan, caller), run)

    return ask


def run_probe(
    statement: Suggest, policy: Policy, schema: Schema, ledger: Ledger, ask: ChargedPlanner
) -> Answer:
    """Propose declarations, with bounds and limits from counts that are released at the statement's epsilon.

    The counts share the epsilon equally, and are the same whatever bounds and limits are declared by then, but for
    groups of ranges that have become short. All are planned, and the ceiling must have enough left for all of them,
    before the first one runs.

    Raises:
        BoundsMissing: the table has no unit or no ceiling yet.
        BudgetExceeded: the ceiling has less left.
    """
    if statement.epsilon is None:
        raise AssertionError("no probe")
    table = statement.table.text
    proposed = suggest(policy, schema, statement.table)
    fitting, _ = usable(policy, schema)
    found = probes(fitting, schema, table, [one.unbounded for one in proposed if one.unbounded])
    if not found:
        return _proposed(proposed)
    owner = _owner(fitting, statement.table)
    share = _share(statement.epsilon, len(found))
    given = {"dp.epsilon": format_epsilon(share), "dp.confidence": CONFIDENCE}
    planned = [ask(one.policy(fitting, table), one.sql(table), given) for one in found]
    for each in planned:
        ledger.check(each.debits, sum([Cost.of(share)] * len(found), Cost()))
    ran = [each.run() for each in planned]
    cost = sum(paid for _, paid in ran)
    released = [(one, rows) for one, (rows, _) in zip(found, ran, strict=True)]
    notice = Notice(f'cost {format_epsilon(cost)} epsilon of the ceiling of table "{owner.name}"')
    answer = _proposed(with_released(proposed, fitting.tables[table], released, format_epsilon(share)))
    return replace(answer, notices=(notice,), nano=cost)


def _proposed(found: list[Proposal]) -> Answer:
    return Answer("SUGGEST", SUGGEST_COLUMNS, [(one.statement, one.reason) for one in found])


def _owner(policy: Policy, table: Name) -> TablePolicy:
    """The table whose ceiling pays."""
    declared = policy.tables.get(table.text)
    owner = None if declared is None or declared.unit is None else unit_table(policy, table.text)
    if owner is None or owner.ceiling is None:
        raise BoundsMissing(
            f'table "{table.text}" has no privacy unit with a ceiling that could pay',
            hint=f"First declare the key and the ceiling that SUGGEST PRIVACY FOR {table_text(table.text)}; proposes.",
            position=table.position,
        )
    return owner


def _share(amount: Amount, columns: int) -> int:
    """The loss of one of so many counts, in nano-epsilon."""
    share = nano_limit(amounts.epsilon(amount)) // columns
    if share < amounts.LEAST_EPSILON * NANO:
        raise InvalidParameter(
            f"{amount.clause} is too little for {columns} counts",
            hint="Each takes 0.001 at least.",
            position=amount.position,
        )
    return share


def _list(statement: Show, policy: Policy, ledger: Ledger | None, schema: Schema | None) -> Listed:
    match statement.listing:
        case Listing.BUDGETS:
            return spending.ALL, spending.all_rows(policy, ledger)
        case Listing.POLICY:
            return show_policy(policy, statement.table)
        case Listing.TABLES:
            return show_tables(policy, schema)
        case Listing.GRANTS:
            return show_grants(policy)
        case elsewhere:
            return _ELSEWHERE[elsewhere], []


_ELSEWHERE = {
    Listing.AUDIT: records.COLUMNS,
    Listing.HISTORY: records.OWN_COLUMNS,
    Listing.STATUS: status.COLUMNS,
}
"""The columns of what is listed where it is known."""


def _tag(sql: str) -> str:
    """PostgreSQL's command tag: the first word or two."""
    words = sql.upper().split(None, 3)
    lengths = {"GRANT": 1, "REVOKE": 1, "ALTER": 2}
    return " ".join(words[: lengths.get(words[0], 3)])
