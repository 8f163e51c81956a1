"""A SELECT that groups protected rows: what is released of them, and what is made of that."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import sqrt

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.mode import Mode
from dpproxy.aggregates.model import Aggregate, Measure, Noise
from dpproxy.aggregates.order import OrderStatistic
from dpproxy.aggregates.posterior import Inner
from dpproxy.aggregates.table import averaged_arguments, private
from dpproxy.algebra import nodes
from dpproxy.algebra.figures import later
from dpproxy.algebra.plan import LAW, Fitted, Part, Summed
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import key_as_postgres
from dpproxy.analysis.keys import GroupKey
from dpproxy.analysis.position import position
from dpproxy.analysis.typed import Typed, null
from dpproxy.analysis.windows import refuse_windows
from dpproxy.config import settings as session
from dpproxy.planner.answer import AnswerQuery, answer, is_selected, limits, row_number, together
from dpproxy.planner.keys.conditions import conditions_of
from dpproxy.planner.keys.discovery import Choice, choice, selecting
from dpproxy.planner.keys.empty_groups import hiding, threshold, with_rows
from dpproxy.planner.keys.grouping import Keys, aggregate_nodes, group_keys, grouping_sets
from dpproxy.planner.keys.slips import tell_undeclared
from dpproxy.planner.keys.staged import in_stages
from dpproxy.planner.open.relations import Open, OpenColumn
from dpproxy.planner.open.row_numbers import numbered
from dpproxy.planner.planning import Planning
from dpproxy.planner.refusals import asked_again
from dpproxy.planner.release.allocation import Allocation, TooLittle, allocate
from dpproxy.planner.release.exact import ExactQuery, exact_sql, measured
from dpproxy.planner.release.intervals import calls_in
from dpproxy.planner.release.label import label, unit_words
from dpproxy.planner.release.mechanisms import noise_delta
from dpproxy.planner.release.modes import modal, off_by
from dpproxy.planner.release.order_statistics import OrderStatisticDraws, bounded
from dpproxy.planner.release.posteriors import posteriors, under, watch
from dpproxy.planner.release.pricing import Draft, Price, Terms
from dpproxy.planner.release.priors import prior_nodes, refined_call, statistical
from dpproxy.planner.release.scope import AggregateCall, ReleasedScope
from dpproxy.planner.release.stage import release_sql
from dpproxy.planner.rewrites.empty import has_no_rows, is_false, never_holds
from dpproxy.planner.rows.blocks import blocks_of
from dpproxy.planner.rows.conditions import conjuncts
from dpproxy.planner.rows.cuts import note_cuts
from dpproxy.planner.rows.padding import check_padded
from dpproxy.planner.rows.relation import JoinedRows, own_nodes
from dpproxy.planner.rows.sources import Env
from dpproxy.planner.select_list import SelectItem, is_star, items
from dpproxy.planner.unique import of_groups
from dpproxy.values.errors import NotGranted, TooComplex
from udfs.mechanisms import Additive
from udfs.mechanisms.averaged import Averaged, Draw
from udfs.mechanisms.combination import covariances
from udfs.privacy import Loss

MOST_AGGREGATES = 32
"""Aggregates of one statement: beyond, predicting the joint draw's error takes too long."""

MOST_DRAWS = 500_000
"""Released values of one statement: they are drawn, stored and shown."""


