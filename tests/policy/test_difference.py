"""Every kind of change is told with what it does to guarantees and budgets."""

from fractions import Fraction

import pytest

from dpproxy.policy.apply import apply
from dpproxy.policy.difference import Effect, differences, explanation
from dpproxy.policy.dump import dump, named_statements
from dpproxy.policy.model import OptionValue, Policy, ProtectedView
from dpproxy.policy.store import change_of

BEFORE = (
    "ALTER TABLE regions SET PRIVACY PUBLIC",
    "ALTER TABLE patients SET PRIVACY KEY (id) MAX ROWS 2",
    "ALTER TABLE patients SET PRIVACY CEILING EPSILON 3",
    "ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm')",
    "CREATE PRIVACY BUDGET research LIMIT EPSILON 2",
    "GRANT SELECT ON patients TO analyst WITH PRIVACY BUDGET research",
)
W, S, N = Effect.WEAKER, Effect.STRONGER, Effect.SAME
PATIENTS = "ALTER TABLE patients SET PRIVACY"

CASES: tuple[tuple[str, Effect, str], ...] = (
    ("ALTER TABLE regions SET PRIVACY HIDDEN", S, "does not exist for anybody"),
    ("ALTER TABLE other SET PRIVACY PUBLIC", W, "may be read as they are"),
    ("ALTER TABLE other SET PRIVACY KEY ROW", W, "may be asked about"),
    ("ALTER TABLE other SET PRIVACY HIDDEN", N, "exists for nobody, as before"),
    (f"{PATIENTS} KEY ROW", W, "about one row, no longer about all rows of one id"),
    (f"{PATIENTS} KEY (person) MAX ROWS 2", W, "about one person, no longer about one id"),
    (f"{PATIENTS} KEY (id) MAX ROWS 5", W, "up to 5 rows of a unit count, it was 2: more noise"),
    (f"{PATIENTS} KEY (id) MAX ROWS 1", S, "rows beyond are left out"),
    (f"{PATIENTS} KEY (id) MAX ROWS 2 MAX GROUPS 1", S, "up to 1 groups"),
    (f"{PATIENTS} CEILING EPSILON 5", W, "2 more epsilon may be learned about one unit"),
    (f"{PATIENTS} CEILING EPSILON 2.5", S, "0.5 less epsilon may be learned about one unit; what was spent"),
    (f"{PATIENTS} CEILING EPSILON 3 DELTA 0.001", W, "0.001 more delta"),
    (f"{PATIENTS} CEILING EPSILON 3 DELTA 0.001 ACCOUNTANT ZCDP", W, "add up by ZCDP, it was BASIC"),
    (f"{PATIENTS} EXPECTED ROWS 100", N, "deadlines"),
    ("ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 200", N, "wider bounds: more noise"),
    ("ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 50", N, "moved to them"),
    ("ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100 OUTSIDE NULL", N, "become NULL"),
    ("ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100 NOT NULL", N, "becomes the middle"),
    ("ALTER TABLE patients ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'x', 'y')", N, "2 values more and 1 less"),
    ("ALTER TABLE patients ALTER COLUMN sex SET PRIVACY DOMAIN DISCOVERED", W, "shown as keys, for delta"),
    ("ALTER TABLE patients ALTER COLUMN town SET PRIVACY DOMAIN IN ('a')", W, "can be computed with"),
    ("ALTER TABLE patients ALTER COLUMN town SET PRIVACY CLASS SENSITIVE", N, "from their next build on"),
    ("ALTER TABLE patients ALTER COLUMN town SET PRIVACY DOMAIN REFERENCES regions (name)", W, "can be computed with"),
    ("CREATE PRIVACY BUDGET more LIMIT EPSILON 1", N, "may spend epsilon 1 of it"),
    ("GRANT SELECT ON patients TO clerk WITH PRIVACY BUDGET research", W, "clerk may ask about patients, paid from"),
    ("REVOKE SELECT ON patients FROM analyst", S, "analyst may not ask about patients"),
    ("GRANT EXACT SELECT ON patients TO auditor", W, "auditor reads patients without noise, each time on record"),
    ("CREATE PRIVACY TAXONOMY tree ON regions (name, parent)", N, "follow it"),
)  # fmt: skip


def made(*statements: str, of: Policy | None = None) -> Policy:
    policy = Policy() if of is None else of
    for sql in statements:
        policy = apply(policy, change_of(sql), None)
    return policy


@pytest.mark.parametrize(("sql", "effect", "meaning"), CASES)
def test_a_change_is_told_with_what_it_means(sql: str, effect: Effect, meaning: str):
    before = made(*BEFORE)
    [found] = differences(before, made(sql, of=before))
    assert (found.effect, meaning in found.meaning) == (effect, True), found.meaning
    assert found.was != found.now


def test_what_is_gone_is_told_first_and_the_way_back_is_the_other_effect():
    before = made(*BEFORE)
    after = made(f"{PATIENTS} CEILING EPSILON 5", "REVOKE SELECT ON patients FROM analyst", of=before)
    assert [d.subject for d in differences(before, after)] == [
        "SELECT on patients to analyst",
        "table patients",
    ]
    assert [d.effect for d in differences(before, after)] == [S, W]
    assert [d.effect for d in differences(after, before)] == [S, W]
    assert differences(before, before) == []


def test_a_reference_that_goes_is_told():
    visits = "ALTER TABLE visits SET PRIVACY KEY (id)"
    before = apply(Policy(), change_of(f"{visits} REFERENCES patients (id)"), None)
    [found] = differences(before, apply(before, change_of(visits), None))
    assert "about one id, no longer about one id of patients" in str(found)


