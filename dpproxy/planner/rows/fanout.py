"""How often one protected row can occur after joins with public tables, from the public tables themselves."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from msgspec import Struct

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.relation import Scan


class FanOut(Struct, frozen=True):
    """Of one combination of the placed items' rows: the public rows it meets, at most and on average.

    ``work`` is what it meets at most in whatever order an engine joins, with some conditions tested later than others;
    ``read`` the rows of all public items.
    """

    most: int = 1
    mean: Fraction = Fraction(1)
    work: int = 1
    read: int = 0

    def __mul__(self, other: "FanOut") -> "FanOut":
        return FanOut(
            self.most * other.most, self.mean * other.mean, self.work * other.work, self.read + other.read
        )


class _Side(Struct, frozen=True):
    """An expression over columns of an item that is equated with one over columns of others."""

    own: nodes.Expr
    names: frozenset[str]
    others: frozenset[str]


def fan_out(
    public: Sequence[Scan], conditions: Sequence[nodes.Expr], placed: Sequence[Scan], planning: Planning
) -> FanOut:
    """The combinations of public rows that meet one combination of the placed items' rows.

    ``conditions`` are compiled. Each public item multiplies by the most of its rows that share one value of what is
    equated with items before it, by the engine's own equality; by its size where nothing is.
    """
    items, left = [_columns(s) for s in placed], [(s, _columns(s)) for s in public]
    sides, result = list(_sides(conditions)) if left else [], FanOut()
    while left:
        known = frozenset[str]().union(*items)
        equated = [[s for s in sides if s.names <= own and s.others <= known] for _, own in left]
        place = next((n for n, found in enumerate(equated) if found), 0)
        scan, columns = left.pop(place)
        result *= _met(scan, equated[place], items, planning)
        items.append(columns)
    return result


def _columns(scan: Scan) -> frozenset[str]:
    return frozenset(c.name for c in (*scan.content, scan.unit) if c is not None)


def _sides(conditions: Sequence[nodes.Expr]) -> Iterator[_Side]:
    """The sides of equalities: an expression over an item, equated with one over others."""
    for equality in map(duck.bare, conditions):
        if not isinstance(equality, nodes.Binary) or equality.operator != "=":
            continue
        left, right = _names(equality.left), _names(equality.right)
        if not equality.has(nodes.Select, nodes.Combined):
            yield from (
                s for s in (_Side(equality.left, left, right), _Side(equality.right, right, left)) if s.names
            )


def _names(value: nodes.Expr) -> frozenset[str]:
    return frozenset(c.name for c in value.find_all(nodes.ColumnRef))


def _met(scan: Scan, sides: Sequence[_Side], items: Sequence[frozenset[str]], planning: Planning) -> FanOut:
    """An engine tests all that is equated with constants, and with one other item, before it joins the two."""
    all_of = _shared(scan, [s.own for s in sides], planning)
    work = all_of.most
    for item in items:
        some = [s for s in sides if s.others <= item]
        if len(some) < len(sides) and any(s.others for s in some):
            work = max(work, _shared(scan, [s.own for s in some], planning).most)
    return FanOut(all_of.most, all_of.mean, work, all_of.read)


def _shared(scan: Scan, sides: Sequence[nodes.Expr], planning: Planning) -> FanOut:
    """How many rows of an item share one value of these expressions; all of them where there are none."""
    if scan.stage is not None:
        met = scan.stage.met(frozenset(s.name for s in map(duck.bare, sides) if type(s) is nodes.ColumnRef))
        return FanOut(met, Fraction(met), met, max(1, scan.stage.rows))
    if not sides:
        [[size]] = planning.context.facts(nodes.Select((duck.count_star(),), scan.item))
        rows = max(1, int(str(size or 0)))
        return FanOut(rows, Fraction(rows), rows, rows)
    keys = tuple(sorted(sides, key=duck.text))
    groups = nodes.Select((duck.named(duck.count_star(), "c"),), scan.item, group=keys)
    c = duck.column("c")
    figures = (duck.call("max", c), duck.count_star(), duck.call("sum", c))
    [found] = planning.context.facts(nodes.Select(figures, nodes.Subquery(groups)))
    most, values, rows = (max(1, int(str(n or 0))) for n in found)
    return FanOut(most, Fraction(rows, values), most, rows)
