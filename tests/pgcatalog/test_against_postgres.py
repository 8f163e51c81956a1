"""The same questions to the catalogue and to a real PostgreSQL that has the same tables: the same rows."""

from collections.abc import Callable, Iterator
from datetime import date, datetime
from fractions import Fraction

import psycopg
import pytest

from dpproxy.pgcatalog import Catalogue, CatalogueRelation, CatalogueView
from dpproxy.pgcatalog.relations import TABLES
from dpproxy.planner.accept import parse
from dpproxy.policy.model import Between, Domain, Members
from dpproxy.values.pgtypes import (
    BOOL,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Column,
)
from tests.postgres import Server

COLUMNS: tuple[tuple[Column, str, Domain | None], ...] = (
    (Column("age", INT4, not_null=True), "integer NOT NULL", Between(-10, 110)),
    (Column("small", INT2), "smallint", Between(0, 5)),
    (Column("big", INT8), "bigint", Between(-1000000000000, 5)),
    (Column("few", INT8), "bigint", Members((1, -2, 5000000000))),
    (Column("one", INT8), "bigint", Members((7,))),
    (Column("region", INT4), "integer", Members((0, -1, 2))),
    (Column("paid", NUMERIC.with_precision(10, 2)), "numeric(10,2)", Between(-10, Fraction(2001, 2))),
    (Column("owed", NUMERIC), "numeric", Between(Fraction(-1, 2), 5000000000)),
    (Column("ratio", FLOAT8), "double precision", Between(-10, Fraction(1, 4))),
    (Column("share", FLOAT4), "real", Members((0, Fraction(1, 2)))),
    (Column("part", FLOAT4), "real", Between(0, Fraction(1, 2))),
    (Column("half", FLOAT4), "real", Members((Fraction(1, 2),))),
    (Column("sizes", FLOAT8), "double precision", Members((-1, Fraction(1, 2)))),
    (Column("amounts", NUMERIC), "numeric", Members((-1, Fraction(1, 2)))),
    (Column("level", INT2), "smallint", Members((1, 2))),
    (Column("Odd name", TEXT), "text", Members(("it's", "b"))),
    (Column("single", TEXT), "text", Members(("only",))),
    (Column("born", DATE), "date", Between(date(1900, 1, 1), date(2020, 12, 31))),
    (Column("day", DATE), "date", Members((date(2020, 1, 1), date(2020, 1, 2)))),
    (Column("seen", TIMESTAMP), "timestamp", Between(datetime(2000, 1, 1), datetime(2030, 1, 1, 12, 30))),  # noqa: DTZ001
    (Column("told", TIMESTAMPTZ), "timestamptz", None),
    (Column("member", BOOL), "boolean", Members((True, False))),
)
PEOPLE = CatalogueRelation(
    "people",
    tuple(column for column, _, _ in COLUMNS),
    comment="who",
    declared=tuple((c.name, d) for c, _, d in COLUMNS if d is not None),
)
RECENT = CatalogueRelation("recent", (Column("age", INT4), Column("n", INT8)), kind="v")
SUMS = CatalogueRelation("sums", (Column("n", INT8),), kind="v")


def written(value: object) -> str:
    match value:
        case bool() | int():
            return str(value)
        case Fraction():
            return str(float(value))
        case datetime():
            return f"TIMESTAMP '{value}'"
        case date():
            return f"DATE '{value}'"
        case _:
            return "'" + str(value).replace("'", "''") + "'"


def condition(name: str, domain: Domain) -> str:
    match domain:
        case Between(low, high):
            return f'"{name}" BETWEEN {written(low)} AND {written(high)}'
        case Members(values):
            return f'"{name}" IN ({", ".join(map(written, values))})'
    raise AssertionError(domain)


def statements() -> Iterator[str]:
    columns = [
        f'"{c.name}" {kind}' + (f" CHECK ({condition(c.name, domain)})" if domain else "")
        for c, kind, domain in COLUMNS
    ]
    yield f"CREATE TABLE people ({', '.join(columns)})"
    yield "COMMENT ON TABLE people IS 'who'"
    yield "CREATE VIEW recent AS SELECT age, count(*) AS n FROM people GROUP BY age"
    yield "CREATE VIEW sums AS SELECT count(*) AS n FROM people"


@pytest.fixture(scope="module")
def real(postgres: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres.url(postgres.database()), autocommit=True) as connection:
        for statement in statements():
            connection.execute(statement.encode())
        yield connection


