"""Which items an outer join may leave without a row: NULL is a key of their columns then, as in PostgreSQL."""

from collections.abc import Sequence

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.planner.rows.conditions import has_value
from dpproxy.planner.rows.fields import Declared, Field, Referring
from dpproxy.planner.rows.relation import JoinedRows, Scan
from dpproxy.policy.model import References


def missing(scan: Scan, on: Sequence[exp.Expr], later: Sequence[exp.Expr], rows: JoinedRows) -> Scan:
    """The optional side of an outer join under its conditions, where ``later`` ones do not ask for a row of it."""
    if any(_needs(c, scan, rows) for c in later) or (len(on) == 1 and _is_declared(on[0], scan, rows)):
        return scan
    return replace(scan, fields=tuple(f.missing() for f in scan.fields))


def _needs(condition: exp.Expr, scan: Scan, rows: JoinedRows) -> bool:
    """Whether a condition holds only where a column of the item has a value."""
    columns = [(c, _column(c, rows)) for c in condition.find_all(exp.Column)]
    return any(s is not None and s[0].name == scan.name and has_value(condition, c) for c, s in columns)


def _is_declared(condition: exp.Expr, scan: Scan, rows: JoinedRows) -> bool:
    """Whether a column that is declared to refer to one of the item equals that: each value has a row."""
    if type(condition) is not exp.EQ:
        return False
    sides = [_column(side, rows) for side in (condition.this, condition.expression)]
    found = {s.name: f for s, f in (side for side in sides if side is not None)}
    own = found.pop(scan.name, None)
    return own is not None and any(_refers(f, own, scan) for f in found.values())


def _refers(field: Field, own: Field, scan: Scan) -> bool:
    if isinstance(field, Referring) and isinstance(own, Referring) and field.refers:
        # Rows of a unit that the other table does not have are not read.
        is_key = own.is_unit and own.link == field.link == (scan.table, own.name)
        return is_key and scan.whole and not field.may_miss
    domain = field.domain if isinstance(field, Declared) and not field.may_miss else None
    table = scan.item.query if isinstance(scan.item, nodes.Subquery) else None
    return (
        isinstance(domain, References)
        and not domain.or_null
        and isinstance(table, nodes.Select)
        and table.source == nodes.Table(domain.table)
        and duck.named(duck.column(domain.column), own.column.name) in table.items
    )


def _column(node: exp.Expr | None, rows: JoinedRows) -> tuple[Scan, Field] | None:
    node = None if node is None else node.unnest()
    found = list(rows.candidates(node)) if type(node) is exp.Column else []
    return found[0] if len(found) == 1 else None
