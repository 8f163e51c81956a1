"""How often one protected row can occur after joins with public tables, from the public tables themselves."""

from collections.abc import Collection, Sequence
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
    """An expression over an item that is equated with one over these columns of others."""

    own: nodes.Expr
    others: frozenset[str]


def fan_out(
    public: Sequence[Scan], conditions: Sequence[nodes.Expr], placed: Sequence[Scan], planning: Planning
) -> FanOut:
    """The combinations of public rows that meet one combination of the placed items' rows.

    ``conditions`` are compiled. Each public item multiplies by the most of its rows that share one value of what is
    equated with items before it, by the engine's own equality; by its size where nothing is.
    """
    items = [_columns([s]) for s in placed]
    left, result = list(public), FanOut()
    while left:
        known = frozenset[str]().union(*items)
        scan, sides = next(
            ((s, found) for s in left if (found := _sides(s, conditions, known))), (left[0], [])
        )
        left.remove(scan)
        result *= _met(scan, sides, items, planning)
        items.append(_columns([scan]))
    return result


def _columns(scans: Sequence[Scan]) -> frozenset[str]:
    return frozenset(c.name for s in scans for c in s.content) | {
        s.unit.name for s in scans if s.unit is not None
    }


def _sides(scan: Scan, conditions: Sequence[nodes.Expr], known: Collection[str]) -> list[_Side]:
    """The expressions over this item alone that are equated with expressions over known items."""
    own = _columns([scan])
    found = []
    for condition in conditions:
        equality = duck.bare(condition)
        if not isinstance(equality, nodes.Binary) or equality.operator != "=":
            continue
        for one, other in ((equality.left, equality.right), (equality.right, equality.left)):
            mine, theirs = _names(one), _names(other)
            if (
                mine
                and mine <= own
                and theirs <= set(known)
                and not equality.has(nodes.Select, nodes.Combined)
            ):
                found.append(_Side(one, theirs))
    return found


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
