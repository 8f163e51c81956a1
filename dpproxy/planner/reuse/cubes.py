"""The cells of a privacy cube: every combination of declared keys, compiled to one statement of exact sums.

It is planned as a grouped SELECT is, by the same proof of whose rows they are and of what one of them moves. A
dimension whose keys are not all there can be has one cell more, of all other values and NULL: otherwise totals would
leave rows out.
"""

import hashlib
from collections.abc import Iterator, Sequence
from fractions import Fraction

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.count import Count
from dpproxy.aggregates.model import Measure
from dpproxy.aggregates.sum import Sum
from dpproxy.aggregates.table import private
from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.keys import GroupKey, inside
from dpproxy.analysis.scopes import Parameters
from dpproxy.anonymize.dp_cube import FARTHEST, Figure, Shape
from dpproxy.anonymize.model import Attribute, Categories, ViewRequest
from dpproxy.anonymize.strategies import Axis
from dpproxy.planner.accept import accept, parse
from dpproxy.planner.access import Context, find_owner
from dpproxy.planner.keys.grouping import group_keys
from dpproxy.planner.planning import Planning
from dpproxy.planner.protected import ORDERED, Plan, RowsQuery, shown_type
from dpproxy.planner.release.exact import exact_sql
from dpproxy.planner.release.pricing import ANY_TERMS
from dpproxy.planner.reuse.cube_form import CubeForm, cube_form, has_rest
from dpproxy.planner.rewrites.documents import with_casts
from dpproxy.planner.rows.from_rows import rows_of
from dpproxy.planner.rows.predicates import inner_of
from dpproxy.planner.rows.relation import JoinedRows
from dpproxy.planner.rows.sources import Env, entries
from dpproxy.policy.cubes import Cube, CubeMeasure, Dimension, read
from dpproxy.policy.model import OptionValue
from dpproxy.sql.quoting import table_text
from dpproxy.values.errors import BoundsMissing, InvalidParameter, Refusal, UnitLost, Unsupported
from dpproxy.values.pgtypes import NUMERIC
from dpproxy.views.columns import Listed, NumberColumn, ViewColumn

MOST_MEASURES = 16
DIGITS = 6
"""Behind the point of what is shown, at most."""


class CubeQuery(RowsQuery, frozen=True, kw_only=True):
    """What a cube is made of: its cells, its dimensions, and what is measured and shown of each.

    The columns of ``query`` are ``columns``. ``rows`` is the most rows of one unit.
    """

    dimensions: tuple[ViewColumn, ...]
    widths: tuple[int, ...]
    figures: tuple[Figure, ...]
    rows: int
    form: CubeForm | None = None
    """What statements about the table are compared with; None where each of them cuts its rows by itself."""

    @property
    def columns(self) -> tuple[ViewColumn, ...]:
        """The columns of the query: a cell's place, and its measures."""
        whole = NumberColumn(-FARTHEST, FARTHEST, Fraction(1))
        measures = (ViewColumn(f"m{i}", NUMERIC, whole, "") for i in range(len(self.widths)))
        return (*self.dimensions, *measures)

    @property
    def shown(self) -> tuple[ViewColumn, ...]:
        """The columns of what is released."""
        return (*self.dimensions, *(_figure_column(f) for f in self.figures))

    @property
    def shape(self) -> Shape:
        """The cube in the form that its mechanism takes."""
        axes = (_axis(column.places) for column in self.dimensions)
        return Shape(tuple(axes), self.widths, self.rows)

    @property
    def digest(self) -> str:
        """Of what the cells are of, and whose."""
        words = self.sql, self.dimensions, self.widths, self.figures, self.rows, self.owner.name
        return hashlib.sha256(repr(words).encode()).hexdigest()

    def request(self, options: dict[str, OptionValue]) -> ViewRequest:
        """The request for its mechanism."""
        attributes = (Attribute(c.name, Categories(a.cells, a.ordered)) for c, a in self._axes())
        return ViewRequest(tuple(attributes), options)

    def _axes(self) -> list[tuple[ViewColumn, Axis]]:
        return list(zip(self.dimensions, self.shape.axes, strict=True))


