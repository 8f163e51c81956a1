"""pg_opclass: operator classes of B-trees, the only indexes here."""

from functools import cache

from dpproxy.pgcatalog.fact_files import facts
from dpproxy.values.pgtypes import TEXT, VARCHAR

_ARRAYS = 2277
"""anyarray."""


@cache
def _of_types() -> dict[int, int]:
    return {row["opcintype"]: row["oid"] for row in facts("pg_opclass")}


def of_type(oid: int, *, is_array: bool) -> int:
    """The OID of the default class for a type; 0 where PostgreSQL has none."""
    compared = TEXT.oid if oid == VARCHAR.oid else oid
    return _of_types().get(_ARRAYS if is_array else compared, 0)
