"""Lists of released and public values: ``ARRAY[x, y]`` and what ``array_agg`` gathers. None is computed of rows."""

from collections.abc import Sequence

from dpproxy.algebra import nodes
from dpproxy.analysis import duck
from dpproxy.analysis.typed import Typed, as_double
from dpproxy.values.errors import Unsupported
from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTEGERS,
    TEXT,
    TEXTS,
    TIMESTAMP,
    VARCHAR,
    SqlType,
    array_of,
)

ELEMENTS = (TEXT, VARCHAR, BOOL, DATE, TIMESTAMP, INT2, INT4, INT8, FLOAT8)
"""The types whose values a list holds."""
_AS_THEY_ARE = frozenset({*TEXTS, BOOL.oid, DATE.oid, TIMESTAMP.oid})


def element(value: Typed) -> nodes.Expr:
    """A value in the form that a client reads in a list. Raises ``Unsupported`` for a type that has none."""
    if value.type.oid in _AS_THEY_ARE:
        return value.sql
    if value.type.oid in INTEGERS:
        return duck.cast(value.sql, "BIGINT")
    if value.type.oid == FLOAT8.oid:
        return as_double(value)
    raise Unsupported(
        f"a list of values of type {value.type.shown} is not answered",
        hint="CAST them to double precision, or to text.",
    )


def listed(values: Sequence[nodes.Expr], kind: SqlType, *, is_of_nothing_null: bool) -> Typed:
    """A list of elements; of aggregates that are all NULL, as over no rows, NULL where that is asked for."""
    sql: nodes.Expr = nodes.Formula(("[", *[", "] * (len(values) - 1), "]"), tuple(values))
    if is_of_nothing_null:
        sql = duck.case([(nodes.Not(nodes.IsNull(values[0])), sql)], None)
    return Typed(sql, array_of(kind), nullable=is_of_nothing_null)
