"""At most so many rows, or groups, of a unit are kept: by a keyed hash of their own content.

Never by row id or scan order, so that removing one unit changes nothing for the others. Ties of the hash fall back on
the content itself: rows that tie there too are alike in everything that is read.
"""

from collections.abc import Sequence

from sqlglot import exp

from dpproxy.analysis import duck


def truncated(
    source: exp.Select | exp.Subquery,
    unit: exp.Expr,
    content: Sequence[exp.Expr],
    most: int,
    rank: str = "row_number",
    within: Sequence[exp.Expr] = (),
) -> exp.Select:
    """At most ``most`` rows (row_number) or distinct contents (dense_rank) of each unit.

    With ``within``, of each unit and each value of these columns. The truncation secret is the statement's first
    parameter.
    """
    secret = exp.Parameter(this=exp.Literal.number(1))
    order = [duck.call("hash", secret, unit, *content), *content]
    window = exp.Window(
        this=duck.call(rank),
        partition_by=[unit, *within],
        order=exp.Order(expressions=[exp.Ordered(this=o, desc=False, nulls_first=False) for o in order]),
    )
    if isinstance(source, exp.Select) and _is_plain(source):
        select = source
    else:
        item = source if isinstance(source, exp.Subquery) else bounded(source)
        select = exp.Select(expressions=[exp.Star()], from_=exp.From(this=item))
    select.set("qualify", exp.Qualify(this=exp.LTE(this=window, expression=duck.integer(most))))
    return select


def _is_plain(select: exp.Select) -> bool:
    """Shows its columns as they are and cuts nothing yet, so that a window can stand in the same SELECT."""
    shows_all = len(select.expressions) == 1 and isinstance(select.expressions[0], exp.Star)
    return shows_all and select.args.get("qualify") is None


def bounded(select: exp.Select) -> exp.Subquery:
    """The rows as an item of FROM."""
    return exp.Subquery(this=select, alias=exp.TableAlias(this=exp.to_identifier("bounded")))
