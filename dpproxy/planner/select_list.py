"""The SELECT list as it is written: its entries, and PostgreSQL's names of their columns."""

from msgspec import Struct
from sqlglot import exp

from dpproxy.aggregates.operands import name_of


class SelectItem(Struct, frozen=True):
    """One entry of the SELECT list: its expression without the alias, and the column's name."""

    node: exp.Expr
    name: str


def output_name(node: exp.Expr) -> str:
    """PostgreSQL's name for an unnamed column."""
    return _named(node)[0]


def _named(node: exp.Expr) -> tuple[str, bool]:
    """The name, and whether a cast or CASE around it has another one."""
    match node:
        case exp.Alias() | exp.Column():
            return str(node.alias_or_name), False
        case exp.Cast() if "name" not in node.meta:  # others were calls
            return _around(node.this, _cast_name(node.to))
        case exp.Dot():
            return str(node.expression.this).lower(), False
        case exp.Case():
            return _around(node.args.get("default"), "case")
        case exp.Paren() | exp.Filter() | exp.Window() | exp.WithinGroup():
            return _named(node.this)
        case exp.Subquery() if isinstance(node.this, exp.Select):
            return _named(node.this.selects[0])
        case exp.Func() | exp.Mod() if not isinstance(node, exp.Connector):
            name = _NAMES.get(type(node)) or str(node.meta.get("name") or _spelled(node))
            return name, name == UNNAMED
        case _:
            return _SPOKEN.get(type(node), (UNNAMED, True))


def _around(inner: exp.Expr | None, name: str) -> tuple[str, bool]:
    """The name of what stands inside, where that has one of its own."""
    found, is_weak = (UNNAMED, True) if inner is None else _named(inner)
    return (name, True) if is_weak else (found, False)


UNNAMED = "?column?"
_SPOKEN: dict[type[exp.Expr], tuple[str, bool]] = {
    exp.Interval: ("interval", True),
    exp.AtTimeZone: ("timezone", False),
}
_NAMES: dict[type[exp.Expr], str] = {exp.GroupConcat: "string_agg", exp.JSONArrayAgg: "json_agg"}


def _spelled(node: exp.Expr) -> str:
    """The name of a function that was called by its syntax; an operator has none."""
    if isinstance(node, exp.Mod | exp.Pow | exp.RegexpLike | exp.RegexpILike):
        return UNNAMED
    if isinstance(node, exp.Trim):
        return {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or ""), "btrim")
    return "position" if isinstance(node, exp.StrPosition) else name_of(node)


def _cast_name(to: exp.DataType) -> str:
    names = {"INT": "int4", "BIGINT": "int8", "SMALLINT": "int2", "DOUBLE": "float8", "FLOAT": "float4",
             "DECIMAL": "numeric", "BOOLEAN": "bool", "VARBINARY": "bytea"}  # fmt: skip
    if to.this == exp.DType.ARRAY and to.expressions:
        return _cast_name(to.expressions[0])
    text = str(to.this.value)
    return names.get(text, text.lower())


def is_star(node: exp.Expr) -> bool:
    """``*`` or ``t.*``."""
    return isinstance(node, exp.Star) or (type(node) is exp.Column and isinstance(node.this, exp.Star))


def items(select: exp.Select) -> tuple[SelectItem, ...]:
    """The SELECT list."""
    return tuple(
        SelectItem(e.this if isinstance(e, exp.Alias) else e, output_name(e)) for e in select.expressions
    )