@pytest.fixture(scope="module")
def ours() -> Iterator[Callable[[str], tuple[list[tuple[object, ...]], list[str], list[str]]]]:
    """Rows, and names and types of columns."""
    view = CatalogueView("main", "ann", ("analyst",), (PEOPLE, RECENT, SUMS), {"search_path": "public"}, 1)
    catalogue = Catalogue()

    def ask(sql: str) -> tuple[list[tuple[object, ...]], list[str], list[str]]:
        answer = catalogue.run(view, parse(sql, "main", bare=False), (), {})
        columns = answer.columns or ()
        return list(answer.rows), [c.name for c in columns], [c.type.name for c in columns]

    yield ask
    catalogue.close()


MINE = "relnamespace = 'public'::regnamespace"
QUESTIONS = (
    # structure
    (
        f"SELECT relname, relkind::text, relnatts, relchecks, relhasindex, relpersistence::text FROM pg_class "
        f"WHERE {MINE} AND relkind IN ('r', 'v', 'm') ORDER BY 1"
    ),
    (
        "SELECT attname, attnum, atttypid, format_type(atttypid, atttypmod) AS shown, attlen, atttypmod, attnotnull, "
        "attbyval, attalign::text, attstorage::text, attndims, attisdropped, attidentity::text, attgenerated::text, "
        "attcollation FROM pg_attribute WHERE attrelid = 'people'::regclass AND attnum > 0 ORDER BY attnum"
    ),
    (
        "SELECT attname, atttypid::regtype::text AS kind FROM pg_attribute WHERE attrelid = 'recent'::regclass "
        "AND attnum > 0 ORDER BY attnum"
    ),
    (
        "SELECT a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relname = "
        "'sums' AND attnum > 0"
    ),
    (
        "SELECT conname, contype::text, conkey::text AS key, convalidated, condeferrable, connoinherit, conislocal "
        "FROM pg_constraint WHERE conrelid = 'people'::regclass ORDER BY 1"
    ),
    "SELECT conname, pg_get_constraintdef(oid) AS x FROM pg_constraint WHERE conrelid = 'people'::regclass ORDER BY 1",
    (
        "SELECT conname, pg_get_constraintdef(oid, true) AS def FROM pg_constraint WHERE conrelid = 'people'::regclass "
        "ORDER BY 1"
    ),
    "SELECT count(*) AS n FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relname = 'people'",
    "SELECT obj_description('people'::regclass, 'pg_class') AS told",
    "SELECT count(*) AS n FROM pg_inherits",
    "SELECT count(*) AS n FROM pg_trigger",
    "SELECT count(*) AS n FROM pg_policy",
    "SELECT tablename, hasindexes, hasrules, hastriggers, rowsecurity FROM pg_tables WHERE schemaname = 'public'",
    "SELECT viewname FROM pg_views WHERE schemaname = 'public'",
    "SELECT matviewname, ispopulated FROM pg_matviews WHERE schemaname = 'public'",
    "SELECT nspname, oid FROM pg_namespace WHERE nspname IN ('pg_catalog', 'public') ORDER BY 1",
    "SELECT t.typname, t.typtype::text, t.typcategory::text FROM pg_type t WHERE t.typrelid = 'people'::regclass",
    "SELECT e.typname FROM pg_type t JOIN pg_type e ON e.oid = t.typarray WHERE t.typrelid = 'people'::regclass",
    # information_schema
    (
        "SELECT table_name, table_type, is_typed FROM information_schema.tables WHERE table_schema = 'public' "
        "ORDER BY 1"
    ),
    (
        "SELECT table_name, column_name, ordinal_position, column_default, is_nullable, data_type, "
        "character_maximum_length, numeric_precision, numeric_precision_radix, numeric_scale, datetime_precision, "
        "udt_schema, udt_name, dtd_identifier, is_identity, is_generated FROM information_schema.columns "
        "WHERE table_schema = 'public' ORDER BY table_name, ordinal_position"
    ),
    ("SELECT table_name, check_option FROM information_schema.views WHERE table_schema = 'public' "),
    "SELECT count(*) AS n FROM information_schema.routines WHERE routine_schema = 'public'",
    "SELECT count(*) AS n FROM information_schema.sequences",
    "SELECT count(*) AS n FROM information_schema.triggers",
    "SELECT * FROM information_schema.character_sets WHERE default_collate_catalog IS NULL",
    "SELECT character_set_name, character_repertoire, form_of_use FROM information_schema.character_sets",
    "SELECT oid, spcname FROM pg_tablespace",
    f"SELECT relname, relreplident::text AS ident FROM pg_class WHERE {MINE} AND relkind IN ('r', 'v', 'm')",
    "SELECT DISTINCT relreplident::text AS ident FROM pg_class WHERE relnamespace = 11",
    # types, names and functions
    (
        "SELECT 'people'::regclass::text AS a, 'public.people'::regclass::text AS b, "
        "'\"people\"'::regclass::text AS c, "
        "to_regclass('nothing') IS NULL AS d"
    ),
    (
        "SELECT 23::regtype::text AS a, 'int'::regtype::oid AS b, 'timestamp with time zone'::regtype::oid AS c, "
        "1009::regtype::text AS d"
    ),
    (
        "SELECT format_type(1700, 655366) AS a, format_type(1043, -1) AS b, format_type(1007, -1) AS c, "
        "format_type(NULL, 1) AS d, format_type(0, NULL) AS e"
    ),
    (
        "SELECT 'int4[]'::regtype::oid AS a, to_regtype('int4[]')::text AS b, 'int[]'::regtype::text AS c, "
        "'timestamp with time zone[]'::regtype::text AS d, 'text'::text::regtype::oid AS e, "
        "format_type(1231, 655366) AS f, format_type(1231, -1) AS g"
    ),
    "SELECT 'NaN'::float8 AS a, 'Infinity'::float8 AS b, '-inf'::float4 AS c, '{1.5}'::numeric[] AS d",
    "SELECT quote_ident('a b') AS a, quote_ident('ab') AS b, quote_literal('it''s') AS c",
    "SELECT array_upper(ARRAY[1, 2, 3], 1) AS a, array_lower(ARRAY[1], 1) AS b, array_length(ARRAY[1, 2], 1) AS c",
    "SELECT pg_encoding_to_char(6) AS a, pg_table_is_visible('people'::regclass) AS b",
    "SELECT pg_get_serial_sequence('people', 'age') AS a",
    "SELECT 'abc' ~ '^a' AS a, 'abc' OPERATOR(pg_catalog.~) '^b' AS b, 'a' COLLATE pg_catalog.default AS c",
    "SELECT current_schema() AS a, current_schemas(true)::text AS b, current_schemas(false)::text AS c",
    "SELECT word, catcode::text AS kind, barelabel, catdesc, baredesc FROM pg_get_keywords()",
    "SELECT quote_ident('default') AS a, quote_ident('user') AS b, quote_ident('left') AS c, quote_ident('show') AS d",
    "SELECT 'now'::regproc AS a, 'now'::regproc::oid AS b, 'lower(text)'::regprocedure::oid AS c",
    "SELECT 1299::regproc::text AS a, 2108::regproc::text AS b",
    "SELECT 870::regprocedure::text AS a, 'pg_catalog.left(text, integer)'::regprocedure::text AS b, 0::regproc AS c",
    "SELECT typname FROM pg_type WHERE typinput = 'array_in'::regproc AND typname = '_int4'",
    "SELECT typinput::regproc::text AS a, typsend = 0 AS b, typinput::oid AS c FROM pg_type WHERE oid IN (23, 2278)",
    "SELECT pg_function_is_visible(1299) AS a",
    "SELECT 1e20::float8::text AS a, 1e15::float8::text AS b, 123456789.0::float8::text AS c, 'nan'::float8::text AS d",
    "SELECT 1.5::float4::text AS b, '1 mon -1 days 2 hours'::interval::text AS c",
    (
        "SELECT ARRAY['a', 'b c', NULL, '', 'NULL', 'x\"y', '{']::text AS a, ARRAY[true, false]::text AS b, "
        "ARRAY[1.5::float8, 1]::text AS c, '{{1,2},{3,4}}'::int[]::text AS d, ARRAY[1, 2]::text AS e"
    ),
    "SELECT now() = now() AS a, cardinality(ARRAY[1, 2]) AS b, length('abc') AS c, position('b' in 'abc') AS d",
    (
        "SELECT pg_typeof(1)::text AS a, pg_typeof('a'::text)::text AS b, pg_typeof(1.5)::text AS c, "
        "pg_typeof(ARRAY['a'::text])::text AS d, pg_typeof(now())::text AS e, pg_typeof(true)::text AS f"
    ),
    "SELECT oid, proargtypes::_regtype::text[] AS types FROM pg_proc WHERE oid IN (870, 1299, 3059)",
    (
        "SELECT oid, proargtypes[0] AS a, array_length(proargtypes, 1) AS n, 23 = ANY (proargtypes) AS b FROM pg_proc "
        "WHERE oid IN (870, 1299, 3060)"
    ),
    "SELECT oid, k, k::regtype::text AS kind FROM pg_proc, unnest(proargtypes) AS u(k) WHERE oid IN (3060, 870)",
    # rules, access lists, expressions, and texts
    f"SELECT relname, relhasrules FROM pg_class WHERE {MINE} AND relkind IN ('r', 'v', 'm')",
    (
        "SELECT c.relname, r.rulename, r.ev_type::text AS kind, r.ev_enabled::text AS enabled, r.is_instead "
        f"FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class WHERE {MINE}"
    ),
    (
        "SELECT conname, pg_get_expr(conbin, conrelid) AS plain, pg_get_expr(conbin, conrelid, true) AS pretty "
        "FROM pg_constraint WHERE conrelid = 'people'::regclass"
    ),
    "SELECT typname FROM pg_type WHERE typnamespace = 2200 AND typname NOT LIKE E'\\\\_%'",
    (
        "SELECT substring('fillfactor=70' FROM 'fillfactor=([0-9]*)') AS a, substring('abc' FROM 'x(.)') AS b, "
        "substring('abc' FROM 'b.') AS c, string_to_array('a,b', ',')::text AS d"
    ),
    (
        "SELECT to_char(timestamp '2024-01-31 05:06:07.25', 'YYYY-MM-DD HH24:MI:SS.US') AS a, "
        "row_to_json(t)::text AS b FROM (SELECT 1 AS \"N\", 'x' AS s) AS t"
    ),
    # statistics: nothing is known of either
    f"SELECT relname, reltuples FROM pg_class WHERE {MINE} AND relkind = 'r'",
    "SELECT count(*) AS n FROM pg_stats WHERE schemaname = 'public'",
)


