"""A privacy cube says nothing to whom it is not granted, through statements about its table either."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from dpproxy.engine.cubes import Cubes
from dpproxy.engine.engine import Engine
from dpproxy.values.errors import Refusal
from tests.engine.test_cubes import CUBE, DDL, GRANT, POLICY
from tests.hospital import ANN, EVE, ask, home
from tests.proxies import started

GRANTED = "GRANT SELECT ON patients, visits TO stranger WITH PRIVACY BUDGET research;\n"
STATEMENTS = (
    "SELECT count(*) FROM visits",
    "SELECT ward, sum(cost) FROM visits GROUP BY ward",
    "SELECT date_trunc('month', seen) AS m, count(*) FROM visits WHERE sex = 'f' GROUP BY m",
    "EXPLAIN (PRIVACY) SELECT avg(cost) FROM visits WHERE age < 30",
    "EXPLAIN (PRIVACY) (SELECT count(*) FROM visits; SELECT sex, count(*) FROM visits GROUP BY sex)",
    "SELECT count FROM c",
    "SELECT count_sd FROM c_errors",
    "SELECT table_name FROM information_schema.tables ORDER BY 1",
)


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Engine]]:
    """With a cube that is granted to others, and without one."""
    with ExitStack() as stack:
        folders: list[Path] = [tmp_path_factory.mktemp(name) for name in ("with", "without")]
        yield [
            stack.enter_context(started(home(folder, more, ddl=DDL, policy=POLICY + GRANTED)))
            for folder, more in zip(folders, (f"{CUBE};\n{GRANT};\n", ""), strict=True)
        ]


def told(engine: Engine, sql: str) -> object:
    """Everything but what is drawn, and what is said of it."""
    try:
        answer = ask(engine, sql, EVE, epsilon="0.01")
    except Refusal as refusal:
        return refusal.sqlstate, refusal.message, refusal.hint, refusal.detail
    drawn = sql.startswith("SELECT") and "information_schema" not in sql
    shown = len(answer.rows) if drawn else answer.rows
    return answer.columns, shown, answer.nano, [notice.message for notice in answer.notices]


@pytest.mark.parametrize("sql", STATEMENTS)
def test_others_are_told_the_same_with_and_without_it(
    sides: list[Engine], sql: str, monkeypatch: pytest.MonkeyPatch
):
    """And nothing of it is looked at: not even the time could tell."""
    looked: list[object] = []
    monkeypatch.setattr(Cubes, "_built", lambda *given: looked.append(given))
    found, other = (told(engine, sql) for engine in sides)
    assert found == other
    assert not looked


def test_those_it_is_granted_to_are_answered_from_it(sides: list[Engine]):
    found, other = (ask(engine, STATEMENTS[1], ANN, epsilon="0.01").nano for engine in sides)
    assert (found, other) == (0, 10_000_000)
