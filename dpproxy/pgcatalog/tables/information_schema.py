"""information_schema: relations, columns, constraints and roles that a caller may see."""

from collections.abc import Iterator
from typing import NamedTuple

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.keys import KeyConstraint, keys
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.tables.constraints import checks
from dpproxy.pgcatalog.tables.types import built_in
from dpproxy.pgcatalog.view import CatalogueRelation, CatalogueView
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

# information_schema.tables: the relations a caller may see.


def _tables_rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.with_schemas():
        yield {
            **_name_columns("table", view, schema, relation.name),
            "table_type": "BASE TABLE" if relation.kind == "r" else "VIEW",
        }


# information_schema.columns: the columns of the relations a caller may see.


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


def _columns_rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.with_schemas():
        for number, column in enumerate(relation.columns, 1):
            yield {
                **_name_columns("table", view, schema, relation.name),
                "column_name": column.name,
                "ordinal_position": number,
                "is_nullable": "NO" if column.not_null else "YES",
                "data_type": "ARRAY" if column.type.oid in ARRAYS else built_in()[column.type.oid]["display"],
                "character_octet_length": 1 << 30 if column.type.oid in TEXTS else None,
                **_numbers(column.type),
                "datetime_precision": _DATETIME_PRECISION.get(column.type.oid),
                "udt_catalog": view.database,
                "udt_name": column.type.name,
                "dtd_identifier": str(number),
            }


# information_schema.views: the views a caller may see, protected ones too; their text is not shown.


def _views_rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.with_schemas():
        if relation.kind == "v":
            yield _name_columns("table", view, schema, relation.name)


# information_schema.table_privileges: the caller may SELECT what it sees.


def _table_privileges_rows(view: CatalogueView) -> Iterator[Row]:
    for schema, relation in view.with_schemas():
        yield {"grantee": view.user, **_name_columns("table", view, schema, relation.name)}


# information_schema.schemata: the schemas.


def _schemata_rows(view: CatalogueView) -> Iterator[Row]:
    for name in view.schemas:
        yield {"catalog_name": view.database, "schema_name": name}


# information_schema.information_schema_catalog_name: the name of the data source.


def _catalog_name_rows(view: CatalogueView) -> Iterator[Row]:
    yield {"catalog_name": view.database}


# information_schema.character_sets: UTF8 alone.


def _character_sets_rows(view: CatalogueView) -> Iterator[Row]:
    yield {"default_collate_catalog": view.database}


# information_schema.applicable_roles: the roles that the caller has.


def _applicable_roles_rows(view: CatalogueView) -> Iterator[Row]:
    for name in view.caller_roles:
        if name != view.user:
            yield {"grantee": view.user, "role_name": name}


# information_schema.enabled_roles: the caller and the roles that the caller has.


def _enabled_roles_rows(view: CatalogueView) -> Iterator[Row]:
    for name in dict.fromkeys((view.user, *view.caller_roles)):
        yield {"role_name": name}


# information_schema's views of constraints: keys, foreign keys, declared domains; NOT NULL is a CHECK
# there.  PostgreSQL shows them to owners; here everybody who may see a table sees its declarations.


_KINDS = {"p": "PRIMARY KEY", "u": "UNIQUE", "f": "FOREIGN KEY"}


class _Check(NamedTuple):
    """A CHECK constraint; ``column`` is None for NOT NULL, which the views do not count as a use of the column."""

    schema: str
    table: str
    name: str
    clause: str
    column: str | None


def _checks(view: CatalogueView) -> Iterator[_Check]:
    for schema, relation in view.with_schemas():
        for number, name, plain, _ in checks(relation):
            clause = plain.removeprefix("CHECK ")
            yield _Check(schema, relation.name, name, clause, relation.columns[number - 1].name)
        oid = f"{oids.schema_oid(schema)}_{oids.relation_oid(schema, relation.name)}"
        for number, column in enumerate(relation.columns, 1):
            if column.not_null and relation.kind == "r":
                yield _Check(
                    schema, relation.name, f"{oid}_{number}_not_null", f"{column.name} IS NOT NULL", None
                )


