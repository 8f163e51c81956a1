"""Functions in FROM, as subqueries that call them or as relations with the same rows."""

from collections.abc import Sequence

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.analysis.titles import folded, title
from dpproxy.values.errors import Unsupported

_RELATIONS = {
    "pg_available_extensions": ("pg_catalog", "pg_available_extensions"),
    "pg_get_keywords": ("internal", "pg_get_keywords"),
    "pg_show_all_settings": ("pg_catalog", "pg_settings"),
}
"""Functions without arguments, and the relations that replace them."""
CALLED = "called"
"""The key in the ``meta`` of such a relation: no statement can name all of them."""
ACL_FIELDS = ("grantor", "grantee", "privilege_type", "is_grantable")
"""The columns of ``aclexplode``."""
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
        lists, called = _lists(node), node.this.name.lower() if isinstance(node.this, exp.Anonymous) else ""
        if called in _RELATIONS and not node.this.expressions:
            _name_relation(node, called)
        elif called == "aclexplode":
            node.replace(_of_acl(node))
        elif len(lists) > 1:
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
    return isinstance(node, exp.Func) and not isinstance(node, _ENGINES)


def _name_relation(node: exp.Expr, called: str) -> None:
    schema, name = _RELATIONS[called]
    for key, word in (("db", schema), ("this", name)):
        node.set(key, exp.to_identifier(word))
    if not node.alias:
        node.set("alias", exp.TableAlias(this=_name(called)))
    node.meta[CALLED] = True


def _of_acl(node: exp.Expr) -> exp.Expr:
    """``aclexplode(list) AS d``: the fields of its rows as columns."""
    rows, entry = _subquery([node.this.copy()], ["entry"], "entries"), exp.paren(exp.column("entry"))
    fields = [exp.Dot(this=entry.copy(), expression=exp.to_identifier(name)) for name in ACL_FIELDS]
    made = _subquery(fields, ACL_FIELDS, "aclexplode")
    made.this.set("from_", exp.From(this=rows))
    if node.alias:
        made.set("alias", node.args["alias"].copy())
    return made


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
    first = exp.Anonymous(this="array_lower", expressions=[each.copy() for each in value.expressions])
    place = exp.Add(this=exp.Sub(this=value.copy(), expression=first), expression=exp.Literal.number(1))
    return exp.cast(exp.paren(place), "bigint", dialect="postgres")


def _subquery(values: Sequence[exp.Expr], names: Sequence[object], called: object) -> exp.Expr:
    shown = [exp.Alias(this=v, alias=_name(name)) for v, name in zip(values, names, strict=True)]
    return exp.Subquery(this=exp.Select(expressions=shown), alias=exp.TableAlias(this=_name(called)))


def _name(given: object) -> exp.Identifier:
    return exp.to_identifier(folded(given) if isinstance(given, exp.Expr) else str(given), quoted=True)
