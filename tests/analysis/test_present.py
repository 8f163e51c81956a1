"""The present: what it is folded to, and where it is none."""

from datetime import UTC, datetime

import pytest

from dpproxy.analysis import duck
from dpproxy.analysis.expressions import compile_expression
from dpproxy.analysis.present import mentions, present_of, write_present
from dpproxy.analysis.scopes import ExpressionLevel, Parameters, Scope
from dpproxy.config.settings import DEFAULTS, PRESENT, moments
from dpproxy.planner.accept import parse
from dpproxy.values.errors import InvalidParameter, Unsupported

BEGAN = datetime(2024, 3, 31, 23, 30, 5, 123456, UTC)
ARRIVED = datetime(2024, 3, 31, 23, 45, 6, 500000, UTC)


def constant(text: str, zone: str = "UTC") -> str:
    tree = write_present(parse(f"SELECT {text}"))
    settings = {**DEFAULTS, "timezone": zone, PRESENT: moments(BEGAN, ARRIVED)}
    scope = Scope(ExpressionLevel.ROW, lambda _: None, Parameters(present=present_of(settings)))
    found = compile_expression(tree.selects[0].unalias(), scope)
    assert found.is_constant, duck.text(found.sql)
    return f"{found.type.name} {found.constant}"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("now()", "timestamptz 2024-03-31 23:30:05.123456"),
        ("current_timestamp", "timestamptz 2024-03-31 23:30:05.123456"),
        ("transaction_timestamp()", "timestamptz 2024-03-31 23:30:05.123456"),
        ("clock_timestamp()", "timestamptz 2024-03-31 23:30:05.123456"),
        ("statement_timestamp()", "timestamptz 2024-03-31 23:45:06.500000"),
        ("current_timestamp(0)", "timestamptz 2024-03-31 23:30:05"),
        ("current_timestamp(2)", "timestamptz 2024-03-31 23:30:05.120000"),
        ("localtimestamp", "timestamp 2024-03-31 23:30:05.123456"),
        ("current_date", "date 2024-03-31"),
        ("current_date - 30", "date 2024-03-01"),
        ("now()::date", "date 2024-03-31"),
        ("timeofday()", "text Sun Mar 31 23:30:05.123456 2024 UTC"),
        ("now() - interval '1 month'", "timestamptz 2024-02-29 23:30:05.123456"),
        ("now() + '-30 day'::interval", "timestamptz 2024-03-01 23:30:05.123456"),
        ("now() - 7 * interval '1 day'", "timestamptz 2024-03-24 23:30:05.123456"),
        ("now() - ('1 month'::interval * 2)", "timestamptz 2024-01-31 23:30:05.123456"),
        ("timezone('Europe/Berlin', now())", "timestamp 2024-04-01 01:30:05.123456"),
        ("date_trunc('day', now())", "timestamptz 2024-03-31 00:00:00"),
        ("date_trunc('month', current_date)", "timestamp 2024-03-01 00:00:00"),
        ("date_trunc('hour', now() AT TIME ZONE 'UTC')", "timestamp 2024-03-31 23:00:00"),
        ("now() AT TIME ZONE 'Europe/Berlin'", "timestamp 2024-04-01 01:30:05.123456"),
        ("extract(year FROM now())", "numeric 2024"),
        ("floor(extract(epoch FROM date_trunc('day', now())) / 86400) * 86400", "numeric 1711843200"),
    ],
)
def test_the_present_is_a_constant(text: str, value: str) -> None:
    assert constant(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("current_date", "date 2024-04-01"),
        ("localtimestamp", "timestamp 2024-04-01 01:30:05.123456"),
        ("date_trunc('day', now())", "timestamptz 2024-03-31 22:00:00"),
        ("date_trunc('month', now())", "timestamptz 2024-03-31 22:00:00"),
        ("now() - interval '1 day'", "timestamptz 2024-03-31 00:30:05.123456"),
        ("now() - interval '24 hours'", "timestamptz 2024-03-30 23:30:05.123456"),
        ("extract(hour FROM now())", "numeric 1"),
        ("timestamptz '2024-03-31 02:30'", "timestamptz 2024-03-31 01:30:00"),
        ("timestamptz '2024-10-27 02:30'", "timestamptz 2024-10-27 01:30:00"),
    ],
)
def test_days_are_those_of_the_session(text: str, value: str) -> None:
    assert constant(text, "Europe/Berlin") == value


def test_a_kept_query_has_no_present() -> None:
    tree = write_present(parse("SELECT now()"))
    with pytest.raises(Unsupported, match="the present is not known"):
        compile_expression(tree.selects[0], Scope(ExpressionLevel.ROW, lambda _: None, Parameters()))


def test_a_precision_that_is_none() -> None:
    with pytest.raises(InvalidParameter):
        constant("current_timestamp('x')")


def test_which_statements_mention_it() -> None:
    assert mentions(parse("SELECT count(*) FROM t WHERE at > statement_timestamp()"))
    assert mentions(parse("SELECT count(*) FROM (SELECT * FROM t WHERE d > current_date) AS x"))
    assert not mentions(parse("SELECT count(*) FROM t WHERE d > date '2024-01-01' AND now > 3"))
