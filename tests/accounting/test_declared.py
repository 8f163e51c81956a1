"""What is told beside changes of the policy, and what a start makes of them."""

from pathlib import Path

import pytest

from dpproxy.algebra.plan import Notice
from dpproxy.cli.main import main
from dpproxy.config.configuration import load_config
from dpproxy.engine.engine import Engine
from dpproxy.values.errors import NotGranted, UndefinedTable
from tests.engine.test_engine import ANN, COUNT, DDL, POLICY, ROOT, ask
from tests.proxies import started, write_home


def told(engine: Engine, sql: str) -> Notice:
    [notice] = ask(engine, sql, ROOT).notices
    return notice


def test_a_change_is_told_in_words_and_which_file_says_otherwise(tmp_path: Path):
    with started(write_home(tmp_path, DDL, POLICY)) as engine:
        lower = told(engine, "ALTER TABLE t SET PRIVACY CEILING EPSILON 2")
        assert lower.message == (
            "table t [stronger]: 1 less epsilon may be learned about one unit; what was spent stays spent"
        )
        assert "was: ALTER TABLE t SET PRIVACY CEILING EPSILON 3 " in (lower.detail or "")
        assert lower.hint == (
            f"{tmp_path / 'policy.sql'} still says otherwise: ALTER TABLE t SET PRIVACY CEILING EPSILON 3 DELTA 0 "
            "ACCOUNTANT BASIC. A start leaves it as it is now; dpproxy policy apply would have it as the file says."
        )
        higher = told(engine, "ALTER TABLE t SET PRIVACY CEILING EPSILON 5")
        assert higher.message.startswith("table t [weaker]: 3 more epsilon")
        assert "The next start has it as the file says" in (higher.hint or "")
        assert (
            told(engine, "ALTER TABLE t SET PRIVACY EXPECTED ROWS 10").hint is None
        )  # no file says anything
        assert ask(engine, "ALTER TABLE t SET PRIVACY EXPECTED ROWS 10", ROOT).notices == ()


def test_a_limit_below_what_is_spent_is_told(tmp_path: Path):
    with started(write_home(tmp_path, DDL, POLICY)) as engine:
        for _ in range(2):
            ask(engine, COUNT)
        ask(engine, "ALTER TABLE t SET PRIVACY CEILING EPSILON 0.1", ROOT)  # 0.1 is spent: that is not below
        _, ceiling = ask(engine, "ALTER TABLE t SET PRIVACY CEILING EPSILON 0.05", ROOT).notices
        assert ceiling.message == (
            'the ceiling of table "t" is below what was spent of it: epsilon 0.05 where epsilon 0.1 was spent'
        )
        _, budget = ask(engine, "CREATE PRIVACY BUDGET b LIMIT EPSILON 0.01", ROOT).notices
        assert budget.message.startswith(
            'the limit of budget "b" is below what was spent of it: epsilon 0.01'
        )


def test_a_start_tells_of_a_limit_that_its_files_set_below_what_is_spent(tmp_path: Path):
    file = write_home(tmp_path, DDL, POLICY)
    with started(file) as engine:
        ask(engine, COUNT)
        ask(engine, COUNT.replace("count(*)", "count(*) AS n"))
    policy = tmp_path / "policy.sql"
    policy.write_text(f"{POLICY}\nALTER TABLE t SET PRIVACY CEILING EPSILON 0.05;", encoding="utf-8")
    for told in (1, 0):  # what was told is the policy in force at the next start
        lines: list[str] = []
        with Engine.start(load_config(file), lines.append):
            found = [line for line in lines if "is below what was spent of it: epsilon 0.05" in line]
            assert len(found) == told


def test_no_start_takes_back_what_was_tightened_and_a_command_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = write_home(tmp_path, DDL, POLICY)
    with started(file) as engine:
        assert ask(engine, COUNT).rows
        ask(engine, "ALTER TABLE t SET PRIVACY CEILING EPSILON 1", ROOT)
        ask(engine, "REVOKE SELECT ON t FROM analyst", ROOT)
    lines: list[str] = []
    with Engine.start(load_config(file), lines.append) as engine:
        with pytest.raises((NotGranted, UndefinedTable)):
            ask(engine, COUNT)
        ceiling = engine.policy.tables["t"].ceiling
        assert ceiling is not None
        assert ceiling.epsilon == 1
    assert any("SELECT on t to analyst [weaker]" in line for line in lines)
    assert lines[-1] == f"to have it as the files say: dpproxy policy apply --config {file}"
    assert main(["policy", "apply", "--config", str(file)]) == 0
    assert "the policy files change the policy in force" in capsys.readouterr().err
    with started(file) as engine:
        assert ask(engine, COUNT, ANN).rows