TYPES = """SELECT oid, typname, typlen, typbyval, typtype::text, typcategory::text, typispreferred, typisdefined,
  typdelim::text, typrelid, typelem, typarray, typalign::text, typstorage::text, typnotnull, typbasetype, typtypmod,
  typndims, typcollation FROM pg_type WHERE typnamespace = 11 AND typrelid = 0 ORDER BY oid"""


@pytest.mark.parametrize("sql", QUESTIONS)
def test_the_same_rows(
    real: psycopg.Connection,
    ours: Callable[[str], tuple[list[tuple[object, ...]], list[str], list[str]]],
    sql: str,
):
    cursor = real.execute(sql.encode())
    rows, names, _ = ours(sql)
    assert names == [column.name for column in cursor.description or ()]
    assert sorted(map(repr, rows)) == sorted(map(repr, cursor.fetchall()))


def test_the_types_we_have_are_those_of_postgres(
    real: psycopg.Connection, ours: Callable[[str], tuple[list[tuple[object, ...]], list[str], list[str]]]
):
    rows, _, _ = ours(TYPES)
    theirs = {row[0]: row for row in real.execute(TYPES.encode()).fetchall()}
    assert len(rows) > 70
    assert rows == [theirs[row[0]] for row in rows]


FUNCTIONS = """SELECT oid, proname, pronamespace, prolang, provariadic, prokind::text, prosecdef, proisstrict,
  proretset, provolatile::text, proparallel::text, pronargs, pronargdefaults, prorettype, proargtypes::text,
  proallargtypes::text, proargmodes::text,
  pg_get_function_arguments(oid) AS arguments, pg_get_function_identity_arguments(oid) AS identity,
  pg_get_function_result(oid) AS result
  FROM pg_proc WHERE pronamespace = 11 AND oid < 16384 ORDER BY oid"""
