"""Answers from priors: whether she is there at all, and what is hers, shows in nothing but the values drawn."""

import pytest

from tests.assurance.raw import Raw
from tests.assurance.twin import Ask, Twin, refusals, rows
from tests.proxies import Proxy

COST = "dp.with_prior(cost, family => 'uniform', low => 0, high => 1000)"
SEX = "dp.with_prior(sex, family => 'nominal', values => ARRAY['f', 'm', 'x'], masses => ARRAY[5, 4, 1])"

HERS = (
    f"SELECT {COST} FROM visits WHERE person = 7",
    f"SELECT {COST} AS c FROM visits WHERE 7 = person AND ward = 'a' AND minutes > 10",
    f"SELECT {COST} * 2, 'x' FROM visits v WHERE v.person = 7 AND FALSE",
    f"SELECT {COST}, dp.with_prior(minutes, 'normal(30, 9)') FROM visits WHERE person = 7 ORDER BY 1",
    "SELECT dp.with_prior(minutes, 'truncated_normal(30, 9, 0, 60)') FROM visits WHERE person = 7 OFFSET 0 LIMIT 1",
    f"SELECT {SEX} FROM patients WHERE person = 7",
    'SELECT dp.with_prior(sex, \'ordinal(["m", "f"], [1, 1])\') FROM patients WHERE person = 7 AND sex IS NOT NULL',
    "SELECT dp.with_prior(days, 'beta(2, 2, 0, 30)') FROM stays WHERE person = 7 AND ward = 'hers alone'",
    "SELECT x FROM (SELECT dp.with_prior(days, 'point(3)') AS x FROM stays WHERE person = 7) AS t WHERE x > 0",
)
"""She is there, or nobody has the key; some of her values are NULL, outside every domain, or not among the prior's."""


@pytest.mark.parametrize("sql", HERS)
def test_one_row_of_one_type_at_one_price_whether_she_is_there_or_not(twin: Twin, sql: str):
    ask = Ask(sql, drawn=True)
    found = twin.charged(ask, ask, Ask(f"EXPLAIN (PRIVACY) {sql}", exact=True))
    [one, _, _, again, *_] = rows(found)
    assert set(one) <= {"noise"}
    assert again == one
    assert not refusals(found)


def test_the_same_with_parameters(twin: Twin):
    sql = f"SELECT {COST} FROM visits WHERE person = $1 AND ward = $2"
    for given in (["7", "a"], ["7", None], [None, "a"], ["8", "a"], ["1000", "b"]):
        assert len(rows(twin.charged(Ask(sql, drawn=True, by=given)))) == 3
    assert refusals(twin.charged(Ask(sql, drawn=True, by=["seven", "a"]))) == ["22P02"]


def test_a_prior_that_excludes_the_truth_is_no_error(twin: Twin):
    found = twin.charged(
        Ask("SELECT dp.with_prior(cost, 'uniform(5000, 6000)') FROM visits WHERE person = 7", drawn=True),
        Ask("SELECT dp.with_prior(avg(cost), 'uniform(5000, 6000)') FROM visits", drawn=True),
        Ask("SELECT dp.with_prior(count(*), 'point(-3)') FROM visits", drawn=True),
        Ask(
            'SELECT dp.with_prior(sex, \'nominal(["x", "y"], [1, 1])\') FROM patients WHERE person = 7',
            drawn=True,
        ),
    )
    assert not refusals(found)
    assert rows(found)[::3] == [("noise",)] * 4


