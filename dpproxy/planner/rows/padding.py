"""Public rows that an outer join keeps without a partner: they may be shown, but must count for nothing."""

from collections.abc import Sequence

from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.planner.rows.relation import JoinedRows
from dpproxy.values.errors import UnitLost


def check_padded(nodes: Sequence[exp.Expr], rows: JoinedRows) -> None:
    """Every aggregate is 0 on a row whose protected side is NULL: it takes a bare column of that side.

    The public side's keys are answered anyway, so the join is computed as an inner one. Raises PD002.
    """
    if not rows.padded:
        return
    for node in nodes:
        call = node.this if isinstance(node, exp.Filter) else node
        operands = [call.this.expressions[0]] if isinstance(call.this, exp.Distinct) else [call.this]
        if isinstance(call.args.get("expression"), exp.Expr):
            operands.append(call.args["expression"])
        if not any(_is_padded(o, rows) for o in operands):
            alias = next(iter(rows.padded))
            column = next((f.name for s in rows.scans if s.alias == alias for f in s.fields), "column")
            raise UnitLost(
                "rows that only the public side has would count here",
                hint=f"Count a column of the protected side, as in count({alias}.{column}), or write an inner JOIN.",
                position=position(node) or position(call),
            )


def refuse_padded(select: exp.Select, rows: JoinedRows) -> None:
    """A subquery would lose these rows: it is computed as an inner join. Raises PD002."""
    if rows.padded:
        raise UnitLost(
            "rows that only the public side has would be lost in a subquery",
            hint="Write an inner JOIN in the subquery, or aggregate where the tables are joined.",
            position=position(select),
        )


def _is_padded(operand: exp.Expr | None, rows: JoinedRows) -> bool:
    if operand is None or type(operand.unnest()) is not exp.Column:
        return False
    found = list(rows.candidates(operand.unnest()))  # type: ignore[arg-type]
    return len(found) == 1 and found[0][0].alias in rows.padded
