"""``dpproxy init``: from a source of rows to a proxy that answers."""

import io
import stat
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpproxy.cli.main import main
from dpproxy.config.configuration import load_config
from dpproxy.config.users import read_users
from dpproxy.policy.files import read_file
from tests.postgres import Server
from tests.proxies import serving, started

Captured = pytest.CaptureFixture[str]
DDL = """
CREATE SCHEMA sales; CREATE TYPE sales.channel AS ENUM ('web', 'it''s');
CREATE TABLE sales.customers (customer_id bigint PRIMARY KEY, tags text[], channel sales.channel NOT NULL);
CREATE TABLE sales.orders (order_id bigint PRIMARY KEY, customer_id bigint NOT NULL REFERENCES sales.customers);
INSERT INTO sales.customers SELECT i, NULL, 'web' FROM generate_series(1, 90) AS i;
INSERT INTO sales.orders SELECT i, i FROM generate_series(1, 90) AS i;
CREATE ROLE only_sales LOGIN; GRANT USAGE ON SCHEMA sales TO only_sales;
GRANT SELECT ON ALL TABLES IN SCHEMA sales TO only_sales;
CREATE SCHEMA more; CREATE TABLE more.t (a int);
UPDATE pg_class SET reltuples = 3e6 WHERE relname = 'orders';
"""


@pytest.fixture(scope="module")
def url(postgres: Server) -> str:
    name = postgres.database(name="shop")
    with psycopg.connect(postgres.url(name), autocommit=True) as connection:
        connection.execute(DDL.encode())
    return postgres.url(name).replace("postgres@", "only_sales@")


def begin(monkeypatch: pytest.MonkeyPatch, source: str, folder: Path, *more: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse\n"))
    return main(["init", source, "--directory", str(folder), "--password-stdin", *more])


def test_a_database_whose_tables_are_in_another_schema(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
):
    assert begin(monkeypatch, url, tmp_path) == 0
    told = capsys.readouterr().out
    assert "schema sales: 2 tables (customers, orders)\n" in told
    assert "schema more: 1 that the role may not read (t); not served: dpproxy init --schema more" in told
    draft = (tmp_path / "policy" / "10_draft.sql").read_text()
    assert "channel SET PRIVACY DOMAIN IN ('web', 'it''s');" in draft
    assert "Not served, for their types: tags." in draft
    configuration = tmp_path / "dpproxy.toml"
    assert stat.S_IMODE(configuration.stat().st_mode) == 0o600
    assert '# prepared_schema = "dpproxy_kept"' in configuration.read_text()
    assert read_users(tmp_path / "users.toml")["root"].roles == {"admin"}
    assert main(["check", str(configuration)]) == 0
    assert "2 places to fill in or to confirm" in capsys.readouterr().err
    with started(configuration) as engine:
        assert set(engine.policy.tables) == {"customers", "orders"}


def test_no_file_is_replaced(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured):
    (tmp_path / "dpproxy.toml").write_text("mine")
    assert begin(monkeypatch, url, tmp_path) == 2
    assert "dpproxy.toml is there already" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["dpproxy.toml"]


def test_nothing_is_written_where_there_is_nothing_to_read(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
):
    assert begin(monkeypatch, url, tmp_path, "--schema", "more") == 2
    assert "GRANT USAGE ON SCHEMA more TO only_sales" in capsys.readouterr().err
    assert begin(monkeypatch, url, tmp_path, "--schema", "gone") == 2
    assert "sales has 2 tables" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_duckdb_is_served_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
):
    with duckdb.connect(tmp_path / "clinic.duckdb") as connection:
        connection.execute(
            "CREATE TABLE patients AS SELECT i AS patient_id, i % 2 = 0 AS smokes FROM range(50) t(i)"
        )
    assert (
        begin(monkeypatch, str(tmp_path / "clinic.duckdb"), tmp_path / "new" / "home", "--admin", "boss") == 0
    )
    assert "dpproxy serve --config " in capsys.readouterr().out
    file = tmp_path / "new" / "home" / "dpproxy.toml"
    config = load_config(file)
    assert config.databases == ("clinic",)
    assert "patients" in read_file(config.policy_files[0]).text
    file.write_text(file.read_text().replace(":6432", ":0"))
    with serving(file) as proxy, psycopg.connect(proxy.dsn("boss", dbname="clinic"), autocommit=True) as boss:
        listed = boss.execute("SHOW PRIVACY TABLES").fetchall()
        assert listed == [("patients", "protected", "KEY (patient_id) MAX ROWS 10", 2, None, None)]


def test_a_name_that_needs_quotes_is_one_of_the_search_path(
    postgres: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    name = postgres.database(name="odd")
    with psycopg.connect(postgres.url(name), autocommit=True) as connection:
        connection.execute(
            'CREATE SCHEMA "My Sales"; CREATE TABLE "My Sales".users (user_id int PRIMARY KEY);'
            'CREATE ROLE odd_reader LOGIN; GRANT USAGE ON SCHEMA "My Sales" TO odd_reader;'
            'GRANT SELECT ON ALL TABLES IN SCHEMA "My Sales" TO odd_reader;'
        )
    assert begin(monkeypatch, postgres.url(name).replace("postgres@", "odd_reader@"), tmp_path) == 0
    with started(tmp_path / "dpproxy.toml") as engine:
        assert set(engine.policy.tables) == {"users"}
