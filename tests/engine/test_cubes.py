"""Privacy cubes through the engine: released once, read for nothing, agreeing in all directions."""

# ruff: noqa: ISC004, E501 - statements written out

import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from dpproxy.accounting.model import NANO, Account
from dpproxy.algebra.plan import Answer
from dpproxy.engine.cubes import Cubes
from dpproxy.engine.engine import Engine
from dpproxy.values.errors import (
    BoundsMissing,
    BudgetExceeded,
    InvalidParameter,
    NotGranted,
    Refusal,
    SyntaxRefused,
    UndefinedTable,
)
from tests.hospital import ANN, EVE, ROOT, all_rows, ask, home
from tests.proxies import started

DDL = (
    "CREATE TABLE patients AS SELECT i AS id FROM range(4000) AS r(i)",
    "CREATE TABLE visits AS SELECT i % 4000 AS patient, ['a', 'b', 'c', 'zzz', NULL][1 + i % 5] AS ward, "
    "['f', 'm'][1 + i // 7 % 2] AS sex, TIMESTAMP '2023-01-01' + INTERVAL (i * 37 % 730) DAY + INTERVAL (i % 24) HOUR "
    "AS seen, CAST(i * 13 % 100 AS INTEGER) AS age, CAST(i % 500 + 0.25 AS DECIMAL(8,2)) AS cost "
    "FROM range(6000) AS r(i)",
    "CREATE TABLE ages AS SELECT CAST(i AS INTEGER) AS age FROM range(100) AS r(i)",
)
POLICY = """
ALTER TABLE patients SET PRIVACY KEY (id);
ALTER TABLE patients SET PRIVACY CEILING EPSILON 20 DELTA 0.001;
ALTER TABLE visits SET PRIVACY KEY (patient) REFERENCES patients (id) MAX ROWS 2;
ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('a', 'b', 'c');
ALTER TABLE visits ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm');
ALTER TABLE visits ALTER COLUMN seen SET PRIVACY DOMAIN BETWEEN TIMESTAMP '2023-01-01' AND TIMESTAMP '2024-12-31 23:59:59';
ALTER TABLE visits ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 99;
ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 500;
ALTER TABLE ages SET PRIVACY PUBLIC;
CREATE PRIVACY BUDGET research LIMIT EPSILON 8 DELTA 0.0001 DEFAULT EPSILON 1;
GRANT SELECT ON patients, visits TO analyst WITH PRIVACY BUDGET research;
"""
ON = "ON visits (ward, date_trunc('month', seen) AS month, sex, age WIDTH 10)"
CUBE = f"CREATE PRIVACY CUBE c {ON} MEASURES (count(*), sum(cost)) WITH (epsilon = 8)"
GRANT = "GRANT SELECT ON c TO analyst"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cubes")


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[Engine]:
    """With a cube that is built and granted; tests that declare others drop them."""
    with started(home(folder, ddl=DDL, policy=POLICY)) as engine:
        ask(engine, CUBE)
        ask(engine, GRANT)
        yield engine


def spent(engine: Engine) -> int:
    """What the ceiling has paid."""
    return engine._ledger.spent(Account.ceiling("patients")) // NANO


def rows(engine: Engine, sql: str) -> list[tuple[object, ...]]:
    return all_rows(ask(engine, sql, ANN))


def test_a_cube_is_charged_once_and_read_for_nothing(engine: Engine):
    assert spent(engine) == 8
    [[total, paid]] = rows(engine, "SELECT sum(count), sum(sum_cost) FROM c")
    assert abs(float(str(total)) - 6000) < 200
    assert abs(float(str(paid)) / 6000 - 250) < 25
    assert spent(engine) == 8
    again = ask(engine, CUBE)
    assert "already" in again.notices[0].message
    assert spent(engine) == 8


def test_cells_have_all_keys_and_one_for_other_values(engine: Engine):
    wards = rows(engine, "SELECT ward, sum(count) FROM c GROUP BY ward ORDER BY ward")
    assert [w for w, _ in wards] == ["a", "b", "c", None]
    other = float(str(wards[-1][1]))
    assert abs(other - 2400) < 200  # undeclared ones and NULL
    months = rows(engine, "SELECT month, sum(count) FROM c GROUP BY month ORDER BY month")
    assert len(months) == 25
    assert [a for (a,) in rows(engine, "SELECT DISTINCT age FROM c ORDER BY age")] == [
        *range(0, 100, 10),
        None,
    ]


