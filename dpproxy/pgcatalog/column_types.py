"""PostgreSQL's types of what columns of the catalogue hold, where the engine's do not tell: name, "char", vectors.

A column of no known relation is known by its name alone, where all relations that have it agree.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence

from sqlglot import exp

from dpproxy.pgcatalog import casts
from dpproxy.pgcatalog.results import column_type
from dpproxy.pgcatalog.table import client_type_name, relations, stored_as
from dpproxy.values.pgtypes import (
    FLOATS,
    INTEGERS,
    NUMERIC,
    REGPROC,
    TEXT,
    UNKNOWN,
    SqlType,
    element_of,
)

_KINDS: dict[str, set[str]] = defaultdict(set)
"""The types that columns of a name have."""
for _relation in relations().values():
    for _name, _kind in _relation.columns.items():
        _KINDS[_name].add(_kind)
VECTORS = frozenset(name for name, kinds in _KINDS.items() if kinds & {"int2vector", "oidvector"})
"""Columns of lists that are counted from 0."""
PROCEDURES = frozenset(name for name, kinds in _KINDS.items() if "regproc" in kinds)
"""Columns of functions, kept by name: a dash where there is none, which PostgreSQL numbers 0."""


def of_column(name: str, stored: str) -> SqlType:
    """The type of a column of the catalogue, which the engine holds as ``stored``.

    Example:
        >>> of_column("relname", "VARCHAR").name, of_column("indkey", "SMALLINT[]").name
        ('name', 'int2vector')
        >>> of_column("reltuples", "FLOAT").name
        'float4'
    """
    kinds = [kind for kind in _KINDS.get(name, ()) if stored_as(kind) == stored]
    return client_type_name(kinds[0]) if len(kinds) == 1 else column_type(stored)


ResultType = Callable[[str], SqlType]
"""The type of a result column, from the engine's."""


def result_types(
    tree: exp.Expr, fields: Sequence[tuple[str, SqlType | None]] | None
) -> tuple[ResultType, ...] | None:
    """For each column of a query's result, by what is known of it; None where they are not known."""
    projections = tree.selects if isinstance(tree, exp.Query) else []
    if any(p.is_star for p in projections):
        return None if fields is None else tuple(_either(name, kind) for name, kind in fields)
    kinds = [None] * len(projections) if fields is None else [kind for _, kind in fields]
    names = [p.unalias().name if isinstance(p.unalias(), exp.Column) else "" for p in projections]
    return tuple(map(_either, names, kinds))


def _either(name: str, kind: SqlType | None) -> ResultType:
    """By the type that is known, else by the column's name, else by the engine's type."""
    settled = TEXT if kind is not None and kind.oid == UNKNOWN.oid else kind

    def of(stored: str) -> SqlType:
        if name in PROCEDURES and stored == "VARCHAR":
            return REGPROC
        return settled if settled is not None and fits(stored, settled) else of_column(name, stored)

    return of


_NOTHING = '"NULL"'
"""What the engine calls the type of a bare NULL."""
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UBIGINT", "UHUGEINT"})


def fits(stored: str, kind: SqlType) -> bool:
    """Whether values that the engine holds so can be written as the type's."""
    if stored == _NOTHING:
        return True
    element = element_of(kind)
    if element is not None:
        return stored.endswith("[]") and fits(stored.rstrip("[]"), element)
    match kind.oid:
        case oid if oid in INTEGERS:
            return stored in _WHOLE
        case NUMERIC.oid:
            return stored in _WHOLE or stored.startswith("DECIMAL")
        case oid if oid in FLOATS:
            return stored in ("FLOAT", "DOUBLE") or stored in _WHOLE
        case _:
            return _holds(stored, kind)


def _holds(stored: str, wanted: SqlType) -> bool:
    """Whether the engine's type is what values of the wanted one are held in."""
    element = element_of(wanted)
    name = wanted.name if element is None else element.name
    return stored == casts.duckdb_type_of(name) + "[]" * (element is not None)
