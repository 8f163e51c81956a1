"""Relations of pg_catalog that exist, with their columns, and have no rows: the proxy has no such objects."""

from dpproxy.pgcatalog.table import Table, table

_COLUMNS: dict[str, tuple[int, str, str]] = {
    "pg_aggregate": (
        2600,
        "r",
        (
            "aggfnoid aggkind aggnumdirectargs:int2 aggtransfn aggfinalfn aggcombinefn aggserialfn "
            "aggdeserialfn aggmtransfn aggminvtransfn aggmfinalfn aggfinalextra:bool "
            "aggmfinalextra:bool aggfinalmodify aggmfinalmodify aggsortop:oid aggtranstype:oid "
            "aggtransspace:int4 aggmtranstype:oid aggmtransspace:int4 agginitval aggminitval"
        ),
    ),
    "pg_amop": (
        2602,
        "r",
        (
            "oid:oid amopfamily:oid amoplefttype:oid amoprighttype:oid amopstrategy:int2 amoppurpose "
            "amopopr:oid amopmethod:oid amopsortfamily:oid"
        ),
    ),
    "pg_amproc": (
        2603,
        "r",
        "oid:oid amprocfamily:oid amproclefttype:oid amprocrighttype:oid amprocnum:int2 amproc",
    ),
    "pg_attrdef": (
        2604,
        "r",
        "oid:oid adrelid:oid adnum:int2 adbin",
    ),
    "pg_available_extensions": (
        12081,
        "v",
        "name default_version installed_version comment",
    ),
    "pg_cast": (
        2605,
        "r",
        "oid:oid castsource:oid casttarget:oid castfunc:oid castcontext castmethod",
    ),
    "pg_conversion": (
        2607,
        "r",
        (
            "oid:oid conname connamespace:oid conowner:oid conforencoding:int4 contoencoding:int4 "
            "conproc condefault:bool"
        ),
    ),
    "pg_cursors": (
        12077,
        "v",
        "name statement is_holdable:bool is_binary:bool is_scrollable:bool creation_time:timestamp",
    ),
    "pg_default_acl": (
        826,
        "r",
        "oid:oid defaclrole:oid defaclnamespace:oid defaclobjtype defaclacl:text[]",
    ),
    "pg_enum": (
        3501,
        "r",
        "oid:oid enumtypid:oid enumsortorder:float4 enumlabel",
    ),
    "pg_event_trigger": (
        3466,
        "r",
        "oid:oid evtname evtevent evtowner:oid evtfoid:oid evtenabled evttags:text[]",
    ),
    "pg_extension": (
        3079,
        "r",
        (
            "oid:oid extname extowner:oid extnamespace:oid extrelocatable:bool extversion "
            "extconfig:oid[] extcondition:text[]"
        ),
    ),
    "pg_foreign_data_wrapper": (
        2328,
        "r",
        "oid:oid fdwname fdwowner:oid fdwhandler:oid fdwvalidator:oid fdwacl:text[] fdwoptions:text[]",
    ),
    "pg_foreign_server": (
        1417,
        "r",
        "oid:oid srvname srvowner:oid srvfdw:oid srvtype srvversion srvacl:text[] srvoptions:text[]",
    ),
    "pg_foreign_table": (
        3118,
        "r",
        "ftrelid:oid ftserver:oid ftoptions:text[]",
    ),
    "pg_group": (
        12010,
        "v",
        "groname grosysid:oid grolist:oid[]",
    ),
    "pg_inherits": (
        2611,
        "r",
        "inhrelid:oid inhparent:oid inhseqno:int4 inhdetachpending:bool",
    ),
    "pg_locks": (
        12073,
        "v",
        (
            "locktype database:oid relation:oid page:int4 tuple:int2 virtualxid transactionid:oid "
            "classid:oid objid:oid objsubid:int2 virtualtransaction pid:int4 mode granted:bool "
            "fastpath:bool waitstart:timestamp"
        ),
    ),
    "pg_operator": (
        2617,
        "r",
        (
            "oid:oid oprname oprnamespace:oid oprowner:oid oprkind oprcanmerge:bool oprcanhash:bool "
            "oprleft:oid oprright:oid oprresult:oid oprcom:oid oprnegate:oid oprcode oprrest oprjoin"
        ),
    ),
    "pg_opfamily": (
        2753,
        "r",
        "oid:oid opfmethod:oid opfname opfnamespace:oid opfowner:oid",
    ),
    "pg_partitioned_table": (
        3350,
        "r",
        (
            "partrelid:oid partstrat partnatts:int2 partdefid:oid partattrs:int2[] partclass:oid[] "
            "partcollation:oid[] partexprs"
        ),
    ),
    "pg_policies": (
        12018,
        "v",
        "schemaname tablename policyname permissive roles:text[] cmd qual with_check",
    ),
    "pg_policy": (
        3256,
        "r",
        "oid:oid polname polrelid:oid polcmd polpermissive:bool polroles:oid[] polqual polwithcheck",
    ),
    "pg_prepared_statements": (
        12095,
        "v",
        (
            "name statement prepare_time:timestamp parameter_types:oid[] from_sql:bool "
            "generic_plans:int8 custom_plans:int8"
        ),
    ),
    "pg_publication": (
        6104,
        "r",
        (
            "oid:oid pubname pubowner:oid puballtables:bool pubinsert:bool pubupdate:bool "
            "pubdelete:bool pubtruncate:bool pubviaroot:bool"
        ),
    ),
    "pg_publication_namespace": (
        6237,
        "r",
        "oid:oid pnpubid:oid pnnspid:oid",
    ),
    "pg_publication_rel": (
        6106,
        "r",
        "oid:oid prpubid:oid prrelid:oid prqual prattrs:int2[]",
    ),
    "pg_range": (
        3541,
        "r",
        (
            "rngtypid:oid rngsubtype:oid rngmultitypid:oid rngcollation:oid rngsubopc:oid "
            "rngcanonical rngsubdiff"
        ),
    ),
    "pg_rules": (
        12023,
        "v",
        "schemaname tablename rulename definition",
    ),
    "pg_sequence": (
        2224,
        "r",
        (
            "seqrelid:oid seqtypid:oid seqstart:int8 seqincrement:int8 seqmax:int8 seqmin:int8 "
            "seqcache:int8 seqcycle:bool"
        ),
    ),
    "pg_sequences": (
        12048,
        "v",
        (
            "schemaname sequencename sequenceowner data_type:oid start_value:int8 min_value:int8 "
            "max_value:int8 increment_by:int8 cycle:bool cache_size:int8 last_value:int8"
        ),
    ),
    "pg_shdepend": (
        1214,
        "r",
        "dbid:oid classid:oid objid:oid objsubid:int4 refclassid:oid refobjid:oid deptype",
    ),
    "pg_shdescription": (
        2396,
        "r",
        "objoid:oid classoid:oid description",
    ),
    "pg_stat_all_tables": (
        12142,
        "v",
        (
            "relid:oid schemaname relname seq_scan:int8 seq_tup_read:int8 idx_scan:int8 "
            "idx_tup_fetch:int8 n_tup_ins:int8 n_tup_upd:int8 n_tup_del:int8 n_tup_hot_upd:int8 "
            "n_live_tup:int8 n_dead_tup:int8 n_mod_since_analyze:int8 n_ins_since_vacuum:int8 "
            "last_vacuum:timestamp last_autovacuum:timestamp last_analyze:timestamp "
            "last_autoanalyze:timestamp vacuum_count:int8 autovacuum_count:int8 analyze_count:int8 "
            "autoanalyze_count:int8"
        ),
    ),
    "pg_stat_database": (
        12266,
        "v",
        (
            "datid:oid datname numbackends:int4 xact_commit:int8 xact_rollback:int8 blks_read:int8 "
            "blks_hit:int8 tup_returned:int8 tup_fetched:int8 tup_inserted:int8 tup_updated:int8 "
            "tup_deleted:int8 conflicts:int8 temp_files:int8 temp_bytes:int8 deadlocks:int8 "
            "checksum_failures:int8 checksum_last_failure:timestamp blk_read_time:float8 "
            "blk_write_time:float8 session_time:float8 active_time:float8 "
            "idle_in_transaction_time:float8 sessions:int8 sessions_abandoned:int8 "
            "sessions_fatal:int8 sessions_killed:int8 stats_reset:timestamp"
        ),
    ),
    "pg_stat_user_indexes": (
        12192,
        "v",
        (
            "relid:oid indexrelid:oid schemaname relname indexrelname idx_scan:int8 idx_tup_read:int8 "
            "idx_tup_fetch:int8"
        ),
    ),
    "pg_stat_user_tables": (
        12161,
        "v",
        (
            "relid:oid schemaname relname seq_scan:int8 seq_tup_read:int8 idx_scan:int8 "
            "idx_tup_fetch:int8 n_tup_ins:int8 n_tup_upd:int8 n_tup_del:int8 n_tup_hot_upd:int8 "
            "n_live_tup:int8 n_dead_tup:int8 n_mod_since_analyze:int8 n_ins_since_vacuum:int8 "
            "last_vacuum:timestamp last_autovacuum:timestamp last_analyze:timestamp "
            "last_autoanalyze:timestamp vacuum_count:int8 autovacuum_count:int8 analyze_count:int8 "
            "autoanalyze_count:int8"
        ),
    ),
    "pg_statistic_ext": (
        3381,
        "r",
        (
            "oid:oid stxrelid:oid stxname stxnamespace:oid stxowner:oid stxstattarget:int4 "
            "stxkeys:int2[] stxkind:text[] stxexprs"
        ),
    ),
    "pg_stats": (
        12053,
        "v",
        (
            "schemaname tablename attname inherited:bool null_frac:float4 avg_width:int4 "
            "n_distinct:float4 most_common_vals most_common_freqs:float4[] histogram_bounds "
            "correlation:float4 most_common_elems most_common_elem_freqs:float4[] "
            "elem_count_histogram:float4[]"
        ),
    ),
    "pg_subscription": (
        6100,
        "r",
        (
            "oid:oid subdbid:oid subskiplsn subname subowner:oid subenabled:bool subbinary:bool "
            "substream:bool subtwophasestate subdisableonerr:bool subconninfo subslotname "
            "subsynccommit subpublications:text[]"
        ),
    ),
    "pg_trigger": (
        2620,
        "r",
        (
            "oid:oid tgrelid:oid tgparentid:oid tgname tgfoid:oid tgtype:int2 tgenabled "
            "tgisinternal:bool tgconstrrelid:oid tgconstrindid:oid tgconstraint:oid tgdeferrable:bool "
            "tginitdeferred:bool tgnargs:int2 tgattr:int2[] tgargs tgqual tgoldtable tgnewtable"
        ),
    ),
    "pg_ts_config": (
        3602,
        "r",
        "oid:oid cfgname cfgnamespace:oid cfgowner:oid cfgparser:oid",
    ),
    "pg_ts_dict": (
        3600,
        "r",
        "oid:oid dictname dictnamespace:oid dictowner:oid dicttemplate:oid dictinitoption",
    ),
    "pg_user_mapping": (
        1418,
        "r",
        "oid:oid umuser:oid umserver:oid umoptions:text[]",
    ),
}
"""By name: OID, kind (r table, v view), columns in the notation of `table`."""

TABLES: tuple[Table, ...] = tuple(
    table("pg_catalog", name, oid, spec, kind=kind) for name, (oid, kind, spec) in _COLUMNS.items()
)
