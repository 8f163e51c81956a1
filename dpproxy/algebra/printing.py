"""Nodes as DuckDB's SQL: one function for each class, in one table."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from dpproxy.algebra import nodes
from dpproxy.algebra.nodes import Bare, Node, Ordered
from dpproxy.sql.quoting import literal, quoted


def text(node: Node) -> str:
    """The node as DuckDB's SQL; a query's is written once. Raises ``Looked`` for a number that nobody may look at."""
    if not isinstance(node, nodes.Query):
        return _text(node)
    kept: str | None = vars(node).get(_KEPT)
    if kept is None:
        kept = vars(node)[_KEPT] = _text(node)
    return kept


_KEPT: Final = "text"


def _text(node: Node) -> str:
    return _PRINTERS[type(node)](node)


def name(given: str) -> str:
    """A name as the engine reads it whatever it is."""
    return str(given) if type(given) is Bare else quoted(given)


def _joined(parts: Iterable[Node], between: str = ", ") -> str:
    return between.join([_text(part) for part in parts])


def _column(node: nodes.ColumnRef) -> str:
    return name(node.name) if node.table is None else f"{name(node.table)}.{name(node.name)}"


def _hole(node: nodes.Hole) -> str:
    raise nodes.Looked(node.place)


def _later(node: nodes.Later) -> str:
    raise AssertionError(f"{node.figure.made} is not filled in")


def _negative(node: nodes.Negative) -> str:
    value = _text(node.value)
    return f"- {value}" if value.startswith("-") else f"-{value}"


def _case(node: nodes.Case) -> str:
    branches = "".join([f" WHEN {_text(when)} THEN {_text(then)}" for when, then in node.branches])
    default = "" if node.default is None else f" ELSE {_text(node.default)}"
    return f"CASE{branches}{default} END"


def _cast(node: nodes.Cast) -> str:
    return f"{'TRY_CAST' if node.tries else 'CAST'}({_text(node.value)} AS {node.type})"


def _order(order: Iterable[Ordered]) -> str:
    return ", ".join([_ordered(entry) for entry in order])


def _ordered(node: Ordered) -> str:
    nulls = " NULLS FIRST" if node.nulls_first else ""
    return f"{_text(node.value)} {'DESC' if node.descending else 'ASC'}{nulls}"


def _call(node: nodes.Call) -> str:
    distinct = "DISTINCT " if node.distinct else ""
    order = f" ORDER BY {_order(node.order)}" if node.order else ""
    where = "" if node.where is None else f" FILTER(WHERE {_text(node.where)})"
    return f"{node.name.upper()}({distinct}{_joined(node.arguments)}{order}){where}"


def _window(node: nodes.Window) -> str:
    clauses = [f"PARTITION BY {_joined(node.partition)}"] if node.partition else []
    clauses += [f"ORDER BY {_order(node.order)}"] if node.order else []
    clauses += [node.frame] if node.frame else []
    return f"{_text(node.call)} OVER ({' '.join(clauses)})"


def _formula(node: nodes.Formula) -> str:
    values = [*map(_text, node.values), ""]
    return "".join([part for pair in zip(node.pieces, values, strict=True) for part in pair])


def _alias(alias: str | None, columns: tuple[str, ...] = ()) -> str:
    names = f"({', '.join(map(name, columns))})" if columns else ""
    return "" if alias is None else f" AS {name(alias)}{names}"


def _table(node: nodes.Table) -> str:
    return ".".join(map(name, (*node.path, node.name))) + _alias(node.alias)


def _subquery(node: nodes.Subquery) -> str:
    lateral = "LATERAL " if node.lateral else ""
    return f"{lateral}({_text(node.query)}){_alias(node.alias, node.columns)}"


def _values(node: nodes.Values) -> str:
    rows = ", ".join([f"({_joined(row)})" for row in node.rows])
    return f"(VALUES {rows}){_alias(node.alias, node.columns)}"


def _function(node: nodes.TableFunction) -> str:
    lateral = "LATERAL " if node.lateral else ""
    return f"{lateral}{_text(node.call)}{_alias(node.alias, node.columns)}"


def _join(node: nodes.Join) -> str:
    kind = f"{node.kind} " if node.kind else ""
    on = "" if node.on is None else f" ON {_text(node.on)}"
    return f" {kind}JOIN {_text(node.item)}{on}"


def _select(node: nodes.Select) -> str:
    distinct = " DISTINCT" if node.distinct or node.distinct_on else ""
    on = f" ON ({_joined(node.distinct_on)})" if node.distinct_on else ""
    parts = [f"SELECT{distinct}{on}"]
    parts += [f" {_joined(node.items)}"] if node.items else []
    parts += [f" FROM {_text(node.source)}"] if node.source is not None else []
    parts += map(_text, node.joins)
    parts += [f" WHERE {_text(node.where)}"] if node.where is not None else []
    parts += [f" GROUP BY {_joined(node.group)}"] if node.group else []
    parts += [f" HAVING {_text(node.having)}"] if node.having is not None else []
    parts += [f" QUALIFY {_text(node.qualify)}"] if node.qualify is not None else []
    return "".join(parts) + _ending(node)


def _ending(node: nodes.Select | nodes.Combined) -> str:
    order = f" ORDER BY {_order(node.order)}" if node.order else ""
    limit = f" LIMIT {_text(node.limit)}" if node.limit is not None else ""
    offset = f" OFFSET {_text(node.offset)}" if node.offset is not None else ""
    return f"{order}{limit}{offset}"


def _combined(node: nodes.Combined) -> str:
    return f"{_text(node.left)} {node.operator} {_text(node.right)}{_ending(node)}"


_PRINTERS: Final[dict[type[Node], Callable[[Any], str]]] = {
    nodes.ColumnRef: _column,
    nodes.Star: lambda _: "*",
    nodes.Null: lambda _: "NULL",
    nodes.Truth: lambda node: "TRUE" if node.value else "FALSE",
    nodes.Number: lambda node: str(node.text),
    nodes.Hole: _hole,
    nodes.Later: _later,
    nodes.Text: lambda node: literal(node.value),
    nodes.Parameter: lambda node: f"${node.number}",
    nodes.Paren: lambda node: f"({_text(node.value)})",
    nodes.Negative: _negative,
    nodes.Binary: lambda node: f"{_text(node.left)} {node.operator} {_text(node.right)}",
    nodes.And: lambda node: _joined(node.conditions, " AND "),
    nodes.Or: lambda node: _joined(node.conditions, " OR "),
    nodes.Not: lambda node: f"NOT {_text(node.value)}",
    nodes.IsNull: lambda node: f"{_text(node.value)} IS NULL",
    nodes.Case: _case,
    nodes.Cast: _cast,
    nodes.InList: lambda node: f"{_text(node.value)} IN ({_joined(node.among)})",
    nodes.InQuery: lambda node: f"{_text(node.value)} IN ({_text(node.query)})",
    nodes.Exists: lambda node: f"EXISTS({_text(node.query)})",
    nodes.Scalar: lambda node: f"({_text(node.query)})",
    nodes.Ordered: _ordered,
    nodes.Call: _call,
    nodes.Window: _window,
    nodes.Array: lambda node: f"[{_joined(node.values)}]",
    nodes.Tuple: lambda node: f"({_joined(node.values)})",
    nodes.Formula: _formula,
    nodes.Let: lambda node: (
        f"list_transform([[{_joined(node.values)}]], lambda {node.name}: {_text(node.made)})[1]"
    ),
    nodes.Local: lambda node: f"{node.name}[{node.place + 1}]",
    nodes.Named: lambda node: f"{_text(node.value)} AS {name(node.name)}",
    nodes.Table: _table,
    nodes.Release: lambda node: node.alias,
    nodes.Subquery: _subquery,
    nodes.Values: _values,
    nodes.TableFunction: _function,
    nodes.Join: _join,
    nodes.Sets: lambda node: f"{node.kind} ({_joined(node.entries)})",
    nodes.Select: _select,
    nodes.Combined: _combined,
}