def _name_columns(prefix: str, view: CatalogueView, schema: str, name: str) -> Row:
    return {f"{prefix}_catalog": view.database, f"{prefix}_schema": schema, f"{prefix}_name": name}


def _place(view: CatalogueView, schema: str, relation: str, name: str) -> dict[str, object]:
    return {
        **_name_columns("constraint", view, schema, name),
        **_name_columns("table", view, schema, relation),
    }


def _table_constraints(view: CatalogueView) -> Iterator[Row]:
    for key in keys(view):
        place = _place(view, key.schema, key.table.name, key.name)
        distinct = "YES" if key.kind == "u" else None
        yield {**place, "constraint_type": _KINDS[key.kind], "nulls_distinct": distinct}
    for one in _checks(view):
        yield {**_place(view, one.schema, one.table, one.name), "constraint_type": "CHECK"}


def _check_constraints(view: CatalogueView) -> Iterator[Row]:
    for one in _checks(view):
        yield {**_name_columns("constraint", view, one.schema, one.name), "check_clause": one.clause}


def _key_column_usage(view: CatalogueView) -> Iterator[Row]:
    found = list(keys(view))
    by_index = {key.index: key for key in found if key.kind != "f"}
    for key in found:
        place = _place(view, key.schema, key.table.name, key.name)
        order = by_index[key.index].columns
        for number, name in enumerate(key.names, 1):
            referenced = order.index(key.referenced[number - 1]) + 1 if key.target is not None else None
            yield {
                **place,
                "column_name": name,
                "ordinal_position": number,
                "position_in_unique_constraint": referenced,
            }


def _referential_constraints(view: CatalogueView) -> Iterator[Row]:
    for key in keys(view):
        if key.target is not None:
            yield {
                **_name_columns("constraint", view, key.schema, key.name),
                **_name_columns("unique_constraint", view, key.target.schema, key.index),
            }


def _constrained_columns(key: KeyConstraint) -> tuple[CatalogueRelation, tuple[str, ...]]:
    """The table and columns that a key constrains; for a foreign key, those of its target."""
    if key.target is None:
        return key.table, key.names
    return key.target, tuple(key.target.columns[number - 1].name for number in key.referenced)


def _used(view: CatalogueView, key: KeyConstraint, relation: CatalogueRelation) -> Row:
    return {
        **_name_columns("constraint", view, key.schema, key.name),
        **_name_columns("table", view, relation.schema, relation.name),
    }


def _constraint_column_usage(view: CatalogueView) -> Iterator[Row]:
    for key in keys(view):
        relation, names = _constrained_columns(key)
        for name in names:
            yield {**_used(view, key, relation), "column_name": name}
    for one in _checks(view):
        if one.column is not None:
            yield {**_place(view, one.schema, one.table, one.name), "column_name": one.column}


def _constraint_table_usage(view: CatalogueView) -> Iterator[Row]:
    for key in keys(view):
        yield _used(view, key, _constrained_columns(key)[0])


_CONSTRAINT = "constraint_catalog constraint_schema constraint_name"
_TABLE = "table_catalog table_schema table_name"
TABLES = (
    table("information_schema", "tables", _tables_rows),
    table("information_schema", "columns", _columns_rows),
    table("information_schema", "views", _views_rows),
    table("information_schema", "table_privileges", _table_privileges_rows),
    table("information_schema", "schemata", _schemata_rows),
    table("information_schema", "information_schema_catalog_name", _catalog_name_rows),
    table("information_schema", "character_sets", _character_sets_rows),
    table("information_schema", "applicable_roles", _applicable_roles_rows),
    table("information_schema", "enabled_roles", _enabled_roles_rows),
    table("information_schema", "table_constraints", _table_constraints),
    table("information_schema", "check_constraints", _check_constraints),
    table("information_schema", "key_column_usage", _key_column_usage),
    table("information_schema", "referential_constraints", _referential_constraints),
    table("information_schema", "constraint_column_usage", _constraint_column_usage),
    table("information_schema", "constraint_table_usage", _constraint_table_usage),
)
