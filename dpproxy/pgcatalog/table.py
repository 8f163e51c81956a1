"""A relation of the catalogue: its columns as PostgreSQL has them, its rows from a view of the policy."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from dpproxy.pgcatalog.view import CatalogueView

Row = Mapping[str, object]
"""One row by column name; what is left out is NULL."""

_STORED = {
    "bool": "BOOLEAN",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "interval": "INTERVAL",
    "oid": "UINTEGER",
    "text": "VARCHAR",
    "timestamp": "TIMESTAMP",
}
"""Column types in the notation of `table`, as DuckDB stores them."""


@dataclass(frozen=True, slots=True)
class Table:
    """A catalogue relation; ``columns`` maps names to DuckDB types."""

    schema: str
    name: str
    oid: int
    columns: Mapping[str, str]
    rows: Callable[[CatalogueView], Iterable[Row]]
    kind: str = "r"


def _nothing(_view: CatalogueView) -> Iterable[Row]:
    return ()


def columns(spec: str) -> dict[str, str]:
    """Read a list of columns.

    Example:
        >>> columns("oid:oid polname polroles:oid[]")
        {'oid': 'UINTEGER', 'polname': 'VARCHAR', 'polroles': 'UINTEGER[]'}
    """
    pairs = (item.partition(":") for item in spec.split())
    return {
        name: _STORED[kind.removesuffix("[]") or "text"] + "[]" * kind.endswith("[]")
        for name, _, kind in pairs
    }


def table(
    schema: str,
    name: str,
    oid: int,
    spec: str,
    rows: Callable[[CatalogueView], Iterable[Row]] = _nothing,
    *,
    kind: str = "r",
) -> Table:
    """A relation whose columns are written as ``name:type``; the type is text where none stands."""
    return Table(schema, name, oid, columns(spec), rows, kind)
