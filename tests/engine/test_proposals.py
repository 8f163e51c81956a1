"""EXPLAIN (PRIVACY, CUBE): what it proposes can be built, and then answers what it said that it would."""

# ruff: noqa: E501 - statements written out

import json
from collections.abc import Iterator

import pytest

from dpproxy.engine.engine import Engine
from dpproxy.values.errors import InvalidParameter, SyntaxRefused
from tests.engine.test_cubes import DDL, POLICY, lines
from tests.hospital import ANN, ask, home
from tests.proxies import started

QUERIES = (
    "SELECT count(*) FROM visits",
    "SELECT ward, avg(cost) FROM visits WHERE age BETWEEN 20 AND 39 GROUP BY ward",
    "SELECT date_trunc('quarter', seen) AS q, count(*) FROM visits WHERE seen >= '2023-04-01' AND seen < '2024-04-01' GROUP BY q",
    "SELECT sum(CASE WHEN sex = 'f' THEN 1 ELSE 0 END) AS women, sum(2 * cost) AS twice FROM visits",
    "SELECT count(*) FROM visits WHERE cost > 10",
)
LIST = "; ".join(QUERIES)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with started(home(tmp_path_factory.mktemp("proposals"), ddl=DDL, policy=POLICY)) as engine:
        yield engine


def test_what_is_proposed_is_as_coarse_as_it_can_be_and_answers(engine: Engine):
    text = lines(ask(engine, f"EXPLAIN (PRIVACY, CUBE, BUDGET 6) ({LIST})", ANN))
    created, price, *_ = text.splitlines()
    assert created == (
        "CREATE PRIVACY CUBE visits_cube ON visits (ward, age WIDTH 20, date_trunc('quarter', seen) AS seen_quarter, sex) "
        "MEASURES (count(*), sum(cost)) WITH (epsilon = 6);"
    )
    assert price == "Price: epsilon 6 once, for 648 cells; the statements one by one: epsilon 5"
    assert "Statement 5: does not follow: epsilon 1" in text
    assert "Left to pay: epsilon 1" in text
    ask(engine, created.removesuffix(";"))
    ask(engine, "GRANT SELECT ON visits_cube TO analyst")
    for query in QUERIES[:4]:
        answer = ask(engine, query, ANN)
        assert answer.nano == 0
        told = next(n.message for n in answer.notices if "half-width" in n.message)
        predicted = next(
            line
            for line, of in zip(text.splitlines(), text.splitlines()[1:], strict=False)
            if of.strip() == query
        )
        if "count" in query and "avg" not in query and "women" not in query:
            half = predicted.partition(";")[0].split()[-1]
            assert f"±{half}" in told
    again = lines(ask(engine, f"EXPLAIN (PRIVACY, CUBE, BUDGET 6) ({LIST})", ANN))
    [first] = [line for line in again.splitlines() if line.startswith("Statement 1:")]
    built, alone = first.split("; asked by itself: free, ")
    assert built.endswith(alone)


def test_it_is_a_document_and_costs_nothing(engine: Engine):
    found = json.loads(
        lines(
            ask(
                engine,
                f"EXPLAIN (PRIVACY, CUBE, FORMAT JSON) ({QUERIES[4]}; SELECT sex, sum(cost) FROM visits GROUP BY sex)",
                ANN,
            )
        )
    )
    assert found["cube"].startswith("CREATE PRIVACY CUBE visits_cube")
    assert "ON visits (sex) MEASURES" in found["cube"]
    assert [one["follows"] for one in found["statements"]] == [False, True]
    assert found["left"] == 1


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("EXPLAIN (PRIVACY, CUBE) (SELECT median(cost) FROM visits)", InvalidParameter),
        ("EXPLAIN (PRIVACY, CUBE) (SELECT age FROM ages)", InvalidParameter),
        ("EXPLAIN (PRIVACY, CUBE) SELECT count(*) FROM visits", SyntaxRefused),
    ],
)
def test_what_no_cube_answers_is_said(engine: Engine, sql: str, error: type[Exception]):
    with pytest.raises(error):
        ask(engine, sql, ANN)
