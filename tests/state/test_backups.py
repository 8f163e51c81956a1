"""Backups made while a proxy serves, and their way back."""

import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from dpproxy.cli.main import main
from dpproxy.config.configuration import load_config
from dpproxy.state.backups import back_up, restore
from dpproxy.values.errors import StartupError
from tests.postgres import Server
from tests.proxies import ROOT, Proxy, environment, serving, started, write_home

DDL = (
    "CREATE TABLE t AS SELECT CAST(i AS INTEGER) AS x, CAST(i % 7 AS INTEGER) AS k FROM range(2000) AS r(i)",
)
POLICY = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 90;
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 1999;
ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN BETWEEN 0 AND 6;
CREATE PRIVACY BUDGET b LIMIT EPSILON 40 DEFAULT EPSILON 0.1;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""
COUNT = "SELECT count(*) FROM t WHERE x < "


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """With a high-water mark, which stands beside the home."""
    home = write_home(tmp_path / "home", DDL, POLICY)
    home.write_text(home.read_text().replace("[state]\n", f'[state]\nhigh_water = "{tmp_path}/mark"\n'))
    return home


def asked(proxy: Proxy, number: int) -> object:
    with psycopg.connect(proxy.dsn(), autocommit=True) as connection:
        return connection.execute(f"{COUNT}{number}".encode()).fetchone()


def kept(file: Path, number: int) -> None:
    """Wait until so many answers are in the ledger: they are written a moment after they were given."""
    path = file.parent / "state" / "main" / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        until = time.monotonic() + 20
        while connection.execute("SELECT count(*) FROM release").fetchone()[0] < number:
            assert time.monotonic() < until
            time.sleep(0.02)


def spent(proxy: Proxy) -> object:
    with psycopg.connect(proxy.dsn("root"), autocommit=True) as connection:
        return connection.execute("SELECT spent FROM dp.budgets").fetchone()


def test_what_was_backed_up_while_it_served_is_put_back_whole(file: Path, tmp_path: Path):
    """Made anew from the copy alone, with every answer that was given before it; a clerk asks all the while."""
    with serving(file) as proxy:
        before = {number: asked(proxy, number) for number in range(1, 4)}
        kept(file, 3)
        done = threading.Event()
        clerk = threading.Thread(
            target=lambda: [asked(proxy, n) for n in range(100, 140) if not done.is_set()]
        )
        clerk.start()
        [line] = back_up(load_config(file), tmp_path / "copy")
        done.set()
        clerk.join()
    entries = int(line.removeprefix("main: ").split()[0])
    assert 3 <= entries <= 43
    assert "entries of the audit log, all verified" in line
    for name in ("state", "users.toml"):
        path = file.parent / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (tmp_path / "mark").unlink()  # all is lost
    file.write_text("\n".join(line for line in file.read_text().splitlines() if "high_water" not in line))
    lines, is_served = restore(load_config(file), tmp_path / "copy", ("main",))
    assert is_served
    forgets = "what was spent since is forgotten, for there is no high-water mark"
    assert lines == [f"main: put back, {entries} entries of the ledger; {forgets}"]
    with serving(file) as proxy:
        assert {number: asked(proxy, number) for number in before} == before
        assert (file.parent / "state").stat().st_mode & 0o077 == 0
        assert (file.parent / "state" / "main").stat().st_mode & 0o077 == 0


