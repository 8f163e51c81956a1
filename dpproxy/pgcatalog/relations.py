"""Every relation of the catalogue: the allow-list of relations that statements may read."""

from collections.abc import Iterator

from dpproxy.pgcatalog import (
    information_applicable_roles,
    information_catalog_name,
    information_character_sets,
    information_columns,
    information_constraints,
    information_enabled_roles,
    information_schemata,
    information_table_privileges,
    information_tables,
    information_views,
    pg_aggregate,
    pg_attribute,
    pg_auth_members,
    pg_constraint,
    pg_database,
    pg_db_role_setting,
    pg_depend,
    pg_description,
    pg_index,
    pg_language,
    pg_namespace,
    pg_proc,
    pg_rewrite,
    pg_roles,
    pg_settings,
    pg_stat_activity,
    pg_tables,
    pg_timezone_names,
    pg_type,
    pg_user,
    pg_views,
)
from dpproxy.pgcatalog.fact_files import facts
from dpproxy.pgcatalog.keywords import KEYWORDS
from dpproxy.pgcatalog.names import (
    FUNCTION_NAMES,
    FUNCTION_SIGNATURES,
    ROLE_NAMES,
    SCHEMA_NAMES,
    TYPE_NAMES,
    class_names,
)
from dpproxy.pgcatalog.pg_class import pg_class
from dpproxy.pgcatalog.table import Table, relations, table

_ANSWERED: tuple[Table, ...] = (
    pg_aggregate.TABLE,
    pg_attribute.TABLE,
    pg_auth_members.TABLE,
    pg_constraint.TABLE,
    pg_database.TABLE,
    pg_db_role_setting.TABLE,
    pg_depend.TABLE,
    pg_description.TABLE,
    pg_index.TABLE,
    pg_index.VIEW,
    pg_language.TABLE,
    pg_namespace.TABLE,
    pg_proc.TABLE,
    pg_rewrite.TABLE,
    pg_roles.TABLE,
    pg_settings.TABLE,
    pg_stat_activity.TABLE,
    pg_tables.TABLE,
    pg_timezone_names.TABLE,
    pg_type.TABLE,
    pg_user.TABLE,
    pg_views.TABLE,
    information_tables.TABLE,
    information_columns.TABLE,
    information_schemata.TABLE,
    information_catalog_name.TABLE,
    information_character_sets.TABLE,
    information_applicable_roles.TABLE,
    information_enabled_roles.TABLE,
    information_table_privileges.TABLE,
    information_views.TABLE,
    *information_constraints.TABLES,
)

_FACTS = ("pg_am", "pg_collation", "pg_opclass", "pg_tablespace")
"""Relations whose rows are all facts of PostgreSQL."""


def _of_facts(name: str) -> Table:
    return table("pg_catalog", name, lambda _view: facts(name))


def _others() -> Iterator[Table]:
    """All relations but pg_class; those without a module are empty, since the proxy has no such objects."""
    answered = {(each.schema, each.name): each for each in (*_ANSWERED, *map(_of_facts, _FACTS))}
    for key in relations():
        if key != ("pg_catalog", "pg_class"):
            yield answered.get(key) or table(*key)


_OTHERS = tuple(_others())
_PG_CLASS = pg_class(_OTHERS)

TABLES: dict[tuple[str, str], Table] = {(each.schema, each.name): each for each in (_PG_CLASS, *_OTHERS)}
"""By schema and name."""

INTERNAL: dict[str, Table] = {
    each.name: each
    for each in (
        class_names(_PG_CLASS),
        TYPE_NAMES,
        ROLE_NAMES,
        FUNCTION_NAMES,
        FUNCTION_SIGNATURES,
        SCHEMA_NAMES,
        KEYWORDS,
        pg_constraint.TEXTS,
        pg_proc.TEXTS,
        pg_index.TEXTS,
    )
}
"""Tables that rewritten casts read; no statement can name them."""
