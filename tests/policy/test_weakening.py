"""What of a changed policy may come into force by itself."""

import pytest

from dpproxy.policy.apply import apply
from dpproxy.policy.difference import Effect, differences
from dpproxy.policy.model import Policy
from dpproxy.policy.store import change_of
from dpproxy.policy.weakening import unweakened

FILE = (
    "CREATE PRIVACY BUDGET b LIMIT EPSILON 5 DELTA 0.001 USER LIMIT EPSILON 2",
    "ALTER TABLE p SET PRIVACY KEY (id) MAX ROWS 10",
    "ALTER TABLE p SET PRIVACY CEILING EPSILON 10",
    "ALTER TABLE p ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "GRANT SELECT ON p TO analyst WITH PRIVACY BUDGET b",
    "GRANT EXACT SELECT ON p TO dpo",
    "ALTER TABLE zips SET PRIVACY PUBLIC",
)


def made(*statements: str, of: Policy | None = None) -> Policy:
    policy = Policy() if of is None else of
    for sql in statements:
        policy = apply(policy, change_of(sql), None)
    return policy


@pytest.mark.parametrize(
    "tightened",
    [
        ("REVOKE SELECT ON p FROM analyst",),
        ("REVOKE EXACT SELECT ON p FROM dpo",),
        ("ALTER TABLE p SET PRIVACY KEY (id) MAX ROWS 3",),
        ("ALTER TABLE p SET PRIVACY KEY (id) MAX ROWS 10 MAX GROUPS 1",),
        ("ALTER TABLE p SET PRIVACY CEILING EPSILON 1",),
        ("CREATE PRIVACY BUDGET b LIMIT EPSILON 1",),
        ("CREATE PRIVACY BUDGET b LIMIT EPSILON 5 DELTA 0.001 USER LIMIT EPSILON 1",),
        ("CREATE PRIVACY BUDGET b LIMIT EPSILON 5 DELTA 0.001 USER LIMIT EPSILON 2 MAX EPSILON 0.1",),
        ("ALTER TABLE p ALTER COLUMN age SET PRIVACY HIDDEN",),
        ("ALTER TABLE p SET PRIVACY HIDDEN",),
        ("ALTER TABLE zips SET PRIVACY HIDDEN",),
        ("REVOKE SELECT ON p FROM analyst", "DROP PRIVACY BUDGET b"),
        ("ALTER TABLE p SET PRIVACY CEILING EPSILON 1", "REVOKE SELECT ON p FROM analyst"),
    ],
)
def test_what_was_tightened_stays_when_the_file_is_applied_again(tightened: tuple[str, ...]):
    in_force = made(*tightened, of=made(*FILE))
    after, left = unweakened(in_force, made(*FILE, of=in_force))
    assert left
    weaker = [d for d in differences(in_force, after) if d.effect is Effect.WEAKER]
    assert weaker == []


def test_what_tightens_and_what_is_neutral_is_taken_beside_it():
    in_force = made("REVOKE SELECT ON p FROM analyst", of=made(*FILE))
    new = (
        "ALTER TABLE p SET PRIVACY CEILING EPSILON 4",
        "ALTER TABLE p ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 120",
        "CREATE PRIVACY BUDGET c LIMIT EPSILON 1",
    )
    after, left = unweakened(in_force, made(*FILE, *new, of=in_force))
    assert [d.subject for d in left] == ["SELECT on p to analyst"]
    assert after == made(*new, of=in_force)


def test_a_table_that_the_file_makes_public_stays_as_it_is_with_its_ceiling():
    in_force = made(*FILE)
    after, left = unweakened(in_force, made("ALTER TABLE p SET PRIVACY PUBLIC", of=in_force))
    assert after.tables == in_force.tables
    assert {d.subject for d in left} == {"table p"}


def test_what_does_not_stand_without_the_rest_is_not_taken_at_all():
    """Of a table that is hidden, a grant without a budget is taken back where it is protected."""
    in_force = made(*FILE)
    public = made(
        "REVOKE SELECT ON p FROM analyst",
        "ALTER TABLE p SET PRIVACY PUBLIC",
        "REVOKE EXACT SELECT ON p FROM dpo",
        "ALTER TABLE zips SET PRIVACY HIDDEN",
        "ALTER TABLE p ALTER COLUMN zip SET PRIVACY DOMAIN REFERENCES p (id)",
        of=in_force,
    )
    after, _ = unweakened(in_force, public)
    assert all(d.effect is not Effect.WEAKER for d in differences(in_force, after))


def test_where_nothing_is_weaker_all_of_it_is_taken():
    in_force = made(*FILE)
    after = made("REVOKE SELECT ON p FROM analyst", of=in_force)
    assert unweakened(in_force, after) == (after, [])
