"""At epsilon 1,000,000 the noise is next to nothing: the answers are what the claim is about.

The mechanism takes e**-epsilon as 2**-64 at least, so that its noise is uniform within 5e-5 of the width, but for a
chance below 1e-13: that is the false alarm of a test here.

For each accepted shape the answers with and without her differ by no more than the sensitivity that the policy
gives: |A - B| <= that, summed over all groups.
"""

from decimal import Decimal

import pytest

from tests.assurance.raw import Raw
from tests.proxies import Proxy

NOISE = 1 + Decimal("0.001")
"""Covers two draws in each of four groups."""

# (statement over one number column per group, the most that one person may move the sum over all groups)
SHAPES = (
    ("SELECT count(*) FROM people", 1),
    ("SELECT count(*) FROM people WHERE id = 7", 1),
    ("SELECT count(income) FROM people", 1),
    ("SELECT count(member) FROM people", 1),
    ("SELECT town, count(*) FROM people GROUP BY town", 1),
    ("SELECT member, count(*) FROM people GROUP BY member", 1),
    ("SELECT sum(age) FROM people", 110),
    ("SELECT sum(income) FROM people", 100000),
    ("SELECT sum(-income) FROM people", 100000),
    ("SELECT sum(ratio) FROM people", 10),
    ("SELECT sum(big) FROM people", 10**12),
    ("SELECT sum(CASE WHEN id = 7 THEN 1000000 ELSE 0 END) FROM people", 10**6),
    ("SELECT sum(CASE WHEN id = 7 THEN -50 ELSE 20 END) FROM people", 50),
    ("SELECT sum(age - 100) FROM people", 100),
    ("SELECT sum(age / (id - 7)) FROM people", 110),
    ("SELECT sum(sqrt(income)) FROM people", 317),
    ("SELECT member, sum(age) FROM people GROUP BY member", 110),
    ("SELECT code, sum(length(code)) FROM people GROUP BY code", 5),
    ("SELECT count(*) FROM visits", 3),
    ("SELECT sum(cost) FROM visits", 3000),
    ("SELECT ward, count(*) FROM visits GROUP BY ward", 3),
    ("SELECT ward, sum(minutes) FROM visits GROUP BY ward", 180),
    ("SELECT count(*) FROM visits WHERE minutes >= 0", 3),
    ("SELECT count(*) FROM stays", 4),
    ("SELECT sum(days) FROM stays", 120),
    ("SELECT ward, count(*) FROM stays GROUP BY ward", 4),
    ("SELECT sex, count(*) FROM patients GROUP BY sex", 1),
)
AVERAGES = (
    ("SELECT avg(age) FROM people", 110, 3000),
    ("SELECT avg(income) FROM people", 100000, 3000),
    ("SELECT avg(cost) FROM visits", 3 * 1000, 1500),
    ("SELECT avg(days) FROM stays", 4 * 30, 2000),
)


def numbers(connection: Raw, sql: str) -> list[Decimal | None]:
    values = [m.values()[-1] for m in connection.query(sql) if m.kind == "D"]
    assert values, sql
    return [None if v is None else Decimal(v.decode()) for v in values]


@pytest.mark.parametrize(("sql", "sensitivity"), SHAPES)
def test_one_person_moves_no_more_than_claimed(loud: tuple[Proxy, Proxy], sql: str, sensitivity: int):
    with Raw(loud[0]) as left, Raw(loud[1]) as right:
        pairs = list(zip(numbers(left, sql), numbers(right, sql), strict=True))
    assert sum(abs((a or 0) - (b or 0)) for a, b in pairs) <= sensitivity * NOISE
    assert all((a is None) == (b is None) for a, b in pairs)


@pytest.mark.parametrize(("sql", "width", "count"), AVERAGES)
def test_an_average_moves_by_a_share_of_its_width(
    loud: tuple[Proxy, Proxy], sql: str, width: int, count: int
):
    with Raw(loud[0]) as left, Raw(loud[1]) as right:
        ((a,), (b,)) = numbers(left, sql), numbers(right, sql)
    assert a is not None
    assert b is not None
    assert abs(a - b) <= Decimal(width) / count * NOISE


def test_the_answers_are_those_of_the_data(loud: tuple[Proxy, Proxy]):
    """Otherwise the tests above would pass over an engine that answers 0."""
    with Raw(loud[0]) as left, Raw(loud[1]) as right:
        assert numbers(left, "SELECT count(*) FROM people") == [3000]
        assert numbers(right, "SELECT count(*) FROM people") == [3001]
        assert numbers(left, "SELECT ward, count(*) FROM visits GROUP BY ward") != [0, 0, 0, 0]
        (total,) = numbers(left, "SELECT sum(income) FROM people")
        assert total is not None
        assert abs(total - 74850000) <= 100000 * (NOISE - 1)
