from pathlib import Path

import pytest

from tests.conftest import pytest_configure
from tests.golden.records import ACCEPTED, caret, read, rewrite

TEXT = """# An idea.
CREATE TABLE t (a INTEGER);
ALTER TABLE t
  SET PRIVACY KEY ROW;

# Why.
plan dp.epsilon=0.5 $1=int4:3
SELECT 1
FROM t
----
old line

error 42703 column "x" does not exist
SELECT a,
  x FROM t
  ^
hint: Columns of t: a.

exact
SELECT 2
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "x.test"
    file.write_text(TEXT, encoding="utf-8")
    return file


def test_a_file_is_a_header_and_records(path: Path):
    golden = read(path)
    assert golden.header == ("CREATE TABLE t (a INTEGER)", "ALTER TABLE t\n  SET PRIVACY KEY ROW")
    plan, error, exact = golden.records
    assert (plan.kind, plan.options, plan.body) == (
        "plan",
        {"dp.epsilon": "0.5", "$1": "int4:3"},
        ("old line",),
    )
    assert plan.statement == "SELECT 1\nFROM t"
    assert error.words == '42703 column "x" does not exist'
    assert error.told == {"hint": "Columns of t: a."}
    assert error.statement == "SELECT a,\n  x FROM t"
    assert error.statement[caret(error) or 0] == "x"
    assert (exact.statement, exact.body) == ("SELECT 2", ())


def test_accepting_rewrites_one_body_and_nothing_else(path: Path):
    plan, _, exact = read(path).records
    rewrite(path, plan, ["new", "lines"])
    rewrite(path, exact, ["=> 1"])
    assert path.read_text(encoding="utf-8") == TEXT.replace("old line", "new\nlines") + "----\n=> 1\n"


def test_what_is_claimed_is_never_rewritten():
    assert ACCEPTED == ("plan", "exact", "answer")


def test_nothing_is_accepted_where_ci_is_set(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pytestconfig.option, "accept", True)
    monkeypatch.setenv("CI", "1")
    with pytest.raises(pytest.UsageError, match="--accept is for people"):
        pytest_configure(pytestconfig)
