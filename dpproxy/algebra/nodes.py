"""What an engine is asked, as values: expressions and queries in the terms that all engines share.

The planner makes them, printers write them (``printing`` in DuckDB's SQL), and whoever needs to know something of a
statement looks at them: our own text is never read again. A node is frozen and may stand in several places.
"""

from collections.abc import Callable, Iterator
from operator import attrgetter, is_not
from typing import Any, Final, NamedTuple, TypeVar

from msgspec import Struct, structs
from msgspec.structs import replace

from dpproxy.algebra.figures import Figure

N = TypeVar("N", bound="Node")


class Bare(str):
    """A name of our own that is written without quotes."""

    __slots__ = ()


class Node(Struct, frozen=True):
    """One construct. Its parts are the nodes among its fields, and in tuples there.

    Those that have none, which most nodes are, need not be looked through for garbage: they say ``gc=False``.
    """

    def parts(self) -> list["Node"]:
        """The nodes directly below, in the order they are written."""
        return _HOLDING[type(self)].parts(self)

    def walk(self, enter: Callable[["Node"], bool] | None = None) -> Iterator["Node"]:
        """The node and all below it, from the top; nothing below one that ``enter`` refuses."""
        pending: list[Node] = [self]
        while pending:
            node = pending.pop()
            yield node
            fields = _HOLDING[type(node)]
            if fields.names and (enter is None or enter(node)):
                found = fields.parts(node)
                found.reverse()
                pending += found

    def has(self, *kinds: type["Node"]) -> bool:
        """Whether a node of one of these classes is in it."""
        return not frozenset(kinds).isdisjoint(map(type, self.walk()))

    def find_all(self, kind: type[N]) -> Iterator[N]:
        """All nodes of one class."""
        return (node for node in self.walk() if isinstance(node, kind))

    def transform(
        self, rule: Callable[["Node"], "Node | None"], known: dict[int, "Node"] | None = None
    ) -> "Node":
        """With other nodes in the place of those that the rule answers; it is not asked about what is below these.

        What came of a node that stands in several places is made once, where it is kept in ``known``.
        """
        other = rule(self) if known is None else known.get(id(self)) or rule(self)
        if other is not None:
            return other
        changed: dict[str, Any] = {}
        for name in _HOLDING[type(self)].names:
            value = getattr(self, name)
            if isinstance(value, Node):
                new: Any = value.transform(rule, known)
            elif type(value) is tuple:
                new = _each(value, rule, known)
            else:
                continue
            if new is not value:
                changed[name] = new
        found = replace(self, **changed) if changed else self
        if known is not None:
            known[id(self)] = found
        return found


_PLAIN: Final = (str, int, bool, str | None, int | None, int | str | None, tuple[str, ...], Figure)
"""Types of fields that hold no nodes."""


class _Fields(NamedTuple):
    """The fields in which nodes may be, and how these are found."""

    names: tuple[str, ...]
    parts: Callable[[Node], list[Node]]


class _Holding(dict[type, _Fields]):
    """The fields in which nodes may be, by class."""

    def __missing__(self, kind: type) -> _Fields:
        held = [f for f in structs.fields(kind) if f.type not in _PLAIN]
        names = tuple(f.name for f in held)
        found = self[kind] = _Fields(names, _reader(names, {f.type for f in held}))
        return found


_HOLDING: Final = _Holding()


def _reader(names: tuple[str, ...], types: set[Any]) -> Callable[[Node], list[Node]]:
    """How the nodes in fields are found: where each field is one, they need not be looked for."""
    if not names:
        return lambda _: []
    read: Callable[[Node], Any] = attrgetter(*names)
    if types == {Expr}:
        return (lambda node: [*read(node)]) if len(names) > 1 else lambda node: [read(node)]

    def gathered(node: Node) -> list[Node]:
        value = read(node)
        return _gathered(value if len(names) > 1 else (value,))

    return gathered


def _gathered(values: tuple[Any, ...]) -> list[Node]:
    found: list[Node] = []
    for value in values:
        if type(value) is tuple:
            found += _gathered(value) if value and type(value[0]) is tuple else value
        elif value is not None:
            found.append(value)
    return found


def _each(
    values: tuple[Any, ...], rule: Callable[[Node], Node | None], known: dict[int, Node] | None
) -> tuple[Any, ...]:
    new = [_each(v, rule, known) if type(v) is tuple else v.transform(rule, known) for v in values]
    return tuple(new) if any(map(is_not, values, new)) else values


# --- expressions ------------------------------------------------------------------------------------------------------


class Expr(Node, frozen=True):
    """A value for each row."""

    def replaced(self, rule: Callable[[Node], Node | None]) -> "Expr":
        """As ``transform``, by a rule that has an expression stay one."""
        found = self.transform(rule)
        if not isinstance(found, Expr):
            raise TypeError("an expression stays one")
        return found


