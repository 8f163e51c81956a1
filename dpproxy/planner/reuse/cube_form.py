"""A cube in the terms of statements about its table: which rows, what each cell says of them, and what is added up."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.aggregates.model import Measure
from dpproxy.algebra import nodes
from dpproxy.algebra.plan import Rest
from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.keys import GroupKey
from dpproxy.planner.planning import Planning
from dpproxy.planner.release.exact import measured, source_of
from dpproxy.planner.reuse.normal_form import NormalStage, stage
from dpproxy.planner.reuse.terms import Term
from dpproxy.planner.rows.relation import JoinedRows
from dpproxy.policy.cubes import Dimension
from dpproxy.policy.model import Scalar
from dpproxy.values.pgtypes import INTEGERS


class Inner(Struct, frozen=True):
    """Whole numbers, so many from a key's value on; ``low`` and ``high`` are the declared ends."""

    term: Term
    width: int
    low: int
    high: int


class CubeSide(Struct, frozen=True):
    """A dimension: the term of its key, the values of its cells but that of the rest, and what is in that.

    ``is_column`` where the key is a column of the table, as it is.
    """

    term: Term
    values: tuple[Scalar | None, ...]
    rest: Rest
    inner: Inner | None = None

    @property
    def cells(self) -> int:
        """With that of the rest, for which there is none beside a cell of NULL: then totals do not follow."""
        return len(self.values) + (self.rest != "none" and None not in self.values)


class CubeForm(Struct, frozen=True):
    """Which rows a cube is of, with its measures, and its dimensions."""

    rows: NormalStage
    sides: tuple[CubeSide, ...]


def has_rest(key: GroupKey) -> bool:
    """Whether rows can have no declared value of a key."""
    return key.rest != "none" and None not in key.values


Dimensions = Sequence[tuple[Dimension, exp.Expr, GroupKey]]


def cube_form(
    dimensions: Dimensions,
    measures: Sequence[Measure],
    rows: JoinedRows,
    planning: Planning,
) -> CubeForm | None:
    """The form of a cube over ``rows``; None where these are not cut before a statement reads them."""
    if rows.unit is not None and not rows.held:
        return None
    inner = [_inner(d, node, rows, planning) for d, node, _ in dimensions]
    keys = [key.raw for _, _, key in dimensions] + [i[0] for i in inner if i is not None]
    shown = [duck.named(raw, f"k{n}") for n, raw in enumerate(keys)]
    places = tuple(duck.integer(n + 1) for n in range(len(keys)))
    query = replace(source_of(rows), items=(*shown, *measured([m.sql for m in measures])), group=places)
    found = stage(query)
    if len(found.keys) != len(keys) or len(found.measures) != len(measures):
        return None
    own, more = found.keys[: len(dimensions)], list(found.keys[len(dimensions) :])
    sides = []
    for (_, _, key), term, width in zip(dimensions, own, inner, strict=True):
        within = None if width is None else Inner(more.pop(0), *width[1:])
        rest: Rest = "none" if key.rest == "null" and None in key.values else key.rest
        sides.append(CubeSide(term, key.values, rest, within))
    return CubeForm(found, tuple(sides))


def _inner(
    dimension: Dimension, node: exp.Expr, rows: JoinedRows, planning: Planning
) -> tuple[nodes.Expr, int, int, int] | None:
    """The whole number whose cell a width makes, with its ends; None for other dimensions."""
    if dimension.width is None or not isinstance(node, exp.Sub):
        return None
    typed = compile_expression(node.this.unnest(), rows.scope(planning.parameters))
    if typed.type.oid not in INTEGERS or typed.low is None or typed.high is None:
        return None
    return typed.sql, dimension.width, int(typed.low), int(typed.high)
