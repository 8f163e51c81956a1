"""``FETCH FIRST n ROWS WITH TIES`` as the rows whose rank is at most n: fewer than n stand before each of them."""

from sqlglot import exp

from dpproxy.planner.select_list import is_star, items

_RANK = "#rank"


def is_written(fetch: exp.Expr) -> bool:
    """Whether such a clause has been written, in place, as a SELECT over the rows and their ranks.

    It is where a SELECT with ORDER BY lists its columns, without DISTINCT and OFFSET, and the number is a constant.
    """
    select, count = fetch.parent, fetch.args.get("count") or exp.Literal.number(1)
    if not isinstance(fetch, exp.Fetch) or not isinstance(select, exp.Select):
        return False
    order, listed = select.args.get("order"), items(select)
    is_number = isinstance(count, exp.Literal) and count.is_int
    is_others = any(select.args.get(name) for name in ("distinct", "offset"))
    if order is None or not is_number or is_others or any(is_star(item.node) for item in listed):
        return False
    names = [f"#{place}" for place in range(len(listed))]
    inner = select.copy()
    for entry in inner.args["order"].expressions:
        entry.set("this", _ordered(entry.this, inner))
    rank = exp.Window(this=exp.Rank(), order=inner.args["order"].copy(), over="OVER")
    rank.meta[_RANK] = True
    shown = [exp.alias_(i.node.copy(), name, quoted=True) for i, name in zip(listed, names, strict=True)]
    inner.set("expressions", [*shown, exp.alias_(rank, _RANK, quoted=True)])
    for name in ("order", "limit", "with_"):
        inner.set(name, None)
    for name in [name for name in select.args if name not in ("with_", "expressions")]:
        select.set(name, None)
    columns = zip(listed, names, strict=True)
    select.set("expressions", [exp.alias_(_column(name), item.name, quoted=True) for item, name in columns])
    select.set(
        "from_",
        exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("ranked")))),
    )
    select.set("where", exp.Where(this=exp.LTE(this=_column(_RANK), expression=count.copy())))
    select.set("order", exp.Order(expressions=[exp.Ordered(this=_column(_RANK), nulls_first=False)]))
    return True


def is_of_ties(window: exp.Window) -> bool:
    """Whether a window was written here, not by whoever asked."""
    return _RANK in window.meta


def _ordered(node: exp.Expr, select: exp.Select) -> exp.Expr:
    """What an entry of ORDER BY means where neither the place nor the name of a column does: in a window."""
    listed = items(select)
    if isinstance(node, exp.Literal) and node.is_int and 1 <= int(node.name) <= len(listed):
        return listed[int(node.name) - 1].node.copy()
    named = [i.node for i in listed if type(node) is exp.Column and not node.table and i.name == node.name]
    return named[0].copy() if named else node


def _column(name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True))
