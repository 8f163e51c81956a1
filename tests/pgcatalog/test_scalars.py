"""Functions of one value in FROM; more of them beside a real PostgreSQL in expressions.sql."""

import pytest
from sqlglot import parse_one

from dpproxy.errors import UndefinedFunction, Unsupported
from dpproxy.pgcatalog.scalars import write_rows
from tests.pgcatalog.conftest import Ask

PATH = (
    "SELECT CASE WHEN trim(s[i]) = '\"$user\"' THEN user ELSE trim(s[i]) END FROM generate_series("
    "array_lower(string_to_array(current_setting('search_path'), ','), 1), "
    "array_upper(string_to_array(current_setting('search_path'), ','), 1)) AS i, "
    "string_to_array(current_setting('search_path'), ',') s"
)
"""As Grafana asks for the schemas in the search path."""


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("upper('x')", """(SELECT UPPER('x') AS "upper") AS "upper\""""),
        ("upper('x') AS U", """(SELECT UPPER('x') AS "u") AS "u\""""),
        ("upper('x') AS \"U\"", """(SELECT UPPER('x') AS "U") AS "U\""""),
        ("pg_catalog.quote_ident('x') AS t(u)", """(SELECT QUOTE_IDENT('x') AS "u") AS "t\""""),
    ],
)
def test_a_call_is_one_row_of_one_column(source: str, written: str):
    tree = parse_one(f"SELECT * FROM {source}", read="postgres")
    write_rows(tree)
    assert tree.sql("postgres") == f"SELECT * FROM {written}"


@pytest.mark.parametrize(
    "source",
    [
        "count(1)", "max(1)", "read_text('x')", "nosuch.upper('x')", "upper('x') WITH ORDINALITY",
        "string_to_array('a', ',') AS s(a, b)", "row_to_json(1)", "coalesce(1, 2)",
    ],
)  # fmt: skip
def test_what_is_not_listed_is_refused(ask: Ask, source: str):
    with pytest.raises((Unsupported, UndefinedFunction)):
        ask(f"SELECT * FROM {source}")


def test_grafanas_tables(ask: Ask):
    shown = "quote_ident(table_schema) || '.' || quote_ident(table_name)"
    found = ask(
        f"""SELECT CASE WHEN quote_ident(table_schema) IN ({PATH}) THEN quote_ident(table_name)
        ELSE {shown} END AS "table" FROM information_schema.tables
        WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog',
        '_timescaledb_cache', '_timescaledb_catalog', '_timescaledb_internal', '_timescaledb_config',
        'timescaledb_information', 'timescaledb_experimental')
        ORDER BY CASE WHEN quote_ident(table_schema) IN ({PATH}) THEN 0 ELSE 1 END, 1"""
    )
    assert ("patients",) in found
    assert ('"Odd visits"',) in found


@pytest.mark.parametrize("name", ["patients", "public.patients", "Public.PATIENTS", '"public"."patients"'])
def test_grafanas_columns(ask: Ask, name: str):
    found = ask(
        f"""SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns
        WHERE CASE WHEN array_length(parse_ident('{name}'), 1) = 2
        THEN quote_ident(table_schema) = (parse_ident('{name}'))[1]
        AND quote_ident(table_name) = (parse_ident('{name}'))[2]
        ELSE quote_ident(table_name) = '{name}' AND quote_ident(table_schema) IN ({PATH}) END"""
    )
    assert ("born", "date") in found
    assert len(found) == 5
