"""Budgets, grants and listings, as they are read and as they are refused."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.policy.interval import Interval, Step
from dpproxy.policy.parser import is_privacy_statement, parse
from dpproxy.policy.statements import (
    AdvanceDataVersion,
    Amount,
    CreateBudget,
    DropBudget,
    GrantSelect,
    Listing,
    ResetBudget,
    RevokeSelect,
    Show,
    Statement,
    Suggest,
)
from dpproxy.sql.cursor import Name
from dpproxy.values.errors import InvalidParameter, Refusal, SyntaxRefused, Unsupported

B = Name("b")


@pytest.mark.parametrize("reason", ["''", "'  '", f"'{'x' * 1001}'"])
def test_a_reason_is_given_and_not_a_novel(reason: str):
    sql = f"RESET PRIVACY BUDGET b REASON {reason}"
    with pytest.raises(InvalidParameter, match="a reason has 1 to 1000 characters") as caught:
        parse(sql)
    assert caught.value.position == sql.index("'")


@pytest.mark.parametrize(
    ("sql", "statement"),
    [
        ("CREATE PRIVACY BUDGET b LIMIT EPSILON 8", CreateBudget(B, Amount("LIMIT EPSILON", 8))),
        (
            """CREATE PRIVACY BUDGET b LIMIT EPSILON 8 DELTA 1e-6 USER LIMIT EPSILON 2 SESSION LIMIT EPSILON 1
               MAX EPSILON 0.5 DEFAULT EPSILON 0.1 REFRESH NEVER""",
            CreateBudget(
                B,
                Amount("LIMIT EPSILON", 8),
                Amount("LIMIT DELTA", Fraction(1, 10**6)),
                Amount("USER LIMIT EPSILON", 2),
                Amount("SESSION LIMIT EPSILON", 1),
                Amount("MAX EPSILON", Fraction(1, 2)),
                Amount("DEFAULT EPSILON", Fraction(1, 10)),
            ),
        ),
        (
            "CREATE PRIVACY BUDGET b LIMIT EPSILON 8 REFRESH EVERY '1 month'",
            CreateBudget(B, Amount("LIMIT EPSILON", 8), refresh=Interval(1, Step.MONTH)),
        ),
        ("RESET PRIVACY BUDGET b REASON 'a new study'", ResetBudget(B, None, "a new study")),
        (
            "reset privacy budget b for user \"Ann B\" reason ' she left; it''s his now '",
            ResetBudget(B, Name("Ann B"), "she left; it's his now"),
        ),
        ("drop privacy budget b;;", DropBudget(B)),
        (
            "GRANT SELECT ON t, public.u TO r, s WITH PRIVACY BUDGET b",
            GrantSelect((Name("t"), Name("u")), (Name("r"), Name("s")), B),
        ),
        ("GRANT SELECT ON TABLE t TO r", GrantSelect((Name("t"),), (Name("r"),))),
        ("REVOKE SELECT ON t FROM r", RevokeSelect((Name("t"),), (Name("r"),))),
        ("ADVANCE PRIVACY DATA VERSION", AdvanceDataVersion()),
        ("SHOW PRIVACY BUDGETS", Show(Listing.BUDGETS)),
        ("SHOW PRIVACY GRANTS", Show(Listing.GRANTS)),
        ("SHOW PRIVACY POLICY", Show(Listing.POLICY)),
        ("SHOW PRIVACY POLICY FOR t", Show(Listing.POLICY, Name("t"))),
        ("SUGGEST PRIVACY FOR public.t;", Suggest(Name("t"))),
        (
            "SUGGEST PRIVACY FOR t WITH EPSILON 0.1",
            Suggest(Name("t"), Amount("WITH EPSILON", Fraction(1, 10))),
        ),
    ],
)
def test_statements(sql: str, statement: Statement):
    assert parse(sql) == statement


@pytest.mark.parametrize(
    ("sql", "at", "message", "hint"),
    [
        (
            "CREATE PRIVACY BUGDET b LIMIT EPSILON 1",
            "BUGDET",
            'expected TAXONOMY or BUDGET after PRIVACY, found "bugdet"',
            "Did you mean BUDGET?",
        ),
        (
            "CREATE PRIVACY BUDGET b LIMIT EPSILON 8 MAX EPSLON 4",
            "EPSLON",
            'expected EPSILON after MAX, found "epslon"',
            "Did you mean EPSILON?",
        ),
        (
            "CREATE PRIVACY BUDGET b LIMIT EPSILON 'x'",
            "'x'",
            "expected a number after LIMIT EPSILON, found a text",
            None,
        ),
        (
            "GRANT SELECT ON t TOO r",
            "TOO",
            'expected ".", "," or TO after the table\'s name, found "too"',
            "Did you mean TO?",
        ),
        (
            "SHOW PRIVACY BUDGETS FOR t",
            "FOR",
            'expected the end of the statement after "budgets", found "for"',
            None,
        ),
        ("GRANT r TO s", "r TO", 'expected EXACT or SELECT after GRANT, found "r"', None),
        (
            "SELECT 1",
            "SELECT",
            (
                "expected ALTER, CREATE, DROP, GRANT, REVOKE, ADVANCE, SHOW, SUGGEST, REFRESH, VERIFY or RESET, "
                'found "select"'
            ),
            None,
        ),
        ("RESET PRIVACY BUDGET b;", ";", 'expected FOR or REASON after the budget\'s name, found ";"', None),
        (
            "RESET PRIVACY BUDGET b REASON why",
            "why",
            'expected a text in quotes after REASON, found "why"',
            None,
        ),
        (
            "CREATE PRIVACY BUDGET b LIMIT EPSILON 1 REFRESH EVERY month",
            "month",
            'expected a text in quotes after EVERY, found "month"',
            None,
        ),
        ("SUGGEST PRIVACY OF t", "OF", 'expected FOR after PRIVACY, found "of"', None),
        ("SUGGEST PRIVACY FOR t WITH 1", "1", "expected EPSILON after WITH, found a number", None),
        ("ADVANCE PRIVACY; SELECT 1", ";", 'expected DATA after PRIVACY, found ";"', None),
        (
            "ADVANCE PRIVACY DATA VERSION; SELECT 1",
            "SELECT",
            'expected the end of the statement after "version", found "select"',
            None,
        ),
    ],
)
def test_a_mistake_is_shown_where_it_stands(sql: str, at: str, message: str, hint: str | None):
    with pytest.raises(SyntaxRefused) as caught:
        parse(sql)
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert caught.value.position == sql.index(at)


@pytest.mark.parametrize(
    ("sql", "construct", "at"),
    [
        ("GRANT EXACT SELECT ON t TO r WITH PRIVACY BUDGET b", "EXACT SELECT with a budget", "WITH"),
        ("GRANT SELECT (c) ON t TO r", "SELECT on single columns", "("),
        ("GRANT SELECT ON t TO r WITH GRANT OPTION", "WITH GRANT OPTION", "GRANT OPTION"),
    ],
)
def test_what_is_not_there_yet_is_named(sql: str, construct: str, at: str):
    with pytest.raises(Unsupported) as caught:
        parse(sql)
    assert caught.value.message == f"{construct} is not supported yet"
    assert caught.value.position == sql.index(at)


_WORDS = """ALTER TABLE t SET PRIVACY KEY ( c ) ROW MAX ROWS 1 COLUMN DOMAIN IN 'a' , BETWEEN AND CREATE BUDGET LIMIT
SUGGEST REFERENCES DISCOVERED EPSILON 0.5 DELTA GRANT SELECT ON TO WITH REVOKE FROM SHOW POLICY FOR ; . - CEILING
HIDDEN PUBLIC DATE NULL"""


def refusal_of(sql: str) -> Refusal | None:
    try:
        parse(sql)
    except Refusal as refusal:
        return refusal
    return None


@given(st.lists(st.sampled_from(_WORDS.split()), max_size=15))
def test_any_sequence_of_words_is_read_or_refused_within_the_text(words: list[str]):
    sql = " ".join(words)
    refusal = refusal_of(sql)
    if refusal is not None:
        assert refusal.sqlstate in {"42601", "42P01", "0A000", "22P02"}
        assert refusal.position is not None
        assert 0 <= refusal.position <= len(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE t SET PRIVACY PUBLIC",
        ' /*+ dp(epsilon=1) */ alter\ttable "T" alter column c set privacy hidden',
        "CREATE PRIVACY BUDGET b LIMIT EPSILON 1",
        "DROP PRIVACY BUDGET b",
        "GRANT SELECT ON t TO r",
        "revoke nonsense",
        "ADVANCE PRIVACY DATA VERSION",
        "SHOW PRIVACY BUDGETS",
        "CREATE PROTECTED VIEW v AS SELECT 1",
        "REFRESH PROTECTED VIEW v",
        "VERIFY PROTECTED VIEW v",
        "DROP PROTECTED VIEW v",
        "SUGGEST PRIVACY FOR t",
        "GRANT",
    ],
)
def test_privacy_statements_are_recognised(sql: str):
    assert is_privacy_statement(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "SELECT 'SET PRIVACY'",
        "SHOW server_version",
        'SHOW "privacy"',
        '"grant" select',
        "ALTER TABLE t ADD COLUMN c int",
        "ALTER TABLE t SET 'privacy'",
        "EXPLAIN (PRIVACY) SELECT 1",
        "CREATE VIEW privacy AS SELECT 1",
        "ALTER TABLE t SET (\"privacy\" = 'privacy')",
        "'unterminated",
    ],
)
def test_other_statements_are_not(sql: str):
    assert not is_privacy_statement(sql)


@given(st.text())
def test_recognising_never_raises(sql: str):
    assert is_privacy_statement(sql) in {True, False}
