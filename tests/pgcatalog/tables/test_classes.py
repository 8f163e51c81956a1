from collections.abc import Callable

from msgspec.structs import replace

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.tables.classes import PG_REWRITE
from dpproxy.pgcatalog.view import CatalogueRelation, CatalogueView


def test_relations_of_the_caller(ask: Callable[..., list[tuple[object, ...]]]):
    sql = "SELECT oid, relname, relkind, relnatts FROM pg_class WHERE relnamespace = 2200 ORDER BY relname"
    assert ask(sql) == [
        (oids.relation_oid("public", "Odd visits"), "Odd visits", "v", 1),
        (oids.relation_oid("public", "patients"), "patients", "r", 5),
    ]


def test_no_statistics_and_no_sizes(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT DISTINCT reltuples, relpages, relallvisible FROM pg_class") == [(-1.0, 0, 0)]
    assert ask("SELECT pg_relation_size('patients'), pg_total_relation_size(1)") == [(0, 0)]


def test_it_lists_itself_under_the_known_oid(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT 'pg_class'::regclass::oid, 'pg_catalog.pg_type'::regclass::oid") == [(1259, 1247)]


def test_columns_in_order_with_their_types(ask: Callable[..., list[tuple[object, ...]]]):
    sql = """SELECT attnum, attname, format_type(atttypid, atttypmod), attnotnull, attlen FROM pg_attribute
             WHERE attrelid = 'patients'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""
    assert ask(sql) == [
        (1, "id", "bigint", True, 8),
        (2, "name", "text", False, -1),
        (3, "paid", "numeric(12,2)", False, -1),
        (4, "born", "date", False, 4),
        (5, "score", "double precision", False, 8),
    ]


def test_tables_without_views(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT schemaname, tablename, tableowner FROM pg_tables ORDER BY 1") == [
        ("dp", "ledger", "admin"),
        ("public", "patients", "admin"),
    ]


def test_views_without_their_text(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT viewname, definition FROM pg_views") == [("Odd visits", None)]


def test_every_view_has_the_rule_that_makes_it_one(view: CatalogueView):
    built = replace(view, relations=(*view.relations, CatalogueRelation("safe", (), "v")))
    rows = list(PG_REWRITE.rows(built))
    assert [(row["rulename"], row["ev_type"], row.get("ev_action")) for row in rows] == [
        ("_RETURN", "1", None)
    ] * 2
    assert len({row["oid"] for row in rows}) == len({row["ev_class"] for row in rows}) == 2


def test_it_is_found_from_the_view(ask: Callable[..., list[tuple[object, ...]]]):
    found = ask(
        "SELECT relname, relkind FROM pg_class c WHERE relhasrules AND EXISTS "
        "(SELECT 1 FROM pg_rewrite r WHERE r.ev_class = c.oid AND bpchar(r.ev_type) = '1'::bpchar)"
    )
    assert found == [("Odd visits", "v")]


def test_comments(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask(
        "SELECT description FROM pg_description WHERE objoid = 'patients'::regclass AND objsubid = 0"
    ) == [("people",)]
    assert ask("SELECT obj_description('patients'::regclass, 'pg_class')") == [("people",)]
    assert ask(
        "SELECT col_description(attrelid, attnum), attname FROM pg_attribute "
        "WHERE attrelid = 'patients'::regclass AND attnum IN (2, 4)"
    ) == [
        ("DOMAIN IN ('a', 'b')", "name"),
        ("DOMAIN DISCOVERED", "born"),
    ]
