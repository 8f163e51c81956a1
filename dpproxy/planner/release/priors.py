"""Answers from a prior: the statistical form, over aggregates, and what both forms share.

The refinement of an answer over many is e-DP whatever one unit changes in it, so no sensitivity is needed, and any
exact function of the rows will do as the truth. Every group that a unit touches is another answer it changes: a unit
pays e for each, MAX GROUPS of them where it is cut to so many, else one for each of its rows at most. Without GROUP BY
that is one.
"""

import json
from fractions import Fraction

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.average import Average
from dpproxy.aggregates.count import Count
from dpproxy.aggregates.model import Noise
from dpproxy.aggregates.prior import Refined, check_fits
from dpproxy.aggregates.sum import Sum
from dpproxy.aggregates.table import PRIVATE, private
from dpproxy.algebra import nodes
from dpproxy.algebra.figures import later
from dpproxy.algebra.plan import Part
from dpproxy.analysis import duck
from dpproxy.analysis.position import position
from dpproxy.analysis.typed import as_double
from dpproxy.config import settings as session
from dpproxy.planner.keys.grouping import Keys
from dpproxy.planner.open.relations import Open
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.allocation import too_small
from dpproxy.planner.release.exact import exact_sql, measured
from dpproxy.planner.release.pricing import Draft, Price, Terms
from dpproxy.planner.release.scope import AggregateCall
from dpproxy.planner.release.stage import refined_sql, release_sql
from dpproxy.planner.rewrites.priors import HINT, is_with_prior, read
from dpproxy.planner.rows.relation import JoinedRows, own_nodes
from dpproxy.planner.rows.sources import Env
from dpproxy.values.errors import InvalidParameter, Unsupported
from dpproxy.values.pgtypes import SqlType
from udfs.mechanisms.refinement import Refinement
from udfs.priors import Prior
from udfs.privacy import LEAST_NANO, NANO

MOST_ROWS = 10_001
MOST_TOLD = 200
"""Characters of a prior in the ledger."""


def prior_nodes(select: exp.Select) -> list[exp.Expr]:
    """Every call of dp.with_prior where a SELECT has aggregates, not in its subqueries."""
    places = [*select.expressions, *(select.args[a] for a in ("having", "order") if select.args.get(a))]
    return [n for place in places for n in own_nodes(place) if is_with_prior(n)]


def settled(select: exp.Select, planning: Planning, env: Env) -> exp.Select:
    """The SELECT with every prior as its text: dp.prior where none is written, rows where a subquery stands.

    Errors: 22023 for what is no prior, 0A000 for one that would follow from protected rows.
    """
    if all(_is_settled(n) for n in prior_nodes(select)):
        return select
    copy = select.copy()
    for node in prior_nodes(copy):
        if not _is_settled(node):
            text = _text(node, planning, env)
            read(text, position(node))
            node.set("expressions", [node.expressions[0], exp.Literal.string(text)])
    return copy


def _is_settled(node: exp.Expr) -> bool:
    return len(node.expressions) == 2 and isinstance(node.expressions[1], exp.Literal)


def _text(node: exp.Expr, planning: Planning, env: Env) -> str:
    if len(node.expressions) > 1:
        return _of_rows(node, planning, env)
    text = session.prior(planning.context.settings)
    if text is None:
        raise InvalidParameter("dp.with_prior needs a prior", hint=HINT, position=position(node))
    return text


def _of_rows(node: exp.Expr, planning: Planning, env: Env) -> str:
    """Rows of values and masses, read from public tables."""
    _, query, *family = node.expressions
    relation = env.plan(query, "prior", planning, replace(env, outer=None, around=None))
    if not isinstance(relation, Open) or relation.released:
        raise Unsupported(
            "a prior is public: it follows from constants or public tables, never from protected rows",
            detail="What a prior knows of protected rows, it would tell.",
            hint=HINT,
            position=position(query),
        )
    if len(relation.columns) != 2:
        raise InvalidParameter(
            "the rows of a prior are values and masses: two columns",
            hint="dp.with_prior(x, prior => (SELECT value, mass FROM public_table))",
            position=position(query),
        )
    rows = planning.context.facts(duck.all_of(relation.query, MOST_ROWS))
    scales = [c.typed.scale if c.typed.is_number else None for c in relation.columns]
    columns = [[_plain(row[i], scales[i]) for row in rows] for i in (0, 1)]
    default = "nominal" if columns[0] and isinstance(columns[0][0], str) else "table"
    return f"{family[0].name if family else default}({json.dumps(columns[0])}, {json.dumps(columns[1])})"


