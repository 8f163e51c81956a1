"""Relations of information_schema that exist, with their columns, and have no rows."""

from dpproxy.pgcatalog.table import Table, table

_COLUMNS: dict[str, tuple[int, str, str]] = {
    "collations": (
        13265,
        "v",
        "collation_catalog collation_schema collation_name pad_attribute",
    ),
    "column_privileges": (
        13285,
        "v",
        "grantor grantee table_catalog table_schema table_name column_name privilege_type is_grantable",
    ),
    "domains": (
        13320,
        "v",
        (
            "domain_catalog domain_schema domain_name data_type character_maximum_length:int4 "
            "character_octet_length:int4 character_set_catalog character_set_schema "
            "character_set_name collation_catalog collation_schema collation_name "
            "numeric_precision:int4 numeric_precision_radix:int4 numeric_scale:int4 "
            "datetime_precision:int4 interval_type interval_precision:int4 domain_default udt_catalog "
            "udt_schema udt_name scope_catalog scope_schema scope_name maximum_cardinality:int4 "
            "dtd_identifier"
        ),
    ),
    "element_types": (
        13493,
        "v",
        (
            "object_catalog object_schema object_name object_type collection_type_identifier "
            "data_type character_maximum_length:int4 character_octet_length:int4 "
            "character_set_catalog character_set_schema character_set_name collation_catalog "
            "collation_schema collation_name numeric_precision:int4 numeric_precision_radix:int4 "
            "numeric_scale:int4 datetime_precision:int4 interval_type interval_precision:int4 "
            "domain_default udt_catalog udt_schema udt_name scope_catalog scope_schema scope_name "
            "maximum_cardinality:int4 dtd_identifier"
        ),
    ),
    "foreign_tables": (
        13541,
        "v",
        (
            "foreign_table_catalog foreign_table_schema foreign_table_name foreign_server_catalog "
            "foreign_server_name"
        ),
    ),
    "parameters": (
        13334,
        "v",
        (
            "specific_catalog specific_schema specific_name ordinal_position:int4 parameter_mode "
            "is_result as_locator parameter_name data_type character_maximum_length:int4 "
            "character_octet_length:int4 character_set_catalog character_set_schema "
            "character_set_name collation_catalog collation_schema collation_name "
            "numeric_precision:int4 numeric_precision_radix:int4 numeric_scale:int4 "
            "datetime_precision:int4 interval_type interval_precision:int4 udt_catalog udt_schema "
            "udt_name scope_catalog scope_schema scope_name maximum_cardinality:int4 dtd_identifier "
            "parameter_default"
        ),
    ),
    "role_table_grants": (
        13421,
        "v",
        "grantor grantee table_catalog table_schema table_name privilege_type is_grantable with_hierarchy",
    ),
    "routines": (
        13377,
        "v",
        (
            "specific_catalog specific_schema specific_name routine_catalog routine_schema "
            "routine_name routine_type module_catalog module_schema module_name udt_catalog "
            "udt_schema udt_name data_type character_maximum_length:int4 character_octet_length:int4 "
            "character_set_catalog character_set_schema character_set_name collation_catalog "
            "collation_schema collation_name numeric_precision:int4 numeric_precision_radix:int4 "
            "numeric_scale:int4 datetime_precision:int4 interval_type interval_precision:int4 "
            "type_udt_catalog type_udt_schema type_udt_name scope_catalog scope_schema scope_name "
            "maximum_cardinality:int4 dtd_identifier routine_body routine_definition external_name "
            "external_language parameter_style is_deterministic sql_data_access is_null_call sql_path "
            "schema_level_routine max_dynamic_result_sets:int4 is_user_defined_cast "
            "is_implicitly_invocable security_type to_sql_specific_catalog to_sql_specific_schema "
            "to_sql_specific_name as_locator created:timestamp last_altered:timestamp "
            "new_savepoint_level is_udt_dependent result_cast_from_data_type result_cast_as_locator "
            "result_cast_char_max_length:int4 result_cast_char_octet_length:int4 "
            "result_cast_char_set_catalog result_cast_char_set_schema result_cast_char_set_name "
            "result_cast_collation_catalog result_cast_collation_schema result_cast_collation_name "
            "result_cast_numeric_precision:int4 result_cast_numeric_precision_radix:int4 "
            "result_cast_numeric_scale:int4 result_cast_datetime_precision:int4 "
            "result_cast_interval_type result_cast_interval_precision:int4 "
            "result_cast_type_udt_catalog result_cast_type_udt_schema result_cast_type_udt_name "
            "result_cast_scope_catalog result_cast_scope_schema result_cast_scope_name "
            "result_cast_maximum_cardinality:int4 result_cast_dtd_identifier"
        ),
    ),
    "sequences": (
        13386,
        "v",
        (
            "sequence_catalog sequence_schema sequence_name data_type numeric_precision:int4 "
            "numeric_precision_radix:int4 numeric_scale:int4 start_value minimum_value maximum_value "
            "increment cycle_option"
        ),
    ),
    "triggers": (
        13440,
        "v",
        (
            "trigger_catalog trigger_schema trigger_name event_manipulation event_object_catalog "
            "event_object_schema event_object_table action_order:int4 action_condition "
            "action_statement action_orientation action_timing action_reference_old_table "
            "action_reference_new_table action_reference_old_row action_reference_new_row "
            "created:timestamp"
        ),
    ),
    "user_defined_types": (
        13463,
        "v",
        (
            "user_defined_type_catalog user_defined_type_schema user_defined_type_name "
            "user_defined_type_category is_instantiable is_final ordering_form ordering_category "
            "ordering_routine_catalog ordering_routine_schema ordering_routine_name reference_type "
            "data_type character_maximum_length:int4 character_octet_length:int4 "
            "character_set_catalog character_set_schema character_set_name collation_catalog "
            "collation_schema collation_name numeric_precision:int4 numeric_precision_radix:int4 "
            "numeric_scale:int4 datetime_precision:int4 interval_type interval_precision:int4 "
            "source_dtd_identifier ref_dtd_identifier"
        ),
    ),
    "view_table_usage": (
        13478,
        "v",
        "view_catalog view_schema view_name table_catalog table_schema table_name",
    ),
}
"""By name: OID, kind (r table, v view), columns in the notation of `table`."""

TABLES: tuple[Table, ...] = tuple(
    table("information_schema", name, oid, spec, kind=kind) for name, (oid, kind, spec) in _COLUMNS.items()
)