def charged(rows: JoinedRows, select: exp.Select, planning: Planning, env: Env, *, top: bool) -> Open:
    """The released relation of a SELECT over rows. Raises a ``Refusal``; nothing is read or spent.

    ``top`` where its columns are what is shown: ``dp.intervals`` adds some there.
    """
    refuse_windows(select.args.get("having"), "HAVING")
    _refuse_stars(select, rows)
    sets = grouping_sets(select, rows)
    called = aggregate_nodes(select)
    aggregates = _aggregates(called, rows, planning)
    refined = list(dict.fromkeys(prior_nodes(select)))
    check_padded([*called, *(n.expressions[0] for n in refined)], rows)
    every = list(dict.fromkeys(n for s in sets for n in s))
    derived = any(drawn.summed is not None for drawn in planning.context.losses or ())
    apart = (derived or not top) and len(sets) > 1
    listed = items(select)
    block = _Block(rows, select, planning, aggregates, refined, every, env, top, apart, listed)
    branches = [block.branch(keys) for keys in sets]
    own = [*own_nodes(select)]
    tell_undeclared(own, rows, planning)
    note_cuts(select, own, rows, planning)
    scopes = [branch.scope for branch in branches]
    planning.selected = top and any(s.selected or is_selected(select, listed, s.calls) for s in scopes)
    if not (called or refined or any(select.args.get(a) for a in ("group", "distinct", "having"))):
        raise _not_shown(select, rows, position(next(iter(select.expressions), select)))  # one for each row
    if sets == [[]]:  # one row has one order
        query = branches[0].query
    elif len(branches) == 1:
        order = (*branches[0].answer.order, nodes.Ordered(branches[0].tie))  # ties keep the declared order
        query = replace(branches[0].query, order=order)
    else:
        query = _union(branches)
    limit = select.args.get("limit")
    most = sum(b.scope.groups for b in branches)
    most = most if limit is None else min(most, row_number(limit, branches[0].scope.scope()))
    empty, shown = has_no_rows(select), [item.node.unnest() for item in listed]
    chosen = any(d.part.discovered for d in planning.drafts)
    return Open(
        limits(select, query, branches[0].scope.scope()),
        tuple(
            _farthest(columns, chosen=chosen)
            for columns in zip(*(b.answer.columns for b in branches), strict=True)
        ),
        released=True,
        rows=most,
        empty=empty,
        unique=of_groups(sets[0], shown) if len(sets) == 1 else None,
        further=numbered(
            shown,
            lambda part: shown.index(part) if part in shown else None,
            lambda told: len(sets) == 1 and all(n in told for n in sets[0]),
        ),
        declared=not (called or refined or chosen),
        chosen=chosen or any(_is_chosen(select, listed, branch) for branch in branches),
    )


def _farthest(columns: tuple[OpenColumn, ...], *, chosen: bool) -> OpenColumn:
    """A column of all grouping sets, as accurate as in the least accurate; ``chosen`` where noise chose keys."""
    first = columns[0]
    if len(columns) == 1 and not chosen:
        return first
    halves = [c.accuracy.half for c in columns if c.accuracy is not None and c.accuracy.half is not None]
    if first.accuracy is None:
        return first
    accuracy = replace(first.accuracy, chosen=first.accuracy.chosen or chosen)
    if len(columns) == 1:
        return replace(first, accuracy=accuracy)
    half = later(max, tuple(halves)) if len(halves) == len(columns) else None
    return replace(first, accuracy=replace(accuracy, half=half, noise=None))


class _Branch(Struct, frozen=True):
    """One grouping set."""

    query: nodes.Select
    answer: AnswerQuery
    tie: nodes.Expr
    scope: ReleasedScope


def _is_chosen(select: exp.Select, listed: Sequence[SelectItem], branch: _Branch) -> bool:
    """Whether released values may decide which groups are shown."""
    calls, having = branch.scope.calls, branch.answer.having
    is_distinct = bool(select.args.get("distinct")) and any(calls_in(i.node, calls) for i in listed)
    by_subquery = any(o.value.has(nodes.Release) for o in branch.answer.order)
    is_cut = select.args.get("limit") is not None or select.args.get("offset") is not None
    return (
        branch.scope.selected
        or is_selected(select, listed, calls)
        or is_distinct
        or (having is not None and having.has(nodes.Release))
        or (is_cut and by_subquery)
    )