READERS = """SELECT t.typname, i.proname AS i, o.proname AS o, r.proname AS r, s.proname AS s
  FROM pg_type t JOIN pg_proc AS i ON i.oid = t.typinput JOIN pg_proc o ON t.typoutput = o.oid
  LEFT JOIN pg_proc r ON r.oid = t.typreceive LEFT JOIN pg_proc s ON s.oid = t.typsend::oid
  WHERE t.typnamespace = 11 AND t.typrelid = 0"""


def test_the_functions_we_have_are_those_of_postgres(
    real: psycopg.Connection, ours: Callable[[str], tuple[list[tuple[object, ...]], list[str], list[str]]]
):
    rows, _, _ = ours(FUNCTIONS)
    theirs = {row[0]: row for row in real.execute(FUNCTIONS.encode()).fetchall()}
    assert len(rows) > 400
    assert rows == [theirs[row[0]] for row in rows]


def test_types_are_read_and_written_by_functions_that_are_there(
    real: psycopg.Connection, ours: Callable[[str], tuple[list[tuple[object, ...]], list[str], list[str]]]
):
    rows, _, _ = ours(READERS)
    theirs = {row[0]: row for row in real.execute(READERS.encode()).fetchall()}
    known, _, _ = ours("SELECT typname FROM pg_type WHERE typnamespace = 11 AND typrelid = 0")
    assert sorted(str(row[0]) for row in rows) == sorted(str(row[0]) for row in known)
    assert rows == [theirs[row[0]] for row in rows]


def test_every_column_of_the_catalogue_is_one_of_postgres(real: psycopg.Connection):
    asked = """SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace::regnamespace::text IN ('pg_catalog', 'information_schema') AND a.attnum > 0"""
    theirs = {tuple(row) for row in real.execute(asked.encode()).fetchall()}
    mine = {(table.name, column) for table in TABLES.values() for column in table.columns}
    assert not mine - theirs
    complete = {name for name, _ in mine}
    assert not {(name, column) for name, column in theirs if name in complete} - mine
