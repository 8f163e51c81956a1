"""How often one protected row can occur after joins with public tables, from the public tables themselves."""

from collections.abc import Sequence

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.planner.planning import Planning
from dpproxy.planner.relation import Scan


def fan_out(
    public: Sequence[Scan], conditions: Sequence[exp.Expr], placed: Sequence[Scan], planning: Planning
) -> int:
    """The most combinations of public rows that meet one combination of the placed items' rows.

    ``conditions`` are compiled. Each public item multiplies by the most of its rows that share one value of what is
    equated with items before it, by the engine's own equality; by its size where nothing is.
    """
    known = _columns(placed)
    left, result = list(public), 1
    while left:
        scan, sides = next(
            ((s, found) for s in left if (found := _sides(s, conditions, known))), (left[0], [])
        )
        left.remove(scan)
        known |= _columns([scan])
        result *= _most(scan, sides, planning)
    return result


def _columns(scans: Sequence[Scan]) -> set[str]:
    return {c.name for s in scans for c in s.content if isinstance(c, exp.Column)} | {
        s.unit.name for s in scans if isinstance(s.unit, exp.Column)
    }


def _sides(scan: Scan, conditions: Sequence[exp.Expr], known: set[str]) -> list[exp.Expr]:
    """The expressions over this item alone that are equated with expressions over known items."""
    own = _columns([scan])
    found = []
    for condition in conditions:
        equality = condition.unnest()
        if type(equality) is not exp.EQ:
            continue
        for one, other in ((equality.this, equality.expression), (equality.expression, equality.this)):
            mine, theirs = _names(one), _names(other)
            if (
                mine
                and mine <= own
                and theirs <= known
                and not (one.find(exp.Query) or other.find(exp.Query))
            ):
                found.append(one)
    return found


def _names(tree: exp.Expr) -> set[str]:
    return {c.name for c in tree.find_all(exp.Column)}


def _most(scan: Scan, sides: Sequence[exp.Expr], planning: Planning) -> int:
    source = duck.text(scan.item)
    if not sides:
        [[size]] = planning.context.facts(f"SELECT count(*) FROM {source}")  # noqa: S608 - our own text
        return max(1, int(str(size or 0)))
    keys = ", ".join(sorted(duck.text(s) for s in sides))
    groups = f"SELECT count(*) AS c FROM {source} GROUP BY {keys}"  # noqa: S608 - our own text
    [[most]] = planning.context.facts(f"SELECT max(c) FROM ({groups})")  # noqa: S608 - our own text
    return max(1, int(str(most or 0)))
