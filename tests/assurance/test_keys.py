"""Attack: a group that exists because of her.

Keys are the declared ones, all of them and no other, whatever the data hold; a value that was not declared has no
row, NULL is a key only where it is listed, and what filters groups sees released values only.
"""

import pytest

from tests.assurance.twin import Ask, Twin, refusals, rows

GROUPED = (
    ("SELECT town, count(*) FROM people GROUP BY town", [b"north", b"south", b"west"]),
    ("SELECT town, count(*) FROM main.people GROUP BY people.town", [b"north", b"south", b"west"]),
    ("SELECT town, count(*) FROM people WHERE id = 7 GROUP BY town", [b"north", b"south", b"west"]),
    ("SELECT region, count(*) FROM people GROUP BY region", [b"0", b"1", b"2"]),
    ("SELECT member, avg(age) FROM people GROUP BY member", [b"t", b"f", None]),
    ("SELECT code, sum(age) FROM people GROUP BY 1", [b"1", b"2", b"12abc"]),
    ("SELECT ward, count(*) FROM visits GROUP BY ward", [b"a", b"b", b"c", None]),
    ("SELECT ward, count(*), avg(days) FROM stays GROUP BY ward", [b"a", b"b"]),
    ("SELECT age / 10, count(*) FROM people GROUP BY age / 10", [b"%d" % n for n in range(12)]),
    ("SELECT town, count(*) FROM people GROUP BY ROLLUP (town)", [b"north", b"south", b"west", None]),
    ("SELECT DISTINCT ward FROM visits", [b"a", b"b", b"c", None]),
    ("SELECT town FROM people GROUP BY town", [b"north", b"south", b"west"]),
    ("SELECT town, count(*) FROM people GROUP BY town ORDER BY town DESC", [b"west", b"south", b"north"]),
    ("SELECT town, count(*) FROM people GROUP BY town HAVING town <> 'south'", [b"north", b"west"]),
    ("SELECT town, count(*) FROM people GROUP BY town ORDER BY town LIMIT 1 OFFSET 1", [b"south"]),
)
NOISY = (
    "SELECT town, count(*) FROM people GROUP BY town HAVING count(*) < 5",
    "SELECT ward, count(*) FROM visits GROUP BY ward HAVING count(*) = 1 ORDER BY 2 LIMIT 1",
    "SELECT town, count(*) FROM people GROUP BY town ORDER BY count(*) LIMIT 1",
    "SELECT town, region, member, avg(income) FROM people GROUP BY 1, 2, 3 ORDER BY 4 DESC LIMIT 3",
)
REFUSED = (
    ("SELECT secret, count(*) FROM people GROUP BY secret", "42703"),
    ("SELECT person, count(*) FROM visits GROUP BY person", "42501"),
    ("SELECT income, count(*) FROM people GROUP BY income", "PD003"),
    ("SELECT id, count(*) FROM people GROUP BY id", "54001"),
    ("SELECT income / 10, count(*) FROM people GROUP BY 1", "PD003"),
    ("SELECT town || secret, count(*) FROM people GROUP BY 1", "42703"),
    ("SELECT DISTINCT age, income FROM people", "PD003"),
    ("SELECT count(*) FROM people HAVING age > 5", "42501"),
    ("SELECT town, count(*) FROM people GROUP BY town ORDER BY age", "42501"),
    ("SELECT secret, count(*) FROM people GROUP BY ROLLUP (secret)", "42703"),
    ("SELECT person, count(*) FROM visits GROUP BY GROUPING SETS ((person), ())", "42501"),
)


@pytest.mark.parametrize(("sql", "keys"), GROUPED)
def test_every_declared_key_and_no_other(twin: Twin, sql: str, keys: list[bytes | None]):
    found = twin.charged(sql)
    assert [row[0] for row in rows(found)][: len(keys)] == keys
    assert len(rows(found)) == len(keys) + 2  # cost, remaining
    assert refusals(found) == []


def test_filters_and_orders_on_released_values_cost_the_same(twin: Twin):
    assert refusals(twin.charged(*(Ask(sql, filtered=True) for sql in NOISY))) == []


@pytest.mark.parametrize(("sql", "refused"), REFUSED)
def test_what_would_read_keys_off_the_data(twin: Twin, sql: str, refused: str):
    assert refusals(twin.charged(sql)) == [refused]


def test_a_condition_on_an_undeclared_key_value(twin: Twin):
    found = twin.charged(
        "SELECT count(*) FROM people WHERE region = 99",
        "SELECT count(*) FROM people WHERE town = 'nowhere'",
        "SELECT count(*) FROM visits WHERE ward = 'hers alone'",
        Ask("SELECT count(*) FROM visits WHERE ward = $1", by=["hers alone"]),
    )
    assert refusals(found) == []
