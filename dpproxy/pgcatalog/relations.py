"""Every relation of the catalogue: the allow-list of what a statement here may read."""

from dpproxy.pgcatalog import (
    empty,
    empty_information,
    empty_monitoring,
    empty_objects,
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
    pg_am,
    pg_attribute,
    pg_auth_members,
    pg_collation,
    pg_constraint,
    pg_database,
    pg_db_role_setting,
    pg_depend,
    pg_description,
    pg_index,
    pg_language,
    pg_namespace,
    pg_opclass,
    pg_proc,
    pg_rewrite,
    pg_roles,
    pg_settings,
    pg_stat_activity,
    pg_tables,
    pg_tablespace,
    pg_timezone_names,
    pg_type,
    pg_user,
    pg_views,
)
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
from dpproxy.pgcatalog.table import Table

_OTHERS: tuple[Table, ...] = (
    pg_am.TABLE,
    pg_attribute.TABLE,
    pg_auth_members.TABLE,
    pg_collation.TABLE,
    pg_constraint.TABLE,
    pg_database.TABLE,
    pg_db_role_setting.TABLE,
    pg_depend.TABLE,
    pg_description.TABLE,
    pg_index.TABLE,
    pg_index.VIEW,
    pg_language.TABLE,
    pg_namespace.TABLE,
    pg_opclass.TABLE,
    pg_proc.TABLE,
    pg_rewrite.TABLE,
    pg_roles.TABLE,
    pg_settings.TABLE,
    pg_stat_activity.TABLE,
    pg_tables.TABLE,
    pg_tablespace.TABLE,
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
    *empty.TABLES,
    *empty_information.TABLES,
    *empty_monitoring.TABLES,
    *empty_objects.TABLES,
)

_PG_CLASS = pg_class(_OTHERS)

TABLES: dict[tuple[str, str], Table] = {(table.schema, table.name): table for table in (_PG_CLASS, *_OTHERS)}
"""By schema and name."""

INTERNAL: dict[str, Table] = {
    table.name: table
    for table in (
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
"""What the rewritten casts read; no statement can name them."""