def _axis(places: object) -> Axis:
    if not isinstance(places, Listed):
        raise TypeError("the cells of a dimension are listed")
    return Axis(len(places.values), places.ordered)


def _figure_column(figure: Figure) -> ViewColumn:
    places = NumberColumn(-FARTHEST, FARTHEST, Fraction(1, 10**figure.digits))
    return ViewColumn(figure.name, NUMERIC.with_precision(38, figure.digits), places, "")


def cube_query(name: str, text: str, context: Context, plan: Plan) -> CubeQuery:
    """Compile what a cube is of. Raises a ``Refusal`` without a position; nothing is read but public tables."""
    cube = read(text)
    try:
        return _compiled(name, cube, context, plan)
    except Refusal as refusal:
        refusal.position = None
        raise


def _compiled(name: str, cube: Cube, context: Context, plan: Plan) -> CubeQuery:
    planning = Planning(context, Parameters(), ANY_TERMS)
    view = exp.Table(this=exp.to_identifier(name, quoted=True))
    rows, called, grouped = _rows(cube, planning, Env(plan=plan, view=view))
    owner = find_owner(planning.tables, context)
    keys = group_keys_of(cube, grouped, rows, planning)
    sums = [_sum(m, node, called, rows, planning) for m, node in zip(cube.measures, called, strict=True)]
    measures = tuple(sorted({m for s in sums for m in s.measures}, key=lambda m: duck.text(m.sql)))
    if len(measures) > MOST_MEASURES:
        raise InvalidParameter(f"a cube has at most {MOST_MEASURES} measures, this one {len(measures)}")
    columns = [duck.named(_kept(m.sql), f"m{i}") for i, m in enumerate(measures)]
    cells = [_with_rest(key) for key in keys]
    exact = exact_sql(rows, cells, columns, None)
    if exact.parameters - {1}:
        raise Unsupported("a cube takes no released values")
    figures = tuple(_figure(m, s, measures) for m, s in zip(cube.measures, sums, strict=True))
    return CubeQuery(
        query=exact.query,
        truncated=1 in exact.parameters,
        dimensions=tuple(_dimension(d, k) for d, k in zip(cube.dimensions, cells, strict=True)),
        widths=tuple(m.width for m in measures),
        figures=(*figures, *_numbers(cube, sums, measures, figures)),
        rows=rows.most,
        owner=owner,
        tables=tuple(dict.fromkeys(use.table for use in planning.tables)),
        form=cube_form([*zip(cube.dimensions, grouped, keys, strict=True)], measures, rows, planning),
    )


def _rows(cube: Cube, planning: Planning, env: Env) -> tuple[JoinedRows, list[exp.Expr], list[exp.Expr]]:
    """The rows, the measures and the dimensions as they are written of them."""
    listed = [*(m.expression for m in cube.measures), *map(_written, cube.dimensions)]
    source = f"FROM {table_text(cube.table.text)}"
    tree = with_casts(accept(parse(f"SELECT {', '.join(listed)} {source}")), planning.context.policy)
    if not isinstance(tree, exp.Select) or len(tree.expressions) != len(listed):
        raise InvalidParameter("a dimension or a measure is one expression")
    found = entries(tree, planning, env)
    if not found[0].is_protected:
        raise InvalidParameter(
            f'"{cube.table.text}" is nobody\'s: what is public needs no cube',
            hint="Ask it with GROUP BY CUBE.",
        )
    rows, select = rows_of(tree, found, planning, env, inner_of(planning, env))
    shown = [e.unalias().unnest() for e in select.expressions]
    return rows, shown[: len(cube.measures)], shown[len(cube.measures) :]


def _written(dimension: Dimension) -> str:
    """The expression of a cell: of whole numbers of a width, the first one."""
    text, width = dimension.expression, dimension.width
    return text if width is None else f"({text}) - ((({text}) % {width}) + {width}) % {width}"


