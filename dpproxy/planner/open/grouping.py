"""GROUP BY over open relations: the keys, and the grouping sets they stand in."""

from collections.abc import Callable, Sequence
from fractions import Fraction

from msgspec import Struct
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed
from dpproxy.planner.rows.relation import own_nodes
from dpproxy.planner.select_list import SelectItem, grouped
from dpproxy.values.errors import GroupingError
from dpproxy.values.pgtypes import INT4

_SETS: dict[type[exp.Expr], str] = {
    exp.Rollup: "ROLLUP", exp.Cube: "CUBE", exp.GroupingSets: "GROUPING SETS",
}  # fmt: skip


class Grouping(Struct, frozen=True):
    """``keys`` by their node, as compiled; ``clause`` is None where all rows are one group."""

    keys: dict[exp.Expr, Typed]
    clause: tuple[nodes.Expr | nodes.Sets, ...] | None
    has_sets: bool

    def bits(self, node: exp.Grouping) -> Typed:
        """GROUPING(...). Raises ``GroupingError``."""
        arguments = [a.unnest() for a in node.expressions]
        if not all(a in self.keys for a in arguments):
            raise GroupingError(
                "arguments to GROUPING must be grouping expressions of the associated query level"
            )
        sql = duck.call("grouping", *(self.keys[a].sql for a in arguments))
        return Typed(duck.cast(sql, "INTEGER"), INT4, 0, Fraction(0), nullable=False)


def has_groups(select: exp.Select) -> bool:
    """Whether an aggregate makes one row of many; one that is a window function does not."""
    places = [
        *select.expressions,
        *(select.args[a] for a in ("having", "order") if select.args.get(a) is not None),
    ]
    return select.args.get("having") is not None or any(
        isinstance(n, exp.AggFunc) and not _is_window(n) for p in places for n in own_nodes(p)
    )


def _is_window(node: exp.Expr) -> bool:
    while isinstance(node.parent, exp.Filter | exp.WithinGroup) and node.arg_key == "this":
        node = node.parent
    return isinstance(node.parent, exp.Window) and node.arg_key == "this"


def grouping(
    select: exp.Select,
    listed: Sequence[SelectItem],
    knows: Callable[[str], bool],
    compiled: Callable[[exp.Expr], Typed],
) -> Grouping | None:
    """What a SELECT groups by, None where it does not. Raises 42803, 42601."""
    group = select.args.get("group")
    if group is None:
        return Grouping({}, None, has_sets=False) if has_groups(select) else None
    builder = _Builder(listed, knows, compiled, {})
    clause = tuple(builder.entry(e) for e in group.expressions)
    has_sets = any(type(e) in _SETS for e in group.expressions)
    return Grouping(builder.keys, clause, has_sets)


class _Builder(Struct, frozen=True):
    listed: Sequence[SelectItem]
    knows: Callable[[str], bool]
    compiled: Callable[[exp.Expr], Typed]
    keys: dict[exp.Expr, Typed]

    def entry(self, node: exp.Expr) -> nodes.Expr | nodes.Sets:
        """One entry of GROUP BY, compiled."""
        if type(node) in _SETS:
            return nodes.Sets(_SETS[type(node)], tuple(self.entry(e) for e in node.expressions))
        if isinstance(node, exp.Tuple):
            return nodes.Tuple(tuple(self._key(e) for e in node.expressions))
        return self._key(node)

    def _key(self, node: exp.Expr) -> nodes.Expr:
        target = grouped(node, self.listed, self.knows)
        if target not in self.keys:
            self.keys[target] = self.compiled(target)
        sql = self.keys[target].sql
        # A bare number would be a place in the SELECT list.
        return nodes.Paren(duck.cast(sql, "HUGEINT")) if isinstance(sql, nodes.Number) else sql
