"""The table of constructs: each with a reason, and what a server is asked before it is trusted."""

import re
import time

import pytest

from dpproxy.analysis.totality import AGGREGATES
from dpproxy.analysis.totality import FUNCTIONS as TOTAL
from dpproxy.analysis.totality import OPERATORS as SIGNS
from dpproxy.backends.servers.dialect import ValueKind, stored
from dpproxy.backends.spark.dialect import CASTS, EXPRESSIONS, FUNCTIONS, OPERATORS, PROBES, dialect
from dpproxy.backends.spark.server import Spark
from dpproxy.values.errors import Unsupported
from tests.backends.lake import Lake, rows
from tests.backends.statements import OF_DUCKDB_ALONE, transpiled

STAGES = (
    (
        'SELECT d0.k0, g.m0 FROM (SELECT "s" AS "k0", CAST(COUNT(*) AS INT128) AS m0 FROM "many" WHERE ("x" > 30e0) '
        "GROUP BY 1) AS g JOIN (VALUES ('a'), ('b'), (NULL)) AS d0(k0) ON g.k0 IS NOT DISTINCT FROM d0.k0"
    ),
    (
        'SELECT "s" AS "k0", CAST(COUNT(*) AS INT128) AS m0 FROM (SELECT * FROM (SELECT "u" AS "u", "s" AS "s", '
        '"k" AS "unit" FROM "many" WHERE NOT "k" IS NULL) AS bounded QUALIFY ROW_NUMBER() OVER (PARTITION BY "unit" '
        'ORDER BY "u" ASC, "s" ASC) <= 3) AS bounded GROUP BY 1'
    ),
    'SELECT CAST(COUNT(*) AS INT128) AS m0 FROM "many" WHERE "k" IN (SELECT "i" FROM "edges")',
    'SELECT CAST(COUNT(*) AS INT128) AS m0 FROM "many" WHERE NOT ("k" IN (SELECT "id" FROM "edges"))',
    (
        'SELECT CAST(COUNT(*) AS INT128) AS m0 FROM "many" WHERE EXISTS(SELECT 1 FROM (SELECT "id" FROM "edges") '
        'AS "t" WHERE "id" = "k")'
    ),
    'SELECT CAST(COUNT(*) AS INT128) AS m0 FROM "many" AS m LEFT JOIN "edges" AS v ON m."k" = v."id"',
    'SELECT "k" AS "k0", "s" AS "k1", CAST(SUM(CAST("u" AS BIGINT)) AS INT128) AS m0 FROM "many" GROUP BY 1, 2',
    'SELECT DATE_TRUNC(\'month\', "day") AS "k0", CAST(COUNT(*) AS INT128) AS m0 FROM "edges" GROUP BY 1',
)


@pytest.mark.external
@pytest.mark.parametrize("sql", STAGES)
def test_a_stage_gives_the_same_numbers(spark: Spark, lake: Lake, sql: str):
    assert rows(spark, sql) == lake.rows(sql)


@pytest.mark.external
def test_each_server_computes_as_expected(spark: Spark):
    [answers] = spark._session().spark.sql(PROBES).toArrow().to_pylist()
    assert set(answers.values()) == {True}


@pytest.mark.external
def test_truncation_keeps_as_many_rows_and_always_the_same(spark: Spark):
    sql = (
        'SELECT "k" AS "k0", CAST(SUM("u") AS INT128) AS m0, CAST(COUNT(*) AS INT128) AS m1 FROM (SELECT * FROM '
        '"many" QUALIFY ROW_NUMBER() OVER (PARTITION BY "k" ORDER BY HASH($1, "k", "u", "x", "s") ASC, "u" ASC) <= 20) '
        "AS bounded GROUP BY 1"
    )
    first, again, other = (rows(spark, sql, [secret]) for secret in ("00" * 32, "00" * 32, "a7" * 32))
    assert [row[2] for row in first] == ["20"] * 7
    assert first == again != other


def nested(template: str, levels: int, of: str = '"x"') -> str:
    for _ in range(levels):
        of = template.format(of)
    return f'SELECT "id" AS "id", {of} AS v FROM "edges"'


