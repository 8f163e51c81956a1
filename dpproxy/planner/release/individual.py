"""One person's value: ``SELECT dp.with_prior(cost, ...) FROM visits WHERE patient_id = 42``.

The answer is always one row of one type at one price: a draw from the prior, moved towards the value where there is
one. Of the rows that the conditions leave of the person, the first by the keyed hash of its content holds the value.
Where there is no such row, no such person, or the value is NULL, the draw is one from the prior.

The loss is the part's epsilon between the person there and not there: with them the chance of each answer is at most
e**epsilon times its chance in the prior, and at least e**-epsilon times. Nobody else's rows are read.
"""

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.argument import argument
from dpproxy.aggregates.prior import Refined, in_units
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Part
from dpproxy.analysis import duck
from dpproxy.analysis.comparison import compare
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.literals import settle
from dpproxy.analysis.position import position
from dpproxy.analysis.typed import Typed
from dpproxy.config import settings as session
from dpproxy.planner.answer import answer, limits
from dpproxy.planner.open.relations import Open
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.allocation import too_small
from dpproxy.planner.release.exact import exact_sql, measured
from dpproxy.planner.release.pricing import Draft, Price, Terms
from dpproxy.planner.release.priors import prior_nodes, prior_of, refined_call, refined_part
from dpproxy.planner.release.scope import ReleasedScope
from dpproxy.planner.rewrites.empty import has_no_rows
from dpproxy.planner.rows.conditions import conjuncts
from dpproxy.planner.rows.from_rows import rows_of
from dpproxy.planner.rows.owners import owner_link, unit_link
from dpproxy.planner.rows.predicates import inner_of
from dpproxy.planner.rows.relation import JoinedRows
from dpproxy.planner.rows.sources import Env, FromEntry
from dpproxy.policy.model import TablePolicy
from dpproxy.policy.units import unit_table
from dpproxy.sql.quoting import identifier
from dpproxy.values.errors import NotGranted, Unsupported
from dpproxy.values.pgtypes import INTEGERS, TEXT, TEXTS
from udfs.mechanisms.refinement import Refinement
from udfs.privacy import LEAST_NANO


def is_individual(select: exp.Select) -> bool:
    """Whether a SELECT asks for one person's value: a prior over something that is no aggregate."""
    return any(n.expressions[0].find(exp.AggFunc) is None for n in prior_nodes(select))


def individual(select: exp.Select, found: list[FromEntry], planning: Planning, env: Env) -> Open:
    """The released relation of such a SELECT: one row. Raises a ``Refusal``; nothing is read or spent."""
    table = _table(select, found)
    key, constant, rest = _split(select, found[0], table, planning)
    rows, rest = rows_of(rest, found, planning, env, inner_of(planning, env))
    scope = rows.scope(planning.parameters)
    unit = _unit(rows, planning, position(constant))
    condition = compare(constant, exp.EQ, unit, compile_expression(constant, scope), scope).sql
    theirs = replace(rows.where([condition]), most=1, held=False)
    calls, numbers = {}, []
    for node in dict.fromkeys(prior_nodes(rest)):
        refined, number = _part(node, theirs, planning)
        numbers += [number] if number not in numbers else []
        calls[node] = refined_call(refined, number, planning)
    names = ", ".join(duck.words(n.expressions[0]).lower() for n in calls)
    planning.describe(f"a prior and {names} of one {key} on {table.name}", f"one {key} of {table.name}")
    settings = planning.context.settings
    released = ReleasedScope({}, calls, 1, session.confidence(settings), rows, planning, frozenset(), env)
    shown = answer(rest, released, clamp=session.clamp(settings), intervals=False)
    query = nodes.Select(
        items=tuple(
            duck.named(v, f"c{i}") for i, v in enumerate((*(v.sql for v in shown.values), *shown.more))
        ),
        source=nodes.Release(numbers[0]),
        joins=tuple(nodes.Join(nodes.Release(n), on=nodes.TRUE) for n in numbers[1:]),
    )
    limits(rest, query, released.scope())
    return Open(query, shown.columns, released=True, rows=1, empty=has_no_rows(rest), unique=frozenset())


def _table(select: exp.Select, found: list[FromEntry]) -> TablePolicy:
    """The one table of FROM; everything that could make other than one row is refused."""
    for name in ("group", "having", "distinct"):
        if select.args.get(name):
            raise Unsupported(
                f"{name.upper()} is not answered beside one person's value",
                position=position(select.args[name]),
            )
    if len(found) != 1 or not isinstance(found[0].relation, TablePolicy) or found[0].names:
        raise Unsupported(
            "one person's value is asked of one table",
            hint="Leave out all tables but the one that has the value.",
            position=position(found[-1].node),
        )
    return found[0].relation