def test_limits_of_a_budget():
    limits = "LIMIT EPSILON 3 USER LIMIT EPSILON 1 MAX EPSILON 0.5 DEFAULT EPSILON 0.1"
    before = made("CREATE PRIVACY BUDGET b LIMIT EPSILON 2")
    after = made(f"CREATE PRIVACY BUDGET b {limits} REFRESH EVERY '1 month'")
    [there], [back] = differences(before, after), differences(after, before)
    assert (there.effect, back.effect) == (W, W)
    for text in (
        "1 more epsilon may be spent",
        "one user may spend epsilon 1",
        "one statement",
        "refills every",
    ):
        assert text in there.meaning
    for text in ("1 less epsilon", "one user may spend all of it", "it never refills", "pays another one"):
        assert text in back.meaning


def test_what_one_user_may_learn_of_a_budget_that_shares():
    alone = made("CREATE PRIVACY BUDGET b LIMIT EPSILON 2 USER LIMIT EPSILON 1")
    together = made("CREATE PRIVACY BUDGET b LIMIT EPSILON 2 USER LIMIT EPSILON 1 SHARE RELEASES")
    [there], [back] = differences(alone, together), differences(together, alone)
    assert (there.effect, back.effect) == (W, S)
    assert "one user may learn its whole limit, epsilon 2" in there.meaning
    assert "USER LIMIT bounds what one user may learn" in back.meaning
    for text in (there.meaning, back.meaning):
        assert "charged when they are asked for again" in text


def test_views_by_what_is_read_of_them():
    none, one = Policy(), views("SELECT age FROM patients", method="dp_kdtree", epsilon=Fraction(1, 2))
    [there], [back] = differences(none, one), differences(one, none)
    assert (there.effect, there.meaning) == (
        W,
        "whoever it is granted to reads what dp_kdtree makes of its query at epsilon 0.5",
    )
    assert (back.effect, back.meaning) == (S, "its rows are dropped; what was read of them stays known")


AGE, AGES = "SELECT age FROM patients", "SELECT age, sex FROM patients"
KDTREE, MDAV = {"method": "dp_kdtree", "epsilon": 1}, {"method": "mdav", "k": 5}


@pytest.mark.parametrize(
    ("was", "now", "effect", "words"),
    [
        ((AGE, KDTREE), (AGES, KDTREE), W, "it is made of another query"),
        ((AGE, KDTREE), (AGE, {**KDTREE, "epsilon": 2}), W, "epsilon is 2, it was 1"),
        ((AGE, KDTREE), (AGE, {**KDTREE, "epsilon": Fraction(1, 2)}), S, "epsilon is 0.5, it was 1"),
        (
            (AGE, KDTREE),
            (AGE, {**KDTREE, "k": 9}),
            N,
            "REFRESH PROTECTED VIEW builds it anew, and charges it",
        ),
        ((AGE, KDTREE), (AGE, MDAV), W, "it is made by mdav, it was dp_kdtree"),
        ((AGE, MDAV), (AGE, KDTREE), S, "it is made by dp_kdtree, it was mdav"),
        ((AGE, MDAV), (AGE, {**MDAV, "k": 3}), W, "k is 3, it was 5"),
        ((AGE, MDAV), (AGE, {**MDAV, "k": 9}), S, "k is 9, it was 5"),
        ((AGE, MDAV), (AGE, {"method": "mdav"}), W, "k is left to the method, it was 5"),
        (
            (AGE, KDTREE),
            (AGE, {**KDTREE, "method": "dp_microaggregation"}),
            N,
            "it is made by dp_microaggregation",
        ),
        ((AGE, MDAV), (AGE, {**MDAV, "method": "ir_swap"}), W, "it is made by ir_swap, it was mdav"),
        ((AGE, MDAV), (AGE, {**MDAV, "scale": "range"}), W, "scale is range, it was left to the method"),
        ((AGE, MDAV), (AGE, {**MDAV, "charge": "research"}), N, "builds it anew"),
        (
            (AGE, {"method": "t_closeness", "release": "anatomy"}),
            (AGE, {"method": "t_closeness", "release": "permuted"}),
            W,
            "release is",
        ),
        ((AGE, {**KDTREE, "release": "query"}), (AGE, KDTREE), W, "its rows are released"),
        ((AGE, KDTREE), (AGE, {**KDTREE, "release": "query"}), S, "only answers are released"),
    ],
)
def test_a_view_that_is_declared_otherwise(
    was: tuple[str, dict[str, OptionValue]],
    now: tuple[str, dict[str, OptionValue]],
    effect: Effect,
    words: str,
):
    [found] = differences(*(views(query, **options) for query, options in (was, now)))
    assert found.effect is effect
    assert words in found.meaning


def views(query: str, **options: OptionValue) -> Policy:
    return Policy(views={"v": ProtectedView("v", tuple(sorted(options.items())), query)})


def test_people_read_what_was_and_what_is():
    before = made(*BEFORE)
    lines = list(explanation(differences(before, made(f"{PATIENTS} CEILING EPSILON 5", of=before))))
    assert lines == [
        "table patients [weaker]: 2 more epsilon may be learned about one unit",
        f"  was: {PATIENTS} CEILING EPSILON 3 DELTA 0 ACCOUNTANT BASIC",
        f"  now: {PATIENTS} CEILING EPSILON 5 DELTA 0 ACCOUNTANT BASIC",
    ]


def test_no_two_statements_declare_the_same():
    policy = made(
        *BEFORE,
        "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY CLASS SENSITIVE",
        f"{PATIENTS} EXPECTED ROWS 5",
    )
    found = list(named_statements(policy))
    assert len({subject for subject, _ in found}) == len(found)
    assert [text for _, text in found] == dump(policy)
