"""Attack: have a proxy forget. Its state is copied, put back, used twice, or its data changed by one row."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from dpproxy.values.errors import StartupError
from tests.assurance.raw import Raw
from tests.assurance.twin import Ask, Twin, refusals, rows, texts
from tests.proxies import PASSWORD, serving, started, write_home

DDL = ("CREATE TABLE t AS SELECT i AS id, i % 50 AS x FROM range(500) AS r(i)",)
POLICY = """
ALTER TABLE t SET PRIVACY KEY (id);
ALTER TABLE t SET PRIVACY CEILING EPSILON 3;
ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 50;
CREATE PRIVACY BUDGET b LIMIT EPSILON 0.3 DEFAULT EPSILON 0.1;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""
COUNT = "SELECT count(*) FROM t"
COST, LEFT = Ask("SHOW dp.last_cost", exact=True), Ask("SHOW dp.budget_remaining", exact=True)


def home(folder: Path, mark: Path | None = None) -> Path:
    file = write_home(folder, DDL, POLICY)
    if mark is not None:
        file.write_text(file.read_text().replace('"state"', f'"state"\nhigh_water = "{mark}"'))
    return file


def asked(file: Path, statements: Sequence[str]) -> list[str]:
    """SQLSTATEs, empty where it was answered."""
    with serving(file) as proxy, Raw(proxy) as connection:
        told = [connection.query(sql) for sql in statements]
    return [next((m.fields()["C"] for m in one if m.kind == "E"), "") for one in told]


def questions(first: int) -> list[str]:
    return [f"{COUNT} WHERE x > {n}" for n in range(first, first + 4)]


def test_a_state_that_was_put_back_is_refused(tmp_path: Path):
    file = home(tmp_path / "home", tmp_path / "mark")
    state, copy = tmp_path / "home" / "state", tmp_path / "copy"
    assert asked(file, [COUNT]) == [""]
    shutil.copytree(state, copy)
    assert asked(file, questions(0)) == ["", "", "PD001", "PD001"]
    shutil.rmtree(state)
    shutil.copytree(copy, state)
    with pytest.raises(StartupError, match="rolled back"), started(file):
        pass


def test_a_state_that_is_used_twice_pays_once(tmp_path: Path):
    """Two proxies over copies of one state, with one mark: what the one spent, the other cannot spend again."""
    mark = tmp_path / "mark"
    one = home(tmp_path / "one", mark)
    assert asked(one, [COUNT]) == [""]
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    with serving(tmp_path / "other" / "dpproxy.toml") as proxy, Raw(proxy) as connection:
        assert asked(one, [f"{COUNT} WHERE x > 1"]) == [""]
        told = connection.query(f"{COUNT} WHERE x > 2")
    assert [m.fields()["C"] for m in told if m.kind == "E"] == ["58030"]


def test_one_row_more_shows_in_nothing_until_a_version_is_declared(tmp_path: Path):
    """Both sides are asked without her; then she is put into the data of one."""
    files = home(tmp_path / "without"), home(tmp_path / "with")
    for file in files:
        with serving(file) as proxy, Raw(proxy) as connection:
            connection.value(COUNT)
    with duckdb.connect(str(tmp_path / "with" / "data.duckdb")) as connection:
        connection.execute("INSERT INTO t VALUES (7777, 2000000000)")
    with serving(files[0]) as left, serving(files[1]) as right, Twin(left, right) as twin:
        again = twin.same(COUNT, COST, LEFT)
        assert rows(again)[1:] == [(b"0",), (b"0.2",)]
        for side in (left, right):
            with Raw(side, "root") as root:
                root.query("ADVANCE PRIVACY DATA VERSION")
        anew = twin.same(
            COUNT, COST, LEFT, COUNT, COST, f"{COUNT} WHERE x = 50", f"{COUNT} WHERE x = 49", LEFT
        )
    assert [row for row in rows(anew) if row != ("noise",)] == [(b"0.1",), (b"0.1",), (b"0",), (b"0",)]
    assert refusals(anew) == ["PD001"]
    assert PASSWORD not in texts(anew)


VIEW = "CREATE PROTECTED VIEW v WITH (method = dp_kdtree, epsilon = 1) AS SELECT x FROM t;"


def test_what_is_kept_is_read_by_its_owner_alone(tmp_path: Path):
    """By nobody else on the machine, whatever mask it is started with, and whoever made the state's directory."""
    file = write_home(tmp_path / "home", DDL, POLICY + VIEW)
    state = tmp_path / "home" / "state"
    before = os.umask(0)
    try:
        (state / "main").mkdir(parents=True)
        assert asked(file, [COUNT]) == [""]
        with serving(file):
            kept = {str(path.relative_to(state)): path.stat().st_mode & 0o777 for path in state.rglob("*.*")}
    finally:
        os.umask(before)
    assert {"main/policy.sqlite", "main/ledger.sqlite", "main/views/v-1.duckdb"} <= kept.keys()
    assert set(kept.values()) == {0o600}
