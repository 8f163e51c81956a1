"""Budgets and grants."""

from collections.abc import Callable
from fractions import Fraction

import pytest

from dpproxy.policy.apply import apply
from dpproxy.policy.dump import dump
from dpproxy.policy.interval import CalendarInterval, Step
from dpproxy.policy.model import Budget, ExactGrant, Grant, Policy
from dpproxy.policy.store import change_of
from dpproxy.values.errors import (
    BoundsMissing,
    DependentObjects,
    InvalidParameter,
    UndefinedObject,
    UndefinedTable,
    Unsupported,
)
from dpproxy.values.pgtypes import INT8, Column, Schema, View

Apply = Callable[..., Policy]
BUDGET = "CREATE PRIVACY BUDGET research LIMIT EPSILON 8"
PROTECT = "ALTER TABLE patients SET PRIVACY KEY (patient_id)"
GRANT = "GRANT SELECT ON patients TO analysts WITH PRIVACY BUDGET research"


def test_a_budget_with_every_limit(applied: Apply):
    policy = applied(
        BUDGET
        + " DELTA 1e-6 DEFAULT EPSILON 0.1 MAX EPSILON 0.5 SESSION LIMIT EPSILON 1 USER LIMIT EPSILON 2"
    )
    assert policy.budgets["research"] == Budget(
        "research",
        limit=Fraction(8),
        delta=Fraction(1, 10**6),
        user_limit=Fraction(2),
        session_limit=Fraction(1),
        max_epsilon=Fraction(1, 2),
        default_epsilon=Fraction(1, 10),
    )


def test_created_again_it_is_replaced_and_otherwise_the_same(applied: Apply):
    policy = applied(BUDGET)
    assert applied(BUDGET, to=policy) == policy
    lowered = applied("CREATE PRIVACY BUDGET research LIMIT EPSILON 4", to=policy)
    assert lowered.budgets["research"].limit == 4


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("USER LIMIT EPSILON 9", "USER LIMIT EPSILON is larger than LIMIT EPSILON"),
        (
            "USER LIMIT EPSILON 2 SESSION LIMIT EPSILON 3",
            "SESSION LIMIT EPSILON is larger than USER LIMIT EPSILON",
        ),
        ("SESSION LIMIT EPSILON 1 MAX EPSILON 2", "MAX EPSILON is larger than SESSION LIMIT EPSILON"),
        ("MAX EPSILON 0.5 DEFAULT EPSILON 0.6", "DEFAULT EPSILON is larger than MAX EPSILON"),
        ("DEFAULT EPSILON 10", "DEFAULT EPSILON is larger than LIMIT EPSILON"),
        ("MAX EPSILON 0", "MAX EPSILON must be between"),
        ("DELTA 1", "LIMIT DELTA must be at least 0"),
    ],
)
def test_limits_make_sense_together(applied: Apply, clauses: str, message: str):
    with pytest.raises(InvalidParameter) as caught:
        applied(f"{BUDGET} {clauses}")
    assert caught.value.message.startswith(message)
    assert caught.value.position is not None


def test_grants_are_sorted_and_one_for_each_budget_of_a_role(applied: Apply):
    policy = applied(
        PROTECT,
        "ALTER TABLE visits SET PRIVACY KEY (patient_id)",
        BUDGET,
        "CREATE PRIVACY BUDGET other LIMIT EPSILON 1",
        "GRANT SELECT ON visits, patients TO interns, analysts WITH PRIVACY BUDGET other",
        GRANT,
    )
    assert policy.grants == (
        Grant("patients", "analysts", "other"),
        Grant("patients", "analysts", "research"),
        Grant("patients", "interns", "other"),
        Grant("visits", "analysts", "other"),
        Grant("visits", "interns", "other"),
    )
    assert applied(GRANT, to=policy) == policy
    assert applied(*dump(policy)) == policy
    taken = applied("REVOKE SELECT ON patients FROM analysts", to=policy)
    assert [g for g in taken.grants if (g.table, g.role) == ("patients", "analysts")] == []


def test_a_grant_without_a_budget_says_nothing_beside_one_that_names_it(applied: Apply):
    bare = "GRANT SELECT ON regions TO analysts"
    paid = f"{bare} WITH PRIVACY BUDGET research"
    public = applied("ALTER TABLE regions SET PRIVACY PUBLIC", BUDGET, bare)
    assert public.grants == (Grant("regions", "analysts", None),)
    both = applied(paid, to=public)
    assert both.grants == (Grant("regions", "analysts", "research"),)
    assert applied(bare, to=both) == both


def test_a_budget_refills_as_it_is_declared(applied: Apply):
    policy = applied(f"{BUDGET} REFRESH EVERY '2 weeks'")
    assert policy.budgets["research"].refresh == CalendarInterval(2, Step.WEEK)
    assert applied(*dump(policy)) == policy
    assert applied(f"{BUDGET} REFRESH NEVER", to=policy).budgets["research"].refresh is None


def test_revoke_takes_back_and_is_idempotent(applied: Apply):
    revoke = "REVOKE SELECT ON patients FROM analysts"
    policy = applied(PROTECT, BUDGET, GRANT, revoke)
    assert policy.grants == ()
    assert applied(revoke, to=policy) == policy


