import pytest

from dpproxy.values.errors import Unsupported
from tests.backends.postgres.test_logic import COLUMNS, dialect, transpiled, value


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("s LIKE 'a\\%'", "LIKE 'a\\%' ESCAPE '')"),
        ("ltrim(s, 'x')", "ltrim("),
        ("trim(s, ' ')", "btrim("),
        ("left(s, 1000)", ", 1000::int)"),
        ("date_part('week', d)", "extract(week FROM "),
        ("date_trunc('month', d)", "date_trunc('month', "),
        ("date_trunc('month', CAST(d AS DATE))", "date_trunc('month', "),
        ("epoch_us(CAST(d AS TIMESTAMP))", "THEN (CASE WHEN (extract(epoch FROM "),
        ("make_timestamp(epoch_us(d))", "('1970-01-01'::timestamp + ("),
        ("d + to_days(CAST(i AS BIGINT))", "make_interval(days => "),
        ("hash('00ff', i, s)", "hash_record_extended(ROW('00ff'::text, "),
        ("hash('00ff', i, s)", "THEN md5("),  # a row of long texts would be longer than a row can be
    ],
)
def test_each_function_has_its_own_text(sql: str, text: str):
    query = transpiled(f"SELECT {sql} AS v FROM t", dialect("public"), lambda _, __: COLUMNS)
    assert text in query.sql


@pytest.mark.parametrize(
    "sql",
    ["s LIKE s", "left(s, i)", "length(i)", "date_part('epoch', d)", "date_part(s, d)", "date_trunc('century', d)",
     "epoch_us(i)", "make_timestamp(s)", "timezone('Europe/Berlin', d)", "lower(i)", "concat(s, i)", "to_days(s)"],
)  # fmt: skip
def test_what_is_not_known_to_agree_is_refused(sql: str):
    with pytest.raises(Unsupported):
        value(sql)
