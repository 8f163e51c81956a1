"""Made-up people: from declared domains alone, and her."""

from collections.abc import Iterator

import duckdb
import pytest

from dpproxy.assurance import people
from dpproxy.policy.apply import apply
from dpproxy.policy.model import Policy
from dpproxy.policy.store import change_of
from dpproxy.values.pgtypes import INT4, JSON, Column, Schema
from tests.assurance.made_up import policy, schema
from tests.golden.world import build


@pytest.fixture(scope="module")
def data() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:") as connection:
        connection.execute(
            "CREATE TABLE wards AS SELECT * FROM (VALUES ('A', 10), ('B', 20), ('B', 5)) AS w (ward, beds)"
        )
        for statement in (*people.tables(policy(), schema()), *people.everybody(policy(), schema())):
            connection.execute(statement)
        yield connection


def test_rows_are_inside_their_domains(data: duckdb.DuckDBPyConnection):
    def one(sql: str) -> object:
        return data.execute(sql).fetchall()[0]

    assert one("SELECT count(*), count(DISTINCT id), min(weight) >= 20, max(weight) <= 200 FROM patients") == (
        people.PEOPLE, people.PEOPLE, True, True,
    )  # fmt: skip
    assert one("SELECT bool_and(sex IN ('f', 'm')), bool_and(year(joined) = 2020) FROM patients") == (
        True,
        True,
    )
    assert one("SELECT bool_and(ward IN ('A', 'B')), bool_and(cost BETWEEN 0 AND 100) FROM stays") == (
        True,
        True,
    )
    assert one("SELECT bool_and(answer BETWEEN 1 AND 5) FROM survey") == (True,)
    assert one("SELECT count(*) FROM wages") == (0,)


def test_a_table_may_have_undeclared_columns_of_every_type():
    kinds = (
        "SMALLINT",
        "INTEGER",
        "BIGINT",
        "VARCHAR",
        "DATE",
        "TIMESTAMP",
        "BOOLEAN",
        "REAL",
        "DOUBLE",
        "DECIMAL(9,2)",
    )
    columns = ", ".join(f"c{n} {kind} NOT NULL, d{n} {kind}" for n, kind in enumerate(kinds))
    world = build((f"CREATE TABLE x (id INTEGER NOT NULL, {columns})", "ALTER TABLE x SET PRIVACY KEY (id)"))
    rows = people.everybody(world.policy, world.schema)
    with duckdb.connect(":memory:") as connection:
        for statement in (
            *people.tables(world.policy, world.schema),
            *rows,
            *people.her(world.policy, world.schema),
        ):
            connection.execute(statement)
        [[count]] = connection.execute("SELECT count(*) FROM x").fetchall()
    assert count > people.PEOPLE


def test_references_lead_somewhere(data: duckdb.DuckDBPyConnection):
    for sql in (
        "SELECT count(*) FROM stays ANTI JOIN patients ON stays.patient = patients.id",
        "SELECT count(*) FROM notes ANTI JOIN stays USING (stay)",
    ):
        assert data.execute(sql).fetchall() == [(0,)]


def test_she_has_more_rows_than_are_kept_and_values_outside_every_domain(data: duckdb.DuckDBPyConnection):
    data.execute("BEGIN")
    before = {
        t: data.execute(f"SELECT count(*) FROM {t}").fetchall()[0][0]
        for t in ("patients", "stays", "notes", "survey")
    }
    for statement in people.her(policy(), schema()):
        data.execute(statement)
    after = {t: data.execute(f"SELECT count(*) FROM {t}").fetchall()[0][0] for t in before}
    assert {t: after[t] - before[t] for t in before} == {
        "patients": 1 + people.HERS, "stays": 4 + people.HERS, "notes": 8 + people.HERS, "survey": 1,
    }  # fmt: skip
    assert data.execute("SELECT count(*) FROM patients WHERE isnan(weight)").fetchall()[0][0] > 0
    assert data.execute("SELECT max(cost) > 100, bool_or(cost IS NULL) FROM stays").fetchall() == [
        (True, True)
    ]
    assert data.execute("SELECT count(*) FROM notes ANTI JOIN stays USING (stay)").fetchall() == [(0,)]
    assert len(data.execute("SELECT DISTINCT patient FROM stays WHERE patient >= 20000").fetchall()) == 1
    data.execute("ROLLBACK")


def test_her_keys_are_in_the_engines_words():
    keys = people.her_keys(policy(), schema())
    assert keys["patients"] == keys["stays"]
    assert set(keys) == {"notes", "patients", "stays"}


def test_documents_have_the_fields_that_are_declared():
    schema = Schema({"x": (Column("id", INT4), Column("j", JSON))}, documents={"x": ("left_out",)})
    policy = Policy()
    for sql in (
        "ALTER TABLE x SET PRIVACY KEY (id)",
        "ALTER TABLE x ALTER COLUMN (j ->> 'a') SET PRIVACY DOMAIN IN ('it''s')",
        "ALTER TABLE x ALTER COLUMN ((j -> 'b' ->> 'n')::integer) SET PRIVACY DOMAIN BETWEEN 3 AND 4",
        "ALTER TABLE x ALTER COLUMN (left_out ->> 'c') SET PRIVACY DOMAIN IN ('z')",
    ):
        policy = apply(policy, change_of(sql), schema)
    with duckdb.connect(":memory:") as connection:
        for make in (people.tables, people.everybody, people.her):
            for statement in make(policy, schema):
                connection.execute(statement)
        found = connection.execute(
            "SELECT j ->> '$.a', CAST(j ->> '$.b.n' AS BIGINT), left_out ->> '$.c' FROM x WHERE id = 1000 ORDER BY 2"
        )
        assert found.fetchone() == ("it's", 3, "z")
