from collections.abc import Callable

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.fact_files import facts


def test_an_oid_depends_on_nothing_but_the_name():
    # A stored reference of a client must hold over restarts: these numbers may never change.
    assert oids.relation_oid("public", "patients") == 1380162830
    assert oids.relation_oid("dp", "ledger") == oids.relation_oid("dp", "ledger")


def test_made_up_oids_stay_in_the_users_range_and_fit_int4():
    for name in ("a", "b", "patients", "é"):
        for oid in (
            oids.relation_oid("public", name),
            oids.row_type_oid("public", name),
            oids.role_oid(name),
        ):
            assert 16384 < oid < 2**31


def test_dp_and_information_schema_are_off_the_search_path(ask: Callable[..., list[tuple[object, ...]]]):
    sql = """SELECT pg_table_is_visible('patients'::regclass), pg_table_is_visible('dp.ledger'::regclass),
                    pg_table_is_visible('information_schema.tables'::regclass), pg_table_is_visible(1259)"""
    assert ask(sql) == [(True, False, False, True)]


def test_numbers_of_postgresqls_are_those_of_its_facts():
    assert {row["amname"]: row["oid"] for row in facts("pg_am")} == {"heap": oids.HEAP, "btree": oids.BTREE}
    assert {(row["opcnamespace"], row["opcowner"]) for row in facts("pg_opclass")} == {
        (oids.CATALOGUE, oids.OWNER)
    }
