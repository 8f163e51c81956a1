"""Numbers, sums and casts: the same bits in Spark, in Sail and in DuckDB."""

import pytest

from dpproxy.backends.spark.server import Spark
from dpproxy.values.errors import Unsupported
from tests.backends.lake import Lake, differing, rows
from tests.backends.statements import transpiled

pytestmark = pytest.mark.external


def test_arithmetic_is_the_same(spark: Spark, lake: Lake):
    assert not differing(
        spark,
        lake,
        [
            '"i" + 1', 'CAST("i" AS BIGINT) * 3', '- "i"', '"d" * 100', '"d" + 1.5', '"d" - "d"', '"i" // 2', '"i" % 3',
            '"b" // NULLIF("i", 0)', '"b" % NULLIF("i", 0)', '"i" // -2', 'CAST("n" AS INT128) * 5',
            'CAST("i" AS INT128) * CAST("b" AS INT128)', '"x" + 1.5e0', '"x" * 3e0', '"x" - "f"', '"x" / 3e0',
            '"x" / NULLIF("x", 0e0)', '1e0 / NULLIF("x", 0e0)', '- "x"', '"x" * "x"', '"x" * 1e-300',
        ],
    )  # fmt: skip


def test_functions_are_the_same(spark: Spark, lake: Lake):
    functions = ["FLOOR", "CEIL", "ROUND", "TRUNC", "ABS", "SIGN", "SQRT"]
    further = [
        'ROUND_EVEN("x", 0)',
        'ROUND_EVEN(FLOOR("x") / 2e0, 0)',
        'SIGN("d")',
        'SIGN("i")',
        'ABS("d")',
        'ABS("i")',
    ]
    assert not differing(spark, lake, [f'{f}("x")' for f in functions] + further)


def test_casts_are_the_same(spark: Spark, lake: Lake):
    clamped = 'CASE WHEN "x" < -10e0 THEN -10e0 WHEN "x" > 10e0 THEN 10e0 ELSE "x" END'
    assert not differing(
        spark,
        lake,
        [
            'CAST("d" AS BIGINT)', 'CAST("d" AS INT128)', 'CAST("i" AS DOUBLE)', 'CAST("b" AS DOUBLE)',
            'CAST("b" AS DOUBLE) / 100.0e0', 'CAST("d" AS DECIMAL(20, 4))', 'CAST("d" AS DECIMAL(38, 2)) * 100',
            'CAST(CAST("d" AS DECIMAL(18, 2)) * 100 AS BIGINT)',
            f"CAST(ROUND(({clamped}) * 1048576e0) AS BIGINT)", f"CAST(ROUND_EVEN({clamped}, 0) AS BIGINT)",
        ],
    )  # fmt: skip


def test_numbers_at_the_ends_of_their_types_are_the_same(spark: Spark, lake: Lake):
    assert not differing(
        spark,
        lake,
        [
            '"b"', '"h"', '"x"', '"f"', '"d"', '"u1"', '"u4"', '"u8"', '"i1"', 'FLOOR("x")', 'CEIL("x")', 'ROUND("x")',
            'ROUND_EVEN("x", 0)',
            'TRUNC("x")', 'SIGN("x")', 'SIGN("f")', 'ABS("x")', 'SQRT("x")', '"x" * "x"', '"x" + 1e308', '"x" / 5e-324',
            '"x" / NULLIF("f", 0e0)', '"f" * 1e30', 'CAST("b" AS DOUBLE)', 'SIGN("b")', 'SIGN("h")', 'ABS("h")',
            '- "h"',
            '"h" < 5', '"u8" < 5', '"u8" % 7', '"h" % 7', 'CAST("u8" AS INT128) + 1',
            'CAST("b" AS INT128) * CAST("b" AS INT128)',
            'CAST("i1" AS BIGINT) + 1', 'CAST("u4" AS BIGINT) * 2', 'CAST("u1" AS BIGINT) - 5', '"d" * 100',
            'CAST("d" AS BIGINT)', 'CAST("d" AS DECIMAL(38, 2)) * 100', '"d" + 1.5', 'GREATEST("h", 5)',
            'NULLIF("h", 0)',
            'ABS(CAST("b" AS INT128))', '- CAST("b" AS INT128)', '"b" // 3', '"b" % 3',
        ],
        "extremes",
    )  # fmt: skip


AGGREGATES = (
    (
        'SELECT CAST(COUNT(*) AS INT128) AS m0, CAST(SUM(CAST("b" AS BIGINT)) AS INT128) AS m1, COUNT("s") AS m2, '
        'COUNT(DISTINCT "s") AS m3, COUNT(DISTINCT "x") AS m4 FROM "edges"'
    ),
    (
        'SELECT MAX("x") AS a, MIN("x") AS b, MAX("s") AS c, MIN("s") AS d, MAX("t") AS e, MIN("t") AS f, '
        'MAX("day") AS g, BOOL_AND("t") AS h, BOOL_OR("t") AS i FROM "edges"'
    ),
    'SELECT CAST((SUM(CAST("i" AS BIGINT)) - (CAST(50 AS INT128) * COUNT("i"))) AS INT128) AS m0 FROM "edges"',
    'SELECT "k" AS "k0", CAST(SUM(CAST(ROUND("x" * 1024e0) AS BIGINT)) AS INT128) AS m0 FROM "many" GROUP BY 1',
    'SELECT SUM(CAST(9000000000000000000 AS BIGINT)) AS m0 FROM "many"',
)


@pytest.mark.parametrize("sql", AGGREGATES)
def test_aggregates_are_the_same(spark: Spark, lake: Lake, sql: str):
    assert rows(spark, sql) == lake.rows(sql)


@pytest.mark.parametrize(
    "expression",
    ['EXP("x")', 'LN("x")', 'LOG("x")', 'POWER("x", 2e0)', '"x" / "f"', '"x" / 0e0', '"b" // "i"', 'ROUND("x", 2)',
     'CAST("x" AS BIGINT)', 'CAST("n" AS DOUBLE)', 'SUM("x")', 'SUM("d")', 'CAST("s" AS BIGINT)'],
)  # fmt: skip
def test_what_could_differ_is_refused(spark: Spark, expression: str):
    with pytest.raises(Unsupported, match="is not answered over"):
        transpiled(f'SELECT {expression} AS v FROM "edges"', spark.dialect, spark.tables)
