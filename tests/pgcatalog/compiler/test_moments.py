from datetime import UTC, date, datetime

import pytest

from dpproxy.config.settings import PRESENT, moments
from dpproxy.pgcatalog import Catalogue, CatalogueView
from dpproxy.pgcatalog.compiler.moments import engine_zone
from dpproxy.sql import grammar
from dpproxy.values.errors import Unsupported


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("UTC", "UTC"),
        ("europe/berlin", "Europe/Berlin"),
        ("2", "Etc/GMT-2"),
        ("UTC+3", "Etc/GMT+3"),
        ("5.5", None),
        ("-13", None),
    ],
)
def test_zones(name: str, zone: str | None):
    assert engine_zone({"timezone": name}) == zone


def test_moments_are_not_computed_with_where_the_engine_has_no_such_zone(catalogue: Catalogue):
    view = CatalogueView("main", "ana", (), (), {"timezone": "5.5"}, 1)
    assert list(catalogue.run(view, grammar.parse("SELECT 1")[0], (), {}).rows) == [(1,)]
    with pytest.raises(Unsupported) as caught:
        catalogue.run(view, grammar.parse("SELECT now()::text")[0], (), {})
    assert caught.value.hint is not None


BEGAN, ARRIVED = datetime(2024, 1, 31, 23, 30, tzinfo=UTC), datetime(2024, 1, 31, 23, 45, tzinfo=UTC)
LOCAL = datetime(2024, 2, 1, 0, 30)  # noqa: DTZ001 - what a clock shows
BERLIN = {"timezone": "Europe/Berlin", PRESENT: moments(BEGAN, ARRIVED)}


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT current_date, x FROM generate_series(1, 2) x", [(date(2024, 2, 1), 1), (date(2024, 2, 1), 2)]),
        ("SELECT current_date + x FROM generate_series(1, 2) x", [(date(2024, 2, 2),), (date(2024, 2, 3),)]),
        ("SELECT a, current_date FROM (VALUES (1)) v(a)", [(1, date(2024, 2, 1))]),
        ("SELECT current_date FROM pg_namespace LIMIT 1", [(date(2024, 2, 1),)]),
        ("SELECT x FROM generate_series(1, 2) x WHERE current_date = '2024-02-01'", [(1,), (2,)]),
        ("VALUES (current_date), (current_date - 1)", [(date(2024, 2, 1),), (date(2024, 1, 31),)]),
        ("SELECT localtimestamp, localtimestamp(0)", [(LOCAL, LOCAL)]),
        ("SELECT now() = '2024-01-31 23:30+00'::timestamptz, now() = clock_timestamp()", [(True, True)]),
        ("SELECT statement_timestamp() - now() = interval '15 minutes'", [(True,)]),
        ("SELECT timeofday()", [("Thu Feb 01 00:30:00.000000 2024 CET",)]),
        ("SELECT date_trunc('month', now()) = '2024-01-31 23:00+00'::timestamptz", [(True,)]),
        ("SELECT date_trunc('month', current_date) = date_trunc('month', now())", [(True,)]),
        ("WITH a AS (SELECT now() AS n) SELECT count(*) FROM a WHERE n = (SELECT current_timestamp)", [(1,)]),
        ("SELECT is_dst FROM pg_timezone_names WHERE name = 'Australia/Sydney'", [(True,)]),
    ],
)  # fmt: skip
def test_the_present_is_the_statements(catalogue: Catalogue, sql: str, rows: list[tuple[object, ...]]):
    view = CatalogueView("main", "ana", (), (), BERLIN, 1)
    assert list(catalogue.run(view, grammar.parse(sql)[0], (), {}).rows) == rows


def test_columns_of_the_present_are_called_as_in_postgres(catalogue: Catalogue):
    view = CatalogueView("main", "ana", (), (), BERLIN, 1)
    sql = (
        "SELECT now(), current_date, current_timestamp, localtimestamp, timeofday(), date_trunc('day', now())"
    )
    columns = catalogue.run(view, grammar.parse(sql)[0], (), {}).columns or ()
    assert [(c.name, c.type.name) for c in columns] == [
        ("now", "timestamptz"),
        ("current_date", "date"),
        ("current_timestamp", "timestamptz"),
        ("localtimestamp", "timestamp"),
        ("timeofday", "text"),
        ("date_trunc", "timestamptz"),
    ]