DEEP = [
    nested("(1e0 + {} * 2e0)", 40),
    nested("CASE WHEN {} < 3e0 THEN 1e0 ELSE 2e0 END", 70),
    nested('CASE WHEN "x" < 3e0 THEN 1e0 ELSE {} END', 70),
    nested('(NOT {} OR "t")', 50, '"t"'),
    nested("FLOOR({} / 2e0)", 4),
    nested("CAST(ROUND(CAST({} AS DOUBLE)) AS BIGINT)", 4, '"i"'),
    nested("CAST((CAST({} AS INT128) % 7) AS BIGINT)", 40, '"i"'),
    nested("SUBSTRING(TRIM(CONCAT({}, 'a'), 'b'), 1, 9)", 25, '"s"'),
    nested("CASE WHEN {} LIKE 'a%' THEN 'a' ELSE \"s\" END", 40, '"s"'),
    nested("CASE WHEN {} IN ('a', 'b') THEN 'b' ELSE \"s\" END", 40, '"s"'),
    nested("COALESCE(NULLIF({}, 1e0), GREATEST(2e0, 3e0))", 40),
    nested("DATE_TRUNC('month', {} - TO_DAYS(40))", 4, '"moment"'),
]
"""As deep as an analyst may write, and deeper."""


@pytest.mark.external
@pytest.mark.parametrize("sql", DEEP)
def test_a_deep_statement_is_read_at_once(spark: Spark, sql: str):
    """It took a minute and all memory for one of 15,000 characters; here the longest takes a second."""
    query = transpiled(sql, spark.dialect, spark.tables)
    began = time.monotonic()
    spark.check(query.sql, 0)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("sql", DEEP)
def test_a_parser_need_not_read_on_to_know_what_stands_there(sql: str):
    """Operations stand in functions, whose names are no words of the language or are quoted."""
    columns = {
        "id": ValueKind.WHOLE, "i": ValueKind.WHOLE, "x": ValueKind.DOUBLE, "t": ValueKind.TRUTH,
        "s": ValueKind.TEXT, "moment": ValueKind.TIMESTAMP,
    }  # fmt: skip
    known = {name: stored(kind) for name, kind in columns.items()}
    text = transpiled(sql, dialect(lambda _, name: name), lambda *_: known).sql
    assert not re.search(
        r"(^|[ (,])\(|\b(CASE|CAST|SUBSTRING|IN) *\(|\bCASE\b", re.sub(r"`\w+`", "name", text)
    )


def test_each_construct_has_its_reason():
    for construct in [*EXPRESSIONS.values(), *OPERATORS.values(), *FUNCTIONS.values(), *CASTS.values()]:
        assert len(construct.reason) > 4


def test_what_is_not_listed_is_refused():
    assert (set(FUNCTIONS) - {"timezone"}) <= {*TOTAL, *AGGREGATES}  # of public tables
    others = {"exp", "ln", "log", "power", "translate", "split_part"}
    assert {*TOTAL, *AGGREGATES} - set(FUNCTIONS) == others | OF_DUCKDB_ALONE
    assert set(OPERATORS) == set(SIGNS)
    with pytest.raises(Unsupported, match="this construct"):
        transpiled("SELECT EXP(1e0) AS v", dialect(lambda _, name: name), lambda *_: None)


def test_a_subquery_in_a_key_is_refused_before_it_is_charged():
    asked = 'EXISTS(SELECT 1 FROM (SELECT 1 AS "id") AS "t" WHERE "id" = 1)'
    for key in (asked, f"CASE WHEN {asked} THEN 1 ELSE 0 END", '1 IN (SELECT 1 AS "id")'):
        sql = f'SELECT {key} AS "k0", CAST(COUNT(*) AS INT128) AS m0 FROM (SELECT 1 AS "k") AS "many" GROUP BY 1'
        with pytest.raises(Unsupported, match="a subquery in what is grouped by"):
            transpiled(sql, dialect(lambda _, name: name), lambda *_: None)
