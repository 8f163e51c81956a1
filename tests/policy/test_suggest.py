"""A policy proposed from what is declared."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.policy.apply import apply
from dpproxy.policy.draft import draft
from dpproxy.policy.model import Exposure, Policy
from dpproxy.policy.store import change_of
from dpproxy.policy.suggest import suggest
from dpproxy.policy.usable import usable
from dpproxy.sql.cursor import Name
from dpproxy.sql.quoting import identifier
from dpproxy.values.errors import DependentObjects, UndefinedTable
from dpproxy.values.pgtypes import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT8,
    INT4,
    NUMERIC,
    TEXT,
    TIMESTAMPTZ,
    CheckConstraint,
    Column,
    Constraint,
    ForeignKey,
    Schema,
    UniqueKey,
)

DDL = """
CREATE TABLE wards (region VARCHAR, ward INTEGER, PRIMARY KEY (region, ward));
CREATE TABLE patients (
  patient_id BIGINT PRIMARY KEY, name VARCHAR, age INTEGER CHECK (age BETWEEN 0 AND 110),
  sex VARCHAR CHECK (sex IN ('f', 'm')), smokes BOOLEAN, height DOUBLE
);
CREATE TABLE visits (
  visit_id BIGINT PRIMARY KEY, patient_id BIGINT REFERENCES patients (patient_id), region VARCHAR, ward INTEGER,
  cost DECIMAL(8, 2), FOREIGN KEY (region, ward) REFERENCES wards (region, ward)
);
"""
PUBLIC = "ALTER TABLE wards SET PRIVACY PUBLIC"


@pytest.fixture
def declared(tmp_path: Path) -> Schema:
    with duckdb.connect(tmp_path / "data.duckdb") as connection:
        connection.execute(DDL)
    backend = DuckDB(tmp_path / "data.duckdb")
    schema = backend.schema()
    backend.close()
    return schema


def proposed(policy: Policy, schema: Schema, table: str) -> list[str]:
    return [one.statement for one in suggest(policy, schema, Name(table))]


def statements(policy: Policy, schema: Schema, table: str) -> list[str]:
    """Those that are not comments."""
    return [sql for sql in proposed(policy, schema, table) if not sql.startswith("--")]


def run(schema: Schema, *statements: str, to: Policy | None = None) -> Policy:
    policy = to or Policy()
    for sql in statements:
        policy = apply(policy, change_of(sql), schema)
    return policy


def test_a_table_of_people(declared: Schema):
    assert proposed(Policy(), declared, "patients") == [
        "ALTER TABLE patients SET PRIVACY KEY (patient_id);",
        "ALTER TABLE patients SET PRIVACY CEILING EPSILON 4 /* fill in */;",
        "ALTER TABLE patients ALTER COLUMN patient_id SET PRIVACY CLASS IDENTIFIER;",
        "ALTER TABLE patients ALTER COLUMN name SET PRIVACY CLASS IDENTIFIER;",
        "ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110;",
        "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm');",
        "ALTER TABLE patients ALTER COLUMN smokes SET PRIVACY DOMAIN IN (TRUE, FALSE);",
        "ALTER TABLE patients ALTER COLUMN height SET PRIVACY DOMAIN BETWEEN 0 AND 1000 /* fill in */;",
    ]


def test_a_table_that_refers_to_others(declared: Schema):
    policy = run(declared, PUBLIC, "ALTER TABLE patients SET PRIVACY KEY (patient_id)")
    assert proposed(policy, declared, "visits") == [
        "ALTER TABLE visits SET PRIVACY KEY (patient_id) REFERENCES patients (patient_id) MAX ROWS 10 /* fill in */;",
        "ALTER TABLE visits SET PRIVACY DOMAIN (region, ward) REFERENCES wards (region, ward);",
        "ALTER TABLE visits ALTER COLUMN visit_id SET PRIVACY CLASS IDENTIFIER;",
        "ALTER TABLE visits ALTER COLUMN patient_id SET PRIVACY CLASS IDENTIFIER;",
        "ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 1000 /* fill in */;",
    ]


@pytest.mark.parametrize("table", ["wards", "patients", "visits"])
def test_all_of_it_applies_and_then_nothing_is_left_to_propose(declared: Schema, table: str):
    for before in (Policy(), run(declared, "ALTER TABLE patients SET PRIVACY KEY (patient_id)")):
        after = run(declared, *statements(before, declared, table), to=before)
        assert usable(after, declared)[1] == []
        assert statements(after, declared, table) == []


def test_what_is_declared_stays(declared: Schema):
    policy = run(
        declared,
        "ALTER TABLE patients SET PRIVACY KEY ROW",
        "ALTER TABLE patients SET PRIVACY CEILING EPSILON 3",
        "ALTER TABLE patients ALTER COLUMN age SET PRIVACY HIDDEN",
        "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY CLASS SENSITIVE",
    )
    columns = [sql.split()[5] for sql in proposed(policy, declared, "patients")]
    assert columns == ["patient_id", "name", "smokes", "height"]


def test_a_foreign_key_of_several_columns_follows_the_unit(tmp_path: Path):
    ddl = """CREATE TABLE customers (customer_id BIGINT PRIMARY KEY);
    CREATE TABLE sales (ticket BIGINT, item INTEGER, customer_id BIGINT, PRIMARY KEY (ticket, item));
    CREATE TABLE returns (ticket BIGINT, item INTEGER, customer_id BIGINT,
      FOREIGN KEY (ticket, item) REFERENCES sales (ticket, item))"""
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(ddl)
    backend = DuckDB(path)
    schema = backend.schema()
    backend.close()
    wanted = "ALTER TABLE returns SET PRIVACY FOREIGN KEY (ticket, item) REFERENCES sales (ticket, item);"
    alone = run(schema, "ALTER TABLE customers SET PRIVACY KEY (customer_id)")
    assert wanted not in proposed(alone, schema, "returns")
    of_one = run(
        schema, "ALTER TABLE sales SET PRIVACY KEY (customer_id) REFERENCES customers (customer_id)", to=alone
    )
    found = proposed(of_one, schema, "returns")
    assert wanted in found
    assert wanted not in proposed(
        run(schema, *statements(of_one, schema, "returns"), to=of_one), schema, "returns"
    )
    assert wanted in draft(schema).text


def test_a_public_table_needs_nothing(declared: Schema):
    assert proposed(run(declared, PUBLIC), declared, "wards") == []


def test_a_missing_table_is_refused(declared: Schema):
    with pytest.raises(UndefinedTable):
        proposed(Policy(), declared, "gone")


def test_a_grant_without_a_budget_stands_against_it(applied: Callable[..., Policy], schema: Schema):
    policy = applied("GRANT SELECT ON patients TO analyst")
    with pytest.raises(DependentObjects) as caught:
        suggest(policy, schema, Name("patients", 20))
    assert caught.value.position == 20


def test_a_reference_that_does_not_fit_gives_way(applied: Callable[..., Policy], schema: Schema):
    policy = applied("ALTER TABLE regions SET PRIVACY KEY (size)")
    other = Schema({**schema.tables, "t": (Column("size", TEXT),)})
    assert proposed(policy, other, "t")[0] == "-- ALTER TABLE t SET PRIVACY KEY ROW;"


PRESCRIPTIONS = """
CREATE TABLE patients (id BIGINT, born DATE);
CREATE TABLE visits (visit_id BIGINT, patient BIGINT, ward VARCHAR);
CREATE TABLE prescriptions (rx BIGINT PRIMARY KEY, visit BIGINT, drug VARCHAR);
CREATE TABLE doses (rx BIGINT, mg INTEGER);
"""


def test_rows_that_hang_on_people_by_name_alone_are_never_units_of_their_own_unasked(tmp_path: Path):
    with duckdb.connect(tmp_path / "data.duckdb") as connection:
        connection.execute(PRESCRIPTIONS)
    backend = DuckDB(tmp_path / "data.duckdb")
    schema = backend.schema()
    backend.close()
    policy = run(schema, "ALTER TABLE patients SET PRIVACY KEY (id)")
    [visits, *_] = proposed(policy, schema, "visits")
    assert visits == (
        "ALTER TABLE visits SET PRIVACY KEY (patient) REFERENCES patients (id) MAX ROWS 10 /* fill in */ /* confirm */;"
    )
    policy = run(schema, visits, to=policy)
    [prescriptions, *_] = proposed(policy, schema, "prescriptions")
    assert prescriptions.startswith(
        "ALTER TABLE prescriptions SET PRIVACY KEY (visit) REFERENCES visits (visit_id) "
    )
    # Before its own table is declared, nothing leads from a dose to a patient.
    for table, text in (("doses", "KEY ROW"), ("prescriptions", "KEY (rx)")):
        none = run(schema, "ALTER TABLE patients SET PRIVACY KEY (id)")
        [proposal, *_] = suggest(none, schema, Name(table))
        assert proposal.statement == f"-- ALTER TABLE {table} SET PRIVACY {text};"
        assert "refer to the table that its rows belong to" in proposal.reason
    assert proposed(run(schema, prescriptions, to=policy), schema, "doses")[0].startswith(
        "ALTER TABLE doses SET PRIVACY KEY (rx) REFERENCES prescriptions (rx) "
    )


NAMES = ["id", "patient_id", "Name", "age", "note", "town", "user", "born_at", "select", "ward_key", "lat"]
KINDS = [INT4, TEXT, BOOL, DATE, TIMESTAMPTZ, FLOAT8, NUMERIC, NUMERIC.with_precision(2, 2), BYTEA]
CHECKS = ["({} > 5)", "({} BETWEEN 0 AND 1)", "({} IN ('a', 'b'))", "({} < '2020-01-01')", "({} = 0.125)"]


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    tables = {
        table: tuple(
            Column(name, draw(st.sampled_from(KINDS)))
            for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
        )
        for table in ("patients", "visits", "codes")
    }
    constraints: list[Constraint] = []
    for table, columns in tables.items():
        name, other = draw(st.sampled_from(columns)).name, draw(st.sampled_from(columns)).name
        target = draw(st.sampled_from(list(tables)))
        referenced = draw(st.sampled_from(tables[target])).name
        made = [
            UniqueKey(table, (name,), primary=draw(st.booleans())),
            ForeignKey(table, (other,), target, (referenced,)),
            CheckConstraint(table, draw(st.sampled_from(CHECKS)).format(identifier(name))),
        ]
        constraints += draw(st.lists(st.sampled_from(made), unique=True))
    return Schema(tables, tuple(constraints))


@given(schemas(), st.booleans())
def test_whatever_the_schema_is_all_of_it_applies(schema: Schema, public: bool):  # noqa: FBT001 - drawn
    policy = run(schema, *(["ALTER TABLE codes SET PRIVACY PUBLIC"] if public else []))
    for table in schema.tables:
        policy = run(schema, *statements(policy, schema, table), to=policy)
        left = proposed(policy, schema, table)
        assert all(sql.startswith("-- ") for sql in left)
        assert len(left) == (policy.tables[table].exposure is Exposure.HIDDEN)
    assert policy.tables["patients"].exposure is Exposure.PROTECTED
    assert usable(policy, schema)[1] == []