class _Block(Struct, frozen=True):
    """What the grouping sets of one SELECT share."""

    rows: JoinedRows
    select: exp.Select
    planning: Planning
    aggregates: Mapping[exp.Expr, Aggregate]
    refined: Sequence[exp.Expr]
    """The calls of dp.with_prior."""
    every: Sequence[exp.Expr]
    """The keys of all grouping sets."""
    env: Env
    top: bool
    apart: bool
    """Of several grouping sets each row says its own error: they follow from several releases, or are read further."""
    listed: Sequence[SelectItem]

    def branch(self, present: Sequence[exp.Expr]) -> _Branch:
        """Release one grouping set and compile the SELECT over it."""
        keys = self._keys(present)
        groups = keys.count
        draws = groups * (len(self.aggregates) + len(self.refined))
        if draws > MOST_DRAWS and not keys.discovered:
            raise TooComplex(
                f"the statement asks for {draws} released values, more than {MOST_DRAWS}",
                hint="Group by fewer or coarser columns, or ask for fewer aggregates.",
            )
        is_listed = bool(keys.sets) and not keys.discovered
        decides = hiding(groups, self.aggregates, self.planning) if is_listed else None
        asked = self.aggregates if decides is None else with_rows(self.aggregates, decides.call)
        calls, numbers = self._release(keys, asked)
        is_there = []
        if decides is not None:
            condition, hidden = threshold(calls[decides.call], decides, groups)
            self.planning.hidden.append(hidden)
            is_there = [condition]
        first = numbers[0]
        in_stages = self._in_stages(keys, first)
        held = {n: _key_column(index, key, first) for n, (index, key) in keys.by_node.items()}
        held |= {n: null(self._shape(n).type) for n in self.every if n not in held}
        if self.top and not keys.discovered:
            read = self.rows.scope(self.planning.parameters)
            held = {n: key_as_postgres(n, typed, read) for n, typed in held.items()}
        settings = self.planning.context.settings
        scope = ReleasedScope(
            held,
            calls,
            groups,
            session.confidence(settings),
            self.rows,
            self.planning,
            frozenset(present),
            self.env,
            candidates=keys.most,
            selected=decides is not None or bool(in_stages),
            apart=self.apart,
        )
        found = answer(
            self.select,
            scope,
            clamp=session.clamp(settings),
            intervals=self.top and session.intervals(settings),
            top=self.top,
        )
        shown = [*(v.sql for v in found.values), *found.more]
        conditions = [*in_stages, *is_there, *([] if found.having is None else [found.having])]
        query = nodes.Select(
            tuple(duck.named(value, f"c{i}") for i, value in enumerate(shown)),
            nodes.Release(first),
            tuple(nodes.Join(nodes.Release(n), _same_ordinal(first, n)) for n in numbers[1:]),
            _all(conditions),
        )
        return _Branch(query, found, duck.column("o", f"r{first}"), scope)

    def _in_stages(self, keys: Keys, first: int) -> list[nodes.Expr]:
        """Of keys that rows share with what an earlier stage released, those that this has are answered."""
        found = (
            in_stages(node, key, duck.column(f"k{index}", f"r{first}"), self.rows, self.planning)
            for node, (index, key) in keys.by_node.items()
        )
        return [condition for condition in found if condition is not None]

    def _keys(self, nodes_: Sequence[exp.Expr]) -> Keys:
        return group_keys(nodes_, self.rows, self.planning, conditions_of(self.select, self.rows, self.every))

    def _shape(self, node: exp.Expr) -> Typed:
        found = self._keys([node]).listed[0]
        return found.constant or replace(found.typed, type=found.type)

    def _release(
        self, keys: Keys, aggregates: Mapping[exp.Expr, Aggregate]
    ) -> tuple[dict[exp.Expr, AggregateCall], list[int]]:
        """The parts of one grouping set: the calls with their columns, and the numbers of the parts."""
        about = label([*aggregates, *self.refined], keys, self.rows, self.planning)
        self.planning.describe(about, unit_words(self.rows, self.planning))
        ordered = {n: a for n, a in aggregates.items() if isinstance(a, OrderStatistic)}
        believed = posteriors(self.refined, keys, self.rows, self.planning, partial(self._alone, keys))
        modes = {n: a for n, a in aggregates.items() if isinstance(a, Mode)}
        sums = {**{n: a for n, a in aggregates.items() if n not in {**ordered, **modes}}, **believed}
        numbers, calls = [], {}
        if sums or not (ordered or modes or self.refined):
            measures = tuple(
                sorted({m for a in sums.values() for m in a.measures}, key=lambda m: duck.text(m.sql))
            )
            number = self._add(self._draft(keys, measures, believed=bool(believed)))
            numbers.append(number)
            summed = self.planning.summed(number)
            for node, aggregate in sums.items():
                indexes = tuple(measures.index(m) for m in aggregate.measures)
                columns = tuple(duck.column(f"m{i}", f"r{number}") for i in indexes)
                noise = _noise(self.planning.source(number), indexes, self.rows.most, summed)
                law = duck.column(LAW, f"r{number}") if summed is not None and summed.laws else None
                calls[node] = AggregateCall(under(noise, aggregate), columns, noise, law)
            watch(calls, number, keys, self.rows, self.planning)
        draws = OrderStatisticDraws(
            keys, self.rows, self.planning, self.select, self._confidence(keys, aggregates), self._add
        )
        within = bounded(
            self.select, ordered, intervals=self.top and session.intervals(self.planning.context.settings)
        )
        for node, call, of in draws.calls(ordered, within):
            numbers += [number for number in of if number not in numbers]
            calls[node] = call
        for node, mode in modes.items():
            values = self._keys([mode.written])
            empty = never_holds(self.select) or (
                isinstance(node, exp.Filter) and is_false(node.expression.this)
            )
            draft, chosen_of = modal(node, mode, values, keys, self.rows, self.planning, vacuous=empty)
            numbers.append(number := self._add(draft))
            noise = later(off_by, self.planning.source(number), len(chosen_of.values.values), self.rows.most)
            calls[node] = AggregateCall(chosen_of, (duck.column("m0", f"r{number}"),), noise)
        for node in (n for n in self.refined if n not in believed):
            draft, found = statistical(node, keys, self.rows, self.planning, vacuous=never_holds(self.select))
            number = self._add(draft)
            numbers += [number] if number not in numbers else []
            calls[node] = refined_call(found, number, self.planning)
        return calls, numbers

    def _confidence(self, keys: Keys, calls: Mapping[exp.Expr, Aggregate]) -> Fraction:
        """Of each interval: all at once where released values decide which groups are shown."""
        found = session.confidence(self.planning.context.settings)
        is_chosen = len(calls) > len(self.aggregates) or is_selected(self.select, self.listed, calls)
        return together(found, self.listed, calls, keys.most) if is_chosen else found

    def _alone(self, keys: Keys, inner: Inner) -> Noise:
        """The noise of an aggregate that is released by itself for the whole loss."""
        self.planning.weighed = True
        allocation = self._allocation(inner.measures, self.planning.terms, keys)
        return _noise(allocation, range(len(inner.measures)), self.rows.most, None)

    def _add(self, draft: Draft) -> int:
        """The number of a draft, which says whom it is about."""
        where = conjuncts(self.select.args.get("where"))
        return self.planning.add(draft, blocks_of(self.rows, where, self.planning))

    def _choice(self, keys: Keys) -> Choice | None:
        """How groups are selected; None where keys are declared, or no rows are read."""
        if not keys.discovered or never_holds(self.select) or has_no_rows(self.select):
            return None
        at = next(position(node) for node, (_, key) in keys.by_node.items() if key.is_discovered)
        return choice(keys.listed, self.rows, at)

    def _allocation(self, measures: Sequence[Measure], terms: Terms, keys: Keys) -> Allocation | None:
        if not measures:
            return None
        groups, settings = self.rows.groups if keys.sets else None, self.planning.context.settings
        delta = noise_delta(settings, terms, self.select, discovered=keys.discovered)
        concentrated = terms.concentrated and not keys.discovered
        wanted = session.mechanism(settings)
        return allocate(
            measures, self.rows.most, groups, terms.loss, delta, wanted, concentrated=concentrated
        )

    def _draft(self, keys: Keys, measures: Sequence[Measure], *, believed: bool) -> Draft:
        chosen, rows, planning = self._choice(keys), self.rows, self.planning
        vacuous = chosen is None and (
            never_holds(self.select) or keys.discovered or not measures or planning.never_any(keys.count)
        )  # of keys that are not public nothing else would decide which groups are shown
        columns = [*(m.sql for m in measures), *([] if chosen is None else [chosen.units])]

        def exact(groups: int | None) -> ExactQuery:
            return exact_sql(rows, keys.listed, measured(columns), groups)

        cut = rows.groups if measures and keys.sets and rows.groups < rows.most else None
        cut = cut if chosen is None else chosen.cut

        def price(part: Part, terms: Terms) -> Price:
            selection, own = None, terms
            if chosen is not None:
                selection = chosen.selection(terms, rows, planning, alone=not measures)
                own = terms._replace(loss=Loss(terms.loss.nano - selection.nano))
            try:
                allocation = self._allocation(measures, own, keys)
            except TooLittle as error:
                raise (error if chosen is None else error.of(terms.loss, 2)) from None
            release = release_sql(len(keys.by_node), measures, None if vacuous else allocation)
            part = replace(part, release=release, loss=terms.loss)
            if allocation is not None:
                if chosen is None and allocation.groups != cut:
                    other = exact(allocation.groups)
                    part = replace(part, query=other.query, truncated=1 in other.parameters)
                part = replace(
                    part,
                    box=allocation.box,
                    noise=allocation.words,
                    factor=allocation.factor,
                    mechanism=allocation.mechanism,
                    noise_delta=allocation.delta,
                    why=allocation.why,
                )
            if selection is not None:
                part = selecting(part, len(keys.listed), selection, allocation)
            return Price(part, allocation)

        widths = tuple((m.width, m.unit_width) for m in measures)
        drawn = "sums", widths, rows.most, rows.groups if keys.sets else None, chosen and chosen.groups
        part = planning.part(exact(cut), keys.sets, len(measures), vacuous=vacuous)
        return Draft(replace(part, believed=believed), drawn, price)