def test_a_protected_table_is_paid_for(applied: Apply):
    sql = "GRANT SELECT ON regions, patients TO analysts"
    with pytest.raises(BoundsMissing) as caught:
        applied(PROTECT, sql)
    assert caught.value.position == sql.index("patients")
    assert "WITH PRIVACY BUDGET" in (caught.value.hint or "")


def test_a_public_table_is_free(applied: Apply):
    policy = applied("ALTER TABLE regions SET PRIVACY PUBLIC", "GRANT SELECT ON regions TO analysts")
    assert policy.grants == (Grant("regions", "analysts", None),)


@pytest.mark.parametrize("role", ["admin", "ADMIN", '"public"'])
def test_some_roles_get_nothing(applied: Apply, role: str):
    sql = f"GRANT SELECT ON patients TO {role} WITH PRIVACY BUDGET research"
    with pytest.raises(InvalidParameter) as caught:
        applied(PROTECT, BUDGET, sql)
    assert caught.value.position == sql.index(role)


def test_exact_answers_are_granted_and_taken_by_themselves(applied: Apply):
    policy = applied(
        PROTECT, "GRANT EXACT SELECT ON patients TO dpo, auditor", "REVOKE SELECT ON patients FROM dpo"
    )
    assert policy.exact == (ExactGrant("patients", "auditor"), ExactGrant("patients", "dpo"))
    assert policy.grants == ()
    policy = applied("REVOKE EXACT SELECT ON patients FROM auditor, nobody", to=policy)
    assert policy.exact == (ExactGrant("patients", "dpo"),)
    assert applied("ALTER TABLE patients SET PRIVACY HIDDEN", to=policy).exact == ()


@pytest.mark.parametrize("role", ["admin", "public"])
def test_exact_answers_are_nobodys_by_default_and_never_these(applied: Apply, role: str):
    with pytest.raises(InvalidParameter, match="nothing is granted"):
        applied(PROTECT, f"GRANT EXACT SELECT ON patients TO {role}")


def test_exact_answers_are_of_protected_tables(applied: Apply):
    for before in ("ALTER TABLE regions SET PRIVACY PUBLIC", "ALTER TABLE regions SET PRIVACY HIDDEN"):
        with pytest.raises(InvalidParameter, match="is not protected"):
            applied(before, "GRANT EXACT SELECT ON regions TO dpo")


def test_unknown_names(applied: Apply):
    with pytest.raises(UndefinedObject) as caught:
        applied(PROTECT, GRANT)
    assert caught.value.position == GRANT.index("research")
    assert "First CREATE PRIVACY BUDGET research" in (caught.value.hint or "")
    with pytest.raises(UndefinedObject) as caught:
        applied("DROP PRIVACY BUDGET research")
    assert caught.value.hint == "SHOW PRIVACY BUDGETS; lists those there are."
    with pytest.raises(UndefinedTable):
        applied(BUDGET, "GRANT SELECT ON gone TO analysts WITH PRIVACY BUDGET research")
    with pytest.raises(UndefinedTable):
        applied("REVOKE SELECT ON gone FROM analysts")


def test_a_budget_in_use_is_not_dropped(applied: Apply):
    policy = applied(PROTECT, BUDGET, GRANT)
    with pytest.raises(DependentObjects) as caught:
        applied("DROP PRIVACY BUDGET research", to=policy)
    assert caught.value.position == 20
    gone = applied("REVOKE SELECT ON patients FROM analysts", "DROP PRIVACY BUDGET research", to=policy)
    assert gone.budgets == {}


VIEWED = Schema(
    {"people": (Column("id", INT8),), "regions": (Column("id", INT8),)},
    views={
        "ours": View("", ("id",), ("people", "names"), None),
        "names": View("", ("id",), ("regions",), None),
        "odd": View("", ("id",), (), "PIVOT is not supported"),
    },
)


def on_views(*statements: str) -> Policy:
    policy = Policy()
    for statement in (
        "ALTER TABLE people SET PRIVACY KEY ROW",
        "ALTER TABLE regions SET PRIVACY PUBLIC",
        "CREATE PRIVACY BUDGET lab LIMIT EPSILON 1",
        *statements,
    ):
        policy = apply(policy, change_of(statement), VIEWED)
    return policy


def test_a_view_is_granted_as_what_it_reads():
    policy = on_views("GRANT SELECT ON ours TO a WITH PRIVACY BUDGET lab", "GRANT SELECT ON names TO a")
    assert policy.grants == (Grant("names", "a", None), Grant("ours", "a", "lab"))
    read_back = Policy()
    for statement in dump(policy):
        read_back = apply(read_back, change_of(statement), None)
    assert read_back.grants == policy.grants
    with pytest.raises(BoundsMissing, match='"ours" is protected'):
        on_views("GRANT SELECT ON ours TO a")


def test_a_view_that_cannot_be_used_is_not_granted():
    with pytest.raises(Unsupported, match='view "odd" cannot be used: PIVOT is not supported') as error:
        on_views("GRANT SELECT ON names, odd TO a")
    assert error.value.position == 23
    assert on_views("REVOKE SELECT ON odd FROM a").grants == ()


def test_a_view_declares_nothing():
    with pytest.raises(UndefinedTable) as error:
        on_views("ALTER TABLE ours SET PRIVACY PUBLIC")
    assert error.value.hint == "It is a view: declare the tables it reads, and GRANT SELECT ON it."
