"""MIN and MAX of a text whose values are listed: of its place among them, in their order, which is a whole number."""

from collections.abc import Sequence

from sqlglot import exp

from dpproxy.analysis import duck
from dpproxy.analysis.titles import title
from dpproxy.planner.keys.derivation import key_of
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.relation import JoinedRows, own_nodes
from dpproxy.values.errors import Refusal
from dpproxy.values.pgtypes import TEXTS

MOST = 32
"""Values of a column: each row is compared with all of them, several times."""


def with_places(select: exp.Select, rows: JoinedRows, planning: Planning) -> exp.Select:
    """The SELECT, which is the planner's own copy, with such calls over places.

    ``min(ward)`` is ``CASE min(CASE ward WHEN 'A' THEN 0 WHEN 'B' THEN 1 END) WHEN 0 THEN 'A' WHEN 1 THEN 'B' END``.
    """
    for node in [n for n in own_nodes(select) if type(n) in (exp.Min, exp.Max)]:
        values = _listed(node.this.unnest(), rows, planning)
        if values and not (isinstance(node.parent, exp.Window) and node.arg_key == "this"):
            _replace(node, values)
    return select


def _listed(node: exp.Expr, rows: JoinedRows, planning: Planning) -> list[str]:
    """The values of a column of texts, in their order; none where nobody listed them, or too many."""
    if type(node) is not exp.Column:
        return []
    try:
        is_text = rows.field(node).column.type.oid in TEXTS
        values = key_of(node, rows, planning, None).values if is_text else ()
    except Refusal:  # said where it is compiled
        return []
    return sorted(v for v in values if isinstance(v, str)) if len(values) <= MOST else []


def _replace(node: exp.Expr, values: Sequence[str]) -> None:
    filtered = isinstance(node.parent, exp.Filter) and node.arg_key == "this"
    call = node.parent if filtered and node.parent is not None else node
    texts = [exp.Literal.string(value) for value in values]
    places = [exp.Literal.number(place) for place in range(len(values))]
    is_shown = isinstance(call.parent, exp.Select) and call.arg_key == "expressions"
    name, around = title(call), exp.Case(ifs=_branches(places, texts))
    call.meta[duck.WRITTEN] = duck.outline(call)
    node.set("this", exp.Case(this=node.this.copy(), ifs=_branches(texts, places)))
    alias = exp.to_identifier(name, quoted=True)
    call.replace(exp.Alias(this=around, alias=alias) if is_shown else around)
    around.set("this", call)


def _branches(values: Sequence[exp.Expr], made: Sequence[exp.Expr]) -> list[exp.If]:
    return [exp.If(this=v.copy(), true=m.copy()) for v, m in zip(values, made, strict=True)]
