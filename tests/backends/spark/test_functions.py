"""Texts and dates: the same in Spark, in Sail and in DuckDB."""

import pytest

from dpproxy.backends.spark.server import Spark
from dpproxy.values.errors import Unsupported
from tests.backends.lake import Lake, differing, rows
from tests.backends.statements import transpiled

pytestmark = pytest.mark.external


def test_texts_are_the_same(spark: Spark, lake: Lake):
    assert not differing(
        spark,
        lake,
        [
            'LOWER("s")', 'UPPER("s")', 'LENGTH("s")', 'SUBSTRING("s", 1, 2)', 'SUBSTRING("s", 2, 100)', 'LEFT("s", 1)',
            'RIGHT("s", 2)', "STRPOS(\"s\", 'b')", "STRPOS(\"s\", '')", "STARTS_WITH(\"s\", 'a')",
            "REPLACE(\"s\", 'a', 'xy')", "REPLACE(\"s\", '', 'q')", "CONCAT(\"s\", '!')", "\"s\" || '!'",
            "TRIM(\"s\", ' ')", "LTRIM(\"s\", ' a')", "RTRIM(\"s\", ' e$')",
        ],
    )  # fmt: skip


def test_long_and_empty_texts_are_the_same(spark: Spark, lake: Lake):
    assert not differing(
        spark,
        lake,
        [
            '"s"', 'LENGTH("s")', 'LOWER("s")', 'UPPER("s")', '"s" || "s"', "REPLACE(\"s\", 'é', 'xxxxxxxxxx')",
            'LEFT("s", 100)', 'RIGHT("s", 100)', 'SUBSTRING("s", 999, 5)',
            "STRPOS(\"s\", 'b')", "\"s\" LIKE '%é%a'",
            "\"s\" ILIKE '%É'", "TRIM(\"s\", 'é')", 'STARTS_WITH("s", "s")', 'CONCAT("s", "s")', "\"s\" < 'b'",
            "GREATEST(\"s\", 'b')",
        ],
        "extremes",
    )  # fmt: skip


def test_patterns_are_the_same(spark: Spark, lake: Lake):
    patterns = ["a%", "a_b", "%\\d%", "%b\\_c%", "_", "%$", "%''%", "%e$", "\\%", "%{x}%", ""]
    assert not differing(
        spark, lake, [f"\"s\" LIKE '{p}'" for p in patterns] + ["\"s\" ILIKE 'É'", "\"s\" ILIKE 'i%'"]
    )


def test_fields_of_dates_are_the_same(spark: Spark, lake: Lake):
    fields = ["year", "month", "day", "quarter", "dow", "isodow", "doy", "week"]
    listed = [f"DATE_PART('{f}', \"{c}\")" for f in fields for c in ("day", "moment")]
    times = ["DATE_PART('hour', \"moment\")", "DATE_PART('minute', \"moment\")", "DATE_PART('hour', \"day\")"]
    assert not differing(spark, lake, listed + times)


def test_dates_are_cut_and_moved_alike(spark: Spark, lake: Lake):
    units = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"]
    later = [f"DATE_TRUNC('{unit}', \"moment\")" for unit in units]
    days = [f"DATE_TRUNC('{unit}', \"day\")" for unit in units[:5]]
    further = ["\"day\" - CAST('2020-01-01' AS DATE)", 'CAST("day" AS TIMESTAMP)', 'CAST("moment" AS DATE)']
    back = 'MAKE_TIMESTAMP(EPOCH_US("moment"))'
    assert not differing(spark, lake, [*later, *days, *further, 'EPOCH_US("moment")', back])


@pytest.mark.parametrize(
    "moved",
    ['"day" + TO_MONTHS(1)', '"moment" + TO_DAYS("i")', '"moment" - TO_MICROSECONDS(3600000000)',
     '"moment" + TO_MONTHS(-13)', '"day" - TO_DAYS(40)'],
)  # fmt: skip
def test_lengths_of_time_are_the_same(spark: Spark, lake: Lake, moved: str):
    sql = f'SELECT "id" AS "id", {moved} AS v FROM "edges" WHERE "id" IN (1, 2, 7, 8)'
    assert rows(spark, sql) == lake.rows(sql)


@pytest.mark.parametrize(
    "expression",
    ["DATE_PART('century', \"day\")", "DATE_PART('second', \"moment\")", "DATE_TRUNC('decade', \"day\")",
     'LEFT("s", -1)', '"s" LIKE "s"', 'LOWER("i")', 'SUBSTRING("s", "i", 1)', '"moment" - "moment"'],
)  # fmt: skip
def test_what_could_differ_is_refused(spark: Spark, expression: str):
    with pytest.raises(Unsupported, match="is not answered over"):
        transpiled(f'SELECT {expression} AS v FROM "edges"', spark.dialect, spark.tables)
