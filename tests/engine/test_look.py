"""What is told of accounts beside an answer does not tell when its work ended."""

from pathlib import Path
from typing import Any

import pytest

from tests.engine.test_answers import ANN, BOB, DDL, POLICY, ROLLUP, ask
from tests.proxies import started, write_home


@pytest.mark.parametrize("sql", ["SELECT count(*) FROM t", ROLLUP])
def test_the_budget_of_all_is_told_as_it_was_when_the_statement_was_charged(
    tmp_path: Path, sql: str, monkeypatch: pytest.MonkeyPatch
):
    """Who pays in small change while another's rows are read could count the change in what is left to that one."""
    policy = POLICY.replace("USER LIMIT EPSILON 10 ", "")
    with started(write_home(tmp_path, DDL, policy)) as engine:
        engine.open(ANN)
        engine.open(BOB)
        backend = engine._answers._backend
        original = backend.run

        def run(*given: Any, **more: Any) -> Any:  # noqa: ANN401 - as the backend is called
            monkeypatch.setattr(backend, "run", original)
            ask(engine, "SELECT sum(y) FROM t", BOB, "5")
            return original(*given, **more)

        monkeypatch.setattr(backend, "run", run)
        answer = ask(engine, sql)
        assert answer.left == "46"
        assert "46 left" in answer.notices[0].message
        assert ask(engine, sql).left == "41"
