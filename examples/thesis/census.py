"""The Census table of the thesis, as whole numbers."""

import math
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

from dpproxy.anonymize.model import Attribute, LatticeDomain, Role

Rows = npt.NDArray[np.int64]

FILE = Path(__file__).parents[1] / "data" / "census.parquet"
NAMES = (
    *("afnlwgt", "agi", "emcontrb", "fedtax", "ptotval", "statetax"),
    *("taxinc", "pothval", "intval", "pearnval", "fica", "wsalval", "ernval"),
)
QUASI = 6
"""The first six are quasi-identifiers, the others confidential."""
FOUR = ("fica", "fedtax", "intval", "pothval")
"""Those that the thesis microaggregates in chapter 6."""


def census(columns: Sequence[str] = NAMES) -> Rows:
    """The rows, shape (1080, columns)."""
    with duckdb.connect() as connection:
        return np.array(connection.sql(f"SELECT {', '.join(columns)} FROM '{FILE}'").fetchall())


def declared(rows: Rows, names: Sequence[str], roles: Sequence[Role]) -> tuple[Attribute, ...]:
    """Domains from 0 to 1.5 times the largest value, as the thesis takes them."""
    return tuple(
        Attribute(name, LatticeDomain(0, math.ceil(1.5 * largest)), role)
        for name, largest, role in zip(names, rows.max(axis=0).tolist(), roles, strict=True)
    )
