"""Names of mixed case, served in small letters: the same answers from every engine that is at hand."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import duckdb
import psycopg
import pytest

from dpproxy.algebra import nodes, printing
from dpproxy.algebra.documents import stored_rows
from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.backends.folding import Folded, small
from dpproxy.backends.source import Source
from dpproxy.policy.documents import field_of
from dpproxy.values.pgtypes import INT4, CheckConstraint, Column, ForeignKey, Schema, UniqueKey
from tests.backends.inline import Inline
from tests.postgres import Server
from tests.proxies import Proxy, serving, write_home

DDL = (
    'CREATE TABLE "Ward" ("WardId" INTEGER PRIMARY KEY, "Beds" INTEGER)',
    'CREATE TABLE "PatientVisit" ("PatientId" INTEGER, "WardId" INTEGER, "CostInEuro" INTEGER, plain INTEGER)',
    'INSERT INTO "Ward" VALUES (1, 3), (2, 7)',
)
ROWS = 'INSERT INTO "PatientVisit" VALUES {}'.format(
    ", ".join(f"({i}, {i % 2 + 1}, 10, {i % 5})" for i in range(1000))
)
POLICY = """
ALTER TABLE Ward SET PRIVACY PUBLIC;
ALTER TABLE PatientVisit SET PRIVACY KEY (PatientId) MAX ROWS 2;
ALTER TABLE PatientVisit SET PRIVACY CEILING EPSILON 1000;
ALTER TABLE PatientVisit ALTER COLUMN CostInEuro SET PRIVACY DOMAIN BETWEEN 0 AND 100;
ALTER TABLE PatientVisit ALTER COLUMN WardId SET PRIVACY DOMAIN REFERENCES Ward (WardId);
CREATE PRIVACY BUDGET research LIMIT EPSILON 1000 DEFAULT EPSILON 4;
GRANT SELECT ON PatientVisit TO analyst WITH PRIVACY BUDGET research;
"""
Connection = psycopg.Connection[tuple[object, ...]]


def _duckdb(folder: Path, _: pytest.FixtureRequest) -> str:
    with duckdb.connect(folder / "mixed.duckdb") as connection:
        for statement in (*DDL, ROWS):
            connection.execute(statement)
    return 'path = "mixed.duckdb"'


def _sqlite(folder: Path, _: pytest.FixtureRequest) -> str:
    with sqlite3.connect(folder / "mixed.sqlite") as connection:
        for statement in (*DDL, ROWS):
            connection.execute(statement)
    connection.close()
    return 'path = "mixed.sqlite"'


def _postgres(_: Path, request: pytest.FixtureRequest) -> str:
    server: Server = request.getfixturevalue("postgres")
    name = server.database(name="mixed")
    with psycopg.connect(server.url(name), autocommit=True) as connection:
        for statement in (*DDL, ROWS):
            connection.execute(statement.encode())
        if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'mixed'").fetchone() is None:
            connection.execute("CREATE ROLE mixed LOGIN")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO mixed")
    return f'url = "{server.url(name).replace("postgres@", "mixed@")}"'


@pytest.fixture(scope="module", params=[_duckdb, _sqlite, _postgres])
def proxy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("folding")
    file = write_home(folder, (), POLICY)
    data = f"{request.param(folder, request)}\nfold_names = true"
    file.write_text(file.read_text().replace('path = "data.duckdb"', data))
    with serving(file) as found:
        yield found


@pytest.fixture
def client(proxy: Proxy) -> Iterator[Connection]:
    with psycopg.connect(proxy.dsn(), autocommit=True) as connection:
        yield connection


# Noise of epsilon 4 on a sum within 2 * 100 is beyond 2,000 less than once in e^40.


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(CostInEuro) FROM PatientVisit",
        "SELECT SUM(v.COSTINEURO) FROM patientvisit v",
        'SELECT sum("CostInEuro") FROM "PatientVisit"',
        'SELECT sum("PatientVisit"."CostInEuro") FROM "PatientVisit"',
        'WITH x AS (SELECT "CostInEuro" FROM "PatientVisit") SELECT sum("CostInEuro") FROM x',
        'SELECT sum(v."CostInEuro") FROM "PatientVisit" v JOIN "Ward" w USING ("WardId") WHERE w."Beds" > 0',
    ],
)
def test_names_are_found_in_any_case(client: Connection, sql: str):
    [(total,)] = client.execute(sql.encode()).fetchall()
    assert abs(int(str(total)) - 10_000) < 2_000


def test_columns_are_called_as_they_were_asked_for(client: Connection):
    asked = client.execute(
        'SELECT "WardId", count(*) AS "Beds" FROM "PatientVisit" GROUP BY "WardId" ORDER BY 1'
    )
    assert [column.name for column in asked.description or ()] == ["WardId", "Beds"]
    assert [row[0] for row in asked] == [1, 2]
    plain = client.execute("SELECT WardId FROM Ward ORDER BY Beds DESC")
    assert [column.name for column in plain.description or ()] == ["wardid"]
    assert plain.fetchall() == [(2,), (1,)]


def test_the_catalogue_has_the_names_that_are_served(client: Connection):
    listed = "SELECT column_name FROM information_schema.columns WHERE table_name = 'patientvisit' ORDER BY 1"
    assert client.execute(listed.encode()).fetchall() == [("costineuro",), ("patientid",), ("wardid",)]


def test_a_name_of_the_statement_is_that(client: Connection):
    sql = 'SELECT t."Beds" FROM (SELECT 5 AS "Beds") t'
    assert client.execute(sql.encode()).fetchall() == [(5,)]
    with pytest.raises(psycopg.errors.UndefinedColumn):
        client.execute('SELECT t.beds FROM (SELECT 5 AS "Beds") t')


class _Documents:
    """A source with a column of documents that is not served itself."""

    def schema(self) -> Schema:
        return Schema({"T": (Column("Id", INT4),)}, documents={"T": ("Doc",)})

    def shown(self, query: nodes.Query) -> str:
        return printing.text(query)

    def __getattr__(self, name: str) -> object:
        return name


def test_documents_are_there_for_their_fields():
    source = Folded(cast("Source", _Documents()))
    assert source.schema().documents == {"t": ("doc",)}
    field = field_of("doc ->> 'a'")
    assert field is not None
    query = nodes.Select((nodes.ColumnRef("id"), nodes.ColumnRef(field.name)), stored_rows("t", (field,)))
    assert '(SELECT "Id" AS "id", "Doc" AS "doc" FROM "T") AS "t"' in source.shown(query)


def test_keys_and_checks_of_a_file(tmp_path: Path):
    with duckdb.connect(tmp_path / "k.duckdb") as connection:
        connection.execute(
            'CREATE TABLE "T" ("Id" INTEGER PRIMARY KEY, "Odd Age" INTEGER CHECK ("Odd Age" > 0))'
        )
        connection.execute('CREATE TABLE u ("Of" INTEGER REFERENCES "T" ("Id"))')
    source = Folded(Inline(DuckDB(tmp_path / "k.duckdb")))
    schema = source.schema()
    source.close()
    assert set(schema.tables) == {"t", "u"}
    assert schema.spellings == {"T": "t", "Id": "id", "Odd Age": "odd age", "Of": "of"}
    assert UniqueKey("t", ("id",), primary=True) in schema.constraints
    assert ForeignKey("u", ("of",), "t", ("id",)) in schema.constraints
    [check] = [one for one in schema.constraints if isinstance(one, CheckConstraint)]
    assert (check.table, '"odd age"' in check.expression) == ("t", True)


def test_letters_are_folded_as_postgresql_folds_them():
    assert small("Ärzte_ÖPNV_Abc") == "Ärzte_Öpnv_abc"
