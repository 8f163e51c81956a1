"""Refinement in SQL."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import udfs
from udfs import priors
from udfs.functions import refinement
from udfs.mechanisms.refinement import Refinement
from udfs.prior_notation import parse
from udfs.privacy import NANO

Sql = Callable[[str], list[tuple]]
LABELS = """dp_prior('nominal', ['no', 'yes'], [0.99, 0.01])"""


@pytest.fixture(scope="module")
def sql() -> Iterator[Sql]:
    with duckdb.connect() as connection:
        udfs.register(connection)
        connection.execute("SET threads = 1")
        yield lambda text: connection.execute(text).fetchall()


def test_a_number_is_answered_by_a_value_of_the_prior(sql: Sql):
    [(answer, name)] = sql(
        "SELECT a, typeof(a) FROM (SELECT dp_refine(44.3, 'normal(44, 6)', 0.5, 'statistical') AS a)"
    )
    assert name == "DOUBLE"
    assert answer in priors.normal(44, 6).values


@pytest.mark.parametrize(
    "truth", ["44", "44::HUGEINT", "44.25::DECIMAL(9, 2)", "NULL", "'nan'::DOUBLE", "1e308"]
)
@pytest.mark.parametrize("kind", ["statistical", "individual"])
def test_every_number_has_an_answer(sql: Sql, truth: str, kind: str):
    [(answer,)] = sql(f"SELECT dp_refine({truth}, 'uniform(0, 1)', 1, '{kind}')")
    assert 0 <= answer <= 1


def test_a_label_is_answered_by_a_label(sql: Sql):
    rows = sql(
        f"SELECT t, dp_refine_label(t, {LABELS}, 60, 'individual') FROM (VALUES ('no'), ('yes')) AS v(t)"
    )
    assert rows == [("no", "no"), ("yes", "yes")]  # false alarm below 1e-15


@pytest.mark.statistical
def test_draws_follow_the_law_for_each_row_and_its_own_prior(
    sql: Sql, fits: Callable[..., bool]
):  # false alarm 1e-6 each, 6 of them
    """Three priors and two truths in one chunk, the answers counted for each."""
    count = 12_000
    rows = sql(
        "SELECT p, t, a, count(*) FROM (SELECT p, t, dp_refine(t, p, 1, 'individual', delta := 0.01) AS a FROM "
        f"range({count}), (VALUES (0), (NULL)) AS v(t), (VALUES ('nominal([0, 1], [3, 1])'), "
        "('table([0, 1, 2], [1, 1, 1])'), ('0.5 * point(0) + 0.5 * table([1, 2], [1, 2])')) AS q(p)) GROUP BY ALL"
    )
    found = {(prior, truth, answer): times for prior, truth, answer, times in rows}
    for prior, truth in {row[:2] for row in rows}:
        values, law = parse(prior).values, Refinement.individual(parse(prior), NANO, 0.01).pmf(truth)
        assert fits([found.get((prior, truth, value), 0) for value in values], law)


@pytest.mark.statistical
def test_null_is_a_draw_from_the_prior(sql: Sql, fits: Callable[..., bool]):  # false alarm 1e-6
    rows = dict(
        sql(
            f"SELECT dp_refine_label(t, {LABELS}, 3, 'individual') AS a, count(*) FROM "
            "(SELECT CASE WHEN i % 2 = 0 THEN 'else' END AS t FROM range(40000) AS r(i)) GROUP BY a"
        )
    )
    assert fits([rows["no"], rows["yes"]], [0.99, 0.01])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("dp_refine(x, 'normal(0)', 1, 'statistical')", r"the prior normal is written normal\(mean, sd\)"),
        ("dp_refine(x, 'normal', 1, 'statistical')", "a prior is written like"),
        ("dp_refine(x, NULL, 1, 'statistical')", "needs a prior on every row"),
        ("dp_refine(x, 'point(0)', NULL, 'statistical')", "epsilon must be at least 0.001"),
        ("dp_refine(x, 'point(0)', 0.0009, 'statistical')", "epsilon must be at least 0.001"),
        ("dp_refine(x, 'point(0)', 0, 'individual')", "epsilon must be at least 0.001"),
        ("dp_refine(x, 'point(0)', 1, 'both')", "kind of a refinement is statistical or individual"),
        ("dp_refine(x, 'point(0)', 1, NULL)", "needs a kind on every row"),
        ("dp_refine(x, 'point(0)', 1, 'individual', 1)", "delta must be at least 0 and below 1"),
        ("dp_refine(x, 'point(0)', 1, 'individual', 'nan'::DOUBLE)", "delta must be at least 0 and below 1"),
        ("dp_refine(x, 'point(0)', 1, 'individual', NULL)", "needs a delta on every row"),
        ("dp_refine_label('a', 'point(0)', 1, 'individual')", "over numbers: dp_refine takes it"),
        (f"dp_refine(x, {LABELS}, 1, 'individual')", "over text: dp_refine_label takes it"),
        ("dp_refine(x, dp_prior('nominal', [x], [1]), 1, 'gauss')", "statistical or individual"),
        ("dp_refine_error('point(', 1, 'individual')", "a prior is written like"),
    ],
)
def test_wrong_parameters_are_refused_in_one_line(sql: Sql, call: str, message: str):
    with pytest.raises(duckdb.InvalidInputException, match=message):
        sql(f"SELECT {call} FROM (VALUES (1.0::DOUBLE)) AS t(x)")


def test_text_is_no_number(sql: Sql):
    """Refused where types are, before a row could show in a message."""
    for truth in ("v", "max(v)", "(SELECT max(lower('SECRET')))"):
        with pytest.raises(duckdb.BinderException, match="No function matches"):
            sql(f"SELECT dp_refine({truth}, 'point(0)', 1, 'individual') FROM (VALUES ('secret')) AS t(v)")


def test_a_prior_from_lists(sql: Sql):
    assert sql(
        "SELECT dp_prior('nominal', ['a\"b', 'c'], [0.5, 2]), dp_prior('table', [1, 2.5], [1, 1]), "
        "dp_prior('custom', [1, 2], [1, 1], [[0, 1], [1, 0]])"
    ) == [
        (
            'nominal(["a\\"b","c"], [0.5,2.0])',
            "table([1.0,2.5], [1,1])",
            "custom([1,2], [1,1], [[0,1],[1,0]])",
        )
    ]


def test_the_predicted_error(sql: Sql):
    rows = sql(
        "SELECT dp_refine_error('normal(44, 6)', e, 'statistical') FROM (VALUES (0.1), (1), (5)) AS t(e)"
    )
    for (found,), nano in zip(rows, (NANO // 10, NANO, 5 * NANO), strict=True):
        assert found == Refinement.statistical(priors.normal(44, 6), nano).expected_distance


def test_the_documented_statements_run(sql: Sql):
    page = Path(__file__).parents[3].joinpath("docs", "refinement.md").read_text(encoding="utf-8")
    sql("CREATE TABLE patients AS SELECT 40 + i % 9 AS age FROM range(90) AS r(i)")
    sql("CREATE TABLE visits AS SELECT 42 AS patient_id, 380.5 AS cost")
    sql("CREATE TABLE survey AS SELECT unnest(['no', 'yes', NULL]) AS answer")
    statements = re.findall(
        r"^SELECT .*?;", "".join(re.findall(r"```sql\n(.*?)```", page, re.DOTALL)), re.MULTILINE
    )
    assert [len(sql(statement)) for statement in statements] == [1, 1, 3, 1]
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "docs/refinement.md", "exec"), {})


def test_no_rows():
    empty = [
        pa.chunked_array([], kind) for kind in (pa.float64(), pa.string(), pa.decimal128(18, 9), pa.string())
    ]
    assert len(refinement.numbers(*empty, pa.chunked_array([], pa.float64()))) == 0


def test_many_numbers_are_drawn_at_once(sql: Sql):
    """A fresh draw for each row."""
    [(count, different)] = sql(
        "SELECT count(*), count(DISTINCT a) FROM "
        "(SELECT dp_refine(0.5, 'uniform(0, 1)', 1, 'individual') AS a FROM range(10000))"
    )
    assert count == 10_000
    assert different > 1500  # false alarm below 1e-9: 2001 values, most of them expected five times
