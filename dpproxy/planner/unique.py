"""Which columns tell the rows of an open relation apart: no two rows have the same values in all of them.

A set of the places of columns; the empty one for a relation that has one row at most, and None where none is known.
How many of its rows a protected row meets follows from it (``relation.Stage``), and so what one person can change.
"""

from collections.abc import Collection, Sequence
from typing import Final

from sqlglot import exp

from dpproxy.planner.open.relations import Open, OpenColumn

Unique = frozenset[int] | None
OF_ONE_ROW: Final = frozenset[int]()


def of_groups(keys: Collection[exp.Expr], shown: Sequence[exp.Expr]) -> Unique:
    """Of the groups of one set of keys: the keys, where all of them are shown."""
    return frozenset(shown.index(key) for key in keys) if all(key in shown for key in keys) else None


def of_distinct(width: int) -> Unique:
    """Of rows of which each stands once: all columns."""
    return frozenset(range(width))


def of_rows(unique: Unique, columns: Sequence[OpenColumn], shown: Sequence[OpenColumn | None]) -> Unique:
    """Of some rows of a relation, each at most once: what tells them apart there, where all of that is shown.

    ``shown`` are those of its ``columns`` that are shown as they are, by place; None is anything else.
    """
    kept = [columns[place] for place in unique or ()]
    if unique is None or not all(any(found is one for found in shown) for one in kept):
        return None
    return frozenset(place for place, found in enumerate(shown) if any(found is one for one in kept))


def of_copies(unique: Unique, changed: Collection[int]) -> Unique:
    """Of no more copies of each row than a relation has, the columns at some places being written in another form."""
    return None if unique is None or unique.intersection(changed) else unique


def is_whole(relation: Open, place: int) -> bool:
    """A whole number among what is unique: an engine's BIGINT holds it exactly."""
    typed = relation.columns[place].typed
    return place in (relation.unique or ()) and typed.is_integer and typed.scale == 0


def of_values(relation: Open) -> frozenset[int]:
    """What tells its rows apart once each value is handed on; the empty set where that may be nothing.

    Two numbers may be one DOUBLE, which they are handed on as unless they are whole.
    """
    places = relation.unique or frozenset()
    is_kept = all(is_whole(relation, at) or not relation.columns[at].typed.is_number for at in places)
    return places if is_kept else frozenset()