def test_what_is_read_agrees_in_all_directions(engine: Engine):
    [[total]] = rows(engine, "SELECT sum(count) FROM c")
    for keys in ("ward", "month", "sex, age", "ward, month", "ward, month, sex, age"):
        found = rows(
            engine, f"SELECT sum(n) FROM (SELECT {keys}, sum(count) AS n FROM c GROUP BY {keys}) AS t"
        )
        assert found == [(total,)]
    assert isinstance(total, Decimal)


def test_dashboards_read_it_as_any_table(engine: Engine):
    top = "SELECT ward, sum(sum_cost) / sum(count) AS mean FROM c WHERE ward IS NOT NULL GROUP BY ward ORDER BY 2 DESC LIMIT 2"
    assert len(rows(engine, top)) == 2
    quarters = "SELECT date_trunc('quarter', month) AS q, sum(count) FROM c WHERE month >= '2024-01-01' GROUP BY q HAVING sum(count) > 100"
    assert len(rows(engine, quarters)) == 4
    assert spent(engine) == 8


def test_its_errors_are_beside_it(engine: Engine):
    [[whole]] = rows(
        engine,
        "SELECT count_sd FROM c_errors WHERE ward_cells = 4 AND month_cells = 25 AND sex_cells = 3 AND age_cells = 11",
    )
    [[cell]] = rows(
        engine,
        "SELECT count_sd FROM c_errors WHERE ward_cells = 1 AND month_cells = 1 AND sex_cells = 1 AND age_cells = 1",
    )
    assert 0 < float(str(cell)) < float(str(whole)) < 100
    shown = {str(row[0]): row for row in ask(engine, "SHOW PRIVACY VIEWS").rows}["c"]
    assert shown[1] == "dp_cube"
    assert shown[2] == "released"


def test_only_whom_it_is_granted_to_reads_it(engine: Engine):
    with pytest.raises(UndefinedTable):
        ask(engine, "SELECT count FROM c", EVE)
    with pytest.raises(NotGranted):
        ask(engine, CUBE.replace("CUBE c", "CUBE d"), ANN)