def group_keys_of(
    cube: Cube, grouped: Sequence[exp.Expr], rows: JoinedRows, planning: Planning
) -> list[GroupKey]:
    """The declared keys of each dimension. Raises ``BoundsMissing`` where they are not listed."""
    found = []
    for dimension, node in zip(cube.dimensions, grouped, strict=True):
        [key] = group_keys([node], rows, planning).listed
        if key.is_discovered:
            raise BoundsMissing(
                f'dimension "{dimension.name}" has no declared set of keys',
                hint="Declare it by IN, or by BETWEEN over whole numbers or days, or name bins of it.",
            )
        found.append(key)
    return found


def _with_rest(key: GroupKey) -> GroupKey:
    """The declared cells of a dimension, and one of all else where there can be more."""
    if not has_rest(key):
        return key
    known = nodes.Paren(duck.case([(inside(key), key.raw)], None))
    return replace(key, raw=known, values=(*key.values, None))


def _is_ordered(key: GroupKey) -> bool:
    return key.typed.is_number or key.type.oid in ORDERED


def _dimension(dimension: Dimension, key: GroupKey) -> ViewColumn:
    listed = Listed(key.values, _is_ordered(key))
    return ViewColumn(dimension.name, shown_type(key.typed), listed, duck.text(key.raw))


def _sum(
    measure: CubeMeasure, node: exp.Expr, called: Sequence[exp.Expr], rows: JoinedRows, planning: Planning
) -> Count | Sum:
    """A count, or a sum made of distances from the middle of its bounds: a row moves it by half as much."""
    averaged = frozenset((n.this, None) for n in called if type(n) is exp.Sum)
    if type(node) in (exp.Count, exp.Sum) and not isinstance(node.this, exp.Distinct):
        found = private(node, rows.scope(planning.parameters), averaged)
        if isinstance(found, Count | Sum):
            return found
    raise UnitLost(
        f'measure "{measure.name}" does not add up over cells',
        hint="MEASURES (count(*), count(x), sum(x)); an average is a sum over a count.",
    )


def _kept(sql: nodes.Expr) -> nodes.Expr:
    """An exact sum in 64 bits: one that moves by a step moves by no more. That of no values, which is NULL, is 0.

    LEAST and GREATEST pass over a NULL, which would put such a cell at an end.
    """
    low, high = duck.integer(-FARTHEST), duck.integer(FARTHEST)
    whole = duck.call("coalesce", duck.cast(sql, "INT128"), duck.integer(0))
    inside_bounds = duck.call("least", duck.call("greatest", whole, low), high)
    return duck.cast(inside_bounds, "BIGINT")


def _figure(measure: CubeMeasure, found: Count | Sum, measures: Sequence[Measure]) -> Figure:
    weights = dict.fromkeys(measures, Fraction(0))
    if isinstance(found, Count):
        return Figure(measure.name, tuple((weights | {found.measure: Fraction(1)}).values()), DIGITS)
    argument = found.argument
    total, number = found.measures
    weights |= {total: argument.unit, number: argument.centre * argument.unit}
    most = int(argument.width * argument.unit)
    digits = max(0, min(DIGITS, 9 - len(str(most))))  # of a thousand million rows
    return Figure(measure.name, tuple(weights.values()), digits)


def _numbers(
    cube: Cube, sums: Sequence[Count | Sum], measures: Sequence[Measure], figures: Sequence[Figure]
) -> Iterator[Figure]:
    """The number of values that each sum adds up, where no other figure is that: averages are divided by it."""
    taken = {figure.name for figure in figures} | {d.name for d in cube.dimensions}
    for declared, found in zip(cube.measures, sums, strict=True):
        name = f"{declared.name}_count"
        if isinstance(found, Count) or name in taken:
            continue
        number = tuple(Fraction(int(m == found.measures[1])) for m in measures)
        if all(number != figure.weights for figure in figures):
            yield Figure(name, number, DIGITS)
