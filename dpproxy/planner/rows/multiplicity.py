"""How many rows one unit has after joins of protected items, from the bounds of each.

Items multiply, but for those that rows refer to: of these, one unit has at most one row for each value of the column
referred to, so that a row which refers to them meets one of them or none.
"""

from collections.abc import Collection, Iterable

from dpproxy.planner.rows.relation import Scan

Reference = tuple[str, str]
"""The names of the item that refers, and of the item that is referred to."""


def together(items: Iterable[Scan], references: Collection[Reference]) -> tuple[int, int]:
    """The most rows, and groups, of inner joins of these items under conditions that follow these references."""
    left, placed = list(items), set[str]()
    most = groups = 1
    while left:
        chosen = next(
            (s for s in left if s.referred and any((p, s.name) in references for p in placed)), None
        )
        if chosen is None:
            chosen = next((s for s in left if not s.referred), left[0])
            most, groups = most * chosen.most, groups * chosen.groups
        left.remove(chosen)
        placed.add(chosen.name)
    return most, groups


def beside(scan: Scan, before: Collection[Scan], references: Collection[Reference]) -> tuple[int, int]:
    """By how much a LEFT JOIN of one more item multiplies rows, and groups, at most."""
    if scan.referred and any((b.name, scan.name) in references for b in before):
        return 1, 1
    return max(1, scan.most), max(1, scan.groups)


def preserved(first: Scan, scan: Scan, references: Collection[Reference]) -> int | None:
    """The most rows of ``first LEFT JOIN scan`` where ``scan`` refers to ``first``: each of its rows meets one row.

    None where it does not.
    """
    if first.referred and (scan.name, first.name) in references:
        return first.most + scan.most
    return None
