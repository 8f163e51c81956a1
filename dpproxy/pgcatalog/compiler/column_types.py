"""PostgreSQL's types of catalogue columns that the engine's types do not determine: name, "char", vectors.

A column of an unknown relation is looked up by its name, where all relations with such a column agree.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence

from sqlglot import exp

from dpproxy.pgcatalog.compiler import casts
from dpproxy.pgcatalog.compiler.results import column_type
from dpproxy.pgcatalog.table import NUMBERED, client_type_name, relations, stored_as
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
"""The types of all columns of a name."""
for _relation in relations().values():
    for _name, _kind in _relation.columns.items():
        _KINDS[_name].add(_kind)
VECTORS = frozenset(name for name, kinds in _KINDS.items() if kinds & {"int2vector", "oidvector"})
"""Columns of vectors, which are indexed from 0."""
PROCEDURES = frozenset(name for name, kinds in _KINDS.items() if "regproc" in kinds) - NUMBERED
"""Columns that refer to functions, stored by name: a dash where there is none, whose OID is 0."""


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
"""Determines the type of a result column from the engine's."""


def result_types(
    tree: exp.Expr, fields: Sequence[tuple[str, SqlType | None]] | None
) -> tuple[ResultType, ...] | None:
    """How to determine the type of each result column; None where the columns are unknown."""
    projections = tree.selects if isinstance(tree, exp.Query) else []
    if any(p.is_star for p in projections):
        return None if fields is None else tuple(_either(name, kind) for name, kind in fields)
    kinds = [None] * len(projections) if fields is None else [kind for _, kind in fields]
    names = [p.unalias().name if isinstance(p.unalias(), exp.Column) else "" for p in projections]
    return tuple(map(_either, names, kinds))


def _either(name: str, kind: SqlType | None) -> ResultType:
    """The known type, else the one by the column's name, else the one by the engine's type."""
    settled = TEXT if kind is not None and kind.oid == UNKNOWN.oid else kind

    def of(stored: str) -> SqlType:
        if name in PROCEDURES and stored == "VARCHAR":
            return REGPROC
        return settled if settled is not None and fits(stored, settled) else of_column(name, stored)

    return of


_NOTHING = '"NULL"'
"""The engine's name for the type of a bare NULL."""
_WHOLE = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UBIGINT", "UHUGEINT"})


def fits(stored: str, kind: SqlType) -> bool:
    """Whether values of an engine's type can be encoded as a type."""
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
    """Whether the engine's type is the one that stores values of the wanted type."""
    element = element_of(wanted)
    name = wanted.name if element is None else element.name
    return stored == casts.duckdb_type_of(name) + "[]" * (element is not None)
