"""FROM and WHERE over protected rows, and public ones beside them."""

from msgspec.structs import replace
from sqlglot import exp

from dpproxy.analysis.position import position
from dpproxy.planner.open.relations import Open
from dpproxy.planner.open.scan import open_scan
from dpproxy.planner.open.stages import staged_scan
from dpproxy.planner.planning import Planning
from dpproxy.planner.rows.derive import renamed
from dpproxy.planner.rows.joins import item_of, join_rows
from dpproxy.planner.rows.relation import Inner, JoinedRows, Scan
from dpproxy.planner.rows.scans import is_public, protected_scan, public_scan
from dpproxy.planner.rows.sources import Env, FromEntry, Lateral
from dpproxy.policy.model import TablePolicy
from dpproxy.values.errors import Unsupported


def rows_of(
    select: exp.Select, found: list[FromEntry], planning: Planning, env: Env, inner: Inner
) -> tuple[JoinedRows, exp.Select]:
    """The joined rows, and the SELECT with its columns written one way."""
    if not found:
        raise Unsupported("SELECT needs FROM a table here", position=position(select))
    lone = len(found) == 1 and env.outer is None
    items = [item_of(_scan(e, planning, lone=lone), e.node, e.join) for e in found]
    return join_rows(items, select, planning, inner, env.outer)


def _scan(entry: FromEntry, planning: Planning, *, lone: bool) -> Scan:
    relation = entry.relation
    scan: Scan
    match relation:
        case TablePolicy():
            scan = (
                public_scan(relation, entry.alias, planning)
                if is_public(relation)
                else protected_scan(relation, entry.alias, planning, lone=lone)
            )
        case Open():
            if relation.released:
                scan = staged_scan(relation, entry.alias, planning, position(entry.node))
            else:
                scan = open_scan(relation, entry.alias, planning)
        case Scan():
            scan = replace(relation, alias=entry.alias)
        case Lateral():
            raise Unsupported(
                "LATERAL is not answered beside rows of people",
                hint="Group the rows first, and write LATERAL beside what is released.",
                position=position(entry.node),
            )
    return renamed(scan, entry.names_for(len(scan.fields)))