def _split(
    select: exp.Select, entry: FromEntry, table: TablePolicy, planning: Planning
) -> tuple[str, exp.Expr, exp.Select]:
    """The privacy key, the constant it equals, and the SELECT without that condition."""
    policy = planning.context.policy
    unit, owner = table.unit, unit_table(policy, table.name)
    if unit is None or unit.key is None or unit_link(policy, table.name, unit.key) != owner_link(owner):
        raise Unsupported(
            f'rows of "{table.name}" are not told apart by a column that names a person',
            hint="Ask a table whose privacy key is the person's own, or one that refers to it.",
            position=position(entry.node),
        )
    parts = [(node, _constant(node, unit.key, entry.alias)) for node in conjuncts(select.args.get("where"))]
    told = [(node, constant) for node, constant in parts if constant is not None]
    if len(told) != 1 or told[0][1] is None:
        raise NotGranted(
            "rows of a protected table are not shown: one person's value needs their privacy key, once",
            hint=f"Compare {identifier(unit.key)} with a constant in WHERE; of many people, ask for their average.",
            position=position(select.args.get("where")) or position(entry.node),
        )
    rest = [node for node, constant in parts if constant is None]
    copy = select.copy()
    copy.set("where", exp.Where(this=exp.and_(*rest, copy=False, wrap=False)) if rest else None)
    return unit.key, told[0][1], copy


def _constant(node: exp.Expr, key: str, alias: str) -> exp.Expr | None:
    """The other side of ``key = constant``, None for other conditions."""
    node = node.unnest()
    if type(node) is not exp.EQ:
        return None
    sides: tuple[exp.Expr, exp.Expr] = (node.this, node.expression)
    for side, other in (sides, sides[::-1]):
        column = side.unnest()
        is_key = type(column) is exp.Column and column.name == key and column.table in ("", alias)
        if is_key and other.find(exp.Column, exp.Query) is None:
            return other
    return None


def _unit(rows: JoinedRows, planning: Planning, at: int | None) -> Typed:
    """The resolved privacy unit, whatever column was named: nothing else decides whose rows are read."""
    owner = planning.context.policy.tables[rows.owner].unit
    kind = next(
        c.type
        for c in planning.context.schema.tables[rows.owner]
        if owner is not None and c.name == owner.key
    )
    if rows.unit is None or kind.oid not in {*INTEGERS, *TEXTS}:
        raise Unsupported(
            "one person's value needs a privacy key that is a whole number or a text", position=at
        )
    return Typed(rows.unit, kind, nullable=False)


def _part(node: exp.Expr, rows: JoinedRows, planning: Planning) -> tuple[Refined, int]:
    """The release of one value."""
    operand = node.expressions[0]
    scope = rows.scope(planning.parameters)
    value = settle(compile_expression(operand, scope), TEXT, scope, operand)
    scale = value.scale if value.is_number else None
    refined = Refined(prior_of(node, value.type), node.expressions[1].name, value.type, scale)
    steps, truth = _truth(operand, value, refined)
    exact = exact_sql(rows, [], measured([duck.call("min", steps)]), None)

    def price(part: Part, terms: Terms) -> Price:
        if terms.loss.nano < LEAST_NANO:
            raise too_small(terms.loss, 1, 1)
        mechanism = Refinement.individual(refined.prior, terms.loss.nano)
        return Price(refined_part(part, refined, mechanism, truth, 0), mechanism)

    drawn = "individual", refined.text, duck.text(truth)
    return refined, planning.add(Draft(planning.part(exact), drawn, price))


def _truth(operand: exp.Expr, value: Typed, refined: Refined) -> tuple[nodes.Expr, nodes.Expr]:
    """The value as a whole number for the exact stage, and what it stands for in the release: NULL stays NULL.

    A text is its place among the prior's; one that is not among them is as if it were NULL.
    """
    held = duck.column("m0", "e")
    if refined.prior.labelled:
        texts = [(nodes.Binary('=', value.sql, nodes.Text(str(v))), duck.integer(i))
                 for i, v in enumerate(refined.prior.values)]  # fmt: skip
        return duck.case(texts, None), refined.label(duck.cast(held, "HUGEINT"))
    steps = argument(operand, value)
    return steps.sql, in_units(held, steps.unit)
