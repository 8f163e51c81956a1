"""Several data sources behind one port."""

import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest

from dpproxy.algebra.plan import Answer
from dpproxy.algebra.request import Request
from dpproxy.cli.main import main
from dpproxy.config.configuration import load_config
from dpproxy.engine import databases
from dpproxy.engine.databases import open_databases
from dpproxy.engine.engine import Engine
from dpproxy.values.errors import StartupError
from tests.proxies import Proxy, end, serving, spawned, write_home

pytestmark = pytest.mark.usefixtures("in_process")

POLICY = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 3;
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 999;
CREATE PRIVACY BUDGET b LIMIT EPSILON {limit} DEFAULT EPSILON 0.1;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""
COUNT = "SELECT count(*) FROM t"


def rows(path: Path, number: int) -> None:
    with duckdb.connect(path) as connection:
        connection.execute(
            f"CREATE TABLE t AS SELECT CAST(i % 1000 AS INTEGER) AS x FROM range({number}) AS r(i)"
        )


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Main has 1000 rows and a budget of 0.1; tax has 50,000 and a budget of 0.5."""
    ddl = ("CREATE TABLE t AS SELECT CAST(i AS INTEGER) AS x FROM range(1000) AS r(i)",)
    file = write_home(tmp_path, ddl, POLICY.format(limit="0.1"))
    rows(tmp_path / "tax.duckdb", 50_000)
    (tmp_path / "tax.sql").write_text(POLICY.format(limit="0.5"))
    file.write_text(f'{file.read_text()}[data.tax]\npath = "tax.duckdb"\npolicy = ["tax.sql"]\n')
    return file


@pytest.fixture
def proxy(file: Path) -> Iterator[Proxy]:
    with serving(file) as found:
        yield found


def value(proxy: Proxy, database: str, sql: str, user: str = "ann") -> object:
    with psycopg.connect(proxy.dsn(user, dbname=database), autocommit=True) as connection:
        row = connection.execute(sql.encode()).fetchone()
    return None if row is None else row[0]


def test_each_has_its_own_data_policy_and_budget(proxy: Proxy):
    # The noise of epsilon 0.1 is beyond 500 less than once in e^50.
    assert abs(int(str(value(proxy, "main", COUNT))) - 1000) < 500
    assert value(proxy, "main", "SHOW dp.budget_remaining") == "0"
    with pytest.raises(psycopg.Error) as caught:
        value(proxy, "main", f"{COUNT} WHERE x < 10")
    assert caught.value.sqlstate == "PD001"
    assert abs(int(str(value(proxy, "tax", COUNT))) - 50_000) < 500
    assert value(proxy, "tax", "SHOW dp.budget_remaining") == "0.4"
    for database, statement in (("main", COUNT), ("tax", COUNT)):
        audited = f"SELECT 1 FROM dp.ledger WHERE epsilon > 0 -- {statement}"
        assert value(proxy, database, audited, "root") == 1
    state = proxy.folder / "state"
    assert sorted(path.name for path in state.iterdir() if path.is_dir()) == ["main", "tax"]
    assert all((state / name / "audit.sqlite").exists() for name in ("main", "tax"))


def test_a_policy_that_is_changed_changes_in_one(proxy: Proxy):
    with psycopg.connect(proxy.dsn("root", dbname="tax"), autocommit=True) as connection:
        connection.execute("REVOKE SELECT ON t FROM analyst")
    with pytest.raises(psycopg.Error) as caught:
        value(proxy, "tax", COUNT)
    assert caught.value.sqlstate in {"42501", "42P01"}
    assert value(proxy, "main", COUNT) is not None


def test_a_database_that_is_none_is_told_to_those_who_may_log_in(proxy: Proxy):
    with pytest.raises(psycopg.OperationalError, match='FATAL:  database "nix" does not exist'):
        value(proxy, "nix", "SELECT 1")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed") as caught:
        psycopg.connect(proxy.dsn(dbname="nix", password="wrong"))
    assert "nix" not in str(caught.value).replace("dbname=nix", "")


def test_psql_lists_them_and_goes_from_one_to_the_other(proxy: Proxy):
    if shutil.which("psql") is None:
        pytest.skip("psql is not installed")
    which = "SELECT current_database();"
    script = f"\\l\n\\c tax\n{which}\nSHOW dp.budget_remaining;\n\\c main\n{which}\n"
    done = subprocess.run(
        ["psql", "-X", "-A", "-t", "-v", "ON_ERROR_STOP=1"], input=script, env=proxy.environment(),
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert [line.split("|")[0] for line in lines if line.startswith(("main|", "tax|"))] == ["main", "tax"]
    told = [line for line in lines if "|" not in line]
    assert told[-5:] == [
        'You are now connected to database "tax" as user "ann".', "tax", "0.5",
        'You are now connected to database "main" as user "ann".', "main",
    ]  # fmt: skip


def test_psql_lists_databases_before_it_knows_of_one(proxy: Proxy):
    listed = subprocess.run(
        ["psql", "-X", "-l"], env=proxy.environment(), capture_output=True, text=True, check=True
    ).stdout
    for name in ("postgres", "main", "tax"):
        assert re.search(rf"^ {name} +\|", listed, re.MULTILINE)
    told = subprocess.run(
        ["pg_dump", "-s"], env=proxy.environment(), capture_output=True, text=True, check=False
    )
    assert "pg_dump copies the rows of tables" in told.stderr


def test_the_database_of_every_server_has_the_catalogue_alone(proxy: Proxy):
    with psycopg.connect(proxy.dsn("ann", dbname="postgres"), autocommit=True) as connection:
        assert connection.execute("SELECT current_database(), current_user").fetchall() == [
            ("postgres", "ann")
        ]
        assert connection.execute("SELECT relname FROM pg_class WHERE relnamespace = 2200").fetchall() == []
        for sql in (
            "SELECT count(*) FROM people",
            "SHOW PRIVACY BUDGETS",
            "EXPLAIN (PRIVACY) SELECT 1",
            "SELECT * FROM dp.budget",
        ):
            with pytest.raises(psycopg.Error) as caught:
                connection.execute(sql.encode())
            assert caught.value.sqlstate in ("0A000", "42P01")
        with pytest.raises(psycopg.errors.FeatureNotSupported, match='no tables in the database "postgres"'):
            connection.execute("SELECT count(*) FROM people")
        assert connection.execute("SHOW dp.budget_remaining").fetchall() == [("",)]
        asked = connection.execute("SELECT pg_typeof(%s::int)::text", (1,), prepare=True)
        assert asked.fetchall() == [("integer",)]


def test_a_cancel_reaches_the_session_of_its_own_source(proxy: Proxy, monkeypatch: pytest.MonkeyPatch):
    begun, found = threading.Event(), []
    assert proxy.engine is not None
    run = type(proxy.engine).run

    def slow(self: Engine, request: Request, *, only_at_hand: bool = False) -> Answer | None:
        if not only_at_hand:
            begun.set()
        return run(self, request, only_at_hand=only_at_hand)

    monkeypatch.setattr(type(proxy.engine), "run", slow)
    with psycopg.connect(proxy.dsn(dbname="tax"), autocommit=True) as connection:

        def ask() -> None:
            try:
                connection.execute(
                    "SELECT count(*) FROM generate_series(1, 5000) a, generate_series(1, 5000) b, "
                    "generate_series(1, 5000) c WHERE pg_backend_pid() > 0"
                )
            except psycopg.Error as error:
                found.append(str(error.sqlstate))

        thread = threading.Thread(target=ask)
        thread.start()
        assert begun.wait(10)
        while thread.is_alive():
            connection.cancel_safe(timeout=5)
            thread.join(0.2)
    assert found == ["57014"]


def test_a_source_that_cannot_be_opened_takes_no_other_down(file: Path, monkeypatch: pytest.MonkeyPatch):
    tax = file.parent / "tax.duckdb"
    whole = tax.read_bytes()
    tax.write_bytes(b"")
    monkeypatch.setattr(databases, "AGAIN", 0.05)
    told: list[str] = []
    done = threading.Event()

    def tell(line: str) -> None:
        told.append(line)
        if line == "tax: served from now on":
            done.set()

    with open_databases(load_config(file), tell) as found:
        assert list(found.versions()) == ["main"]
        assert found.database_exists("tax")
        assert [line for line in told if line.startswith("tax: not served, and tried again")] == told[-1:]
        assert found.engine("main").sources() == {"main": True, "tax": False}
        tax.write_bytes(whole)
        assert done.wait(30)
        assert sorted(found.versions()) == ["main", "tax"]
        assert found.engine("main").sources() == {"main": True, "tax": True}


def test_a_state_that_was_moved_away_is_not_begun_anew_behind_ones_back(
    file: Path, monkeypatch: pytest.MonkeyPatch
):
    """The attempts go on while an administrator puts a backup in its place."""
    tax, state = file.parent / "tax.duckdb", file.parent / "state" / "tax"
    whole = tax.read_bytes()
    tax.write_bytes(b"")
    monkeypatch.setattr(databases, "AGAIN", 0.05)
    gone, back = threading.Event(), threading.Event()

    def tell(line: str) -> None:
        (
            gone
            if "is gone; restore it" in line
            else back
            if "served from now on" in line
            else threading.Event()
        ).set()

    with open_databases(load_config(file), tell) as found:
        state.rename(file.parent / "elsewhere")
        tax.write_bytes(whole)
        assert gone.wait(30)
        assert not state.exists()
        assert list(found.versions()) == ["main"]
        (file.parent / "elsewhere").rename(state)
        assert back.wait(30)


def test_a_fault_while_it_is_tried_again_is_told_without_its_text(
    file: Path, monkeypatch: pytest.MonkeyPatch
):
    (file.parent / "tax.duckdb").write_bytes(b"")
    monkeypatch.setattr(databases, "AGAIN", 0.05)
    told: list[str] = []
    twice = threading.Event()

    def fails(*_: object) -> None:
        raise ValueError("a row's value")

    def tell(line: str) -> None:
        told.append(line)
        if told.count("tax: not served: ValueError") == 2:
            twice.set()

    with open_databases(load_config(file), tell):
        monkeypatch.setattr(databases.Engine, "start", fails)
        assert twice.wait(30)
    assert "value" not in "".join(told).replace("ValueError", "")


def test_a_database_that_is_not_there_yet_is_told_as_postgresql_tells_it(file: Path):
    (file.parent / "tax.duckdb").write_bytes(b"")
    with spawned(file) as proxy:
        assert value(proxy, "main", COUNT) is not None
        # A client sees the text of a FATAL error alone.
        with pytest.raises(psycopg.OperationalError, match='database "tax" is not accepting connections'):
            value(proxy, "tax", COUNT)
        status, log = end(proxy)
    assert status == 0
    assert re.search(
        r"^dpproxy: tax: not served, and tried again every 30 s: .*DuckDB or SQLite file", log, re.MULTILINE
    )


def test_without_any_source_nothing_is_served(file: Path):
    for name in ("data", "tax"):
        (file.parent / f"{name}.duckdb").write_bytes(b"")
    with (
        pytest.raises(StartupError, match="no data source could be opened"),
        open_databases(load_config(file), print),
    ):
        pass


@pytest.mark.parametrize(
    "words", [["budget", "show"], ["policy", "dump"], ["ledger", "verify"], ["log", "verify"]]
)
def test_a_command_says_which(file: Path, words: list[str], capsys: pytest.CaptureFixture[str]):
    with serving(file) as proxy:
        value(proxy, "tax", COUNT)
    capsys.readouterr()
    assert main([*words, "--config", str(file)]) == 2
    assert "several data sources: expected --database main or --database tax" in capsys.readouterr().err
    assert main([*words, "--config", str(file), "--database", "nix"]) == 2
    assert 'no data source is called "nix"' in capsys.readouterr().err
    assert main([*words, "--config", str(file), "--database", "tax"]) == 0
    tax = capsys.readouterr().out
    assert main([*words, "--config", str(file), "--database", "main"]) == 0
    assert tax != capsys.readouterr().out
