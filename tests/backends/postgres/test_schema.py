import psycopg
import pytest

from dpproxy.backends.postgres.schema import Described, described
from dpproxy.values.pgtypes import CheckConstraint, ForeignKey, UniqueKey
from tests.postgres import Server

DDL = """
CREATE TYPE mood AS ENUM ('good', 'bad');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
CREATE TABLE clinics (no int PRIMARY KEY, name text NOT NULL UNIQUE);
CREATE TABLE t (
  b bool, i2 int2, i4 int4 NOT NULL, i8 int8, n numeric(6,2), whole numeric(5), wide numeric, more numeric(50,2),
  f4 real,
  f8 float8, t text, v varchar(9), c char(3), m mood, u uuid, d date, ts timestamp, tz timestamptz, j jsonb, a int[],
  p positive, l text COLLATE loose, "Twice" int, "twice" int, clinic int REFERENCES clinics (no), CHECK (i4 > 0));
CREATE TABLE parts (k int, v int) PARTITION BY LIST (k);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE "A" (x int); CREATE TABLE "a" (x int);
CREATE VIEW seen AS SELECT i4 AS x FROM t;
CREATE TABLE hidden (x int);
CREATE ROLE reads_some LOGIN;
CREATE TABLE chosen (x int); ALTER TABLE chosen ENABLE ROW LEVEL SECURITY;
CREATE POLICY raises ON chosen USING (1 / x > 0);
CREATE TABLE parent (id int PRIMARY KEY, k int NOT NULL, CHECK (k > 0) NO INHERIT);
CREATE TABLE child () INHERITS (parent); ALTER TABLE child ALTER COLUMN id DROP NOT NULL;
CREATE FOREIGN DATA WRAPPER nothing; CREATE SERVER other FOREIGN DATA WRAPPER nothing;
CREATE TABLE far (k int, v int) PARTITION BY LIST (k);
CREATE TABLE far_in PARTITION OF far FOR VALUES IN (1) PARTITION BY LIST (v);
CREATE FOREIGN TABLE far_rows PARTITION OF far_in FOR VALUES IN (1) SERVER other;
CREATE TABLE near (k int);
CREATE FOREIGN TABLE near_rows () INHERITS (near) SERVER other;
CREATE MATERIALIZED VIEW counted AS SELECT 1 AS n; CREATE MATERIALIZED VIEW empty AS SELECT 1 AS n WITH NO DATA;
CREATE FUNCTION told(mood) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RAISE 'it is %', $1; END$$;
CREATE CAST (mood AS text) WITH FUNCTION told(mood);
GRANT SELECT ON parent, far, near, counted, empty TO reads_some;
GRANT SELECT ON chosen, clinics, t, parts, "A", "a" TO reads_some;
"""
ROW = """INSERT INTO t (i4, n, whole, wide, c, m, u, tz) VALUES
  (1, 'NaN', NULL, %s, 'NO', 'good', 'ABCDEF00-0000-0000-0000-000000000000', '2020-01-01 00:00:00+02')"""


@pytest.fixture(scope="module")
def url(postgres: Server) -> str:
    name = postgres.database(name="schema")
    with psycopg.connect(postgres.url(name), autocommit=True) as connection:
        connection.execute(DDL.encode())
        for wide in ("NaN", "1e-400", "1e400", "-1e400", "0.1", "Infinity", None):
            connection.execute(ROW.encode(), [wide])
    return postgres.url(name).replace("postgres@", "reads_some@")


@pytest.fixture(scope="module")
def found(url: str) -> Described:
    with psycopg.connect(url, cursor_factory=psycopg.RawCursor) as connection:
        return described(connection, "public")


def test_each_type_stands_for_one_of_ours(found: Described):
    shown = {c.name: (c.type.name, c.type.scale) for c in found.schema.tables["t"]}
    assert shown == {
        "b": ("bool", None), "i2": ("int2", None), "i4": ("int4", None), "i8": ("int8", None), "n": ("numeric", 2),
        "whole": ("numeric", 0), "wide": ("float8", None), "more": ("float8", None), "f4": ("float4", None),
        "f8": ("float8", None), "t": ("text", None), "v": ("varchar", None), "c": ("text", None), "m": ("text", None),
        "u": ("text", None), "d": ("date", None), "ts": ("timestamp", None), "tz": ("timestamptz", None),
        "clinic": ("int4", None),
    }  # fmt: skip
    assert [c.name for c in found.schema.tables["t"] if c.not_null] == ["i4"]


def test_what_has_no_type_or_no_name_of_its_own_does_not_exist(found: Described):
    assert set(found.schema.left_out["t"]) == {"j", "a", "p", "l", "Twice", "twice"}
    assert set(found.schema.tables) == {"clinics", "t", "parts", "parent", "counted"}


def test_what_a_table_declares_is_not_believed_of_rows_that_inherit_from_it(found: Described):
    assert [(c.name, c.not_null) for c in found.schema.tables["parent"]] == [("id", False), ("k", True)]
    assert not [c for c in found.schema.constraints if c.table == "parent"]


def test_constraints_and_views_are_told(found: Described):
    constraints = found.schema.constraints
    assert UniqueKey("clinics", ("no",), primary=True) in constraints
    assert UniqueKey("clinics", ("name",)) in constraints
    assert ForeignKey("t", ("clinic",), "clinics", ("no",)) in constraints
    assert any(isinstance(c, CheckConstraint) and "i4" in c.expression for c in constraints)
    assert found.schema.views["seen"].columns == ("x",)


def test_every_value_is_read_as_one_of_ours(found: Described, url: str):
    read = {n: v.wrap.format(f'"{n}"') for n, v in found.columns["t"].items()}
    with psycopg.connect(url) as connection:
        shown = ", ".join(read[name] for name in ("n", "whole", "c", "m", "u", "tz"))
        row = connection.execute(f"SELECT {shown} FROM t LIMIT 1".encode()).fetchone()
        assert row is not None
        assert [str(v) for v in row] == [
            "9999.99", "None", "NO", "good", "abcdef00-0000-0000-0000-000000000000", "2019-12-31 22:00:00",
        ]  # fmt: skip
        wide = connection.execute(f"SELECT {read['wide']} FROM t".encode()).fetchall()
    assert [v for (v,) in wide] == [1e300, 0.0, 1e300, -1e300, 0.1, 1e300, None]
