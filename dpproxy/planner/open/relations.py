"""Relations that nothing is private in any more: public tables, and what was released."""

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.aggregates.average import ReleasedAverage
from dpproxy.algebra import nodes
from dpproxy.algebra.figures import later
from dpproxy.algebra.plan import Accuracy, Bound, Error, Possible
from dpproxy.analysis.typed import Typed
from dpproxy.values.pgtypes import Column


class OpenColumn(Struct, frozen=True):
    """A column of an open relation; ``typed.sql`` is its name there."""

    name: str
    typed: Typed
    floor: int | None = None
    """0 for a released count that is shown as never negative."""
    error: Error | None = None
    literal: Typed | None = None
    """NULL or a quoted literal whose type nothing beside it told: a set operation may tell it."""
    ceiling: int | None = None
    """The most that a released count of different values is shown as."""
    accuracy: Accuracy | None = None
    """Of a value that is made of released ones, where it is shown as it is here."""
    reach: nodes.ColumnRef | None = None
    """The column of the relation that is this distance in each row, where it differs: behind those that are shown."""
    mean: ReleasedAverage | None = None
    """It is an average of which each row has a draw of its own; what was drawn stands behind the other columns."""
    possible: Possible | None = None
    """What such a value can be before noise."""
    bound: Bound | None = None
    """Which column it is a bound of."""
    within: tuple[float, float] | None = None
    """What the value is within, with noise and without."""
    copies: int = 1
    """Of a text without a known length: cells of public tables that hold it, one after the other."""

    @property
    def has_distance(self) -> bool:
        """Whether a distance is proved, of all rows or of each."""
        return self.reach is not None or (self.accuracy is not None and self.accuracy.half is not None)

    @property
    def column(self) -> Column:
        """As a client sees it."""
        return Column(self.name, self.typed.type)


def farther(a: Accuracy | None, b: Accuracy | None) -> Accuracy | None:
    """Of two columns that are shown as one."""
    if a is None or b is None:
        return a or b
    named = [one for one in (a, b) if one.words != ""]
    found = named[0] if named else a if a.half is None else b
    if not named and a.half is not None and b.half is not None:
        found = replace(a, half=later(max, a.half, b.half))
    return replace(found, chosen=a.chosen or b.chosen, noise=None)


class Open(Struct, frozen=True):
    """A query over open relations; its columns are ``c0...`` in the order of ``columns``.

    ``released`` where it reads a part of the plan: it is run where the releases are, else by the backend.
    Public tables stand in it by their quoted names, parts and fetched tables by unquoted ones.
    """

    query: nodes.Query
    columns: tuple[OpenColumn, ...]
    released: bool
    rows: int
    """It has no more."""
    empty: bool = False
    """Has no rows, whatever it reads."""
    unique: frozenset[int] | None = None
    """Places of columns that no two rows share the values of; None where none are known (``unique.py``)."""
    further: frozenset[int] | None = None
    """Other ones, from which nothing but the size of joins follows (``numbered.py``)."""
    declared: bool = False
    """Its rows follow from the policy alone, though they were asked of protected rows: keys without a figure."""
    chosen: bool = False
    """Noise may decide which rows it has: what is computed of several is then over others than without noise."""

    @property
    def shown(self) -> nodes.Query:
        """The query of the columns alone, without the distances behind them."""
        query, many = self.query, len(self.columns)
        if all(c.reach is None for c in self.columns):
            return query
        if isinstance(query, nodes.Select):
            return replace(query, items=query.items[:many])
        names = tuple(nodes.ColumnRef(f"c{i}") for i in range(many))
        return nodes.Select(names, nodes.Subquery(query, nodes.Bare("all_of")))
