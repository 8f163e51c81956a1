"""Every relation of the catalogue: the allow-list of relations that statements may read."""

from collections.abc import Iterator

from dpproxy.pgcatalog.fact_files import facts
from dpproxy.pgcatalog.keys import not_found
from dpproxy.pgcatalog.keywords import KEYWORDS
from dpproxy.pgcatalog.names import (
    FUNCTION_NAMES,
    FUNCTION_SIGNATURES,
    ROLE_NAMES,
    SCHEMA_NAMES,
    TYPE_NAMES,
    class_names,
)
from dpproxy.pgcatalog.table import CatalogueTable, relations, table
from dpproxy.pgcatalog.tables import (
    classes,
    constraints,
    dependencies,
    functions,
    information_schema,
    roles,
    server,
    types,
)
from dpproxy.pgcatalog.tables.classes import pg_class

_ANSWERED: tuple[CatalogueTable, ...] = (
    *classes.TABLES,
    *constraints.TABLES,
    *dependencies.TABLES,
    *functions.TABLES,
    *information_schema.TABLES,
    *roles.TABLES,
    *server.TABLES,
    *types.TABLES,
)

_FACTS = ("pg_am", "pg_collation", "pg_opclass", "pg_tablespace")
"""Relations whose rows are all facts of PostgreSQL."""


def _of_facts(name: str) -> CatalogueTable:
    return table("pg_catalog", name, lambda _view: facts(name))


def _others() -> Iterator[CatalogueTable]:
    """All relations but pg_class; those without a module are empty, since the proxy has no such objects."""
    answered = {(each.schema, each.name): each for each in (*_ANSWERED, *map(_of_facts, _FACTS))}
    for key in relations():
        if key != ("pg_catalog", "pg_class"):
            yield answered.get(key) or table(*key)


_OTHERS = tuple(_others())
_PG_CLASS = pg_class(_OTHERS)

TABLES: dict[tuple[str, str], CatalogueTable] = {
    (each.schema, each.name): each for each in (_PG_CLASS, *_OTHERS)
}
"""By schema and name."""

INTERNAL: dict[str, CatalogueTable] = {
    each.name: each
    for each in (
        class_names(_PG_CLASS, not_found),
        TYPE_NAMES,
        ROLE_NAMES,
        FUNCTION_NAMES,
        FUNCTION_SIGNATURES,
        SCHEMA_NAMES,
        KEYWORDS,
        constraints.PG_CONSTRAINT_TEXTS,
        functions.PG_PROC_TEXTS,
        constraints.PG_INDEX_TEXTS,
    )
}
"""Tables that rewritten casts read; no statement can name them."""
