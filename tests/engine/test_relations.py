"""The relations of schema dp, as rows."""

from decimal import Decimal
from pathlib import Path

from dpproxy.engine import relations
from tests.engine.test_engine import ANN, BOB, COUNT, DDL, POLICY, ROOT, ask
from tests.proxies import started, write_home


def test_rows_have_the_columns_that_are_declared(tmp_path: Path):
    with started(write_home(tmp_path, DDL, POLICY)) as engine:
        ask(engine, COUNT)
        ask(engine, "SELECT sum(x) FROM t", BOB)
        rows = relations.rows(engine.policy, engine._ledger, ANN, ["ledger", "budgets"])
        assert {name: len(found) for name, found in rows.items()} == {"ledger": 1, "budgets": 1}
        for name, columns in relations.OWN.items():
            assert all(len(row) == len(columns) for row in rows[name])
        budget = dict(zip((c.name for c in relations.OWN["budgets"]), rows["budgets"][0], strict=True))
        assert (budget["spent"], budget["remaining"]) == (Decimal("0.2"), Decimal("1.8"))
        assert (budget["user_spent"], budget["session_spent"]) == (Decimal("0.1"), Decimal("0.1"))
        assert budget["tables"] == "t"
        assert relations.rows(engine.policy, engine._ledger, ANN, ["budgets"])["ledger"] == []
        assert len(relations.rows(engine.policy, engine._ledger, ROOT, ["ledger"])["ledger"]) == 2
        assert [b.name for b in relations.granted_budgets(engine.policy, ROOT)] == ["b"]