def test_an_older_copy_is_refused_by_its_mark_until_an_administrator_accepts_it(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    with serving(file) as proxy:
        first = asked(proxy, 1)
        kept(file, 1)
        back_up(load_config(file), tmp_path / "copy")
        asked(proxy, 2)
    (file.parent / "state" / "main").rename(tmp_path / "lost")
    words = ["--config", str(file)]
    assert main(["restore", str(tmp_path / "copy"), *words]) == 1
    told = capsys.readouterr().out
    assert "main: put back, and not served: " in told
    assert "rolled back" in told
    assert "dpproxy ledger mark --config FILE" in told
    with pytest.raises(StartupError, match="rolled back"), started(file):
        pass
    assert main(["ledger", "mark", *words]) == 0
    with serving(file) as proxy:
        assert asked(proxy, 1) == first
        assert asked(proxy, 2) is not None
        assert [str(value) for value in spent(proxy)] == ["0.2"]  # type: ignore[attr-defined]


def test_nothing_is_replaced_and_half_a_copy_is_nothing(file: Path, tmp_path: Path):
    with started(file):
        pass
    config = load_config(file)
    copy = tmp_path / "copy"
    back_up(config, copy)
    with pytest.raises(StartupError, match="expected a directory that does not exist yet"):
        back_up(config, copy)
    with pytest.raises(
        StartupError, match="expected no state to be there; stop the proxies and move it away"
    ):
        restore(config, copy, ("main",))
    with pytest.raises(StartupError, match="expected a directory that dpproxy backup has made"):
        restore(config, tmp_path, ("main",))
    (config.state / "truncation.key").unlink()
    with pytest.raises(StartupError, match=r"truncation\.key: No such file"):
        back_up(config, tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "home", "mark"]
    shutil.rmtree(config.state)
    (copy / "main").rename(copy / "census")
    with pytest.raises(StartupError, match="expected the state of main; it has that of census"):
        restore(config, copy, ("main",))
    (copy / "state.version").write_text("3\n")
    with pytest.raises(StartupError, match="has layout 3"):
        restore(config, copy, ("main",))


@pytest.mark.parametrize("name", ["ledger.sqlite", "audit.sqlite"])
def test_a_copy_that_was_altered_is_not_put_back(file: Path, tmp_path: Path, name: str):
    with serving(file) as proxy:
        asked(proxy, 1)
    config, copy = load_config(file), tmp_path / "copy"
    back_up(config, copy)
    shutil.rmtree(config.state)
    with closing(sqlite3.connect(copy / "main" / name, isolation_level=None)) as connection:
        for (trigger,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall():
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.execute("UPDATE entry SET nano = 1")
    with pytest.raises(StartupError):
        restore(config, copy, ("main",))
    assert not config.state.exists()


def test_views_are_in_it(file: Path, tmp_path: Path):
    config = load_config(file)
    with started(file):
        folder = config.state / "views"
        (folder / "v-1.duckdb").write_bytes(b"rows of a view")
        back_up(config, tmp_path / "copy")
    assert (tmp_path / "copy" / "main" / "views" / "v-1.duckdb").read_bytes() == b"rows of a view"
    assert (tmp_path / "copy" / "main" / "views" / "views.sqlite").exists()


def test_several_sources_are_one_backup_and_come_back_one_by_one(tmp_path: Path):
    file = write_home(tmp_path / "home", DDL, POLICY)
    shutil.copy(file.parent / "data.duckdb", file.parent / "tax.duckdb")
    file.write_text(f'{file.read_text()}[data.tax]\npath = "tax.duckdb"\n')
    with serving(file):
        command = [sys.executable, "-m", "dpproxy", "backup", str(tmp_path / "copy"), "--config", str(file)]
        done = subprocess.run(
            command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=True
        )
    assert [line.split()[1] for line in done.stdout.splitlines()] == ["main:", "tax:", f"{tmp_path}/copy:"]
    shutil.rmtree(file.parent / "state" / "tax")
    config = load_config(file)
    with pytest.raises(StartupError, match=r"state/main: expected no state to be there"):
        restore(config, tmp_path / "copy", config.databases)
    assert restore(config, tmp_path / "copy", ("tax",))[1]
    with serving(file):
        pass


def test_a_ledger_in_postgresql_is_backed_up_by_its_own_tools(postgres: Server, tmp_path: Path):
    file = write_home(tmp_path / "home", DDL, POLICY)
    url = postgres.url(postgres.database())
    file.write_text(file.read_text().replace("[state]\n", f'[state]\nledger = "{url}"\n'))
    with serving(file) as proxy:
        first = asked(proxy, 1)
        config = load_config(file)
        [line] = back_up(config, tmp_path / "copy")
    assert "now back that up by pg_dump --schema=dpproxy" in line
    assert not (tmp_path / "copy" / "main" / "ledger.sqlite").exists()
    shutil.rmtree(config.state)
    assert restore(config, tmp_path / "copy", ("main",))[1]
    with serving(file) as proxy:
        assert asked(proxy, 1) == first
