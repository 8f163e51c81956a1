"""What was released in an earlier stage of a statement, as a public relation beside protected rows.

How many rows it has at most, and which columns tell them apart, follows from the plan; its values are known once it is
released, and the next exact stage has a parameter for each. Rows that it does not have are left out by their number.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed, as_double
from dpproxy.planner.open.place import placed
from dpproxy.planner.open.relations import Open, OpenColumn
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.fields import Computed, no_keys
from dpproxy.planner.rows.relation import ReleasedStage, Scan
from dpproxy.planner.unique import is_whole, of_values
from dpproxy.values.errors import TooComplex, Unsupported
from dpproxy.values.pgtypes import DATE, FLOAT8, TEXTS, TIMESTAMP, Column

MOST_VALUES = 2**14
"""Released values that one relation hands on, each as a parameter."""
MOST_TOGETHER = 32_000
"""Those of all relations of a statement: SQLite takes 32,766 parameters."""
NOISY = "what an earlier stage released has noise of its own, which decides which rows count"
STAGE = nodes.Bare("s")
"""What a released relation is called where its columns are read."""


def staged_scan(relation: Open, alias: str, planning: Planning, at: int | None) -> Scan:
    """A released relation as an item of FROM.

    Errors: ``TooComplex`` for many values, ``Unsupported`` for those of other types.
    """
    width = len(relation.columns)
    size = relation.rows * width
    if len(planning.inputs) + size > MOST_TOGETHER:
        raise TooComplex(
            f"the statement hands on more than {MOST_TOGETHER} released values",
            hint="End the subqueries with LIMIT, or group by fewer or coarser columns in them.",
            position=at,
        )
    if size > MOST_VALUES:
        raise TooComplex(
            f"the released relation may have {size} values, more than the {MOST_VALUES} that a next stage takes",
            hint="End the subquery with LIMIT, or group by fewer or coarser columns in it.",
            position=at,
        )
    names = [planning.reserve(c.name) for c in relation.columns]
    fields, shown = [], []
    for place, (column, name) in enumerate(zip(relation.columns, names, strict=True)):
        typed, to = _held(column, name, at, is_whole=is_whole(relation, place))
        shown.append(duck.named(duck.cast(duck.column(f"v{place}"), to), name))
        fields.append(
            Computed(column.name, Column(name, typed.type, not_null=False), typed, no_keys(column.name))
        )
    source = nodes.Subquery(placed(relation.shown, planning), STAGE)
    rows = nodes.Select(
        tuple(_value(relation, place) for place in range(width)),
        source,
        order=tuple(nodes.Ordered(duck.column(f"c{place}", STAGE)) for place in range(width)),
        limit=duck.integer(relation.rows),
    )
    parameters = [
        tuple(nodes.Parameter(planning.take(rows, row, place)) for place in range(width))
        for row in range(relation.rows)
    ]
    count = nodes.Select((duck.call("count", nodes.Star()),), source)
    has = nodes.Parameter(planning.take(count))
    stage = ReleasedStage(
        relation.shown, tuple(names), relation.rows, frozenset(names[i] for i in of_values(relation))
    )
    planning.stages.append(stage)
    planning.cuts += [NOISY] if NOISY not in planning.cuts else []
    return Scan(
        alias,
        nodes.Subquery(_values(parameters, has, shown, planning), planning.reserve("t")),
        tuple(fields),
        alias,
        content=tuple(duck.column(n) for n in names),
        held=True,
        stage=stage,
    )


def _values(
    rows: Sequence[tuple[nodes.Expr, ...]], has: nodes.Expr, shown: Sequence[nodes.Expr], planning: Planning
) -> nodes.Select:
    width = len(shown)
    columns = ("o", *(f"v{i}" for i in range(width)))
    tuples = tuple((duck.integer(number), *row) for number, row in enumerate(rows))
    source = nodes.Values(
        tuples or ((duck.integer(0), *[nodes.Null()] * width),), nodes.Bare(planning.reserve("q")), columns
    )
    limit = nodes.Binary("<", duck.column("o"), duck.cast(has, "BIGINT"))
    return nodes.Select(tuple(shown), source, where=limit if tuples else nodes.FALSE)


def _value(relation: Open, place: int) -> nodes.Expr:
    """A column as it is handed on."""
    held = replace(relation.columns[place].typed, sql=duck.column(f"c{place}", STAGE))
    return as_double(held) if held.is_number and not is_whole(relation, place) else held.sql


def _held(column: OpenColumn, name: str, at: int | None, *, is_whole: bool) -> tuple[Typed, str]:
    """The value in the next stage, and the engine's type of its parameter."""
    typed, held = column.typed, duck.column(name)
    if is_whole:
        return Typed(held, typed.type), "BIGINT"
    if typed.is_number:
        kind = FLOAT8 if typed.scale is None else typed.type
        return Typed(held, kind, None), "DOUBLE"
    if typed.type.oid in TEXTS and typed.longest is None:  # what one row costs is bounded
        raise Unsupported(
            "a released text of no known length is not handed to a next stage",
            hint="Cut it: CAST(x AS varchar(100)).",
            position=at,
        )
    if typed.type.oid in TEXTS:
        return Typed(held, typed.type, longest=typed.longest), "VARCHAR"
    if typed.type.oid in (DATE.oid, TIMESTAMP.oid):
        return Typed(held, typed.type, first=typed.first, last=typed.last), typed.type.name.upper()
    raise Unsupported(
        f"a released column of type {typed.type.shown} is not handed to a next stage",
        hint="Leave it out of the subquery.",
        position=at,
    )


def chosen(
    key: Sequence[nodes.Expr], conditions: Sequence[nodes.Expr], planning: Planning
) -> nodes.Select | None:
    """The released values that every row has one of in a key; None where no condition says so.

    ``key`` are the forms in which the key is read.
    """
    own = {duck.text(form) for form in key}
    held = {name: (stage, place) for stage in planning.stages for place, name in enumerate(stage.names)}
    for condition in equalities(conditions):
        for one, other in ((condition.left, condition.right), (condition.right, condition.left)):
            if type(other) is nodes.ColumnRef and other.name in held and duck.text(one) in own:
                stage, place = held[other.name]
                return nodes.Select((duck.column(f"c{place}", STAGE),), nodes.Subquery(stage.query, STAGE))
    return None


def equalities(conditions: Sequence[nodes.Expr]) -> Iterator[nodes.Binary]:
    """What holds of every row, or of one row of the subquery of an EXISTS that does."""
    for condition in map(duck.bare, conditions):
        if isinstance(condition, nodes.Binary) and condition.operator == "=":
            yield condition
        elif isinstance(condition, nodes.And):
            yield from equalities(condition.conditions)
        elif isinstance(condition, nodes.Exists) and isinstance(condition.query, nodes.Select):
            where = condition.query.where
            yield from () if where is None else equalities([where])
