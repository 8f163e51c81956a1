"""From an accepted statement to its plan: it is compiled whatever it costs, then each of its releases has a price."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.algebra.figures import Settled
from dpproxy.algebra.layers import filled
from dpproxy.algebra.plan import (
    Output,
    Part,
    Payer,
    Plan,
    PriorCheck,
    PublicPlan,
    Stated,
)
from dpproxy.analysis import duck
from dpproxy.analysis.present import present_of
from dpproxy.analysis.scopes import Parameters
from dpproxy.config import settings as session
from dpproxy.planner.access import (
    Context,
    Use,
    find_owner,
    find_payer,
    find_table,
    statement_delta,
    statement_loss,
)
from dpproxy.planner.block import charged
from dpproxy.planner.keys.grouping import grouping_sets, has_aggregates, key_columns, without_distinct
from dpproxy.planner.open.limits import carried, check_answer, portion, streams
from dpproxy.planner.open.place import placed
from dpproxy.planner.open.protected_views import check_masked, is_plain_read
from dpproxy.planner.open.relations import Open, OpenColumn
from dpproxy.planner.open.select import open_select
from dpproxy.planner.open.series import open_series
from dpproxy.planner.open.union import arranged
from dpproxy.planner.open.values import open_values
from dpproxy.planner.planning import Planning
from dpproxy.planner.protected import ViewQuery, view_query
from dpproxy.planner.release.deadline import deadline, expected
from dpproxy.planner.release.enough import or_enough
from dpproxy.planner.release.individual import individual, is_individual
from dpproxy.planner.release.inside import inside, inside_view
from dpproxy.planner.release.pricing import ANY_TERMS, Price, Source, Terms, priced
from dpproxy.planner.release.priors import prior_nodes, settled
from dpproxy.planner.release.target_error import most_epsilon, within_target
from dpproxy.planner.reuse.cubes import CubeQuery, cube_query
from dpproxy.planner.rewrites.around import with_inside
from dpproxy.planner.rewrites.documents import with_casts
from dpproxy.planner.rewrites.empty import has_no_rows, never_holds
from dpproxy.planner.rewrites.existence import existence
from dpproxy.planner.rewrites.extremes import over_values
from dpproxy.planner.rewrites.filters import with_filters
from dpproxy.planner.rewrites.laterals import without_laterals
from dpproxy.planner.rewrites.listed_extremes import with_places
from dpproxy.planner.rewrites.lookups import with_lookups
from dpproxy.planner.rewrites.memberships import places, with_memberships
from dpproxy.planner.rewrites.public_keys import among_listed
from dpproxy.planner.rewrites.referrers import with_referrers
from dpproxy.planner.rewrites.shifted_sums import with_few_sums
from dpproxy.planner.rewrites.two_steps import ROWS, in_two, over_sets
from dpproxy.planner.rows.derive import derive, refuse_cut, renamed
from dpproxy.planner.rows.fields import Identifier
from dpproxy.planner.rows.from_rows import rows_of
from dpproxy.planner.rows.padding import refuse_padded
from dpproxy.planner.rows.people import people
from dpproxy.planner.rows.predicates import inner_of
from dpproxy.planner.rows.relation import JoinedRows, Scan, own_nodes
from dpproxy.planner.rows.row_windows import derive_windows, has_windows, limited
from dpproxy.planner.rows.scans import column_names
from dpproxy.planner.rows.sources import Env, FromEntry, Lateral, Relation, entries, with_ctes
from dpproxy.planner.rows.unions import set_operation
from dpproxy.planner.views import tables_of
from dpproxy.policy.model import TablePolicy
from dpproxy.sql.quoting import table_text
from dpproxy.values.errors import NotGranted, Refusal
from dpproxy.values.pgtypes import Column
from dpproxy.values.work import begin


class _Compiled(NamedTuple):
    """A statement, whatever it costs."""

    found: Relation
    planning: Planning


_Known = dict[tuple[bool, Terms | None], _Compiled]
"""By what else was asked for than a price: quantiles ``apart``, and what it depends on of what it may cost."""


def plan_query(tree: exp.Expr, context: Context, parameters: Parameters) -> Plan | PublicPlan:
    """Plan one accepted statement, for dp.target_error where that is set. Raises a ``Refusal``; nothing is spent."""
    tree = with_casts(tree, context.policy)
    parameters.present = present_of(context.settings)
    known: _Known = {}

    def plan_for(asked: Context) -> Plan | PublicPlan:
        return within_target(
            asked, lambda priced: _planned(tree, priced, parameters, known), partial(_written, tree)
        )

    return or_enough(context, plan_for, lambda: most_epsilon(*find_payer(tables_of(tree, context), context)))


def _written(tree: exp.Expr, count: bool) -> str:  # noqa: FBT001
    """The statement for people, with count(*) behind its columns where asked for."""
    copy = tree.copy()
    if count and type(copy) is exp.Select:
        copy.append("expressions", exp.Count(this=exp.Star()))
    return duck.words(copy)


def _planned(tree: exp.Expr, context: Context, parameters: Parameters, known: _Known) -> Plan | PublicPlan:
    """A statement with its price; it is compiled where that was not done, or names hid which tables it is of."""
    begin()
    tables = tables_of(tree, context)
    payer, terms = _paying(tables, context) if tables else (None, ANY_TERMS)
    found, planning = _compiled(tree, context, parameters, known, terms)
    if not planning.tables:
        return _public(found)
    own = terms
    asked, read = ({(u.table, u.granted) for u in uses} for uses in (tables, planning.tables))
    if payer is None or asked != read:
        payer, own = _paying(planning.tables, context)
    if _depends(planning, terms) != _depends(planning, own):
        found, planning = _compiled(tree, context, parameters, known, own)
    return _plan(found, planning, payer, priced(planning.drafts, own, context.losses))


def _paying(tables: Sequence[Use], context: Context) -> tuple[Payer, Terms]:
    """Who pays for a statement over these tables, and what it may cost."""
    payer, budget = find_payer(tables, context)
    loss, delta = statement_loss(budget, context), statement_delta(budget, context)
    return payer, Terms(loss, delta, payer.concentrated)


def _depends(planning: Planning, terms: Terms) -> Terms:
    """What the compiled statement depends on of what it may cost."""
    return terms if planning.weighed else terms._replace(loss=ANY_TERMS.loss)


def _compiled(
    tree: exp.Expr, context: Context, parameters: Parameters, known: _Known, terms: Terms
) -> _Compiled:
    for asked in (terms, terms._replace(loss=ANY_TERMS.loss)):
        if (kept := known.get((context.apart, asked))) is not None:
            return kept
    found, planning = _looked_up(tree, context, parameters, terms)
    check_masked(planning)
    is_streamed = isinstance(found, Open) and not planning.tables and _is_streamed(tree, found, planning)
    if isinstance(found, Open) and not is_streamed:
        check_answer(found.rows, [c.typed for c in found.columns], tree)
    made = known[context.apart, _depends(planning, terms)] = _Compiled(found, planning)
    return made


def _looked_up(tree: exp.Expr, context: Context, parameters: Parameters, terms: Terms) -> _Compiled:
    """A statement as one SELECT where it is answered as such; what is refused is said of it as it was written."""
    work = parameters.budget
    made = with_inside(tree) if type(tree) is exp.Select else tree
    try:
        planning = Planning(context, parameters, terms)
        return _Compiled(_top(made, planning), planning)
    except Refusal:
        if made is tree:
            raise
        parameters.budget, planning = work, Planning(context, parameters, terms)
        return _Compiled(_top(tree, planning), planning)
    finally:
        parameters.budget = work


def view_columns(view: str, context: Context) -> tuple[Column, ...]:
    """The columns of a view that can be asked for. Raises a ``Refusal`` where the view cannot be used."""
    planning = Planning(context, Parameters(), ANY_TERMS)
    node = exp.Table(this=exp.to_identifier(view, quoted=True))
    select = exp.Select(expressions=[exp.Star()], from_=exp.From(this=node))
    [entry] = entries(select, planning, Env(plan=_relation, view=node))
    if planning.tables:
        find_owner(planning.tables, context)
    if isinstance(entry.relation, Scan):
        fields = [f for f in entry.relation.fields if not isinstance(f, Identifier)]
        return tuple(replace(f.column, name=f.name, not_null=False) for f in fields)
    if not isinstance(entry.relation, Open):
        raise TypeError("a view is no table")
    return tuple(c.column for c in entry.relation.columns)


def plan_view(name: str, query: str, context: Context) -> ViewQuery:
    """Compile the query of a protected view. Raises a ``Refusal``; nothing is read but public tables."""
    return view_query(name, query, context, _relation)


def plan_cube(name: str, text: str, context: Context) -> CubeQuery:
    """Compile what a privacy cube is of. Raises a ``Refusal``; nothing is read but public tables."""
    return cube_query(name, text, context, _relation)


def _top(tree: exp.Expr, planning: Planning) -> Relation:
    env = Env(plan=_relation)
    if type(tree) is exp.Select:
        return _select(tree, "", planning, with_ctes(tree, env), top=True)
    if isinstance(tree, exp.SetOperation):
        return set_operation(tree, "", planning, with_ctes(tree, env), top=True)
    return _relation(tree, "", planning, env)


def _relation(query: exp.Expr, alias: str, planning: Planning, env: Env) -> Relation:
    """A query that stands where a relation can: a subquery, a name of WITH, a set operation, a SELECT."""
    match query:
        case exp.CTE() | exp.Subquery():
            found = _relation(query.this, alias, planning, with_ctes(query, env))
            found = _arranged(query, found, planning)
            names = [c.name for c in query.args["alias"].columns] if query.args.get("alias") else []
            return _renamed(found, names)
        case exp.SetOperation():
            return set_operation(query, alias, planning, with_ctes(query, env))
        case exp.ExplodingGenerateSeries():
            return open_series(query, alias, planning)
        case exp.Values():
            return _arranged(query, open_values(query, planning, with_ctes(query, env)), planning)
        case exp.Select():
            return _select(query, alias, planning, with_ctes(query, env), top=False)
        case _:
            raise AssertionError("a query that was not accepted")


def _arranged(query: exp.Expr, found: Relation, planning: Planning) -> Relation:
    """Under the ORDER BY and LIMIT behind a parenthesis."""
    if isinstance(found, Open):
        return arranged(query, found, planning)
    if query.args.get("limit") is not None or query.args.get("offset") is not None:
        refuse_cut(query)
    return found


def _renamed(found: Relation, names: list[str]) -> Relation:
    if not names:
        return found
    if isinstance(found, Scan):
        return renamed(found, names)
    columns = [replace(c, name=n) for c, n in zip(found.columns, names, strict=False)]
    return replace(found, columns=(*columns, *found.columns[len(columns) :]))


def _select(select: exp.Select, alias: str, planning: Planning, env: Env, *, top: bool) -> Relation:
    kept = inside_view(select, planning, env)
    if kept is not None:
        return inside(select, kept, planning, env, top=top)
    select = _joined(among_listed(select, planning, env), planning, env, top=top)
    found = entries(select, planning, env)
    if not any(e.is_protected for e in found):
        return _of_nobody(select, found, alias, planning, env, top=top)
    if any(isinstance(e.relation, Lateral) for e in found):
        plain = _joined_laterals(select, found, planning, env)
        if plain is not None:
            return _select(plain, alias, planning, env, top=top)
    if top and (shown := existence(select, found, planning, env)) is not None:
        return shown
    if prior_nodes(select):
        select = settled(select, planning, env)
        if is_individual(select):
            return individual(select, found, planning, env)
    return _of_rows(select, found, alias, planning, env, top=top)


def _of_nobody(
    select: exp.Select, found: list[FromEntry], alias: str, planning: Planning, env: Env, *, top: bool
) -> Relation:
    """A SELECT over rows that are nobody's, which may be counted by whether somebody's refer to them."""
    counted = with_referrers(select, planning, env)
    if counted is None:
        return open_select(select, found, planning, env, top=top)
    try:
        return _select(counted, alias, planning, env, top=top)
    except Refusal as refusal:
        if (refusal.hint or "").startswith(
            "SELECT"
        ):  # of the join that it was made of, which counts other rows
            refusal.hint = (
                "Of public rows that rows of people refer to, count(*) is answered, by groups of columns."
            )
        raise


def _joined(select: exp.Select, planning: Planning, env: Env, *, top: bool) -> exp.Select:
    """With what is released, or looked up, of each row beside the rows; these are not shown."""
    if top and not any(map(select.args.get, ("group", "distinct"))):
        return select
    kinds = {type(node) for place in places(select) for node in own_nodes(place)}
    select = with_memberships(select, planning, env) if exp.Case in kinds else select
    return with_lookups(select, planning, env) if exp.Subquery in kinds else select


def _joined_laterals(
    select: exp.Select, found: list[FromEntry], planning: Planning, env: Env
) -> exp.Select | None:
    """The SELECT without LATERAL; None where it is of no form that rows of people are joined by."""
    others = [e.relation for e in found if not isinstance(e.relation, Lateral)]
    tables = [table for table in others if isinstance(table, TablePolicy)]
    if len(tables) < len(others):
        return None  # what is released there would be planned twice

    def columns(table: exp.Table) -> frozenset[str] | None:
        if not table.db and (table.name in env.ctes or table.name in env.planned):
            return None
        try:
            return column_names(find_table(table, planning.context), planning)
        except Refusal:  # a view, or nothing: said where it stands
            return None

    known = frozenset().union(*(column_names(table, planning) for table in tables))
    return without_laterals(select, columns, known)


def _of_rows(
    select: exp.Select, found: list[FromEntry], alias: str, planning: Planning, env: Env, *, top: bool
) -> Relation:
    """A SELECT over protected rows: released where it groups them, else rows still."""
    rows, select = rows_of(select, found, planning, env, inner_of(planning, env))
    rows = limited(rows, select, planning)
    select = without_distinct(select, rows)
    of_people = not top and bool(select.args.get("group")) and _is_by_people(select, rows)
    kinds = {
        *map(type, own_nodes(select))
    }  # what is written for nodes that are not there need not be looked for
    has_extremes = not of_people and not kinds.isdisjoint((exp.Min, exp.Max))
    select = with_filters(select, rows, of_people=of_people) if exp.Case in kinds else select
    select = with_few_sums(select) if exp.Sum in kinds else select
    select = with_places(select, rows, planning) if has_extremes else select
    halves = over_sets(select, rows) or (None if top else in_two(select, rows))
    values: Mapping[str, exp.Select] = {}
    if halves is None and has_extremes and (shared := over_values(select, rows, planning)) is not None:
        halves, values = shared
    if halves is not None:
        inner, outer = halves
        planned = {
            name: _selected(rows, query, name, planning, env, top=False)
            for name, query in {ROWS: inner, **values}.items()
            if name != ROWS or outer.args.get("from_") is not None
        }
        return _select(outer, alias, planning, replace(env, planned=planned), top=top)
    return _selected(rows, select, alias, planning, env, top=top)


def _is_by_people(select: exp.Select, rows: JoinedRows) -> bool:
    """Whether it groups rows by whose they are."""
    return bool(key_columns([n for s in grouping_sets(select, rows) for n in s], rows))


def _selected(
    rows: JoinedRows, select: exp.Select, alias: str, planning: Planning, env: Env, *, top: bool
) -> Relation:
    """A SELECT that is one step."""
    is_grouped = bool(select.args.get("group") or select.args.get("distinct")) or has_aggregates(select)
    if is_grouped and not top and _is_by_people(select, rows):
        refuse_padded(select, rows)
        return people(rows, select, alias, planning)
    if is_grouped or (top and not has_no_rows(select) and not never_holds(select)):
        return charged(rows, select, planning, env, top=top)
    if top:  # the columns of rows that are not there
        for name in ("limit", "offset", "order"):
            select.set(name, None)
        return replace(derive(rows, select, alias, planning), is_empty=True)
    refuse_padded(select, rows)
    if has_windows(select):
        return derive_windows(rows, select, alias, planning)
    return derive(rows, select, alias, planning)


def _is_streamed(tree: exp.Expr, found: Open, planning: Planning) -> bool:
    """An answer that is not limited: nobody holds it as a whole, or it is no more than a view holds."""
    return streams(found.query) or is_plain_read(tree, found, planning)


def _public(found: Relation) -> PublicPlan:
    if isinstance(found, Scan):
        raise AssertionError("rows of somebody come from a protected table")  # noqa: TRY004 - our own fault
    outputs = tuple(_output(c, Settled(id)) for c in found.columns)
    portioned = portion(found.rows, [c.typed for c in found.columns])
    reads = next(found.query.find_all(nodes.Table), None) is not None
    return PublicPlan(found.query, outputs, portion=portioned, constant=not reads)


def _output(column: OpenColumn, settled: Settled) -> Output:
    scale = column.typed.scale if column.typed.is_number else None
    accuracy = column.accuracy
    if accuracy is not None:
        half, words = settled.of((accuracy.half, accuracy.words))
        far = accuracy.far and filled(accuracy.far, settled)
        place = accuracy.place if column.reach is None else int(column.reach.name.removeprefix("c"))
        accuracy = replace(accuracy, half=half, place=place, far=far, words=words, noise=None)
    return Output(
        column.column,
        scale,
        column.floor,
        settled.of(column.error),
        column.ceiling,
        accuracy,
        column.possible,
        column.bound,
    )


def _plan(found: Relation, planning: Planning, payer: Payer, prices: Sequence[Price]) -> Plan:
    """The plan, with what follows from noise filled in."""
    policy, beside = planning.context.policy, max(1, len(planning.noisy))
    settled = Settled(lambda one: prices[one.number].source if isinstance(one, Source) else beside)
    if isinstance(found, Scan):
        outputs, answer, label = _columns_of(found, planning), "", f"no rows of {found.table}"
        parts: tuple[Part, ...] = ()
        copied: tuple[str, ...] = ()
    else:
        query = placed(carried(replace(found, query=filled(found.query, settled))), planning)
        outputs = tuple(_output(c, settled) for c in found.columns)
        answer, label = duck.text(query), "; ".join(planning.labels)
        queries = {id(i.query): i.query for p in prices for i in p.part.inputs}
        known = {place: filled(query, settled) for place, query in queries.items()}
        given = [tuple(replace(i, query=known[id(i.query)]) for i in p.part.inputs) for p in prices]
        parts = tuple(replace(p.part, inputs=inputs) for p, inputs in zip(prices, given, strict=True))
        copied = _copied(query) if len(parts) == 1 and not planning.publics else ()
    notices = dict.fromkeys(settled.of(notice) for notice in planning.notices)
    checks = [PriorCheck(duck.text(filled(q, settled)), prior, n) for q, prior, n in planning.checks]
    return Plan(
        parts=parts,
        answer=answer,
        unit="; ".join(planning.units),
        cuts=tuple(planning.cuts),
        narrower=tuple(dict.fromkeys(planning.narrower)),
        outputs=outputs,
        payer=payer,
        label=label,
        policy_version=policy.version,
        data_version=policy.data_version,
        publics=tuple(planning.publics),
        empty=isinstance(found, Scan) or found.empty,
        deadline=deadline(planning, parts),
        rows=max(expected(planning), default=None),
        notices=tuple(notices),
        checks=tuple(dict.fromkeys(checks)),
        accuracy=_stated(planning, payer, parts, settled),
        copied=copied,
    )


def _copied(query: nodes.Query) -> tuple[str, ...]:
    """The released columns that a query shows as they are, in the order of their release; none where it does more."""
    if not isinstance(query, nodes.Select):
        return ()
    shown = [item.value for item in query.items if type(item) is nodes.Named]
    columns = [value.name for value in shown if type(value) is nodes.ColumnRef]
    plain = nodes.Select(query.items, nodes.Release(0), order=(nodes.Ordered(duck.column("o", "r0")),))
    return tuple(columns) if len(columns) == len(query.items) and query == plain else ()


def _stated(planning: Planning, payer: Payer, parts: Sequence[Part], settled: Settled) -> Stated | None:
    """What is said about all noisy columns; None where nothing is drawn."""
    if all(p.vacuous for p in parts):
        return None
    context = planning.context
    return Stated(
        session.confidence(context.settings),
        planning.selected,
        planning.selected and any(p.discovered for p in parts),
        most_epsilon(payer, context.policy.budgets[payer.budget]),
        session.impossible(context.settings),
        session.is_rounded(context.settings),
        max(map(settled.of, planning.hidden), default=None),
    )


def _columns_of(scan: Scan, planning: Planning) -> tuple[Output, ...]:
    """The columns that rows would have; only a statement without rows is told them."""
    if not scan.is_empty:
        raise NotGranted(
            "rows of a protected table are not shown",
            hint=f"SELECT count(*) FROM {table_text(planning.first(scan.table))};",  # noqa: S608 - a hint
        )
    return tuple(Output(replace(f.column, name=f.name, not_null=False), None) for f in scan.fields)
