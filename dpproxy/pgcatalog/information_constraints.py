"""information_schema's views of constraints: keys, foreign keys, declared domains; NOT NULL is a CHECK there.

PostgreSQL shows them to owners; here everybody who may see a table sees its declarations.
"""

from collections.abc import Iterator
from typing import NamedTuple

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.keys import Key, keys
from dpproxy.pgcatalog.pg_constraint import checks
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView

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
        oid = f"{oids.SCHEMAS[schema]}_{oids.relation_oid(schema, relation.name)}"
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


_FIXED = {"is_deferrable": "NO", "initially_deferred": "NO", "enforced": "YES"}


def _table_constraints(view: CatalogueView) -> Iterator[Row]:
    for key in keys(view):
        place = _place(view, key.schema, key.table.name, key.name)
        distinct = "YES" if key.kind == "u" else None
        yield {**_FIXED, **place, "constraint_type": _KINDS[key.kind], "nulls_distinct": distinct}
    for one in _checks(view):
        yield {**_FIXED, **_place(view, one.schema, one.table, one.name), "constraint_type": "CHECK"}


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
                **_name_columns("unique_constraint", view, key.schema, key.index),
                "match_option": "NONE",
                "update_rule": "NO ACTION",
                "delete_rule": "NO ACTION",
            }


def _constrained_columns(key: Key) -> tuple[str, tuple[str, ...]]:
    """The table and columns that a key constrains; for a foreign key, those of its target."""
    if key.target is None:
        return key.table.name, key.names
    return key.target.name, tuple(key.target.columns[number - 1].name for number in key.referenced)


def _constraint_column_usage(view: CatalogueView) -> Iterator[Row]:
    for key in keys(view):
        relation, names = _constrained_columns(key)
        for name in names:
            yield {**_place(view, key.schema, relation, key.name), "column_name": name}
    for one in _checks(view):
        if one.column is not None:
            yield {**_place(view, one.schema, one.table, one.name), "column_name": one.column}


def _constraint_table_usage(view: CatalogueView) -> Iterator[Row]:
    for key in keys(view):
        yield _place(view, key.schema, _constrained_columns(key)[0], key.name)


_CONSTRAINT = "constraint_catalog constraint_schema constraint_name"
_TABLE = "table_catalog table_schema table_name"
TABLES = (
    table("information_schema", "table_constraints", _table_constraints),
    table("information_schema", "check_constraints", _check_constraints),
    table("information_schema", "key_column_usage", _key_column_usage),
    table("information_schema", "referential_constraints", _referential_constraints),
    table("information_schema", "constraint_column_usage", _constraint_column_usage),
    table("information_schema", "constraint_table_usage", _constraint_table_usage),
)
