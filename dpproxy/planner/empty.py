"""Statements whose answer is known to be empty, or zero, whatever the data: what clients send to learn columns."""

from sqlglot import exp

from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.literals import literal, settle
from dpproxy.analysis.scopes import Scope
from dpproxy.pgtypes import TEXT, UNKNOWN, Column
from dpproxy.plan import Output
from dpproxy.planner.access import Source
from dpproxy.planner.answer import is_star, items
from dpproxy.planner.rows import RowScope


def has_no_rows(select: exp.Select) -> bool:
    """LIMIT 0."""
    limit = select.args.get("limit")
    return limit is not None and isinstance(limit.expression, exp.Literal) and limit.expression.this == "0"


def never_holds(select: exp.Select) -> bool:
    """A WHERE that is false as it is written: FALSE, or two different numbers said to be equal."""
    where = select.args.get("where")
    if where is None:
        return False
    condition = where.this.unnest()
    parts = list(condition.flatten()) if isinstance(condition, exp.And) else [condition]
    return any(_is_false(part) for part in parts)


def _is_false(node: exp.Expr) -> bool:
    if isinstance(node, exp.Boolean):
        return not node.this
    sides = (node.this, node.expression) if type(node) is exp.EQ else ()
    if len(sides) == 2 and all(isinstance(s, exp.Literal) and not s.is_string for s in sides):
        return len({literal(s).constant for s in sides}) == 2
    return False


def row_outputs(select: exp.Select, source: Source, rows: RowScope, scope: Scope) -> tuple[Output, ...]:
    """The columns that rows would have, * being every declared column."""
    outputs = []
    for item in items(select):
        if is_star(item.node):
            declared = source.policy.columns
            outputs += [
                Output(Column(c.name, c.type), None)
                for c in rows.context.schema.tables[source.policy.name]
                if c.name in declared and declared[c.name].domain is not None
            ]
            continue
        value = compile_expression(item.node, scope)
        value = settle(value, TEXT, scope, item.node) if value.type is UNKNOWN else value
        outputs.append(Output(Column(item.name, value.type), None))
    return tuple(outputs)
