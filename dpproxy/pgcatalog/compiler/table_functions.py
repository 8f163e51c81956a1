"""Functions in FROM, as subqueries that call them: unnest of several lists, and functions with one column."""

from collections.abc import Sequence

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.analysis.titles import folded, title
from dpproxy.pgcatalog.compiler.arrays import is_vector
from dpproxy.values.errors import Unsupported

RELATIONS = frozenset({"aclexplode", "pg_available_extensions", "pg_get_keywords", "pg_show_all_settings"})
"""Functions that are replaced by relations, with columns of their own."""
_ENGINES = (exp.Explode, exp.ExplodingGenerateSeries, exp.GenerateSeries, exp.Unnest)
"""Functions that the engine supports in FROM, with one list or series."""
_SCHEMAS = frozenset({"", "pg_catalog", "information_schema"})
_ORDINALITY = "ordinality"
"""The default name of WITH ORDINALITY's column."""


Places = exp.Posexplode
"""The numbers from 1 to the length of the longest list; a node that no statement may contain (`allowed`)."""


def put_in(tree: exp.Expr) -> None:
    """Replace functions in FROM by subqueries, with PostgreSQL's names for them and their columns.

    Raises:
        Unsupported: an aggregate, or WITH ORDINALITY where it is not possible.
    """
    for node in list(tree.find_all(exp.Table, exp.Unnest, exp.Lateral)):
        if folded(node.args.get("db")) not in _SCHEMAS:
            continue
        holder = node.parent if isinstance(node.parent, exp.Lateral) else node
        lists = _lists(node)
        if len(lists) > 1:
            holder.replace(_of_lists(node, lists, holder.args.get("alias")))
        elif not isinstance(node, exp.Unnest) and _is_of_one_column(node.this):
            node.replace(_of_value(node, node.args.get("alias")))


def _lists(node: exp.Expr) -> list[exp.Expr]:
    """The lists of unnest; none for other functions."""
    inner = node.this if isinstance(node, exp.Table) else node
    match inner:
        case exp.Explode():
            return [inner.this, *inner.expressions]
        case exp.Unnest():
            return list(inner.expressions)
        case _:
            return []


def _is_of_one_column(node: object) -> bool:
    is_relation = isinstance(node, exp.Anonymous) and node.name.lower() in RELATIONS
    return isinstance(node, exp.Func) and not isinstance(node, _ENGINES) and not is_relation


def _of_lists(node: exp.Expr, lists: Sequence[exp.Expr], alias: exp.Expr | None) -> exp.Expr:
    """The lists as columns; shorter ones are filled up with NULLs."""
    values: list[exp.Expr] = [exp.Explode(this=each.copy()) for each in lists]
    names: list[object] = [*(alias.args.get("columns") or () if alias is not None else ())]
    names += ["unnest"] * (len(lists) - len(names))
    offset = node.args.get("offset") or node.args.get("ordinality")
    if offset:
        values.append(Places(expressions=[each.copy() for each in lists]))
        if len(names) < len(values):
            names.append(offset if isinstance(offset, exp.Identifier) else _ORDINALITY)
    if len(names) != len(values):
        raise Unsupported("as many columns as lists are named", position=position(lists[0]))
    return _subquery(values, names, "unnest" if alias is None else alias.this)


def _of_value(node: exp.Expr, alias: exp.Expr | None) -> exp.Expr:
    """One column, with the relation's name unless it has another."""
    value: exp.Expr = node.this
    if isinstance(value, exp.AggFunc):
        raise Unsupported("an aggregate may not stand in FROM", position=position(value))
    called = title(value) if alias is None else alias.this
    names: list[object] = [*(alias.args.get("columns") or () if alias is not None else ())] or [called]
    values = [value.copy()]
    if node.args.get("ordinality"):
        values.append(_places_of(value))
        names += [_ORDINALITY] * (2 - len(names))
    if len(names) != len(values):
        raise Unsupported("this function gives one column", position=position(value))
    return _subquery(values, names, called)


def _places_of(value: exp.Expr) -> exp.Expr:
    if not isinstance(value, exp.Anonymous) or value.name.lower() != "generate_subscripts":
        return exp.cast(exp.Literal.number(1), "bigint", dialect="postgres")
    first = exp.Literal.number(1 if is_vector(value.expressions[0]) else 0)
    return exp.cast(exp.paren(exp.Add(this=value.copy(), expression=first)), "bigint", dialect="postgres")


def _subquery(values: Sequence[exp.Expr], names: Sequence[object], called: object) -> exp.Expr:
    shown = [exp.Alias(this=v, alias=_name(name)) for v, name in zip(values, names, strict=True)]
    return exp.Subquery(this=exp.Select(expressions=shown), alias=exp.TableAlias(this=_name(called)))


def _name(given: object) -> exp.Identifier:
    return exp.to_identifier(folded(given) if isinstance(given, exp.Expr) else str(given), quoted=True)
