from collections.abc import Callable

import pytest

from dpproxy.algebra.plan import Answer
from dpproxy.pgcatalog import CatalogueView
from dpproxy.pgcatalog.relations import INTERNAL, TABLES
from dpproxy.pgcatalog.table import CatalogueTable, no_rows
from dpproxy.values.pgtypes import REGPROC

EMPTY = [table for table in TABLES.values() if table.rows is no_rows]


@pytest.mark.parametrize("table", EMPTY, ids=lambda table: f"{table.schema}.{table.name}")
def test_what_the_proxy_has_none_of_answers_with_its_columns_and_no_rows(
    answer: Callable[..., Answer], table: CatalogueTable
):
    got = answer(f"SELECT * FROM {table.schema}.{table.name}")
    assert [(column.name, column.type.oid) for column in got.columns] == [
        (name, REGPROC.oid if kind == "regproc" else table.types[name].oid)
        for name, kind in table.kinds.items()
    ]
    assert list(got.rows) == []


def test_every_row_fits_its_columns(view: CatalogueView):
    for table in (*TABLES.values(), *INTERNAL.values()):
        for row in table.rows(view):
            assert set(row) <= set(table.columns), table.name


def test_oids_are_those_of_postgresql_and_no_two_are_equal():
    found = [table.oid for table in TABLES.values()]
    assert len(set(found)) == len(found)
    assert max(found) < 16384
    assert TABLES["pg_catalog", "pg_class"].oid == 1259


def test_passwords_and_statistics_are_not_there():
    names = {name for _, name in TABLES}
    assert not names & {"pg_authid", "pg_shadow", "pg_statistic", "pg_largeobject", "pg_hba_file_rules"}


def test_tables_are_heaps(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask(
        "SELECT am.amname FROM pg_class c JOIN pg_am am ON am.oid = c.relam WHERE relname = 'patients'"
    ) == [("heap",)]


def test_text_columns_have_the_default_collation(ask: Callable[..., list[tuple[object, ...]]]):
    sql = """SELECT collname FROM pg_attribute a JOIN pg_collation c ON c.oid = a.attcollation
             WHERE a.attname = 'name' AND a.attrelid = 'patients'::regclass"""
    assert ask(sql) == [("default",)]


def test_the_database_lies_in_it(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT spcname FROM pg_tablespace t JOIN pg_database d ON d.dattablespace = t.oid") == [
        ("pg_default",)
    ]
