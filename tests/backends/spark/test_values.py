"""Comparisons and logic: the same truth for every row in Spark, in Sail and in DuckDB."""

import pytest
import sqlglot

from dpproxy.backends.spark.server import Spark
from dpproxy.values.errors import Unsupported
from tests.backends.lake import Lake, differing
from tests.backends.statements import transpiled

pytestmark = pytest.mark.external


def test_columns_are_the_same(spark: Spark, lake: Lake):
    assert not differing(
        spark, lake, [f'"{c}"' for c in ("i", "b", "d", "x", "f", "s", "t", "day", "moment", "n")]
    )


def test_comparisons_are_the_same(spark: Spark, lake: Lake):
    assert not differing(
        spark,
        lake,
        [
            '"x" < 0e0', '"x" > 1e0', '"x" = 0e0', '"x" <= "f"', '"x" <> 1.5e0', '"x" IN (0e0, 1.5e0)',
            '"f" = 0.1e0', '"f" < 1e30', '"x" IS NOT DISTINCT FROM 0e0', '"x" IS DISTINCT FROM "f"',
            '"d" < 0.05', '"d" = 1.15', '"d" >= 1', '"n" < 5', '"i" = "b"', '"b" > 3', '"i" IS NULL',
            "\"s\" < 'a'", "\"s\" >= 'é'", "\"s\" = 'a%b_c\\d''e$'", "\"s\" IN ('a', 'B', 'ß')", '"s" = "s"',
            "\"day\" < CAST('2020-01-01' AS DATE)", '"day" = CAST("moment" AS DATE)',
            "\"moment\" >= CAST('2020-01-31 10:11:12.123456' AS TIMESTAMP)",
        ],
    )  # fmt: skip


def test_logic_is_the_same(spark: Spark, lake: Lake):
    assert not differing(
        spark,
        lake,
        [
            '"t"', 'NOT "t"', '"t" AND ("i" > 0)', '"t" OR ("i" > 0)', '"t" IS NULL',
            '"t" IS NOT DISTINCT FROM TRUE', '"t" IS DISTINCT FROM TRUE',
            "\"s\" NOT LIKE 'a%'", "\"s\" NOT ILIKE 'A%'",
            "CASE WHEN \"t\" THEN 'y' ELSE 'n' END", 'CASE WHEN "i" > 8 THEN 1 WHEN "i" < 0 THEN "b" END',
            'CASE WHEN "x" < 0e0 THEN 0e0 WHEN "x" > 10e0 THEN 10e0 ELSE "x" END',
            'COALESCE("x", 7e0)', "COALESCE(\"s\", 'none')", 'COALESCE("i", "b")', 'NULLIF("i", 9)',
            'NULLIF("x", 0e0)', "NULLIF(\"s\", 'a')", 'GREATEST("x", 1e0)', 'LEAST("x", 1e0)', 'GREATEST("i", 5)',
            'LEAST("d", 0.50)', "GREATEST(\"s\", 'b')", 'LEAST("b", 5)',
        ],
    )  # fmt: skip


@pytest.mark.parametrize("condition", ['"s" = "i"', '"x" = "i"', '"day" = "moment"', '("i" = 1) = "s"'])
def test_values_of_two_types_are_not_compared(spark: Spark, condition: str):
    sqlglot.parse_one(condition, read="duckdb")
    with pytest.raises(Unsupported, match="not answered over Spark"):
        transpiled(f'SELECT "id" FROM "edges" WHERE {condition}', spark.dialect, spark.tables)
