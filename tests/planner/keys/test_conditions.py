"""Constants that a condition lists are keys where nothing is declared."""

from datetime import datetime

import pytest

from dpproxy.values.errors import BoundsMissing
from tests.golden.world import World, build, plan_of

DDL = (
    "CREATE TABLE people (id INTEGER, town VARCHAR, fee DECIMAL(9,2), height DOUBLE, born DATE, seen TIMESTAMPTZ)",
    "INSERT INTO people VALUES (1, 'Oslo', 1.50, 1.5, DATE '1990-01-01', NULL), (2, 'Rome', 2.25, 1.6, NULL, NULL)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN town SET PRIVACY DOMAIN DISCOVERED",
    "ALTER TABLE people ALTER COLUMN fee SET PRIVACY DOMAIN BETWEEN 0 AND 50000",
    "ALTER TABLE people ALTER COLUMN height SET PRIVACY DOMAIN BETWEEN 1 AND 2",
    "ALTER TABLE people ALTER COLUMN seen SET PRIVACY DOMAIN BETWEEN '2024-01-01' AND '2024-12-31'",
)


@pytest.fixture(scope="module")
def listed() -> World:
    return build(DDL)


@pytest.mark.parametrize(
    ("key", "where", "values"),
    [
        ("town", "town IN ('Oslo', 'Bern', 'Oslo')", ["Oslo", "Bern"]),
        ("town", "'Rome' = town", ["Rome"]),
        ("lower(town)", "lower(town) = 'oslo' AND fee > 1", ["oslo"]),
        ("fee * 2", "fee * 2 IN (3, 4.5)", [300, 450]),
        ("seen", "seen = timestamptz '2024-05-01 02:00+02'", [datetime.fromisoformat("2024-05-01")]),
    ],
)
def test_the_constants_are_the_keys(listed: World, key: str, where: str, values: list[object]):
    [part] = plan_of(listed, f"SELECT {key}, count(*) FROM people WHERE {where} GROUP BY 1").parts
    [keys] = part.keys
    assert [row[0] for row in keys.rows] == values
    assert not part.delta


@pytest.mark.parametrize(
    ("key", "where"),
    [
        ("town", "town <> 'Oslo'"),
        ("town", "town IN ('Oslo') OR fee > 1"),
        ("fee * 2", "fee IN (1.5)"),
        ("fee * 2", "fee * 2 = height"),
        ("height", "height = 1.5"),
        (
            "seen",
            "seen = date '2024-05-01'",
        ),  # midnight of the session's zone, which is no constant of the column
        ("seen", "seen IN (timestamp '2024-05-01 02:00')"),
    ],
)
def test_what_lists_no_constants_lists_no_keys(listed: World, key: str, where: str):
    with pytest.raises(BoundsMissing):
        plan_of(listed, f"SELECT {key}, count(*) FROM people WHERE {where} GROUP BY 1")
