"""Probes pay what the statements they ask for cost."""

from pathlib import Path

from tests.engine.test_engine import DDL, POLICY, ROOT, ask
from tests.proxies import started, write_home


def test_a_probe_is_charged_to_the_ceiling(tmp_path: Path):
    ddl = (*DDL, "CREATE TABLE w AS SELECT i AS z FROM range(900) AS r(i)")
    policy = f"{POLICY} ALTER TABLE w SET PRIVACY KEY ROW; ALTER TABLE w SET PRIVACY CEILING EPSILON 1;"
    with started(write_home(tmp_path, ddl, policy)) as engine:
        answer = ask(engine, "SUGGEST PRIVACY FOR w WITH EPSILON 0.5", ROOT)
        assert any("BETWEEN" in str(row[0]) for row in answer.rows)
        assert "cost 0.5" in answer.notices[0].message
        assert sum(entry.nano for entry in engine._ledger.entries()) == 5 * 10**8