class ColumnRef(Expr, frozen=True, gc=False):
    """A column of an item of FROM, by the item's alias where that is said."""

    name: str
    table: str | None = None


class Star(Expr, frozen=True, gc=False):
    """All columns; in a call, the row itself."""


class Null(Expr, frozen=True, gc=False):
    """NULL of no type."""


class Truth(Expr, frozen=True, gc=False):
    """TRUE or FALSE."""

    value: bool


TRUE, FALSE = Truth(value=True), Truth(value=False)


class Number(Expr, frozen=True, gc=False):
    """A number that is not negative, as it is written: a whole one, a decimal, or with an exponent a DOUBLE."""

    text: str


class Looked(Exception):
    """Something depends on the constant of a ``place``, at which nobody may look."""

    def __init__(self, place: int) -> None:
        super().__init__()
        self.place = place


class Hole(Expr, frozen=True, gc=False):
    """A constant that nobody may look at, in one of the forms that the value at a ``place`` is written in.

    ``form`` is the scale of a whole number of ``10**-scale``, None for a DOUBLE; of a text ``TEXT``, or ``DATE`` or
    ``TIMESTAMP`` where it is cast to that. A hole has no text: whoever asks for one has looked.
    """

    place: int
    form: int | str | None


class Text(Expr, frozen=True, gc=False):
    """A text."""

    value: str


class Parameter(Expr, frozen=True, gc=False):
    """A value that is given when the statement runs, by its number from 1 on."""

    number: int


class Paren(Expr, frozen=True):
    """Parentheses: an operation as an operand of another one."""

    value: Expr


class Negative(Expr, frozen=True):
    """The number below zero."""

    value: Expr


class Binary(Expr, frozen=True):
    """Two values and an operator between them, one of ``OPERATORS``."""

    operator: str
    left: Expr
    right: Expr


COMPARISONS: Final = frozenset(("=", "<>", "<", "<=", ">", ">=", "IS NOT DISTINCT FROM", "IS DISTINCT FROM"))
OPERATORS: Final = COMPARISONS | {
    "+", "-", "*", "/", "//", "%", "&", "|", "||", "LIKE", "ILIKE", "NOT LIKE", "NOT ILIKE",
}  # fmt: skip


class And(Expr, frozen=True):
    """All of at least two conditions; an ``Or`` among them stands in parentheses, or it would print as another."""

    conditions: tuple[Expr, ...]

    def __post_init__(self) -> None:
        """Refuse what prints as another condition: it may leave out whose rows are joined."""
        if Or in map(type, self.conditions):
            raise AssertionError("OR without parentheses inside AND")


class Or(Expr, frozen=True):
    """One of at least two conditions."""

    conditions: tuple[Expr, ...]


class Not(Expr, frozen=True):
    """The opposite."""

    value: Expr


class IsNull(Expr, frozen=True):
    """Whether there is no value."""

    value: Expr


class Case(Expr, frozen=True):
    """The value of the first branch whose condition holds."""

    branches: tuple[tuple[Expr, Expr], ...]
    default: Expr | None = None
    idle: bool = False
    """Bounds say that no branch is ever taken: they are there should the bounds be wrong."""
    present: bool = False
    """Where it is idle, the default is never NULL."""


class Cast(Expr, frozen=True):
    """A value as another type, by DuckDB's name of it: ``BIGINT``, ``INT128``, ``DECIMAL(18, 2)``, ``TEXT``."""

    value: Expr
    type: str
    tries: bool = False
    """NULL where it cannot be."""


class InList(Expr, frozen=True):
    """Whether a value is among others."""

    value: Expr
    among: tuple[Expr, ...]


class InQuery(Expr, frozen=True):
    """Whether a value is among those of a query of one column."""

    value: Expr
    query: "Query"


class Exists(Expr, frozen=True):
    """Whether a query has rows."""

    query: "Query"


class Scalar(Expr, frozen=True):
    """The one value of a query."""

    query: "Query"


class Ordered(Node, frozen=True):
    """One entry of an order. NULLs are last unless they are first."""

    value: Expr
    descending: bool = False
    nulls_first: bool = False


class Call(Expr, frozen=True):
    """A function or an aggregate by DuckDB's name, in small letters."""

    name: str
    arguments: tuple[Expr, ...] = ()
    distinct: bool = False
    order: tuple[Ordered, ...] = ()
    where: Expr | None = None
    """The rows of its group that an aggregate is of."""