def _key_column(index: int, key: GroupKey, relation: int) -> Typed:
    if key.constant is not None:
        return key.constant
    held: nodes.Expr = duck.column(f"k{index}", f"r{relation}")
    if key.in_utc:
        held = duck.call("timezone", nodes.Text("UTC"), held)
    return Typed(held, key.type, key.typed.scale, nullable=None in key.values, longest=key.typed.longest)


def _noise(
    source: Allocation | None, indexes: Sequence[int], rows: int, summed: Summed | Fitted | None
) -> Noise:
    """The noise of measures: of what they follow from where that is known, else of their own draw."""
    if summed is None:
        return later(_drawn, source, indexes, rows)
    return _derived(summed, indexes, rows)


def _drawn(allocation: Allocation | None, indexes: Sequence[int], rows: int) -> Noise:
    if allocation is None:
        raise AssertionError("an aggregate has measures")
    mechanism = allocation.mechanism
    draws = tuple(Draw(mechanism, i) for i in indexes)
    return _of_draws(mechanism, draws, rows)


def _derived(summed: Summed | Fitted, indexes: Sequence[int], rows: int) -> Noise:
    if summed.laws:
        laws = tuple(_derived(law, indexes, rows) for law in summed.laws)
        is_mean = isinstance(summed, Summed) and bool(summed.also)  # weighed otherwise in each kind of row
        alone = replace(summed, laws=())  # of either kind
        return _farthest_of(_derived(alone, indexes, rows), laws, is_joint=not is_mean)
    if isinstance(summed, Fitted):
        of = Fitted(
            summed.cube,
            tuple(summed.noise[i] for i in indexes),
            tuple(summed.rounding[i] for i in indexes),
        )
        sds, common = tuple(noise.sd for noise in of.noise), covariances(of.noise)
        return Noise(sds, of.half_width, rows, bell=True, rounded=True, covariances=common)
    if summed.also:
        means = tuple(summed.means[i] for i in indexes)
        return Noise(
            tuple(m.noise_sd() for m in means),
            lambda confidence: tuple(m.half_width(confidence) for m in means),
            rows,
            bell=True,
            rounded=True,
            draws=means,
        )
    return _of_draws(summed.mechanism, tuple(summed.draws[i] for i in indexes), rows)


