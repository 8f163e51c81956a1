"""At most so many rows, or groups, of a unit are kept: by a keyed hash of their own content.

Never by row id or scan order, so that removing one unit changes nothing for the others. Ties of the hash fall back on
the content itself: rows that tie there too are alike in everything that is read.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.analysis import duck


def truncated(
    source: nodes.Select | nodes.Subquery,
    unit: nodes.Expr,
    content: Sequence[nodes.Expr],
    most: int,
    rank: str = "row_number",
    within: Sequence[nodes.Expr] = (),
) -> nodes.Select:
    """At most ``most`` rows (row_number) or distinct contents (dense_rank) of each unit.

    With ``within``, of each unit and each value of these columns; where they are several, rows in which one of them is
    NULL are all kept: they are no value. The truncation secret is the statement's first parameter.
    """
    kept = is_among(most, unit, content, rank, within)
    if isinstance(source, nodes.Select) and _is_plain(source):
        select = source
    else:
        item = source if isinstance(source, nodes.Subquery) else bounded(source)
        select = nodes.Select((nodes.Star(),), item)
    return replace(select, qualify=kept)


def is_among(
    most: int,
    unit: nodes.Expr,
    content: Sequence[nodes.Expr],
    rank: str = "row_number",
    within: Sequence[nodes.Expr] = (),
) -> nodes.Expr:
    """Whether a row is one of those that ``truncated`` keeps: never NULL."""
    window: nodes.Expr = places(unit, content, rank, within)
    if len(within) > 1:
        window = duck.case([(nodes.Or(tuple(map(nodes.IsNull, within))), duck.integer(1))], window)
    return nodes.Binary("<=", window, duck.integer(most))


def places(
    unit: nodes.Expr,
    content: Sequence[nodes.Expr],
    rank: str = "row_number",
    within: Sequence[nodes.Expr] = (),
) -> nodes.Window:
    """The place of a row among those of its unit, by the keyed hash; alike rows have places one after the other."""
    order = [duck.call("hash", nodes.Parameter(1), unit, *content), *content]
    return nodes.Window(duck.call(rank), (unit, *within), tuple(nodes.Ordered(o) for o in order))


def _is_plain(select: nodes.Select) -> bool:
    """Shows its columns as they are and cuts nothing yet, so that a window can stand in the same SELECT."""
    return select.items == (nodes.Star(),) and select.qualify is None


def bounded(select: nodes.Select) -> nodes.Subquery:
    """The rows as an item of FROM."""
    return nodes.Subquery(select, nodes.Bare("bounded"))
