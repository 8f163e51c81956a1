from collections.abc import Callable, Iterable, Iterator
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace

from dpproxy.pgcatalog import Catalogue, CatalogueRelation, CatalogueView
from dpproxy.pgcatalog.tables.dependencies import PG_DEPEND
from dpproxy.policy.model import Between, Members
from dpproxy.sql import grammar
from dpproxy.values.pgtypes import INT4, INT8, TEXT, Column, ForeignKey, UniqueKey
from tests.pgcatalog.test_keys import BEDS, DDL, LONGER, WARDS
from tests.postgres import Server

PEOPLE = CatalogueRelation(
    "people",
    (Column("age", INT4), Column("kind", TEXT), Column("rest", TEXT)),
    declared=(("age", Between(0, 10)), ("kind", Members(("a", "b")))),
)
RECENT = CatalogueRelation("recent", (Column("n", INT8),), kind="v")
SUMS = CatalogueRelation("sums", (Column("n", INT8),), kind="v")
VIEW = CatalogueView(
    "main", "ann", ("analyst",), (LONGER, BEDS, WARDS, PEOPLE, RECENT, SUMS), {"search_path": "public"}, 1
)
MORE = (
    "CREATE TABLE people (age integer CHECK (age >= 0 AND age < 10), kind text CHECK (kind IN ('a', 'b')), rest text)",
    "CREATE VIEW recent AS SELECT 1::bigint AS n",
    "CREATE VIEW sums AS SELECT 1::bigint AS n",
)
NAMES = {
    1259: "SELECT oid, relname FROM pg_class",
    2606: "SELECT oid, conname FROM pg_constraint",
    2615: "SELECT oid, nspname FROM pg_namespace",
    2618: "SELECT oid, ev_class::regclass::text AS a FROM pg_rewrite",
    1247: "SELECT oid, typname FROM pg_type",
}
"""Names by number, for each catalogue."""
ALL = (
    "SELECT classid, objid, objsubid, refclassid, refobjid, refobjsubid, deptype::text AS e FROM pg_depend "
    "WHERE objid >= 16384 AND classid <> 'pg_trigger'::regclass"
)
Run = Callable[[str], Iterable[tuple[Any, ...]]]
LIBREOFFICE = """SELECT pkn.nspname, pkc.relname,
  pka.attname, fkn.nspname, fkc.relname, fka.attname, con.conname, pkic.relname
  FROM pg_namespace pkn, pg_class pkc, pg_attribute pka, pg_namespace fkn, pg_class fkc, pg_attribute fka,
  (SELECT *, unnest(conkey) AS k, unnest(confkey) AS f FROM pg_constraint WHERE contype = 'f') con,
  pg_depend dep, pg_class pkic
  WHERE pkn.oid = pkc.relnamespace AND pkc.oid = pka.attrelid AND pka.attnum = con.f AND con.confrelid = pkc.oid
  AND fkn.oid = fkc.relnamespace AND fkc.oid = fka.attrelid AND fka.attnum = con.k AND con.conrelid = fkc.oid
  AND con.oid = dep.objid AND pkic.oid = dep.refobjid AND pkic.relkind = 'i'
  AND dep.classid = 'pg_constraint'::regclass::oid AND dep.refclassid = 'pg_class'::regclass::oid"""


@pytest.fixture(scope="module")
def real(postgres: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.url(postgres.database()), autocommit=True) as connection:
        for statement in (*DDL, *MORE):
            connection.execute(statement.encode())
        yield connection


def ours(view: CatalogueView, sql: str) -> list[tuple[object, ...]]:
    catalogue = Catalogue()
    try:
        return sorted(map(tuple, catalogue.run(view, grammar.parse(sql)[0], (), {}).rows), key=repr)
    finally:
        catalogue.close()


def named(run: Run) -> list[tuple[object, ...]]:
    """The rows, with names in place of the numbers; those of TOAST are left out."""
    names = {(kind, oid): name for kind, sql in NAMES.items() for oid, name in run(sql)}
    rows = [(a, names[a, b], c, d, names[d, e], *rest) for a, b, c, d, e, *rest in run(ALL)]
    return sorted((row for row in rows if "toast" not in repr(row)), key=repr)


def test_the_same_rows(real: psycopg.Connection):
    found = named(lambda sql: ours(VIEW, sql))
    assert len(found) > 50
    assert found == named(lambda sql: real.execute(sql.encode()).fetchall())


def test_libreoffice_finds_foreign_keys(real: psycopg.Connection):
    found = ours(VIEW, LIBREOFFICE)
    assert len(found) == 3
    assert found == sorted(real.execute(LIBREOFFICE.encode()).fetchall(), key=repr)


def test_numbers_do_not_depend_on_what_else_is_there():
    alone = replace(VIEW, relations=(WARDS,))
    rows = [tuple(row.values()) for row in PG_DEPEND.rows(alone)]
    assert set(rows) < {tuple(row.values()) for row in PG_DEPEND.rows(VIEW)}


def test_a_key_to_a_table_without_that_key_is_none():
    visits = CatalogueRelation(
        "visits", (Column("ward", INT4),), keys=(ForeignKey("visits", ("ward",), "wards", ("id",)),)
    )
    wards = CatalogueRelation("wards", WARDS.columns, keys=(UniqueKey("wards", ("name",)),))
    rows = ours(
        replace(VIEW, relations=(visits, wards)),
        "SELECT conname FROM pg_depend JOIN pg_constraint c ON c.oid = objid WHERE deptype = 'n'",
    )
    assert rows == []