@pytest.mark.parametrize(
    ("statement", "error", "said"),
    [
        ("ON visits (ward) MEASURES (avg(cost)) WITH (epsilon = 1)", Refusal, "does not add up"),
        ("ON visits (ward) MEASURES (count(DISTINCT sex)) WITH (epsilon = 1)", Refusal, "name"),
        ("ON visits (cost) MEASURES (count(*)) WITH (epsilon = 1)", BoundsMissing, "no declared set"),
        ("ON visits (patient) MEASURES (count(*)) WITH (epsilon = 1)", NotGranted, "tells people apart"),
        ("ON visits (nothing) MEASURES (count(*)) WITH (epsilon = 1)", Refusal, "does not exist"),
        ("ON nothing (ward) MEASURES (count(*)) WITH (epsilon = 1)", UndefinedTable, "does not exist"),
        ("ON ages (age) MEASURES (count(*)) WITH (epsilon = 1)", InvalidParameter, "nobody"),
        ("ON visits (ward) MEASURES (count(*)) WITH (epsilon = 0)", InvalidParameter, "epsilon"),
        ("ON visits (ward) MEASURES (count(*)) WITH (k = 3)", InvalidParameter, "option"),
        ("ON visits (ward) MEASURES (count(*)) WITH (method = dp_kdtree)", SyntaxRefused, "one method"),
        ("ON visits (ward, ward) MEASURES (count(*)) WITH (epsilon = 1)", InvalidParameter, "two columns"),
        ("ON visits (age WIDTH 0) MEASURES (count(*)) WITH (epsilon = 1)", InvalidParameter, "width"),
        ("ON visits (ward, sex WIDTH 2) MEASURES (count(*)) WITH (epsilon = 1)", Refusal, ""),
        ("ON visits (age + 1) MEASURES (count(*)) WITH (epsilon = 1)", SyntaxRefused, "needs a name"),
        ("ON visits (ward) MEASURES (count(*)) WITH (epsilon = 13)", BudgetExceeded, "ceiling"),
        (
            "ON visits (ward, seen::date AS day, age, sex) MEASURES (count(*)) WITH (epsilon = 1)",
            InvalidParameter,
            "cells",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_it_is_charged(
    engine: Engine, statement: str, error: type[Refusal], said: str
):
    with pytest.raises(error) as caught:
        ask(engine, f"CREATE PRIVACY CUBE d {statement}")
    assert said in caught.value.message
    assert spent(engine) == 8
    assert "d" not in engine._store.current.views


def test_kinds_are_not_mixed_up(engine: Engine):
    for statement in ("DROP PROTECTED VIEW c", "REFRESH PROTECTED VIEW c", "VERIFY PROTECTED VIEW c"):
        with pytest.raises(UndefinedTable) as caught:
            ask(engine, statement)
        assert caught.value.hint == "Write PRIVACY CUBE."
    with pytest.raises(InvalidParameter):
        ask(engine, "CREATE PROTECTED VIEW d WITH (method = dp_cube, epsilon = 1) AS SELECT id FROM patients")


def test_it_is_verified_dropped_and_made_of_policy_text(tmp_path: Path):
    declared = CUBE.replace("CUBE c", "CUBE e") + ";\n"
    with started(home(tmp_path, declared, ddl=DDL, policy=POLICY)) as engine:
        assert spent(engine) == 8
        [row] = ask(engine, "VERIFY PRIVACY CUBE e").rows
        assert row[:3] == (
            "e",
            "differential privacy, epsilon 8: one id of patients more or less",
            "dp_cube: epsilon = 8",
        )
        [shown] = ask(engine, "SHOW PRIVACY VIEWS").rows
        assert str(shown[-1]).startswith("CREATE PRIVACY CUBE e ON visits (ward, date_trunc")
        explained = lines(ask(engine, f"EXPLAIN (PRIVACY) {CUBE.replace('CUBE c', 'CUBE f')}"))
        assert "epsilon 8" in explained
        assert "in a cell" in explained
        ask(engine, "DROP PRIVACY CUBE e")
        with pytest.raises(UndefinedTable):
            ask(engine, "VERIFY PRIVACY CUBE e")
        with pytest.raises(BudgetExceeded):
            ask(engine, CUBE.replace("epsilon = 8", "epsilon = 13"))


def lines(answer: Answer) -> str:
    return "\n".join(str(row[0]) for row in answer.rows)


@pytest.mark.alone
@pytest.mark.usefixtures("in_process")
def test_a_cube_of_a_hundred_thousand_cells_takes_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """1.2 seconds of processor where it was measured; of all statements about its table one reads its cells."""
    read, reading = list[object](), Cubes._read
    monkeypatch.setattr(Cubes, "_read", lambda self, built: read.append(built) or reading(self, built))
    ddl = (
        *DDL[:1],
        "CREATE TABLE visits AS SELECT i % 4000 AS patient, i % 21 AS ward, i % 37 AS month, i % 3 AS sex, i % 43 AS age, "
        "CAST(i % 500 AS INTEGER) AS cost FROM range(100000) AS r(i)",
    )
    domains = {"ward": 20, "month": 36, "sex": 2, "age": 42, "cost": 500}
    policy = (
        "ALTER TABLE patients SET PRIVACY KEY (id);\nALTER TABLE patients SET PRIVACY CEILING EPSILON 20;\n"
    )
    policy += "ALTER TABLE visits SET PRIVACY KEY (patient) REFERENCES patients (id) MAX ROWS 30;\n"
    policy += "".join(
        f"ALTER TABLE visits ALTER COLUMN {name} SET PRIVACY DOMAIN BETWEEN 0 AND {most};\n"
        for name, most in domains.items()
    )
    policy += "CREATE PRIVACY BUDGET research LIMIT EPSILON 8 DEFAULT EPSILON 1;\n"
    policy += "GRANT SELECT ON patients, visits TO analyst WITH PRIVACY BUDGET research;\n"
    with started(home(tmp_path, ddl=ddl, policy=policy)) as engine:
        began = time.process_time()
        ask(
            engine,
            "CREATE PRIVACY CUBE big ON visits (ward, month, sex, age) MEASURES (count(*), sum(cost)) WITH (epsilon = 4)",
        )
        took = time.process_time() - began
        ask(engine, "GRANT SELECT ON big TO analyst")
        for where in ("", "WHERE age > 3", "WHERE month BETWEEN 2 AND 9 AND ward IN (1, 2)"):
            assert ask(engine, f"SELECT sex, avg(cost) FROM visits {where} GROUP BY sex", ANN).nano == 0
        assert len(read) == 1
        assert ask(engine, "SHOW PRIVACY VIEWS", ROOT).rows[0][7] >= 100_000
    assert took < 10
