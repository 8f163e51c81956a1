"""``dpproxy preview``: the errors to expect, before anything runs."""

import json
from pathlib import Path

import pytest

from dpproxy.cli.main import main
from dpproxy.cli.preview import questions
from dpproxy.policy.model import Between, ColumnPolicy, Members, Policy, TablePolicy
from tests.proxies import started, write_home

Captured = pytest.CaptureFixture[str]
DDL = ("CREATE TABLE visits AS SELECT i AS person, 'n' AS ward, i AS cost FROM range(100) t(i)",)
POLICY = """
ALTER TABLE visits SET PRIVACY KEY (person) MAX ROWS 2;
ALTER TABLE visits SET PRIVACY CEILING EPSILON 6;
ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('n', 's');
ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 10;
CREATE PRIVACY BUDGET b LIMIT EPSILON 4 USER LIMIT EPSILON 2 DEFAULT EPSILON 0.1;
GRANT SELECT ON visits TO analyst WITH PRIVACY BUDGET b;
"""


def test_what_a_question_will_cost_and_how_far_off_its_answer_is(tmp_path: Path, capsys: Captured):
    file = write_home(tmp_path, DDL, POLICY)
    assert main(["preview", "--config", str(file), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["question"] for row in rows] == [
        "a count", "a count by ward, 2 groups", "a sum of cost", "an average of cost",
    ]  # fmt: skip
    assert {(row["role"], row["epsilon"], row["per_user"], row["until_ceiling"]) for row in rows} == {
        ("analyst", 0.1, 20, 60)
    }
    # A geometric draw of scale 2 / 0.1: 2 exp(-59.9 / 20) is 0.1, of which the discrete one leaves 5 % beyond 60.
    assert rows[0]["error_95"] == "+-60"
    assert not (tmp_path / "state").exists()


def test_the_policy_in_force_is_not_touched(tmp_path: Path, capsys: Captured):
    file = write_home(tmp_path, DDL, POLICY)
    with started(file) as engine:
        before = engine.policy.version
    shared = POLICY.replace("MAX ROWS 2", "MAX ROWS 1").replace(
        " DEFAULT EPSILON 0.1", " DEFAULT EPSILON 0.1 SHARE RELEASES"
    )
    (tmp_path / "policy.sql").write_text(shared)
    assert main(["preview", "--config", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "+-30" in shown
    assert 'budget "b" shares its releases' in shown
    with started(file) as engine:  # stronger, and applied by this start alone
        assert engine.policy.version == before + 1


def test_a_policy_without_grants_says_what_is_missing(tmp_path: Path, capsys: Captured):
    file = write_home(tmp_path, DDL, POLICY.partition("CREATE")[0])
    assert main(["preview", "--config", str(file)]) == 2
    assert "GRANT SELECT ON ... TO ..." in capsys.readouterr().err


def test_questions_are_about_what_is_declared():
    columns = {"k": ColumnPolicy(Members((1, 2))), "x": ColumnPolicy(Between(0, 1)), "hidden": ColumnPolicy()}
    asked = dict(questions(Policy(tables={"t": TablePolicy("t", columns=columns)}), "t"))
    assert list(asked) == ["a count", "a count by k, 2 groups", "a sum of x", "an average of x"]
    assert asked["a sum of x"] == 'SELECT sum("x") FROM "t"'
