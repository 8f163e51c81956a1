"""What the command says of proxies that keep their promise, and of neighbours further apart than one person."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from dpproxy.assurance import audit
from dpproxy.assurance.audit import Line, Question, table
from dpproxy.cli.main import main
from tests.proxies import PASSWORD, serving, write_home

Captured = pytest.CaptureFixture[str]
GROUPS = 200
POLICY = f"""
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 100000;
ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN BETWEEN 1 AND {GROUPS};
CREATE PRIVACY BUDGET b LIMIT EPSILON 100000 DEFAULT EPSILON 1;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""
COUNT = "SELECT k, count(*) FROM t GROUP BY k ORDER BY k"


@contextmanager
def proxies(folder: Path, more: int) -> Iterator[list[str]]:
    """Two, of which the second has so many more rows in each group; their URLs."""
    with ExitStack() as stack:
        urls = []
        for side, rows in (("left", 40), ("right", 40 + more)):
            data = f"CREATE TABLE t AS SELECT CAST(1 + i % {GROUPS} AS INTEGER) AS k FROM range({GROUPS * rows}) r(i)"
            proxy = stack.enter_context(serving(write_home(folder / side, [data], POLICY)))
            urls.append(f"postgresql://ann:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{proxy.port}/main")
        yield urls


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    with proxies(tmp_path_factory.mktemp("near"), 1) as urls:
        yield urls


@pytest.mark.statistical
def test_a_kept_promise_ends_with_status_0(neighbours: list[str], capsys: Captured):
    """False alarm 1e-3 each, asked anew 1e-6; the bound of 4,000 answers a side is 0.79, its deviation 0.04."""

    def status(epsilon: str) -> int:
        return main(["audit", *neighbours, "--sql", COUNT, "--runs", "20", "--epsilon", epsilon])

    assert status("0.5") == 0 or status("0.6") == 0
    shown = capsys.readouterr()
    assert "| kept" in shown.out
    assert "1 of 1 done" in shown.err


@pytest.mark.statistical
def test_a_broken_promise_ends_with_status_1(tmp_path: Path, capsys: Captured):
    """Three people apart: 3 epsilon. Missed with less than 1e-9."""
    with proxies(tmp_path, 3) as urls:
        assert main(["audit", *urls, "--sql", COUNT, "--runs", "20", "--epsilon", "0.5"]) == 1
    shown = capsys.readouterr()
    assert "| BROKEN" in shown.out
    assert "a bound exceeds the promise" in shown.err


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT count(nothing) FROM t", "42703"),
        ("SELECT k, count(*) FROM t WHERE k + 0 > -1 GROUP BY k HAVING count(*) > 40", "number of rows"),
        ("SELECT k FROM t GROUP BY k", "free of charge"),
        ("SELECT 1", "free of charge"),
        ("SELECT CASE WHEN count(*) > -1000 THEN 1 END FROM t", "varies"),
    ],
)
def test_what_cannot_be_audited_ends_with_status_2(
    neighbours: list[str], sql: str, why: str, capsys: Captured
):
    assert main(["audit", *neighbours, "--sql", sql, "--runs", "10", "--epsilon", "0.25"]) == 2
    assert why in capsys.readouterr().err


def test_what_was_released_before_is_drawn_anew(neighbours: list[str]):
    ask = (
        neighbours,
        ["SELECT count(*) FROM t WHERE k + 0 > -2 GROUP BY k"],
        Fraction("0.125"),
        10,
        lambda _line: None,
    )
    assert all("count" in audit.run(*ask)[0] for _ in range(2))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["postgresql://a"], "two URLs"),
        (["postgresql://a", "postgresql://b"], "--sql"),
        (["--runs", "3"], "10 runs"),
        (["postgresql://127.0.0.1:1", "postgresql://127.0.0.1:1"], "no answer: connection failed"),
    ],
)
def test_what_is_missing_is_said(words: list[str], why: str, capsys: Captured):
    assert main(["audit", *words, *(["--sql", "SELECT 1"] if why != "--sql" else [])]) == 2
    told = capsys.readouterr().err
    assert why in told
    assert told.count("\n") == 1


@pytest.mark.statistical
def test_it_starts_its_own_proxies(capsys: Captured):
    """False alarm 1e-3 each, asked anew 1e-6."""
    words = ["audit", "--sql", "SELECT count(*), avg(x) FROM t GROUP BY k ORDER BY k", "--runs", "10"]
    assert main(words) == 0 or main(words) == 0
    shown = capsys.readouterr()
    assert "staircase" in shown.out
    assert "together" in shown.out
    assert "starting two proxies" in shown.err


def test_the_table_shows_bounds_beside_the_promise():
    shown = table([Line(Question(COUNT, "staircase"), {"value": 1.5, "seconds": 0.0}, 1.0)])
    assert "| 1.50 " in shown
    assert "| BROKEN" in shown
