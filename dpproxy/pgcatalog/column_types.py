"""PostgreSQL's types of what columns of the catalogue hold, where the engine's do not tell: name, "char", vectors.

A column is known by its name alone: the prefixes of the catalogue's columns keep them apart.
"""

from collections.abc import Callable, Sequence

from sqlglot import exp

from dpproxy.pgcatalog import casts
from dpproxy.pgcatalog.results import column_type
from dpproxy.pgcatalog.table import Table
from dpproxy.values.pgtypes import (
    CHAR,
    FLOATS,
    INET,
    INT2VECTOR,
    INTEGERS,
    NAME,
    NUMERIC,
    OIDVECTOR,
    REGPROC,
    TEXT,
    TIMESTAMPTZ,
    UNKNOWN,
    VARCHAR,
    XID,
    SqlType,
    array_of,
    element_of,
)

VECTORS = frozenset({
    "indkey", "indoption", "partattrs", "prattrs", "stxkeys", "tgattr", "indclass", "indcollation", "partclass",
    "partcollation", "proargtypes",
})  # fmt: skip
"""Columns of lists that are counted from 0."""
PROCEDURES = frozenset({
    "prosupport", "typsubscript", "typinput", "typoutput", "typreceive", "typsend", "typmodin", "typmodout",
    "typanalyze", "amhandler",
})  # fmt: skip
"""Columns of functions, kept by name: a dash where there is none, which PostgreSQL numbers 0."""
_CHARS = frozenset({
    "aggfinalmodify", "aggkind", "aggmfinalmodify", "amoppurpose", "amtype", "attalign", "attcompression",
    "attgenerated", "attidentity", "attstorage", "castcontext", "castmethod", "collprovider", "confdeltype",
    "confmatchtype", "confupdtype", "contype", "datlocprovider", "defaclobjtype", "deptype", "ev_enabled", "ev_type",
    "evtenabled", "oprkind", "partstrat", "polcmd", "prokind", "proparallel", "provolatile", "relkind",
    "relpersistence", "relreplident", "subtwophasestate", "tgenabled", "typalign", "typcategory", "typdelim",
    "typstorage", "typtype",
})  # fmt: skip
_NAMES = frozenset({
    "action_reference_new_row", "action_reference_new_table", "action_reference_old_row", "action_reference_old_table",
    "character_repertoire", "collection_type_identifier", "enumlabel", "event_object_table", "evtevent", "form_of_use",
    "grantee", "grantor", "matviewowner", "plugin", "schema_owner", "sequenceowner", "tableowner", "tablespace",
    "tgnewtable",
    "tgoldtable", "viewowner",
})  # fmt: skip
_ENDS_OF_NAMES = ("name", "_catalog", "_schema", "dtd_identifier")
_TEXTS = frozenset({"application_name", "client_hostname", "external_name", "name"})
"""What ends so and is none."""
_VARCHARS = frozenset({
    "action_condition", "action_orientation", "action_statement", "action_timing", "as_locator", "check_clause",
    "check_option", "column_default", "commit_action", "constraint_type", "cycle_option", "data_type", "delete_rule",
    "domain_default", "enforced", "event_manipulation", "external_language", "external_name", "generation_expression",
    "identity_cycle", "identity_generation", "identity_increment", "identity_maximum", "identity_minimum",
    "identity_start", "increment", "initially_deferred", "interval_type", "is_deferrable", "is_deterministic",
    "is_final", "is_generated", "is_grantable", "is_identity", "is_implicitly_invocable", "is_insertable_into",
    "is_instantiable", "is_null_call", "is_nullable", "is_result", "is_self_referencing", "is_trigger_deletable",
    "is_trigger_insertable_into", "is_trigger_updatable", "is_typed", "is_udt_dependent", "is_updatable",
    "is_user_defined_cast", "match_option", "maximum_value", "minimum_value", "new_savepoint_level", "nulls_distinct",
    "object_type", "ordering_category", "ordering_form", "pad_attribute", "parameter_default", "parameter_mode",
    "parameter_style", "privilege_type", "reference_generation", "reference_type", "result_cast_as_locator",
    "result_cast_from_data_type", "result_cast_interval_type", "routine_body", "routine_definition", "routine_type",
    "schema_level_routine", "security_type", "sql_data_access", "sql_path", "start_value", "table_type",
    "update_rule", "user_defined_type_category", "view_definition", "with_hierarchy",
})  # fmt: skip
"""What the standard's views call character_data and yes_or_no."""
_XIDS = frozenset({"relminmxid", "datminmxid", "backend_xmin", "transactionid", "xmin", "catalog_xmin"})
_MOMENTS = frozenset({
    "backend_start", "checksum_last_failure", "created", "creation_time", "last_altered", "last_analyze",
    "last_autoanalyze", "last_autovacuum", "last_msg_receipt_time", "last_msg_send_time", "last_vacuum",
    "latest_end_time", "prepare_time", "prepared", "query_start", "reply_time", "rolvaliduntil", "state_change",
    "stats_reset", "valuntil", "waitstart", "xact_start",
})  # fmt: skip
"""The catalogue's own; those of schema dp have no zone."""
_OTHERS = {
    "client_addr": INET,
    "attnames": array_of(NAME),
    "roles": array_of(NAME),
    "proargmodes": array_of(CHAR),
    "stxkind": array_of(CHAR),
}


def of_column(name: str, stored: str) -> SqlType:
    """The type of a column of the catalogue, which the engine holds as ``stored``.

    Example:
        >>> of_column("relname", "VARCHAR").name, of_column("indkey", "SMALLINT[]").name
        ('name', 'int2vector')
        >>> of_column("reltuples", "FLOAT").name
        'float4'
    """
    match stored:
        case "VARCHAR" if name in _CHARS:
            return CHAR
        case "VARCHAR" if name in _NAMES or (name.endswith(_ENDS_OF_NAMES) and name not in _TEXTS):
            return NAME
        case "VARCHAR" if name in _VARCHARS:
            return VARCHAR
        case "SMALLINT[]" if name in VECTORS:
            return INT2VECTOR
        case "UINTEGER[]" if name in VECTORS:
            return OIDVECTOR
        case "UINTEGER" if name.endswith("xid") or name in _XIDS:
            return XID
        case "TIMESTAMP" if name in _MOMENTS:
            return TIMESTAMPTZ
        case _:
            return _OTHERS.get(name, column_type(stored))


def of_table(table: Table) -> dict[str, SqlType]:
    """The types of a relation's columns."""
    return {name: of_column(name, stored) for name, stored in table.columns.items()}


Told = Callable[[str], SqlType]
"""The type of a result column, from the engine's."""


def told(tree: exp.Expr, fields: Sequence[tuple[str, SqlType | None]] | None) -> tuple[Told, ...] | None:
    """For each column of a query's result, by what is known of it; None where they are not known."""
    projections = tree.selects if isinstance(tree, exp.Query) else []
    if any(p.is_star for p in projections):
        return None if fields is None else tuple(_either(name, kind) for name, kind in fields)
    kinds = [None] * len(projections) if fields is None else [kind for _, kind in fields]
    names = [p.unalias().name if isinstance(p.unalias(), exp.Column) else "" for p in projections]
    return tuple(map(_either, names, kinds))


def _either(name: str, kind: SqlType | None) -> Told:
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
    return stored == casts.held(name) + "[]" * (element is not None)