def _of_draws(mechanism: Additive, draws: tuple[Draw, ...], rows: int) -> Noise:
    def half_widths(confidence: Fraction) -> tuple[int, ...]:
        return tuple(Averaged((draw,)).half_width(confidence) for draw in draws)

    bell = mechanism.CONCENTRATED or any(draw.terms > 1 for draw in draws)
    return Noise(tuple(sqrt(draw.variance) for draw in draws), half_widths, rows, bell, draws=draws)


def _farthest_of(noise: Noise, laws: tuple[Noise, ...], *, is_joint: bool) -> Noise:
    """The noise of the kind of row that is farthest off, number by number, with those of all kinds."""

    def most(confidence: Fraction) -> tuple[int, ...]:
        return tuple(map(max, zip(*(law.half_width(confidence) for law in laws), strict=True)))

    sds = tuple(map(max, zip(*(law.sd for law in laws), strict=True)))
    return replace(noise, sd=sds, half_width=most, draws=noise.draws if is_joint else (), laws=laws)


def _all(conditions: Sequence[nodes.Expr]) -> nodes.Expr | None:
    if len(conditions) < 2:
        return next(iter(conditions), None)
    return nodes.And((conditions[0], *map(nodes.Paren, conditions[1:])))


def _same_ordinal(first: int, other: int) -> nodes.Expr:
    return nodes.Binary("=", duck.column("o", f"r{first}"), duck.column("o", f"r{other}"))


