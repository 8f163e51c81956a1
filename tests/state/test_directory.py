"""The state directory: its layout, and one that an older program wrote."""

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from dpproxy.accounting.ledger import Ledger
from dpproxy.config.configuration import Config, load_config
from dpproxy.engine.engine import Engine
from dpproxy.state.directory import LAYOUT, OLD_STATE, VERSION, layout, prepare, require
from dpproxy.values.errors import StartupError
from tests.proxies import Proxy, serving, started, write_home

DDL = ("CREATE TABLE t AS SELECT CAST(i AS INTEGER) AS x FROM range(1000) AS r(i)",)
POLICY = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 3;
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 999;
CREATE PRIVACY BUDGET b LIMIT EPSILON 0.4 DEFAULT EPSILON 0.2;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""
COUNT = "SELECT count(*) FROM t"


def answered(proxy: Proxy, sql: str) -> tuple[object, ...] | None:
    with psycopg.connect(proxy.dsn(), autocommit=True) as connection:
        return connection.execute(sql.encode()).fetchone()


def older(file: Path) -> Path:
    """The state of a proxy that has run, as layout 1 kept it: in the directory itself, which says nothing."""
    root = file.parent / "state"
    for path in (root / "main").iterdir():
        path.rename(root / path.name)
    (root / "main").rmdir()
    (root / VERSION).unlink()
    return root


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_home(tmp_path, DDL, POLICY)


def prepared(config: Config) -> list[str]:
    told: list[str] = []
    prepare(config, told.append)
    return told


def test_a_new_state_says_its_layout(file: Path):
    config = load_config(file)
    with pytest.raises(StartupError, match="expected the state directory of a proxy that has run"):
        require(config)
    assert prepared(config) == prepared(config) == []
    assert (config.root / VERSION).read_text() == f"{LAYOUT}\n"
    assert config.root.stat().st_mode & 0o777 == 0o700


def test_an_older_state_is_renewed_in_place_and_nothing_is_forgotten(file: Path):
    with serving(file) as proxy:
        first = answered(proxy, COUNT)
    root = older(file)
    config = load_config(file)
    assert layout(root) == 1
    with pytest.raises(StartupError, match="dpproxy serve renews this one"):
        require(config)
    kept = {path.name: path.read_bytes() for path in root.glob("ledger.*")}
    with serving(file) as proxy:
        assert answered(proxy, COUNT) == first  # the same draw: stored, or by the same ledger not paid again
        assert answered(proxy, "SHOW dp.budget_remaining") == ("0.2",)
        assert answered(proxy, f"{COUNT} WHERE x < 500") is not None
        with pytest.raises(psycopg.Error, match="budget"):
            answered(proxy, f"{COUNT} WHERE x < 400")
    assert layout(root) == LAYOUT
    saved = {path.name: path.read_bytes() for path in (root / OLD_STATE).glob("ledger.*")}
    assert saved == kept
    names = [OLD_STATE, "ledger.key", "login.key", "main", "start.lock", VERSION]
    assert sorted(path.name for path in root.iterdir()) == names
    with pytest.raises(StartupError, match="is missing beside"):  # as the older program would open it
        Ledger.open(root)


def test_a_renewal_that_was_cut_short_is_finished(file: Path):
    with started(file):
        pass
    root = older(file)
    names = {path.name for path in root.iterdir()} - {"start.lock", "login.key"}
    (root / "main").mkdir()
    (root / "policy.sqlite").rename(root / "main" / "policy.sqlite")
    [line] = prepared(load_config(file))
    assert line == f"the state of main is now in {root}/main; a copy as it was is in {root}/{OLD_STATE}"
    assert {path.name for path in (root / "main").iterdir()} == names
    (root / VERSION).unlink()  # the last thing to be written
    assert prepared(load_config(file)) == []
    assert layout(root) == LAYOUT


def test_an_older_proxy_that_still_serves_is_not_robbed(file: Path):
    with started(file):
        pass
    root = older(file)
    cache = next(root.glob("prepared-*.duckdb"))
    program = f"import duckdb; c = duckdb.connect({str(cache)!r}); print(1, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(StartupError, match="an older dpproxy serves from it; stop it first"):
            prepare(load_config(file), lambda _line: None)
        other.communicate("\n")
    assert not (root / OLD_STATE).exists()


def test_a_newer_state_is_refused(file: Path):
    config = load_config(file)
    prepare(config, lambda _line: None)
    (config.root / VERSION).write_text("3\n")
    for check in (require, lambda c: prepare(c, lambda _line: None)):
        with pytest.raises(
            StartupError, match="has layout 3, and this program knows those up to 2: run the newer"
        ):
            check(config)
    (config.root / VERSION).write_text("three\n")
    with pytest.raises(StartupError, match=r"state\.version: expected the number of a layout"):
        Engine.start(config, lambda _line: None)


def test_an_older_state_does_not_say_which_of_several_sources_it_is(file: Path):
    with started(file):
        pass
    root = older(file)
    file.write_text(file.read_text() + '[data.other]\npath = "policy.sql"\n')
    with pytest.raises(StartupError, match="does not say which of main, other: serve that one alone once"):
        prepare(load_config(file), lambda _line: None)
    assert layout(root) == 1


def test_a_source_that_was_renamed_does_not_begin_another_ledger(file: Path):
    with started(file):
        pass
    file.write_text(file.read_text().replace("[data.main]", "[data.census]"))
    with pytest.raises(
        StartupError, match=r'"census" has no state in .* and "main" there is the state of none'
    ):
        prepare(load_config(file), lambda _line: None)
    (file.parent / "state" / "main").rename(file.parent / "state" / "census")
    with started(file):
        pass
