"""Tables of several schemas in one: those outside of public have their schema in their name, ``clinic.visits``.

A table has one name only, and no two tables have the same: a second name would be a second account of its rows.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import cast

from msgspec.structs import replace

from dpproxy.algebra import nodes
from dpproxy.values.errors import StartupError
from dpproxy.values.pgtypes import CheckConstraint, Constraint, ForeignKey, Schema, UniqueKey

TAKEN = ("main", "public", "pg_catalog", "information_schema", "dp", "internal")
"""Names of schemas that mean something else here."""


def check_names(schemas: Sequence[str], source: str) -> None:
    """Raise ``StartupError`` for a schema that cannot be served under its own name."""
    for name in schemas:
        if name in TAKEN or name.startswith("pg_"):
            raise StartupError(
                f'data.{source}.schemas: expected schemas of the data, and "{name}" is a name of the proxy\'s own'
            )


def check_read(schemas: Sequence[str], found: Schema, source: str) -> None:
    """Raise ``StartupError`` for a schema of which no table can be read."""
    there = {schema for schema, _ in found.places.values()}
    for name in schemas:
        if name not in there:
            raise StartupError(f'data.{source}.schemas: no table can be read in schema "{name}"')


def together(public: Schema, others: Mapping[str, Schema]) -> Schema:
    """The tables of all; one whose name with its schema is also another's is left out, and so is that other."""
    found = public
    for name, schema in others.items():
        found = _beside(found, name, schema)
    same = [(of, table) for of, schema in (("", public), *others.items()) for table in schema.tables]
    names = Counter(f"{of}.{table}".lower() if of else table.lower() for of, table in same)
    kept = {name: columns for name, columns in found.tables.items() if names[name.lower()] == 1}
    return replace(
        found, tables=kept, places={name: place for name, place in found.places.items() if name in kept}
    )


def _beside(found: Schema, name: str, schema: Schema) -> Schema:
    constraints = (_named(c, name) for c in schema.constraints)
    return replace(
        found,
        tables={**found.tables, **{f"{name}.{t}": columns for t, columns in schema.tables.items()}},
        constraints=(*found.constraints, *constraints),
        left_out={**found.left_out, **{f"{name}.{t}": columns for t, columns in schema.left_out.items()}},
        documents={**found.documents, **{f"{name}.{t}": columns for t, columns in schema.documents.items()}},
        places={**found.places, **{f"{name}.{t}": (name, t) for t in schema.tables}},
    )


def _named(constraint: Constraint, schema: str) -> Constraint:
    match constraint:
        case ForeignKey():
            target = f"{schema}.{constraint.target}"
            return replace(constraint, table=f"{schema}.{constraint.table}", target=target)
        case UniqueKey() | CheckConstraint():
            return replace(constraint, table=f"{schema}.{constraint.table}")


def in_places(query: nodes.Query, places: Mapping[str, tuple[str, ...]]) -> nodes.Query:
    """The statement with each table where it is."""

    def read(node: nodes.Node) -> nodes.Table | None:
        if not isinstance(node, nodes.Table) or node.path or node.name not in places:
            return None
        *path, name = places[node.name]
        return nodes.Table(name, node.alias or node.name, tuple(path))

    return cast("nodes.Query", query.transform(read)) if places else query
