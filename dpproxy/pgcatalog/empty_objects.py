"""Objects that few databases have, and the proxy has none of: labels, text search, prepared transactions."""

from dpproxy.pgcatalog.table import Table, table

_COLUMNS: dict[str, tuple[int, str, str]] = {
    "pg_largeobject_metadata": (
        2995,
        "r",
        "oid:oid lomowner:oid lomacl:text[]",
    ),
    "pg_matviews": (
        12038,
        "v",
        "schemaname matviewname matviewowner tablespace hasindexes:bool ispopulated:bool definition",
    ),
    "pg_parameter_acl": (
        6243,
        "r",
        "oid:oid parname paracl:text[]",
    ),
    "pg_prepared_xacts": (
        12090,
        "v",
        "transaction:oid gid prepared:timestamp owner database",
    ),
    "pg_replication_origin": (
        6000,
        "r",
        "roident:oid roname",
    ),
    "pg_seclabel": (
        3596,
        "r",
        "objoid:oid classoid:oid objsubid:int4 provider label",
    ),
    "pg_seclabels": (
        12099,
        "v",
        "objoid:oid classoid:oid objsubid:int4 objtype objnamespace:oid objname provider label",
    ),
    "pg_shseclabel": (
        3592,
        "r",
        "objoid:oid classoid:oid provider label",
    ),
    "pg_transform": (
        3576,
        "r",
        "oid:oid trftype:oid trflang:oid trffromsql trftosql",
    ),
    "pg_ts_config_map": (
        3603,
        "r",
        "mapcfg:oid maptokentype:int4 mapseqno:int4 mapdict:oid",
    ),
    "pg_ts_parser": (
        3601,
        "r",
        "oid:oid prsname prsnamespace:oid prsstart prstoken prsend prsheadline prslextype",
    ),
    "pg_ts_template": (
        3764,
        "r",
        "oid:oid tmplname tmplnamespace:oid tmplinit tmpllexize",
    ),
    "pg_user_mappings": (
        12327,
        "v",
        "umid:oid srvid:oid srvname umuser:oid usename umoptions:text[]",
    ),
}
"""By name: OID, kind (r table, v view), columns in the notation of `table`."""

TABLES: tuple[Table, ...] = tuple(
    table("pg_catalog", name, oid, spec, kind=kind) for name, (oid, kind, spec) in _COLUMNS.items()
)
