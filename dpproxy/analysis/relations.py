"""Names in FROM: those of WITH, and those of relations."""

from sqlglot import exp

from dpproxy.analysis.titles import folded


def is_of_with(table: exp.Table) -> bool:
    """Whether a name without a schema is one of WITH: a query there sees those before it, or all if RECURSIVE."""
    name = folded(table.this)
    node: exp.Expr = table
    while (above := node.parent) is not None:
        clause = above if isinstance(above, exp.With) else above.args.get("with_")
        if isinstance(clause, exp.With) and clause is not node:
            before = clause.expressions
            if clause is above and not clause.args.get("recursive"):
                before = before[: next(i for i, cte in enumerate(before) if cte is node)]
            if any(folded(cte.args["alias"].this) == name for cte in before):
                return True
        node = above
    return False