def _plain(value: object, scale: int | None) -> object:
    """A value of a public table as JSON has it; NULL is refused by whoever reads it."""
    if isinstance(value, int) and not isinstance(value, bool) and scale:
        return float(Fraction(value, 10**scale))
    return value if isinstance(value, int | float | str) and not isinstance(value, bool) else None


def statistical(
    node: exp.Expr, keys: Keys, rows: JoinedRows, planning: Planning, *, vacuous: bool
) -> tuple[Draft, Refined]:
    """The release of one aggregate of every group as a draw from its prior. Raises a ``Refusal``."""
    if keys.discovered:
        raise Unsupported(
            "dp.with_prior is not answered beside keys that are not public",
            hint="Group by declared keys.",
            position=position(node),
        )
    inner = aggregate_of(node, rows, planning)
    scale = 0 if isinstance(inner, Count) else inner.argument.typed.scale if isinstance(inner, Sum) else None
    cut = rows.groups if keys.sets and rows.groups < rows.most else None
    touched = min(rows.groups, rows.most) if keys.sets else 1
    refined = Refined(prior_of(node, inner.type), node.expressions[1].name, inner.type, scale)
    exact = exact_sql(rows, keys.listed, measured([m.sql for m in inner.measures]), cut)
    columns = [
        duck.call("coalesce", duck.column(f"m{i}", "e"), duck.integer(0)) for i in range(len(inner.measures))
    ]
    truth = as_double(inner.value([duck.cast(c, "HUGEINT") for c in columns]))
    vacuous = vacuous or planning.never_any(keys.count)

    def price(part: Part, terms: Terms) -> Price:
        if terms.loss.nano // touched < LEAST_NANO:
            raise too_small(terms.loss, rows.most, touched, grouped=touched > 1)
        mechanism = Refinement.statistical(refined.prior, terms.loss.nano // touched)
        part = refined_part(part, refined, mechanism, truth, len(keys.by_node))
        if vacuous:
            part = replace(part, release=release_sql(len(keys.by_node), inner.measures[:1], None))
        return Price(replace(part, loss=terms.loss, factor=touched), mechanism)

    drawn = "statistical", refined.text, duck.text(truth), touched
    return Draft(planning.part(exact, keys.sets, vacuous=vacuous), drawn, price), refined


def refined_call(refined: Refined, number: int, planning: Planning) -> AggregateCall:
    """The call of a draw from a prior; its noise is how far off it is expected to be where the prior is right."""
    noise = later(_expected, planning.source(number))
    return AggregateCall(refined, (duck.column("m0", f"r{number}"),), noise)


def _expected(mechanism: Refinement) -> Noise:
    return Noise((mechanism.expected_distance,), lambda _: ())


def aggregate_of(node: exp.Expr, rows: JoinedRows, planning: Planning) -> Count | Sum | Average:
    """The aggregate call under a prior."""
    operand = node.expressions[0]
    inner = private(operand, rows.scope(planning.parameters)) if type(operand) in PRIVATE else None
    if not isinstance(inner, Count | Sum | Average):
        raise Unsupported(
            "dp.with_prior takes count, sum or avg here",
            hint="Give it count(*), sum(x) or avg(x); one person's value needs WHERE with their privacy key.",
            position=position(node),
        )
    return inner


def prior_of(node: exp.Expr, kind: SqlType) -> Prior:
    """The prior of a call whose answer has a type. Raises ``InvalidParameter`` (22023)."""
    prior = read(node.expressions[1].name, position(node))
    check_fits(prior, kind, position(node))
    return prior


def refined_part(part: Part, refined: Refined, mechanism: Refinement, truth: nodes.Expr, keys: int) -> Part:
    """A part that draws around a truth, a DOUBLE or a text: what both forms share."""
    epsilon = nodes.Number(f"{mechanism.nano // NANO}.{mechanism.nano % NANO:09d}")
    drawn = duck.call(
        "_dp_refine_label" if mechanism.prior.labelled else "_dp_refine",
        truth,
        nodes.Text(refined.text),
        duck.cast(epsilon, "DECIMAL(18,9)"),
        nodes.Text(mechanism.kind),
        duck.double(0.0),
    )
    words = f"refinement {mechanism.kind} {refined.text}"
    return replace(
        part,
        release=refined_sql(keys, duck.text(refined.place(drawn))),
        # What the measures stand for: the same whole numbers are another truth in another unit.
        box=f"{words} of {duck.text(truth)}",
        noise=f"{words if len(words) <= MOST_TOLD else words[:MOST_TOLD] + '...'} nano={mechanism.nano}",
        why=f"expected distance {mechanism.expected_distance:.6g} where the prior is right",
        loss=mechanism.loss,
        refined=True,
    )
