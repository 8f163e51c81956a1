"""The errors that a policy lets people expect."""

from dpproxy.web.expected import questions
from tests.web.pages import Site

DECLARED = [
    {"column": None, "declaration": "KEY ROW"},
    {"column": "age", "declaration": "DOMAIN BETWEEN 0 AND 90 OUTSIDE CLAMP"},
    {"column": "Ward", "declaration": "DOMAIN IN ('a', 'b')"},
    {"column": "note", "declaration": "CLASS IDENTIFIER"},
]


def test_questions_follow_from_what_is_declared():
    assert list(questions("visits", DECLARED)) == [
        ("a count", "SELECT count(*) AS n FROM visits"),
        ("a count by Ward, 2 groups", 'SELECT "Ward", count(*) AS n FROM visits GROUP BY "Ward"'),
        ("an average of age", "SELECT avg(age) AS n FROM visits"),
    ]


def test_each_role_is_told_what_its_answers_are_worth(shared: Site):
    shown = shared.browser("root").open("/policy?table=visits")
    assert "What answers are worth" in shown.words
    assert "analyst a count by ward, 3 groups ± " in shown.words
    assert "0.1 10 " in shown.words  # epsilon, and how many such questions the budget of 1 has left
    assert "EXPLAIN" not in shared.browser("root").open("/audit").words


def test_a_public_table_is_exact(shared: Site):
    shown = shared.browser("root").open("/policy?table=wards")
    assert "analyst a count exact 0 any number" in shown.words
