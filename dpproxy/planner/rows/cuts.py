"""What a statement does not see of rows, by the policy: which are left out, and which values are moved."""

from collections.abc import Iterable, Iterator
from fractions import Fraction

from sqlglot import exp

from dpproxy.planner.planning import Planning
from dpproxy.planner.prepared import Mapped
from dpproxy.planner.rows.fields import Declared
from dpproxy.planner.rows.relation import JoinedRows, Scan
from dpproxy.policy.dump import constant, decimal
from dpproxy.policy.model import Between, Counted, LimitQuantiles, Outside, TablePolicy
from dpproxy.policy.suggest_unit import is_unique

MOST_COLUMNS = 8
"""That are named."""
NEARLY_ALL = 99
"""Percent of people who lose nothing by a bound that is proposed."""


def note_cuts(select: exp.Select, own: Iterable[exp.Expr], rows: JoinedRows, planning: Planning) -> None:
    """Note them for EXPLAIN; ``own`` are the SELECT's nodes. Whether any row is meant is not looked at."""
    moved = list(dict.fromkeys(_moved(own, rows, planning)))
    more = len(moved) - MOST_COLUMNS
    grouped = select.args.get("group")
    keys = [e.name for e in grouped.expressions if type(e) is exp.Column] if grouped else []
    words = [w for scan in rows.scans for w in _left_out(scan, planning, keys)] + moved[:MOST_COLUMNS]
    words += [f"{more} more columns have bounds"] if more > 0 else []
    planning.cuts += [w for w in words if w not in planning.cuts]


def _left_out(scan: Scan, planning: Planning, keys: list[str]) -> Iterator[str]:
    """Rows and groups beyond those of one unit, and those of nobody."""
    table = planning.context.policy.tables.get(scan.table)
    unit = None if table is None else table.unit
    if table is None or unit is None or unit.key is None:
        return
    if unit.max_rows > 1 or not is_unique(planning.context.schema, scan.table, unit.key):
        whole = _whole(table.quantiles, unit.max_rows)
        yield f"rows of {scan.table} beyond {unit.max_rows} of one {unit.key} are left out{whole}"
    if unit.groups < unit.max_rows:
        of = _quantiles(table, keys[0], Counted.GROUPS) if len(keys) == 1 else None
        whole = _whole(of, unit.groups)
        yield f"groups beyond {unit.groups} of one {unit.key} are left out where rows are grouped{whole}"
    column = next((c for c in planning.context.schema.tables[scan.table] if c.name == unit.key), None)
    if column is not None and not column.not_null:
        yield f"rows of {scan.table} without {unit.key} count for nobody"


def _quantiles(table: TablePolicy | None, column: str, of: Counted) -> LimitQuantiles | None:
    declared = None if table is None else table.columns.get(column)
    found = None if declared is None else declared.quantiles
    return found if found is not None and found.of is of else None


def _whole(quantiles: LimitQuantiles | None, most: int) -> str:
    """The share of people who have no more, of the whole table when it was released; nothing where it was not."""
    return "" if quantiles is None else f" ({_percent(quantiles, quantiles.upto(most))} lose none)"


def _narrower(name: str, domain: Between, quantiles: LimitQuantiles) -> list[str]:
    """A bound that nearly all values are below, where it is much nearer than the declared one."""
    marks = [mark for share, mark in quantiles.shares if share >= NEARLY_ALL]
    least = min(marks, default=domain.high)
    if not isinstance(least, int | Fraction) or not isinstance(domain.high, int | Fraction):
        return []
    if isinstance(domain.low, int | Fraction) and 2 * (least - domain.low) <= domain.high - domain.low:
        kept = constant(least)
        return [
            f"a narrower bound: least({name}, {kept}) leaves {_percent(quantiles, quantiles.upto(least))} as they are"
        ]
    return []


def _percent(quantiles: LimitQuantiles, share: Fraction) -> str:
    return f"{decimal(share)} % \u00b1 {decimal(quantiles.within)} % of people"


def _moved(own: Iterable[exp.Expr], rows: JoinedRows, planning: Planning) -> Iterator[str]:
    """Columns with bounds."""
    named = {(node.table, node.name): node for node in own if type(node) is exp.Column}
    for node in named.values():
        found = list(rows.candidates(node))
        field = found[0][1] if len(found) == 1 else None
        domain = field.domain if isinstance(field, Declared | Mapped) else None
        if field is None or not isinstance(domain, Between):
            continue
        ends = f"{constant(domain.low)} to {constant(domain.high)}"
        clamped = domain.outside is Outside.CLAMP
        words = (
            f"{field.name} is moved into {ends}" if clamped else f"{field.name} outside of {ends} is dropped"
        )
        table = planning.context.policy.tables.get(found[0][0].table)
        quantiles = _quantiles(table, field.column.name, Counted.VALUES)
        if quantiles is not None:
            share = _percent(quantiles, quantiles.inside(domain.low, domain.high))
            words += f" (where a row drawn at random already is, of {share})"
            planning.narrower += (
                _narrower(field.name, domain, quantiles) if node.find_ancestor(exp.AggFunc) else []
            )
        yield f"{words}, NULL to the middle" if domain.not_null else words