AGGREGATES: Final = frozenset(
    (
        "any_value", "array_agg", "avg", "bit_and", "bit_or", "bit_xor", "bool_and", "bool_or", "corr", "count",
        "count_star", "covar_pop", "covar_samp", "first", "grouping", "histogram", "list", "max", "median", "min",
        "mode", "quantile_cont", "quantile_disc", "regr_avgx", "regr_avgy", "regr_count", "regr_intercept", "regr_r2",
        "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "stddev", "stddev_pop", "stddev_samp", "string_agg", "sum",
        "var_pop", "var_samp", "variance",
    )
)  # fmt: skip


class Window(Expr, frozen=True):
    """A call over the rows around each row; ``frame`` is as it is written: ``ROWS BETWEEN ...``."""

    call: Call
    partition: tuple[Expr, ...] = ()
    order: tuple[Ordered, ...] = ()
    frame: str = ""


class Array(Expr, frozen=True):
    """A list of values."""

    values: tuple[Expr, ...]


class Tuple(Expr, frozen=True):
    """Several values as one."""

    values: tuple[Expr, ...]


class Formula(Expr, frozen=True):
    """A text of ours with values at its places, for what no node says; few are computed of rows of people.

    There is one value fewer than pieces. No other printer than DuckDB's has a line for it.
    """

    pieces: tuple[str, ...]
    values: tuple[Expr, ...] = ()


class Let(Expr, frozen=True):
    """An expression of values that are computed once each: ``Local`` names them."""

    name: str
    values: tuple[Expr, ...]
    made: Expr


class Local(Expr, frozen=True):
    """A value of the ``Let`` of this name around, by its place from 0 on."""

    name: str
    place: int


class Later(Expr, frozen=True):
    """An expression that follows from noise: a ``figure``, which is filled in before anybody prints it."""

    figure: Figure


class Named(Expr, frozen=True):
    """A column of a SELECT list under a name."""

    value: Expr
    name: str


# --- relations --------------------------------------------------------------------------------------------------------


class Table(Node, frozen=True):
    """A stored relation; ``path`` is what stands before its name."""

    name: str
    alias: str | None = None
    path: tuple[str, ...] = ()


class Release(Node, frozen=True):
    """The relation of a release, by the number of its part: ``r0``."""

    number: int

    @property
    def alias(self) -> str:
        """What its columns are qualified with."""
        return f"r{self.number}"


class Subquery(Node, frozen=True):
    """A query in FROM."""

    query: "Query"
    alias: str | None = None
    columns: tuple[str, ...] = ()
    lateral: bool = False


class Values(Node, frozen=True):
    """Listed rows in FROM."""

    rows: tuple[tuple[Expr, ...], ...]
    alias: str
    columns: tuple[str, ...]


class TableFunction(Node, frozen=True):
    """A table function in FROM."""

    call: Call
    alias: str
    columns: tuple[str, ...] = ()
    lateral: bool = False


Item = Table | Release | Subquery | Values | TableFunction


class Join(Node, frozen=True):
    """An item beside those before it; ``kind`` is ``""`` (inner), ``CROSS``, ``LEFT``, ``RIGHT`` or ``FULL``."""

    item: Item
    on: Expr | None = None
    kind: str = ""


class Sets(Node, frozen=True):
    """What several groupings are made of; ``kind`` is ``ROLLUP``, ``CUBE`` or ``GROUPING SETS``."""

    kind: str
    entries: tuple["Expr | Sets", ...]


class Whole(Node, frozen=True, dict=True, cache_hash=True):
    """A query. Without slots: its text, and the list of its nodes, are made once and kept with it."""

    def walk(self, enter: Callable[[Node], bool] | None = None) -> Iterator[Node]:
        """As of any node."""
        if enter is not None:
            return super().walk(enter)
        kept: tuple[Node, ...] | None = vars(self).get("nodes")
        if kept is None:
            kept = vars(self)["nodes"] = tuple(super().walk())
        return iter(kept)


class Select(Whole, frozen=True):
    """One SELECT, clause by clause. ``group`` has expressions, places in the list, or sets."""

    items: tuple[Expr, ...] = ()
    source: Item | None = None
    joins: tuple[Join, ...] = ()
    where: Expr | None = None
    group: tuple[Expr | Sets, ...] = ()
    having: Expr | None = None
    qualify: Expr | None = None
    order: tuple[Ordered, ...] = ()
    limit: Expr | None = None
    offset: Expr | None = None
    distinct: bool = False
    distinct_on: tuple[Expr, ...] = ()


class Combined(Whole, frozen=True):
    """Two queries as one; ``operator`` is ``UNION``, ``INTERSECT`` or ``EXCEPT``, with ``ALL`` or without."""

    operator: str
    left: "Query"
    right: "Query"
    order: tuple[Ordered, ...] = ()
    limit: Expr | None = None
    offset: Expr | None = None


Query = Select | Combined
