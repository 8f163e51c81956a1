"""information_schema.columns: the columns of the relations a caller may see."""

from collections.abc import Iterator

from dpproxy.pgcatalog.pg_type import built_in
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView
from dpproxy.values.pgtypes import (
    ARRAYS,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTEGERS,
    INTERVAL,
    NUMERIC,
    TEXTS,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    SqlType,
)

_FIXED: dict[str, object] = {
    "is_self_referencing": "NO",
    "is_identity": "NO",
    "identity_cycle": "NO",
    "is_generated": "NEVER",
    "is_updatable": "NO",
}
_BITS = {INT2.oid: 16, INT4.oid: 32, INT8.oid: 64, FLOAT4.oid: 24, FLOAT8.oid: 53}
_DATETIME_PRECISION = {
    DATE.oid: 0,
    **dict.fromkeys((TIME.oid, TIMESTAMP.oid, TIMESTAMPTZ.oid, INTERVAL.oid), 6),
}


def _numbers(of: SqlType) -> Row:
    """numeric_precision and its two companions."""
    if of.oid == NUMERIC.oid:
        return {"numeric_precision": of.precision, "numeric_precision_radix": 10, "numeric_scale": of.scale}
    if of.oid in _BITS:
        scale = 0 if of.oid in INTEGERS else None
        return {"numeric_precision": _BITS[of.oid], "numeric_precision_radix": 2, "numeric_scale": scale}
    return {}


def _rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.with_schemas():
        for number, column in enumerate(relation.columns, 1):
            yield _FIXED | {
                "table_catalog": view.database,
                "table_schema": schema,
                "table_name": relation.name,
                "column_name": column.name,
                "ordinal_position": number,
                "is_nullable": "NO" if column.not_null else "YES",
                "data_type": "ARRAY" if column.type.oid in ARRAYS else built_in()[column.type.oid]["display"],
                "character_octet_length": 1 << 30 if column.type.oid in TEXTS else None,
                **_numbers(column.type),
                "datetime_precision": _DATETIME_PRECISION.get(column.type.oid),
                "udt_catalog": view.database,
                "udt_schema": "pg_catalog",
                "udt_name": column.type.name,
                "dtd_identifier": str(number),
            }


TABLE = table("information_schema", "columns", _rows)
