"""Functions in FROM, and the functions that tools start with, as a real PostgreSQL answers them."""

from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from dpproxy.algebra.plan import Answer
from dpproxy.pgcatalog import Catalogue, CatalogueView
from dpproxy.sql.grammar import parse
from dpproxy.values.errors import Refusal
from tests.pgcatalog.conftest import Ask

PATH = (
    "SELECT CASE WHEN trim(s[i]) = '\"$user\"' THEN user ELSE trim(s[i]) END FROM generate_series("
    "array_lower(string_to_array(current_setting('search_path'), ','), 1), "
    "array_upper(string_to_array(current_setting('search_path'), ','), 1)) AS i, "
    "string_to_array(current_setting('search_path'), ',') s"
)
"""As Grafana asks for the schemas in the search path."""
ASKED = (Path(__file__).parents[1] / "functions.sql").read_text(encoding="utf-8").splitlines()


@pytest.fixture
def told(catalogue: Catalogue, view: CatalogueView) -> Callable[[str], Answer]:
    return lambda sql: catalogue.run(view, parse(sql)[0], (), {})


@pytest.mark.parametrize("sql", ASKED)
def test_the_same_as_postgres(real: psycopg.Connection, told: Callable[[str], Answer], sql: str):
    try:
        cursor = real.execute(sql.encode())
    except psycopg.Error:
        with pytest.raises(Refusal):
            told(sql)
        return
    got = told(sql)
    assert [(c.name, c.type.oid) for c in got.columns or ()] == [
        (c.name, c.type_code) for c in cursor.description or ()
    ]
    assert sorted(map(repr, got.rows)) == sorted(map(repr, cursor.fetchall()))


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


def test_transactions_and_work_are_always_the_same(told: Callable[[str], Answer]):
    """How much is asked here is nobody's business."""
    asked = (
        "SELECT txid_current(), pg_current_xact_id(), (SELECT max(age(xmin)) FROM pg_class), "
        "(SELECT sum(pg_stat_get_numscans(oid) + pg_stat_get_tuples_inserted(oid)) FROM pg_class)"
    )
    assert list(told(asked).rows) == list(told(asked).rows) == [(3, 3, 0, 0)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM count(1)",
        "SELECT * FROM age(now())",
        "SELECT age(now())",
        "SELECT 1.5 ^ 2.5",
        "SELECT now() AT TIME ZONE current_setting('TimeZone')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM posexplode(ARRAY[1])",
        "SELECT posexplode(ARRAY[1])",
        "SELECT * FROM max(1)",
        "SELECT * FROM read_text('x')",
        "SELECT * FROM nosuch.upper('x')",
        "SELECT * FROM string_to_array('a', ',') AS s(a, b)",
        "SELECT * FROM unnest(ARRAY[1], ARRAY[2]) AS t(a, b, c)",
    ],
)
def test_what_is_refused(told: Callable[[str], Answer], sql: str):
    with pytest.raises(Refusal):
        told(sql)
