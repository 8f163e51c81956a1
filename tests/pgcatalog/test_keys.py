"""Keys as a real PostgreSQL with the same tables has them."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from dpproxy.pgcatalog import Catalogue, CatalogueRelation, CatalogueView
from dpproxy.pgcatalog.keys import joined_name, keys
from dpproxy.pgcatalog.relations import TABLES
from dpproxy.sql import grammar
from dpproxy.values.pgtypes import (
    BY_OID,
    DATE,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    UUID,
    Column,
    ForeignKey,
    UniqueKey,
    array_of,
)
from tests.postgres import Server

LONG = "a_table_whose_name_is_almost_as_long_as_a_name_can_be"
WARDS = CatalogueRelation(
    "wards",
    (Column("id", INT4, not_null=True), Column("name", TEXT, not_null=True), Column("Odd", DATE)),
    keys=(
        UniqueKey("wards", ("id",), primary=True),
        UniqueKey("wards", ("name",)),
        UniqueKey("wards", ("Odd", "id")),
    ),
)
BEDS = CatalogueRelation(
    "beds",
    (
        Column("ward", INT4, not_null=True), Column("number", INT8, not_null=True), Column("tags", array_of(TEXT)),
        Column("paid", NUMERIC.with_precision(10, 2)), Column("serial", UUID), Column("boss", INT8),
        Column("boss_ward", INT4), Column("order", TEXT),
    ),
    keys=(
        UniqueKey("beds", ("ward", "number"), primary=True), UniqueKey("beds", ("serial",)),
        UniqueKey("beds", ("serial",)), UniqueKey("beds", ("order",)),
        ForeignKey("beds", ("ward",), "wards", ("id",)),
        ForeignKey("beds", ("boss", "boss_ward"), "beds", ("number", "ward")),
    ),
)  # fmt: skip
LONGER = CatalogueRelation(
    LONG,
    (Column("another_column_of_a_long_name", INT4),),
    keys=(UniqueKey(LONG, ("another_column_of_a_long_name",)),),
)
VIEW = CatalogueView("main", "ann", ("analyst",), (LONGER, BEDS, WARDS), {"search_path": "public"}, 1)
DDL = (
    """CREATE TABLE wards (id integer PRIMARY KEY, name text NOT NULL UNIQUE, "Odd" date, UNIQUE ("Odd", id))""",
    """CREATE TABLE beds (ward integer REFERENCES wards (id), number bigint, tags text[],
       paid numeric(10,2), serial uuid, boss bigint, boss_ward integer, "order" text UNIQUE, PRIMARY KEY (ward, number),
       FOREIGN KEY (boss, boss_ward) REFERENCES beds (number, ward))""",
    "ALTER TABLE beds ADD UNIQUE (serial)",
    "ALTER TABLE beds ADD UNIQUE (serial)",
    f"CREATE TABLE {LONG} (another_column_of_a_long_name integer UNIQUE)",
)
MINE = "relnamespace = 'public'::regnamespace"
QUESTIONS = (
    f"SELECT relname, relkind, relnatts, relhasindex, relchecks, relhastriggers FROM pg_class WHERE {MINE}",
    (
        "SELECT c.relname, attname, attnum, atttypid, atttypmod, attnotnull, attndims FROM pg_attribute a "
        f"JOIN pg_class c ON c.oid = a.attrelid WHERE {MINE} AND attnum > 0"
    ),
    (
        "SELECT conname, contype, conrelid::regclass::text AS t, conkey, confrelid::regclass::text AS f, confkey, "
        "confupdtype, confdeltype, confmatchtype, connoinherit, conislocal, condeferrable, convalidated, conpfeqop, "
        "conppeqop, conffeqop, conindid::regclass::text AS i, pg_get_constraintdef(oid) AS def, "
        "pg_get_constraintdef(oid, true) AS pretty FROM pg_constraint WHERE connamespace = 2200"
    ),
    (
        "SELECT indexrelid::regclass::text AS i, indrelid::regclass::text AS t, indnatts, indnkeyatts, indisunique, "
        "indnullsnotdistinct, indisprimary, indimmediate, indisvalid, indisready, indislive, indkey, indclass, "
        "indoption, indkey::text AS keys, indkey[0] AS a, indkey[1] AS second, indcollation, indexprs IS NULL AS e, "
        "pg_get_indexdef(indexrelid) AS def, pg_get_indexdef(indexrelid, 0, true) AS pretty, "
        "pg_get_indexdef(indexrelid, 1, true) AS one "
        "FROM pg_index JOIN pg_class c ON c.oid = indrelid WHERE c.relnamespace = 2200"
    ),
    (
        "SELECT c.relname, s AS place, indkey[s] AS number FROM (SELECT indexrelid, indkey, "
        "generate_subscripts(indkey, 1) AS s FROM pg_index) i JOIN pg_class c ON c.oid = i.indexrelid "
        "WHERE c.relnamespace = 2200"
    ),
    (
        "SELECT c.relname, array_lower(indkey, 1) AS l, array_upper(indkey, 1) AS u, array_length(indkey, 1) AS n "
        "FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relnamespace = 2200"
    ),
    "SELECT schemaname, tablename, indexname, tablespace, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "SELECT tablename, hasindexes, hastriggers FROM pg_tables WHERE schemaname = 'public'",
    (
        "SELECT constraint_name, table_name, constraint_type, is_deferrable, initially_deferred, enforced, "
        "nulls_distinct FROM information_schema.table_constraints WHERE constraint_schema = 'public' "
        "AND constraint_name NOT LIKE '%not_null'"
    ),
    (
        "SELECT table_name, count(*) AS n FROM information_schema.table_constraints WHERE constraint_schema = 'public' "
        "AND constraint_name LIKE '%not_null' GROUP BY table_name"
    ),
    (
        "SELECT constraint_name, table_name, column_name, ordinal_position, position_in_unique_constraint "
        "FROM information_schema.key_column_usage WHERE constraint_schema = 'public'"
    ),
    (
        "SELECT constraint_name, unique_constraint_schema, unique_constraint_name, match_option, update_rule, "
        "delete_rule FROM information_schema.referential_constraints WHERE constraint_schema = 'public'"
    ),
    (
        "SELECT constraint_name, table_name, column_name FROM information_schema.constraint_column_usage "
        "WHERE constraint_schema = 'public'"
    ),
    (
        "SELECT constraint_name, table_name FROM information_schema.constraint_table_usage "
        "WHERE constraint_schema = 'public'"
    ),
    "SELECT check_clause FROM information_schema.check_constraints WHERE constraint_schema = 'public'",
    (
        "SELECT table_name, column_name, data_type, udt_name, datetime_precision FROM information_schema.columns "
        "WHERE table_schema = 'public'"
    ),
)

Ask = Callable[[str], tuple[list[Any], list[int]]]


@pytest.fixture(scope="module")
def real(postgres: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.url(postgres.database()), autocommit=True) as connection:
        for statement in DDL:
            connection.execute(statement.encode())
        yield connection


@pytest.fixture(scope="module")
def ours() -> Iterator[Ask]:
    """Rows, and the OIDs of their types."""
    catalogue = Catalogue()

    def ask(sql: str) -> tuple[list[Any], list[int]]:
        answer = catalogue.run(VIEW, grammar.parse(sql)[0], (), {})
        return list(answer.rows), [c.type.oid for c in answer.columns or ()]

    yield ask
    catalogue.close()


def plain(rows: list[Any]) -> list[str]:
    """Vectors as psycopg gives them, which has no type for them: their text."""
    return sorted(repr(tuple(row)) for row in rows)


@pytest.mark.parametrize("sql", QUESTIONS)
def test_the_same_rows(real: psycopg.Connection, ours: Ask, sql: str):
    cursor = real.execute(sql.encode())
    rows, kinds = ours(sql)
    vectors = {at for at, oid in enumerate(kinds) if oid in (22, 30)}
    shown = [
        tuple(" ".join(map(str, v)) if at in vectors and v is not None else v for at, v in enumerate(row))
        for row in rows
    ]
    assert kinds == [column.type_code for column in cursor.description or ()]
    assert plain(shown) == plain(cursor.fetchall())


LEFT = {"regproc", "pg_node_tree", "anyarray", "_aclitem", "inet", "pg_lsn", "bytea", "regtype", "_regtype"}
"""Types of columns that are texts here, or numbers."""


def test_every_column_has_its_type(real: psycopg.Connection):
    names = dict(real.execute("SELECT oid, typname FROM pg_type").fetchall())
    wrong = []
    for table in TABLES.values():
        cursor = real.execute(f'SELECT * FROM {table.schema}."{table.name}" LIMIT 0'.encode())
        kinds = table.types
        theirs = {c.name: names[c.type_code] for c in cursor.description or () if c.name in kinds}
        wrong += [
            (table.name, name, kinds[name].name, kind)
            for name, kind in theirs.items()
            if kind not in LEFT and kinds[name].name != kind
        ]
    assert not wrong, wrong
    assert BY_OID[22].name == "int2vector"


def test_a_foreign_key_without_a_key_to_refer_to_is_none():
    alone = CatalogueRelation("wards", WARDS.columns)
    view = CatalogueView("main", "ann", (), (BEDS, alone), {}, 1)
    assert [key.name for key in keys(view) if key.kind == "f"] == ["beds_boss_boss_ward_fkey"]


def test_long_names_are_cut_in_the_middle():
    assert len(joined_name("é" * 40, "b" * 60, "fkey").encode()) <= 63
