"""Attack: an expression that fails on her row only.

An error, a NULL or a missing row would tell that she is there. Each expression is total on every value its declared
domain allows, or refused before any row is read.
"""

import pytest

from tests.assurance.twin import Twin, refusals

ANSWERED = None
STATEMENTS = (
    ("SELECT sum(age / 0) FROM people", ANSWERED),
    ("SELECT sum(age / (id - 7)) FROM people", ANSWERED),
    ("SELECT sum(age % (id - 7)) FROM people", ANSWERED),
    ("SELECT sum(income / (id - 7)) FROM people", "PD003"),
    ("SELECT count(*) FROM people WHERE 1 / ratio > 0", ANSWERED),
    ("SELECT count(*) FROM people WHERE income / (id - 7) > 1", ANSWERED),
    ("SELECT sum(1 / ratio) FROM people", "PD003"),
    ("SELECT sum(sqrt(ratio - 5)) FROM people", ANSWERED),
    ("SELECT sum(ln(ratio)) FROM people", "PD003"),
    ("SELECT count(*) FROM people WHERE ln(ratio) > 0", ANSWERED),
    ("SELECT count(*) FROM people WHERE sqrt(ratio) >= 0", ANSWERED),
    ("SELECT sum(exp(ratio)) FROM people", ANSWERED),
    ("SELECT sum(exp(exp(exp(ratio)))) FROM people", "PD003"),
    ("SELECT count(*) FROM people WHERE exp(exp(exp(ratio))) > 1", ANSWERED),
    ("SELECT sum(income), avg(income), count(income) FROM people", ANSWERED),
    ("SELECT sum(income * income) FROM people", ANSWERED),
    ("SELECT sum(round(income, 2)), sum(floor(income)) FROM people", ANSWERED),
    ("SELECT sum(CAST(income AS integer)) FROM people", ANSWERED),
    ("SELECT sum(CAST(income AS smallint)) FROM people", "22003"),
    ("SELECT sum(CAST(big AS integer)) FROM people", "22003"),
    ("SELECT sum(age * 100000000) FROM people", "22003"),
    ("SELECT count(*) FROM people WHERE age * 100000000 > 5", "22003"),
    ("SELECT count(*) FROM people WHERE age + 2147483647 > 5", "22003"),
    ("SELECT sum(-big), sum(abs(big)) FROM people", ANSWERED),
    ("SELECT count(*) FROM people WHERE big + 1 > big", ANSWERED),
    ("SELECT sum(CAST(code AS integer)) FROM people", "0A000"),
    ("SELECT count(*) FROM people WHERE code::integer > 3", "0A000"),
    ("SELECT count(*) FROM people WHERE income = 'NaN'", "0A000"),
    ("SELECT count(*) FROM people WHERE income <> income", ANSWERED),
    ("SELECT count(*) FROM people WHERE huge > 3", "42703"),
    ("SELECT count(*) FROM people WHERE born > '2000-01-01'", ANSWERED),
    ("SELECT count(*) FROM people WHERE born + 1 > DATE '2000-01-01'", ANSWERED),
    ("SELECT count(*) FROM people WHERE born + big > DATE '2000-01-01'", "22003"),
    ("SELECT count(*) FROM people WHERE CAST(born AS timestamp) > TIMESTAMP '2000-01-01'", ANSWERED),
    ("SELECT count(*) FROM people WHERE seen < TIMESTAMP '2000-01-01'", ANSWERED),
    ("SELECT count(*) FROM people WHERE to_date(code, 'YYYY') > born", "0A000"),
    ("SELECT sum(length(code)) FROM people", ANSWERED),
    ("SELECT count(*) FROM people WHERE code LIKE '%\\'", "22025"),
    ("SELECT count(*) FROM people WHERE code LIKE town", "0A000"),
    ("SELECT count(*) FROM people WHERE code ~ '('", "22P02"),
    ("SELECT count(*) FROM people WHERE code ~ '(.)\\1'", "0A000"),
    ("SELECT count(*) FROM people WHERE code ~ '^[0-9]+$'", ANSWERED),
    ("SELECT count(*) FROM people WHERE repeat(code, 1000000) = ''", "54001"),
    ("SELECT count(*) FROM people WHERE repeat(code, age) = ''", "0A000"),
    ("SELECT count(*) FROM people WHERE CASE WHEN id = 7 THEN pg_sleep(1) END IS NULL", "42883"),
    ("SELECT sum(cost), avg(cost) FROM visits", ANSWERED),
    ("SELECT sum(minutes / minutes), avg(-minutes) FROM visits", ANSWERED),
)


@pytest.mark.parametrize(("sql", "refused"), STATEMENTS)
def test_an_expression_that_fails_on_her_row_only(twin: Twin, sql: str, refused: str | None):
    assert refusals(twin.charged(sql)) == ([] if refused is None else [refused])


def test_nobody_is_left_and_the_answer_is_still_a_number(twin: Twin):
    found = twin.charged("SELECT sum(age), avg(age), count(age) FROM people WHERE id = 7 AND id = 8")
    (row, *_) = [one for one in found if one[0] == "row"]
    assert row == ("row", "noise", "noise", "noise")
