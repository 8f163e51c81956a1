"""Where the tables of a database are, and what to say where none of those that are served can be read."""

from pathlib import Path

import duckdb
import psycopg
import pytest

from dpproxy.backends.schemas import Namespace, in_file, in_postgres, nothing_read
from dpproxy.values.errors import StartupError
from tests.postgres import Server

DDL = """
CREATE SCHEMA sales; CREATE TABLE sales.orders (id int); CREATE TABLE sales.secret (id int);
CREATE SCHEMA hr; CREATE TABLE hr.salaries (id int);
CREATE TABLE sales.parts (k int) PARTITION BY LIST (k); CREATE TABLE sales.part PARTITION OF sales.parts DEFAULT;
CREATE ROLE reads_sales LOGIN; GRANT USAGE ON SCHEMA sales TO reads_sales; GRANT SELECT ON sales.orders TO reads_sales;
UPDATE pg_class SET reltuples = 2e6 WHERE relname = 'orders';
"""


@pytest.fixture(scope="module")
def url(postgres: Server) -> str:
    name = postgres.database(name="schemas")
    with psycopg.connect(postgres.url(name), autocommit=True) as connection:
        connection.execute(DDL.encode())
    return postgres.url(name).replace("postgres@", "reads_sales@")


def test_every_schema_with_tables_is_listed(url: str):
    role, served, found = in_postgres(url, "main")
    assert (role, served) == ("reads_sales", "public")
    assert found == [
        Namespace("hr", (), ("salaries",)),
        Namespace("sales", ("orders",), ("parts", "secret"), ("orders",)),
    ]
    assert nothing_read("public", role, found) == (
        'no table can be read in schema "public"; schema hr has 1 that the role may not read (salaries); schema sales '
        "has 1 table (orders) and 2 that the role may not read (parts, secret). To serve sales: ALTER ROLE reads_sales "
        "SET search_path = sales;"
    )
    assert nothing_read("hr", role, found) == (
        'no table can be read in schema "hr", which has 1 that the role may not read (salaries): GRANT USAGE ON SCHEMA '
        "hr TO reads_sales; GRANT SELECT ON ALL TABLES IN SCHEMA hr TO reads_sales;"
    )


def test_what_the_role_may_not_read_anywhere_is_granted_first():
    told = nothing_read("public", "Reader", [Namespace("hr", (), ("a", "b"))])
    assert 'ALTER ROLE "Reader" SET search_path = hr; GRANT USAGE ON SCHEMA hr TO "Reader";' in told
    assert nothing_read("public", "r", []).endswith("and no other schema has tables")


def test_a_server_that_is_not_there_is_told_without_its_url():
    with pytest.raises(StartupError) as caught:
        in_postgres("postgresql://r:hidden@127.0.0.1:1/d", "main")
    assert str(caught.value) == "data.main.url: no server listens at its host and port"


def test_the_schemas_of_a_file(tmp_path: Path):
    file = tmp_path / "x.duckdb"
    with duckdb.connect(file) as connection:
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.t (a INT); CREATE TABLE u (a INT)")
    assert in_file(file) == [Namespace("main", ("u",)), Namespace("s", ("t",))]
    assert in_file(tmp_path) == []
