"""The state directory: its layout, and one that another program wrote."""

from pathlib import Path

import psycopg
import pytest

from dpproxy.config.configuration import Config, load_config
from dpproxy.engine.engine import Engine
from dpproxy.state.directory import LAYOUT, VERSION, prepare, require
from dpproxy.values.errors import StartupError
from tests.proxies import Proxy, started, write_home

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


@pytest.mark.parametrize("text", ["3\n", "1\n", "three\n", None])
def test_a_state_of_another_layout_is_refused(file: Path, text: str | None):
    config = load_config(file)
    prepared(config)
    if text is None:  # a ledger right in the directory, whose charges would be forgotten
        (config.root / VERSION).unlink()
        (config.root / "ledger.key").touch()
    else:
        (config.root / VERSION).write_text(text)
    for check in (require, prepared, lambda c: Engine.start(c, lambda _line: None)):
        with pytest.raises(
            StartupError, match=r"has layout .*, and this program reads 2: run the dpproxy that"
        ):
            check(config)


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
