"""Joins in parentheses, as joins from the left: ``FROM ((a JOIN b ON ...) JOIN c ON ...)``.

Parentheses that only group from the left say nothing; those on the right are left out where the rows stay the same.
What follows the parser knows joins from the left alone.
"""

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.values.errors import Unsupported

_PAIRED = ("", "INNER", "CROSS")
_HINT = "Join from the left, or write the inner join as a subquery with a name."


def from_left(tree: exp.Expr) -> exp.Expr:
    """The tree without the parentheses in FROM. Raises ``Unsupported`` where they change the answer."""
    if any(_has_groups(select) for select in tree.find_all(exp.Select)):
        tree = tree.copy()  # what is refused half done is asked of a view as it was written
        for select in [s for s in tree.find_all(exp.Select) if _has_groups(s)]:
            clause = select.args["from_"]
            first, joins = _from_left(clause.this, list(select.args.get("joins") or ()))
            clause.set("this", first)
            select.set("joins", joins)
    return tree


def check_joins(node: exp.Expr) -> None:
    """Refuse joins of one FROM that the parser takes together otherwise than PostgreSQL does. Raises ``Unsupported``.

    A comma binds weaker than JOIN, and a JOIN whose condition is missing waits for one behind the next.
    """
    has_comma = False
    for join in node.args.get("joins") or ():
        condition = join.args.get("on") or join.args.get("using")
        is_natural = bool(join.args.get("method"))
        is_open = bool(join.side or join.kind == "INNER") and not (condition or is_natural)
        by_names = join.side in ("RIGHT", "FULL") or is_natural or join.args.get("using")
        if is_open or (join.kind == "CROSS" and condition):
            raise Unsupported(
                "a JOIN without its own condition is not supported",
                hint="Write ON behind each JOIN, and none behind CROSS JOIN.",
                position=position(join.this),
            )
        if has_comma and by_names:
            raise Unsupported(
                "RIGHT, FULL, NATURAL and USING joins behind a comma in FROM are not supported",
                hint="Write them before the comma.",
                position=position(join.this),
            )
        has_comma = has_comma or not (join.side or join.kind or condition or is_natural)


def _has_groups(select: exp.Expr) -> bool:
    clause = select.args.get("from_")
    nodes = [] if clause is None else [clause.this, *(j.this for j in select.args.get("joins") or ())]
    return any(_is_group(n) or _is_twice(n) or n.args.get("joins") for n in nodes)


def _from_left(node: exp.Expr, joins: list[exp.Join]) -> tuple[exp.Expr, list[exp.Join]]:
    """What stands first in a FROM or in parentheses, and what is joined to it."""
    first, found = _opened(node)
    for join in joins:
        right, inside = _opened(join.this)
        join.set("this", right)
        found += _beside(join, inside) if inside else [join]
    return first, found


def _opened(node: exp.Expr) -> tuple[exp.Expr, list[exp.Join]]:
    """An entry of FROM without its parentheses; a query or a table is itself."""
    joins = list(node.args.get("joins") or ())
    node.set("joins", None)
    if _is_group(node) and node.alias and node.unnest().args.get("joins"):
        _be_query(node)
    if _is_group(node):
        _check(node)
    if _is_group(node) or _is_twice(node):
        return _from_left(node.this, joins)
    node = _values(node)
    return _from_left(node, joins) if joins else (node, [])


def _be_query(node: exp.Expr) -> None:
    """Make ``(a JOIN b ON ...) AS q`` the query that it is: names inside are out of sight."""
    first, joins = _from_left(node.this, [])
    node.set("this", exp.Select(expressions=[exp.Star()], from_=exp.From(this=first), joins=joins))


def _values(node: exp.Expr) -> exp.Expr:
    """``(VALUES ...) AS v`` in parentheses, which the parser takes for a table."""
    if type(node) is not exp.Table or type(node.this) is not exp.Values:
        return node
    values: exp.Expr = node.this
    values.set("alias", node.args.get("alias"))
    return values


def _is_group(node: exp.Expr) -> bool:
    """Tables in parentheses, not a query."""
    inner = node.this if type(node) is exp.Subquery else None
    if type(inner) is not exp.Subquery:
        return type(inner) is exp.Table
    return bool(inner.args.get("joins") or inner.alias) or _is_group(inner)


def _is_twice(node: exp.Expr) -> bool:
    """A query in two pairs of parentheses."""
    return type(node) is exp.Subquery and type(node.this) is exp.Subquery and _is_plain(node)


def _is_plain(node: exp.Expr) -> bool:
    """Without a name or a clause of its own."""
    return not any(value for name, value in node.args.items() if name not in ("this", "joins"))


def _check(node: exp.Expr) -> None:
    if not _is_plain(node):
        alias = node.args.get("alias")
        words = "this" if alias is None else "a name"
        raise Unsupported(
            f"{words} behind tables in parentheses is not supported",
            hint="Give each table its own name inside the parentheses.",
            position=position(alias) or position(node),
        )


def _beside(join: exp.Join, inside: list[exp.Join]) -> list[exp.Join]:
    """A group on the right of a join, each of its tables joined for itself."""
    on = join.args.get("on")
    if not _is_inner(join) or not all(_is_attached(i) for i in inside) or not _is_of_group(join, inside):
        raise _moved(join)
    if on is None or _is_of_first(on, inside):
        return [join, *inside]
    if not all(_is_inner(i) for i in inside):
        raise _moved(join)
    last = inside[-1]
    own = last.args.get("on")
    last.set("on", on if own is None else exp.And(this=_whole(own), expression=_whole(on)))
    last.set("kind", None)
    join.set("on", None)
    join.set("kind", "CROSS")
    return [join, *inside]


def _whole(condition: exp.Expr) -> exp.Expr:
    return exp.Paren(this=condition) if isinstance(condition, exp.Or) else condition


def _moved(join: exp.Join) -> Unsupported:
    return Unsupported(
        "JOIN in parentheses is not supported in this place", hint=_HINT, position=position(join.this)
    )


def _is_inner(join: exp.Join) -> bool:
    return not join.side and _is_attached(join)


def _is_attached(join: exp.Join) -> bool:
    """Adds to the rows before it by a condition of its own."""
    allowed = join.side in ("", "LEFT") and join.kind in _PAIRED and not join.args.get("method")
    return allowed and not join.args.get("using")


def _is_of_group(join: exp.Join, inside: list[exp.Join]) -> bool:
    """Whether conditions inside name columns of the group alone: those of others before it are out of their sight."""
    own = {join.this.alias_or_name, *(i.this.alias_or_name for i in inside)}
    conditions = [on for i in inside if (on := i.args.get("on")) is not None]
    return all(column.table in own for on in conditions for column in on.find_all(exp.Column))


def _is_of_first(on: exp.Expr, inside: list[exp.Join]) -> bool:
    """Whether a condition names nothing of what is joined to the first of a group."""
    others = {join.this.alias_or_name for join in inside}
    return all(column.table and column.table not in others for column in on.find_all(exp.Column))
