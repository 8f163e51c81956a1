"""Steps that the methods of the k-anonymity family share: selecting columns by role, size checks, the final shuffle."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpproxy.anonymize import shuffle
from dpproxy.anonymize.model import (
    Anonymized,
    Attribute,
    InvalidOption,
    Role,
    Table,
    Unachievable,
    ViewRequest,
)
from udfs.randomness import Words

Integers = npt.NDArray[np.int64]

SCALE_HELP = "distances by the declared widths (range), standard deviations (zscore) or whole steps (none)"
CAVEAT = "Limits linkage; not differentially private; does not compose with other releases of the same rows."


def quasi_identifiers(request: ViewRequest) -> list[int]:
    """The columns that intruders may know, by index. Errors: InvalidOption where there is none."""
    return _with_roles(request, (Role.QUASI, Role.BOTH), "quasi-identifier", "quasi")


def confidential(request: ViewRequest) -> list[int]:
    """The columns that intruders want to learn, by index. Errors: InvalidOption where there is none."""
    return _with_roles(request, (Role.SENSITIVE, Role.BOTH), "sensitive column", "sensitive")


def _with_roles(request: ViewRequest, roles: tuple[Role, ...], what: str, option: str) -> list[int]:
    found = [place for place, a in enumerate(request.attributes) if a.role in roles]
    if not found:
        raise InvalidOption(option, f"no column of the view is a {what}", f"Name some: {option} = (a, b).")
    return found


def named(attributes: Sequence[Attribute], places: Sequence[int]) -> str:
    """The names of the attributes at ``places``, separated by commas, for messages."""
    return ", ".join(attributes[place].name for place in places)


def enough(rows: Table, k: int) -> None:
    """Refuse tables with fewer rows than one cluster needs. Errors: Unachievable."""
    if len(rows) < k:
        raise Unachievable(f"clusters of {k} need at least {k} rows, and the view's query has fewer")


def smallest_class(rows: Table, places: Sequence[int]) -> int:
    """The size of the smallest equivalence class: rows that share their values in the columns ``places``."""
    return int(np.unique(rows[:, places], axis=0, return_counts=True)[1].min())


def in_random_order(rows: Table, source: Integers, achieved: dict[str, float], words: Words) -> Anonymized:
    """Shuffle the rows (and ``source`` with them), so that a row's place in the table carries no information."""
    order = shuffle.order(len(rows), words)
    return Anonymized(rows[order], source=source[order], achieved=achieved)
