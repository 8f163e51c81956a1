"""SHOW PRIVACY STATUS: what it says, and to whom."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dpproxy.values.jobs import Look
from tests.proxies import Proxy, serving, write_home
from tests.web.pages import DDL, POLICY


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    with serving(write_home(tmp_path, DDL, POLICY)) as found:
        yield found


def status(proxy: Proxy, user: str = "root") -> list[tuple[object, ...]]:
    with psycopg.connect(proxy.dsn(user), autocommit=True) as connection:
        return connection.execute("SHOW PRIVACY STATUS").fetchall()


def test_a_source_that_is_well(proxy: Proxy):
    with psycopg.connect(proxy.dsn("ann"), autocommit=True) as ann:
        ann.execute("SELECT count(*) FROM visits")
        found = {kind: (name, state) for kind, name, state, *_ in status(proxy)}
    assert found["source"] == ("main", "served")
    assert found["policy"][0].startswith("version ")
    assert found["sessions"] == ("open", "2")
    assert not found["ledger"][1].startswith("0 since")


def test_a_source_that_is_not_served(proxy: Proxy):
    assert proxy.engine is not None
    proxy.engine.sources = lambda: {"main": True, "tax": False}
    listed = [row[1:3] for row in status(proxy) if row[0] == "source"]
    assert listed == [("main", "served"), ("tax", "not served: the log says why")]


def test_what_is_under_way(proxy: Proxy):
    assert proxy.engine is not None
    with proxy.engine._jobs.job("view", "v") as job:
        job.move(0.5)
        [row] = [one for one in status(proxy) if one[2] == "under way"]
        assert row[:2] == ("view", "v")
        assert row[3] == 50
        assert float(str(row[4])) >= 0


def test_a_build_and_a_table_are_jobs(proxy: Proxy, monkeypatch: pytest.MonkeyPatch):
    assert proxy.engine is not None
    jobs, seen = proxy.engine._jobs, set()
    begun = jobs.job

    def job(kind: str, name: str, look: Look = lambda: None) -> object:
        seen.add((kind, name))
        return begun(kind, name, look)

    monkeypatch.setattr(jobs, "job", job)
    with psycopg.connect(proxy.dsn("root"), autocommit=True) as root:
        root.execute(
            "CREATE PROTECTED VIEW v WITH (method = dp_kdtree, epsilon = 0.2, charge = research) "
            "AS SELECT age, cost FROM visits"
        )
    with psycopg.connect(proxy.dsn("ann"), autocommit=True) as ann:
        ann.execute("SELECT ward, count(*) FROM visits GROUP BY ward")
    assert seen == {("view", "v"), ("table", "visits")}
    assert jobs.all() == []


def test_times_are_for_administrators(proxy: Proxy):
    for user in ("ann", "eve"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            status(proxy, user)