def test_statistical_answers_have_every_key(twin: Twin):
    found = twin.charged(
        "SELECT ward, dp.with_prior(sum(cost), 'uniform(0, 100000)'), dp.with_prior(avg(minutes), 'normal(30, 2)') "
        "FROM visits GROUP BY ward",
        Ask(
            "SELECT ward, count(*) FROM visits GROUP BY ward HAVING dp.with_prior(count(*), 'uniform(0, 9999)') > 900",
            filtered=True,
        ),
        "SELECT dp.with_prior(avg(cost), 'normal(20, 5)') FROM visits WHERE ward = 'hers alone'",
    )
    assert [row[0] for row in rows(found)[:4]] == [b"a", b"b", b"c", None]
    assert not refusals(found)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT dp.with_prior(avg(cost), prior => (SELECT cost, 1 FROM visits WHERE person = 7)) FROM visits",
        "SELECT dp.with_prior(avg(cost), prior => (SELECT cost, count(*) FROM visits GROUP BY cost)) FROM visits",
        "SELECT dp.with_prior(avg(cost), prior => (SELECT amount, 1 FROM salaries)) FROM visits",
        "SELECT dp.with_prior(avg(cost), family => 'normal', mean => avg(cost), sd => 1) FROM visits",
        "SELECT dp.with_prior(avg(cost), family => 'normal', mean => (SELECT 1 FROM visits), sd => 1) FROM visits",
        "SELECT dp.with_prior(cost, ward) FROM visits WHERE person = 7",
        "SELECT cost FROM visits WHERE person = 7",
        "SELECT count(*) FROM visits WHERE person = 7",
        f"SELECT {COST}, count(*) FROM visits WHERE person = 7",
        f"SELECT {COST}, cost FROM visits WHERE person = 7",
        f"SELECT {COST} FROM visits WHERE person >= 7",
        f"SELECT {COST} FROM visits WHERE person IN (7)",
        f"SELECT {COST} FROM visits WHERE person = 7 OR person = 8",
        f"SELECT {COST} FROM visits WHERE NOT person = 7",
        f"SELECT {COST} FROM visits WHERE person = 7 AND person = 8",
        f"SELECT {COST} FROM visits WHERE person = minutes",
        f"SELECT {COST} FROM visits WHERE person = (SELECT max(minutes) FROM visits)",
        f"SELECT {COST} FROM visits AS v (ward, person, cost, minutes) WHERE person = 'a'",
        f"SELECT {COST} FROM visits",
        f"SELECT {COST} FROM visits WHERE person = 7 GROUP BY ward",
        f"SELECT DISTINCT {COST} FROM visits WHERE person = 7",
        "SELECT dp.with_prior(v.cost, 'point(1)') FROM visits v, visits w WHERE v.person = 7 AND w.person = 7",
        "SELECT dp.with_prior(age, 'normal(40, 9)') FROM people WHERE id = 7",
        'SELECT dp.with_prior(secret, \'nominal(["s", "hers"], [1, 1])\') FROM people WHERE id = 7',
        "SELECT count(*) FROM visits WHERE dp.with_prior(cost, 'point(1)') = 1",
        "SELECT avg(x) FROM (SELECT dp.with_prior(avg(cost), 'point(1)') AS x FROM visits GROUP BY person) AS t",
        "SELECT with_prior(avg(cost), 'point(1)') FROM visits",
        "SELECT pg_catalog.with_prior(avg(cost), 'point(1)') FROM visits",
    ],
)
def test_everything_else_is_refused_alike(twin: Twin, sql: str):
    found = twin.charged(sql)
    [state] = refusals(found)
    assert state not in {"XX000", "53000"}


def test_she_is_answered_for_at_a_great_epsilon(loud: tuple[Proxy, Proxy]):
    """At epsilon 1,000,000 her value is what is drawn; where she is not, the prior's one likely value is."""
    call = "dp.with_prior(cost, 'table([0, 1000], [1099511627775, 1])')"
    sql = f"SELECT {call} FROM visits WHERE person = 7 AND minutes < 1"
    seen = []
    for side in loud:
        with Raw(side, "ann") as connection:
            [row] = [m.values() for m in connection.query(sql) if m.kind == "D"]
            seen.append(row)
    assert [float(value) for [value] in seen] == [0.0, 1000.0]  # false alarm 1e-12


def test_the_same_whole_numbers_in_another_unit_are_another_question(loud: tuple[Proxy, Proxy]):
    """``cost * 1`` and ``cost * 0.1`` are one whole number for each row, of cents and of tenths of them."""
    one, tenth = (f"dp.with_prior(sum(cost * {f}), 'uniform(0, 100000)')" for f in ("1", "0.1"))
    with Raw(loud[0], "ann") as connection:
        [both] = [m.values() for m in connection.query(f"SELECT {one}, {tenth} FROM visits") if m.kind == "D"]
        whole = float(both[0] or 0)
        assert abs(float(both[1] or 0) - whole / 10) < 1
        assert whole > 1000
        assert connection.value("SHOW dp.last_cost") == "1000000"
        connection.query(f"SELECT {one} FROM visits WHERE minutes < 30")
        connection.query(f"SELECT {tenth} FROM visits WHERE minutes < 30")
        assert connection.value("SHOW dp.last_cost") == "1000000"