def _union(branches: Sequence[_Branch]) -> nodes.Select:
    """The grouping sets one after the other, ordered as a whole."""
    union: nodes.Query = _arm(0, branches[0])
    for place, branch in enumerate(branches[1:], 1):
        union = nodes.Combined("UNION ALL", union, _arm(place, branch))
    order = [replace(entry, value=duck.column(f"s{i}")) for i, entry in enumerate(branches[0].answer.order)]
    order += [nodes.Ordered(duck.column(f"s{i}")) for i in (len(order), len(order) + 1)]
    names = tuple(duck.column(f"c{i}") for i in range(len(branches[0].query.items)))
    return nodes.Select(names, nodes.Subquery(union, nodes.Bare("sets")), order=tuple(order))


def _arm(place: int, branch: _Branch) -> nodes.Select:
    """One grouping set with what the whole is ordered by: ties keep the declared order."""
    order = [*(e.value for e in branch.answer.order), duck.integer(place), branch.tie]
    more = (duck.named(value, f"s{i}") for i, value in enumerate(order))
    return replace(branch.query, items=(*branch.query.items, *more))


def _refuse_stars(select: exp.Select, rows: JoinedRows) -> None:
    for item in select.expressions:
        if is_star(item):
            raise _not_shown(select, rows, position(item))


def _not_shown(select: exp.Select, rows: JoinedRows, at: int | None) -> NotGranted:
    return NotGranted(
        "rows of a protected table are not shown",
        hint=asked_again("count(*)", select, rows.scans[0].table),
        position=at if at is not None else position(select.args["from_"].this),
    )


def _aggregates(called: list[exp.Expr], rows: JoinedRows, planning: Planning) -> dict[exp.Expr, Aggregate]:
    if len(called) > MOST_AGGREGATES:
        raise TooComplex(f"the statement has more than {MOST_AGGREGATES} different aggregates")
    averaged = averaged_arguments(called)
    return {n: private(n, rows.scope(planning.parameters), averaged) for n in called}
