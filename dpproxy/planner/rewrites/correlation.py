"""A subquery for one value that compares its columns with the row around it, as a grouped one that is released first.

``x < (SELECT avg(x) FROM t WHERE t.k = row.k)`` is the mean of each k, and of these the one of the row.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.comparison import compare
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.position import position
from dpproxy.analysis.scopes import Scope
from dpproxy.analysis.typed import Typed
from dpproxy.planner.keys.grouping import has_aggregates
from dpproxy.planner.rows.conditions import conjuncts
from dpproxy.planner.select_list import items
from dpproxy.values.errors import TypeMismatch

_OTHERS = ("with_", "group", "having", "distinct", "order", "limit", "offset")


class Grouped(Struct, frozen=True):
    """The subquery with its keys before its value, and what these equal in the row around it."""

    select: exp.Select
    around: tuple[exp.Expr, ...]
    is_filled: bool
    """It is 0 where it would be NULL, and where no group is: a count, or ``coalesce(x, 0)``."""

    def equal(self, keys: Sequence[Typed], scope: Scope, node: exp.Expr) -> list[nodes.Expr]:
        """The group that the row around it is in; ``scope`` is that row's. Raises a ``Refusal``."""
        return [
            compare(node, exp.EQ, key, compile_expression(around, scope), scope).sql
            for key, around in zip(keys, self.around, strict=True)
        ]

    def found(self, value: Typed, looked_up: nodes.Select) -> Typed:
        """The value as it is looked up in the groups. Raises ``TypeMismatch`` where 0 is none of its type."""
        if self.is_filled and not value.is_number:
            raise TypeMismatch(
                f"types {value.type.shown} and integer cannot be matched", position=position(self.select)
            )
        sql: nodes.Expr = nodes.Scalar(looked_up)
        low, high = value.low, value.high
        if self.is_filled:
            sql = duck.call("coalesce", sql, duck.integer(0))
            low, high = (
                None if low is None else min(low, Fraction(0)),
                None if high is None else max(high, Fraction(0)),
            )
        nullable = not self.is_filled
        return replace(
            value, sql=sql, low=low, high=high, nullable=nullable, is_constant=False, presence=None
        )

    def of_several(self) -> exp.Select:
        """The groups of more rows than one."""
        copy = self.select.copy()
        copy.set(
            "having",
            exp.Having(this=exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(1))),
        )
        return copy


IsOwn = Callable[[exp.Column], bool]
"""Whether a column is of the subquery's own relations; else, it is one around it."""


def grouped_by_row(select: exp.Select, is_own: IsOwn) -> Grouped | None:
    """The columns of ``select`` are written one way. None where it is of no such form."""
    if (
        any(select.args.get(name) for name in _OTHERS)
        or len(items(select)) != 1
        or not has_aggregates(select)
    ):
        return None
    followed = _followed(select, is_own)
    if followed is None:
        return None
    keys, rest = followed
    [value] = items(select)
    found, is_filled = _filled(value.node)
    if _sees(found, is_own, own=False) or not (is_filled or _is_null_of_none(found)):
        return None
    copy = select.copy()
    shown = [exp.alias_(node.copy(), f"#{n}", quoted=True) for n, node in enumerate((*keys, found))]
    copy.set("expressions", shown)
    copy.set("group", exp.Group(expressions=[k.copy() for k in keys]))
    copy.set("where", exp.Where(this=exp.and_(*rest, copy=False)) if rest else None)
    return Grouped(copy, tuple(keys.values()), is_filled)


def _followed(select: exp.Select, is_own: IsOwn) -> tuple[dict[exp.Expr, exp.Expr], list[exp.Expr]] | None:
    """What of the subquery's own equals what of the row around it, and its other conditions; None for other forms."""
    keys: dict[exp.Expr, exp.Expr] = {}
    rest = []
    for condition in conjuncts(select.args.get("where")):
        if not _sees(condition, is_own, own=False):
            rest.append(condition.copy())
            continue
        sides = (condition.this, condition.expression) if type(condition) is exp.EQ else ()
        pair = next((p for p in (sides, sides[::-1]) if p and _is_pair(*p, is_own)), None)
        if pair is None or pair[0] in keys:
            return None
        keys[pair[0]] = pair[1]
    return (keys, rest) if keys else None


