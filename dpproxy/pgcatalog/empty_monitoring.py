"""What administrators watch in a PostgreSQL server: nothing of it is kept here, so these have no rows."""

from dpproxy.pgcatalog.table import Table, table

_COLUMNS: dict[str, tuple[int, str, str]] = {
    "pg_publication_tables": (
        12068,
        "v",
        "pubname schemaname tablename attnames:text[] rowfilter",
    ),
    "pg_replication_slots": (
        12257,
        "v",
        (
            "slot_name plugin slot_type datoid:oid database temporary:bool active:bool "
            "active_pid:int4 xmin:oid catalog_xmin:oid restart_lsn confirmed_flush_lsn wal_status "
            "safe_wal_size:int8 two_phase:bool"
        ),
    ),
    "pg_timezone_abbrevs": (12122, "v", "abbrev utc_offset:interval is_dst:bool"),
    "pg_stat_all_indexes": (
        12183,
        "v",
        (
            "relid:oid indexrelid:oid schemaname relname indexrelname idx_scan:int8 idx_tup_read:int8 "
            "idx_tup_fetch:int8"
        ),
    ),
    "pg_stat_gssapi": (
        12253,
        "v",
        "pid:int4 gss_authenticated:bool principal encrypted:bool",
    ),
    "pg_stat_progress_analyze": (
        12297,
        "v",
        (
            "pid:int4 datid:oid datname relid:oid phase sample_blks_total:int8 "
            "sample_blks_scanned:int8 ext_stats_total:int8 ext_stats_computed:int8 "
            "child_tables_total:int8 child_tables_done:int8 current_child_table_relid:oid"
        ),
    ),
    "pg_stat_progress_basebackup": (
        12317,
        "v",
        (
            "pid:int4 phase backup_total:int8 backup_streamed:int8 tablespaces_total:int8 "
            "tablespaces_streamed:int8"
        ),
    ),
    "pg_stat_progress_cluster": (
        12307,
        "v",
        (
            "pid:int4 datid:oid datname relid:oid command phase cluster_index_relid:oid "
            "heap_tuples_scanned:int8 heap_tuples_written:int8 heap_blks_total:int8 "
            "heap_blks_scanned:int8 index_rebuild_count:int8"
        ),
    ),
    "pg_stat_progress_copy": (
        12322,
        "v",
        (
            "pid:int4 datid:oid datname relid:oid command type bytes_processed:int8 bytes_total:int8 "
            "tuples_processed:int8 tuples_excluded:int8"
        ),
    ),
    "pg_stat_progress_create_index": (
        12312,
        "v",
        (
            "pid:int4 datid:oid datname relid:oid index_relid:oid command phase lockers_total:int8 "
            "lockers_done:int8 current_locker_pid:int8 blocks_total:int8 blocks_done:int8 "
            "tuples_total:int8 tuples_done:int8 partitions_total:int8 partitions_done:int8"
        ),
    ),
    "pg_stat_progress_vacuum": (
        12302,
        "v",
        (
            "pid:int4 datid:oid datname relid:oid phase heap_blks_total:int8 heap_blks_scanned:int8 "
            "heap_blks_vacuumed:int8 index_vacuum_count:int8 max_dead_tuples:int8 "
            "num_dead_tuples:int8"
        ),
    ),
    "pg_stat_replication": (
        12227,
        "v",
        (
            "pid:int4 usesysid:oid usename application_name client_addr client_hostname "
            "client_port:int4 backend_start:timestamp backend_xmin:oid state sent_lsn write_lsn "
            "flush_lsn replay_lsn write_lag flush_lag replay_lag sync_priority:int4 sync_state "
            "reply_time:timestamp"
        ),
    ),
    "pg_stat_subscription": (
        12244,
        "v",
        (
            "subid:oid subname pid:int4 relid:oid received_lsn last_msg_send_time:timestamp "
            "last_msg_receipt_time:timestamp latest_end_lsn latest_end_time:timestamp"
        ),
    ),
    "pg_stat_user_functions": (
        12275,
        "v",
        "funcid:oid schemaname funcname calls:int8 total_time:float8 self_time:float8",
    ),
    "pg_stat_wal_receiver": (
        12236,
        "v",
        (
            "pid:int4 status receive_start_lsn receive_start_tli:int4 written_lsn flushed_lsn "
            "received_tli:int4 last_msg_send_time:timestamp last_msg_receipt_time:timestamp "
            "latest_end_lsn latest_end_time:timestamp slot_name sender_host sender_port:int4 conninfo"
        ),
    ),
    "pg_statio_all_indexes": (
        12196,
        "v",
        "relid:oid indexrelid:oid schemaname relname indexrelname idx_blks_read:int8 idx_blks_hit:int8",
    ),
    "pg_statio_all_sequences": (
        12209,
        "v",
        "relid:oid schemaname relname blks_read:int8 blks_hit:int8",
    ),
    "pg_statio_all_tables": (
        12170,
        "v",
        (
            "relid:oid schemaname relname heap_blks_read:int8 heap_blks_hit:int8 idx_blks_read:int8 "
            "idx_blks_hit:int8 toast_blks_read:int8 toast_blks_hit:int8 tidx_blks_read:int8 "
            "tidx_blks_hit:int8"
        ),
    ),
    "pg_statio_user_indexes": (
        12205,
        "v",
        "relid:oid indexrelid:oid schemaname relname indexrelname idx_blks_read:int8 idx_blks_hit:int8",
    ),
    "pg_statio_user_sequences": (
        12218,
        "v",
        "relid:oid schemaname relname blks_read:int8 blks_hit:int8",
    ),
    "pg_statio_user_tables": (
        12179,
        "v",
        (
            "relid:oid schemaname relname heap_blks_read:int8 heap_blks_hit:int8 idx_blks_read:int8 "
            "idx_blks_hit:int8 toast_blks_read:int8 toast_blks_hit:int8 tidx_blks_read:int8 "
            "tidx_blks_hit:int8"
        ),
    ),
}
"""By name: OID, kind (r table, v view), columns in the notation of `table`."""

TABLES: tuple[Table, ...] = tuple(
    table("pg_catalog", name, oid, spec, kind=kind) for name, (oid, kind, spec) in _COLUMNS.items()
)
