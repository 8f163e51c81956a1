from collections.abc import Callable
from datetime import timedelta

from msgspec.structs import replace
from sqlglot import parse_one

from dpproxy.pgcatalog import Catalogue, CatalogueView
from dpproxy.pgcatalog.tables.server import PG_TIMEZONE_NAMES
from dpproxy.sql import grammar
from dpproxy.wire.zones import zone


def test_one_database(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT datname, pg_encoding_to_char(encoding), datallowconn FROM pg_database") == [
        ("main", "UTF8", True)
    ]


def test_schemas(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT nspname FROM pg_namespace ORDER BY 1") == [
        ("dp",),
        ("information_schema",),
        ("pg_catalog",),
        ("public",),
    ]


def test_settings_are_the_sessions_own(
    ask: Callable[..., list[tuple[object, ...]]], catalogue: Catalogue, view: CatalogueView
):
    sql = "SELECT setting FROM pg_catalog.pg_settings WHERE name = 'jit'"
    assert ask(sql) == [("off",)]
    other = replace(view, settings={"jit": "on"})
    assert catalogue.run(other, parse_one(sql, read="postgres"), (), {}).rows == [("on",)]


def test_types_and_units_are_those_of_postgres(catalogue: Catalogue, view: CatalogueView):
    given = {
        "statement_timeout": "30s", "lock_timeout": "0", "server_version_num": "150000", "row_security": "on",
        "standard_conforming_strings": "on", "search_path": "public", "own.thing": "x",
    }  # fmt: skip
    asked = parse_one("SELECT name, setting, unit, vartype FROM pg_catalog.pg_settings", read="postgres")
    found = catalogue.run(replace(view, settings=given), asked, (), {}).rows
    assert {row[0]: row[1:] for row in found} == {
        "statement_timeout": ("30000", "ms", "integer"),
        "lock_timeout": ("0", "ms", "integer"),
        "server_version_num": ("150000", None, "integer"),
        "row_security": ("on", None, "bool"),
        "standard_conforming_strings": ("on", None, "bool"),
        "search_path": ("public", None, "string"),
        "own.thing": ("x", None, "string"),
    }


def test_a_session_sees_itself_alone(catalogue: Catalogue, view: CatalogueView):
    asked = "SELECT pid, pid = pg_backend_pid(), usename, datname, state, query, client_addr FROM pg_stat_activity"
    for process in (7, 8):  # of one catalogue, which two sessions of the same roles share
        mine = replace(view, process=process)
        answer = catalogue.run(mine, grammar.parse(asked)[0], (), {})
        assert list(answer.rows) == [(process, True, "ana", "main", "active", None, None)]
        assert [column.type.name for column in answer.columns or ()][-1] == "inet"


def test_it_is_the_role_and_the_database_that_the_catalogue_has(catalogue: Catalogue, view: CatalogueView):
    joined = """SELECT count(*) FROM pg_stat_activity a JOIN pg_roles r ON r.oid = a.usesysid
      JOIN pg_database d ON d.oid = a.datid WHERE r.rolname = a.usename AND d.datname = a.datname"""
    assert list(catalogue.run(view, grammar.parse(joined)[0], (), {}).rows) == [(1,)]


def test_every_zone_can_be_set(view: CatalogueView):
    rows = {str(row["name"]): row for row in PG_TIMEZONE_NAMES.rows(view)}
    assert rows["Asia/Kolkata"]["utc_offset"] == timedelta(hours=5.5)
    assert rows["UTC"]["is_dst"] is False
    assert all(zone(name) for name in rows)
