"""Moments as BI tools write them are constants."""

import pytest
from sqlglot import exp

from dpproxy.analysis.titles import title
from dpproxy.planner.accept import parse
from dpproxy.values.errors import InvalidText, Unsupported


@pytest.mark.parametrize(
    ("call", "constant"),
    [
        ("TO_DATE('1951-01-31', 'YYYY-MM-DD')", "CAST('1951-01-31' AS DATE)"),
        ("to_date('31.1.1951', 'dd.mm.yyyy')", "CAST('1951-01-31' AS DATE)"),
        ("to_date('19510131', 'YYYYMMDD')", "CAST('1951-01-31' AS DATE)"),
        ("to_date('1951', 'YYYY')", "CAST('1951-01-01' AS DATE)"),
        (
            "to_timestamp('2019-12-01 10:30:05.25', 'YYYY-MM-DD HH24:MI:SS.US')",
            "CAST('2019-12-01 10:30:05.250000' AS TIMESTAMP)",
        ),
        ("TO_TIMESTAMP('2019-12-01', 'YYYY-MM-DD')", "CAST('2019-12-01 00:00:00' AS TIMESTAMP)"),
    ],
)
def test_a_call_is_its_constant(call: str, constant: str):
    assert parse(f"SELECT {call}").selects[0].sql("postgres") == constant


@pytest.mark.parametrize(
    ("call", "cast"),
    [
        ("date(seen)", "CAST(seen AS DATE)"),
        ("DATE(p.seen)", "CAST(p.seen AS DATE)"),
        ("date('2024-01-31')", "CAST('2024-01-31' AS DATE)"),
        ("date(date(seen))", "CAST(CAST(seen AS DATE) AS DATE)"),
        ("date(seen, 'x')", "DATE(seen, 'x')"),
    ],
)
def test_a_day_is_a_cast(call: str, cast: str):
    """As Looker writes it."""
    assert parse(f"SELECT {call}").selects[0].sql("postgres") == cast


WEEK = "DATE_TRUNC('WEEK', {} + INTERVAL '1 DAY') - INTERVAL '1 DAY'"


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("date_trunc('day', x) + (-extract(dow FROM x) * INTERVAL '1 day')", "DATE_TRUNC('DAY', x)"),
        ("x::date - INTERVAL '1 day' * extract(dow FROM x)", "CAST(x AS DATE)"),
        ("date_trunc('day', x::timestamp) - (extract(dow FROM x::date) * '1 day'::interval)", None),
        (
            "date_trunc('day', x::timestamp) - (extract(dow FROM x::date) * INTERVAL '1' DAY)",
            "DATE_TRUNC('DAY', CAST(x AS TIMESTAMP))",
        ),
        ("x - extract(dow FROM x) * INTERVAL '1 day'", None),  # keeps the time of the day
        ("date_trunc('day', x) + extract(dow FROM x) * INTERVAL '1 day'", None),
        ("date_trunc('day', x) - extract(dow FROM y) * INTERVAL '1 day'", None),
        ("date_trunc('day', x) - extract(isodow FROM x) * INTERVAL '1 day'", None),
        ("date_trunc('day', x) - extract(dow FROM x) * INTERVAL '2 day'", None),
        ("date_trunc('month', x) - extract(dow FROM x) * INTERVAL '1 day'", None),
    ],
)
def test_the_sunday_before_a_day_is_a_week(written: str, day: str | None):
    """As Tableau writes it."""
    found = parse(f"SELECT {written}").selects[0].sql("postgres")
    assert found == WEEK.format(day) if day else "'WEEK'" not in found


@pytest.mark.parametrize(
    ("call", "name"), [("date(seen)", "date"), ("to_date('1951', 'YYYY')", "to_date"), ("seen::date", "seen")]
)
def test_a_column_has_the_name_of_its_call(call: str, name: str):
    assert title(parse(f"SELECT {call}").selects[0]) == name


def test_what_it_means_has_the_place_of_the_call():
    node = parse("SELECT 1, to_date('2020-01-01', 'YYYY-MM-DD')").selects[1]
    assert isinstance(node, exp.Cast)
    assert node.meta["start"] == 10


@pytest.mark.parametrize(
    ("call", "position"),
    [
        ("to_date('1951-02-30', 'YYYY-MM-DD')", 7),
        ("to_date('1951-01-31x', 'YYYY-MM-DD')", 7),
        ("to_date('0000-01-31', 'YYYY-MM-DD')", 7),
        ("to_date('', 'YYYY-MM-DD')", 7),
    ],
)
def test_a_text_that_is_not_of_its_template(call: str, position: int):
    with pytest.raises(InvalidText) as caught:
        parse(f"SELECT {call}")
    assert caught.value.position == position


@pytest.mark.parametrize(
    "call",
    [
        "to_date(town, 'YYYY-MM-DD')",
        "to_date('2020-01-01', town)",
        "to_date('2020-01-01')",
        "to_date('2020-01-01', '')",
        "to_date($1, 'YYYY-MM-DD')",
        "to_date('01-31', 'MM-DD')",
        "to_date('2020-2020', 'YYYY-YYYY')",
        "to_date('31 Jan 2020', 'DD Mon YYYY')",
        "to_timestamp('2020-01-01 05:00 PM', 'YYYY-MM-DD HH:MI PM')",
        "to_date('٢٠٢٠-01-01', 'YYYY-MM-DD')",
    ],
)
def test_what_is_not_a_constant_is_refused_with_what_to_write(call: str):
    with pytest.raises(Unsupported) as caught:
        parse(f"SELECT {call}")
    assert caught.value.position == 7
    assert "date '2024-01-31'" in str(caught.value.hint)


@pytest.mark.parametrize(
    "call",
    [
        f"width_bucket(x, ARRAY[{', '.join(['1'] * 600)}])",
        f"percentile_cont(ARRAY[{', '.join(['1'] * 600)}]) WITHIN GROUP (ORDER BY x)",
        "width_bucket(x, ARRAY[])",
    ],
)
def test_a_list_that_would_be_written_out_at_length_is_left(call: str):
    found = parse(f"SELECT {call} FROM t").expressions[0]
    assert found.find(exp.WidthBucket, exp.WithinGroup) is not None


def test_lists_are_written_out_with_the_name_of_their_call():
    [bucket, quartiles] = parse(
        "SELECT width_bucket(x, ARRAY[1, 2]), percentile_cont(ARRAY[0.5, 1]) WITHIN GROUP (ORDER BY x)"
        " FILTER (WHERE y) FROM t"
    ).expressions
    assert (title(bucket), title(quartiles)) == ("width_bucket", "percentile_cont")
    assert [type(part) for part in quartiles.expressions] == [exp.Filter, exp.Filter]
