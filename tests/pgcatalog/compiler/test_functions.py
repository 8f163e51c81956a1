from dpproxy.pgcatalog.compiler import functions, macros


def test_every_target_of_ours_is_a_macro():
    ours = {
        t.removeprefix(macros.PREFIX) for t in functions.FUNCTIONS.values() if t.startswith(macros.PREFIX)
    }
    assert ours <= set(macros.MACROS)


def test_nothing_that_reads_outside_sleeps_or_grows():
    names = {*functions.FUNCTIONS, *functions.FUNCTIONS.values()}
    assert not names & {
        "read_csv", "read_text", "read_blob", "glob", "getenv", "query", "query_table", "pg_sleep", "repeat", "lpad",
        "rpad", "pg_read_file", "lo_import", "getvariable", "nextval", "random", "setseed", "error", "dblink",
        "current_setting", "stats", "write_log", "json_execute_serialized_sql", "range", "list_resize",
    }  # fmt: skip
