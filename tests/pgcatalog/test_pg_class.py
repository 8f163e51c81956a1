from collections.abc import Callable

from dpproxy.pgcatalog import oids


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
