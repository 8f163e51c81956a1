"""Privacy statements over the wire."""

from pathlib import Path

import pytest

from dpproxy import administration
from dpproxy.errors import NotGranted, Refusal, Unsupported
from tests.proxies import started, write_home
from tests.test_engine import ANN, COUNT, DDL, POLICY, ROOT, ask


def test_an_analyst_is_refused_before_the_statement_is_read():
    for sql in ("ALTER TABLE t SET PRIVACY PUBLIC", "ALTER TABLE salaries SET PRIVACY NONSENSE"):
        with pytest.raises(NotGranted) as caught:
            administration.read(sql, ANN)
        assert (caught.value.message, caught.value.position) == (
            "privacy statements are for administrators",
            0,
        )


@pytest.mark.parametrize(
    ("sql", "tag"),
    [
        ("ALTER TABLE t SET PRIVACY EXPECTED ROWS 10", "ALTER TABLE"),
        ("alter  table t\n set privacy expected rows 10", "ALTER TABLE"),
        ("GRANT SELECT ON t TO teacher WITH PRIVACY BUDGET b", "GRANT"),
        ("REVOKE SELECT ON t FROM analyst", "REVOKE"),
        ("CREATE PRIVACY BUDGET c LIMIT EPSILON 1", "CREATE PRIVACY BUDGET"),
        ("SHOW PRIVACY BUDGETS", "SHOW"),
        ("SUGGEST PRIVACY FOR t", "SUGGEST"),
    ],
)
def test_command_tags(tmp_path: Path, sql: str, tag: str):
    with started(write_home(tmp_path, DDL, POLICY)) as engine:
        version = engine.policy.version
        answer = ask(engine, sql, ROOT)
        assert answer.tag == tag
        lists = tag in {"SHOW", "SUGGEST"}
        assert (answer.columns is None) != lists
        assert (engine.policy.version > version) != lists


def test_what_is_shown_and_what_is_refused(tmp_path: Path):
    with started(write_home(tmp_path, DDL, POLICY)) as engine:
        ask(engine, COUNT)
        shown = ask(engine, "SHOW PRIVACY BUDGETS", ROOT)
        names = [column.name for column in shown.columns or ()]
        assert str(shown.rows[0][names.index("spent")]) == "0.1"
        assert ask(engine, "SHOW PRIVACY POLICY FOR t", ROOT).rows
        version = engine.policy.version
        for sql in (
            "ALTER TABLE nothing SET PRIVACY PUBLIC",
            "DROP PRIVACY BUDGET b",
            "ALTER TABLE t SET PRIVACY X",
        ):
            with pytest.raises(Refusal):
                ask(engine, sql, ROOT)
        assert engine.policy.version == version


def test_a_policy_is_proposed_without_reading_or_spending(tmp_path: Path):
    with started(write_home(tmp_path, DDL, POLICY)) as engine:
        ask(engine, "ALTER TABLE t SET PRIVACY HIDDEN", ROOT)
        before = (engine.policy.version, ask(engine, "SELECT * FROM dp.ledger", ROOT).rows)
        shown = ask(engine, "SUGGEST PRIVACY FOR t", ROOT)
        assert [column.name for column in shown.columns or ()] == ["statement", "reason"]
        assert all(str(statement).startswith("ALTER TABLE t ") for statement, _ in shown.rows)
        assert before == (engine.policy.version, ask(engine, "SELECT * FROM dp.ledger", ROOT).rows)
        for statement, _ in shown.rows:
            ask(engine, str(statement), ROOT)
        assert ask(engine, "SUGGEST PRIVACY FOR t", ROOT).rows == []


def test_only_an_administrator_is_told(tmp_path: Path):
    with started(write_home(tmp_path, DDL, POLICY)) as engine, pytest.raises(NotGranted):
        ask(engine, "SUGGEST PRIVACY FOR t", ANN)


def test_a_probe_of_the_rows_is_refused(tmp_path: Path):
    with started(write_home(tmp_path, DDL, POLICY)) as engine:
        with pytest.raises(Unsupported, match="needs") as caught:
            ask(engine, "SUGGEST PRIVACY FOR t WITH EPSILON 0.1", ROOT)
        assert (caught.value.sqlstate, caught.value.position) == ("0A000", 35)
