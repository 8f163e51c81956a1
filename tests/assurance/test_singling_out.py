"""Attack: make one person's presence the whole answer.

A condition that only she meets, or a value so large that no noise covers it. Refusing would already tell that the
condition is narrow, so each statement is answered or refused by the policy alone: bounds come from the
declared domains, values are clamped to them, and the noise is scaled to what the bounds allow.
"""

from decimal import Decimal

import pytest

from tests.assurance.raw import Raw
from tests.assurance.twin import Ask, Twin, refusals
from tests.proxies import Proxy

ANSWERED = None
STATEMENTS = (
    ("SELECT sum(CASE WHEN id = 7 THEN 1e12 END) FROM people", ANSWERED),
    ("SELECT sum(CASE WHEN id = 7 THEN 1000000000000 ELSE 0 END) FROM people", ANSWERED),
    ("SELECT sum(CASE WHEN id = 7 THEN 1e300 END) FROM people", "PD003"),
    ("SELECT sum(CASE WHEN id = 7 THEN 9223372036854775807 ELSE 0 END) FROM people", "PD003"),
    ("SELECT avg(age), count(age), sum(age) FROM people WHERE id = 7", ANSWERED),
    (
        "SELECT count(*) FROM people WHERE id = 7 AND age = 110 AND NOT (ratio > 0) AND code = '12abc'",
        ANSWERED,
    ),
    ("SELECT count(*) FROM people WHERE id BETWEEN 7 AND 7 OR id IN (7)", ANSWERED),
    ("SELECT town, avg(CASE WHEN id = 7 THEN income END) FROM people GROUP BY town", ANSWERED),
    ("SELECT sum(income * big) FROM people WHERE id = 7", ANSWERED),
    ("SELECT sum(big * big) FROM people WHERE id = 7", "22003"),
    ("SELECT count(*) FROM people WHERE secret = 'hers'", "42703"),
    ("SELECT sum(minutes) FROM visits WHERE person = 7", "42501"),
    ("SELECT min(income), max(big) FROM people", ANSWERED),
    ("SELECT max(income) FROM people WHERE id = 7", ANSWERED),
    ("SELECT min(secret) FROM people", "42703"),
    ("SELECT any_value(age) FROM people WHERE id = 7", "0A000"),
    ("SELECT age FROM people WHERE id = 7", "42501"),
    ("SELECT * FROM people WHERE id = 7", "42501"),
    ("SELECT count(*) FROM people WHERE (SELECT count(*) FROM people p WHERE p.id = 7) > 0", ANSWERED),
    ("SELECT count(*) FROM people WHERE age > (SELECT age FROM people p WHERE p.id = 7)", "PD002"),
    ("SELECT count(*) OVER () FROM people", "42501"),
    ("SELECT string_agg(code, ',') FROM people", "0A000"),
)


@pytest.mark.parametrize(("sql", "refused"), STATEMENTS)
def test_a_condition_only_she_meets(twin: Twin, sql: str, refused: str | None):
    assert refusals(twin.charged(sql)) == ([] if refused is None else [refused])


def test_the_same_through_parameters(twin: Twin):
    count = "SELECT count(*) FROM people WHERE id = $1"
    assert refusals(twin.charged(Ask(count, by=["7"]), Ask(count, by=["8"]), Ask(count, by=[None]))) == []
    assert refusals(twin.charged(Ask(count, by=["seven"]))) == ["22P02"]
    assert (
        refusals(
            twin.charged(Ask("SELECT sum(CASE WHEN id = 7 THEN $1::numeric END) FROM people", by=["1e12"]))
        )
        == []
    )


def test_a_huge_value_is_covered_by_noise_as_large(proxies: tuple[Proxy, Proxy]):
    """False alarm: the noise of a mechanism of epsilon 0.1 is within 1e-10 of its bound: below 1e-10.

    With 0 for the others, it would be a count times the value, whose noise is 0 in one of 20 answers.
    """
    sql = "SELECT sum(CASE WHEN id = 7 THEN 1000000000000 ELSE age - age END) FROM people WHERE age >= 0"
    with Raw(proxies[0]) as without_her, Raw(proxies[1]) as with_her:
        assert abs(Decimal(without_her.value(sql))) > 100
        assert abs(Decimal(with_her.value(sql)) - 10**12) > 100