def groups_by_row(select: exp.Select, is_own: IsOwn) -> tuple[exp.Select, list[exp.Expr]] | None:
    """Groups, or DISTINCT rows, of those that follow the row around them: all groups, by what they follow, too.

    ``x IN (SELECT y FROM t WHERE t.k = row.k GROUP BY y HAVING ...)`` is ``(x, row.k) IN (SELECT y, k FROM t GROUP BY
    y, k HAVING ...)``, but where NULL is not as good as false. Returns the subquery, and what is compared with the
    columns behind its own. None where it is of no such form.
    """
    followed = _followed(select, is_own)
    if followed is None or not _is_grouped(select):
        return None
    keys, rest = followed
    copy = select.copy()
    copy.set("where", exp.Where(this=exp.and_(*rest, copy=False)) if rest else None)
    if _sees(copy, is_own, own=False):
        return None
    for n, key in enumerate(keys):
        copy.append("expressions", exp.alias_(key.copy(), f"#{n}", quoted=True))
        if copy.args.get("group") is not None:
            copy.args["group"].append("expressions", key.copy())
    return copy, list(keys.values())


_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets, exp.Tuple)
"""With a group of all rows among them, which is there without rows, too."""


def _is_grouped(select: exp.Select) -> bool:
    """Whether each row of it is that of one group, or is there once, and with further keys still would be."""
    group, distinct = select.args.get("group"), select.args.get("distinct")
    if any(select.args.get(name) for name in ("with_", "order", "limit", "offset")) or select.find(
        exp.Window
    ):
        return False
    if distinct is not None and distinct.args.get("on"):
        return False
    if group is None:
        return distinct is not None and not has_aggregates(select)
    return not any(isinstance(key, _SETS) for key in group.expressions)


def one_of_rows(select: exp.Select) -> exp.Select | None:
    """``SELECT name FROM t WHERE t.k = row.k`` as the greatest name; where each k has one row, that is its value.

    LIMIT leaves that row, whatever the order.
    """
    limit = select.args.get("limit")
    if (
        len(items(select)) != 1
        or has_aggregates(select)
        or (limit is not None and limit.expression.name != "1")
    ):
        return None
    copy = select.copy()
    if limit is not None:
        copy.set("limit", None)
        copy.set("order", None)
    copy.set("expressions", [exp.Max(this=items(copy)[0].node.copy())])
    return copy


def _filled(node: exp.Expr) -> tuple[exp.Expr, bool]:
    """The value itself, and whether it is 0 of no rows."""
    inner = node.unnest()
    if type(inner) is exp.Coalesce and [e.sql() for e in inner.expressions] == ["0"]:
        value, is_zero = _filled(inner.this)
        return value, is_zero or _is_null_of_none(value)
    if type(inner) is exp.Cast and inner.to.this in exp.DataType.NUMERIC_TYPES:
        value, is_zero = _filled(inner.this)
        return (exp.Cast(this=value.copy(), to=inner.to.copy()), True) if is_zero else (node, False)
    return node, type(inner) is exp.Count


_VALUES = (
    exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Median, exp.PercentileCont, exp.PercentileDisc, exp.Stddev, exp.StddevPop,
    exp.StddevSamp, exp.Variance, exp.VariancePop,
)  # fmt: skip
_AROUND = (exp.Paren, exp.Neg, exp.Cast, exp.Round, exp.Abs, exp.Ceil, exp.Floor, exp.Filter, exp.WithinGroup)


def _is_null_of_none(node: exp.Expr) -> bool:
    """Whether it is NULL over no rows: there is no group of them then."""
    if isinstance(node, _VALUES):
        return True
    if isinstance(node, exp.Add | exp.Sub | exp.Mul | exp.Div):
        sides = (node.this, node.expression)
        return any(map(_is_null_of_none, sides)) and all(
            _is_null_of_none(s) or isinstance(s.unnest(), exp.Literal) for s in sides
        )
    return isinstance(node, _AROUND) and _is_null_of_none(node.this)


def _is_pair(own: exp.Expr, around: exp.Expr, is_own: IsOwn) -> bool:
    """A side of the subquery's own columns, and one of the row's."""
    has_query = own.find(exp.Query) is not None or around.find(exp.Query) is not None
    is_inside = _sees(own, is_own, own=True) and not _sees(own, is_own, own=False)
    return not has_query and is_inside and not _sees(around, is_own, own=True)


def _sees(node: exp.Expr, is_own: IsOwn, *, own: bool) -> bool:
    """Whether it reads a column of the subquery's own relations; else, one around it."""
    return any(is_own(c) == own for c in node.find_all(exp.Column))
