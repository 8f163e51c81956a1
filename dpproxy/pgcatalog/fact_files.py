"""Facts of PostgreSQL, from the files in ``facts/``, which ``python -m tests.postgres_facts`` writes."""

from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

_NULL = "\\N"
READ: Mapping[str, Callable[[str], object]] = {
    "bool": "true".__eq__,
    **dict.fromkeys(("oid", "int2", "int4", "xid"), int),
    "float4": float,
    "oidvector": lambda text: tuple(map(int, text.split())),
}
"""By type, how a cell is read; other types are texts."""


@cache
def facts(name: str) -> tuple[dict[str, Any], ...]:
    """The rows of a file, by column.

    Example:
        >>> facts("pg_am")[0]
        {'amname': 'heap', 'oid': 2, 'amhandler': 'heap_tableam_handler', 'amtype': 't'}
    """
    place = files("dpproxy.pgcatalog") / "facts" / f"{name}.tsv"
    _, header, *lines = place.read_text(encoding="utf-8").splitlines()
    columns = [column.partition(":")[::2] for column in header.split("\t")]
    names, reads = [name for name, _ in columns], [READ.get(kind, str) for _, kind in columns]
    return tuple(
        {
            name: None if cell == _NULL else read(cell)
            for name, read, cell in zip(names, reads, line.split("\t"), strict=True)
        }
        for line in lines
    )
