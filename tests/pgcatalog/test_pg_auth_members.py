"""Who has which role: asked of the tables, and of pg_has_role."""

import pytest

from dpproxy.values.errors import UndefinedObject
from tests.pgcatalog.conftest import Ask

MEMBERS = """
SELECT r.rolname, m.rolname, g.rolname, a.admin_option FROM pg_auth_members a
JOIN pg_roles r ON r.oid = a.roleid JOIN pg_roles m ON m.oid = a.member JOIN pg_roles g ON g.oid = a.grantor
"""


def test_the_callers_roles_are_members_rows(ask: Ask):
    assert ask(MEMBERS) == [("analyst", "ana", "admin", False)]


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("pg_has_role('analyst', 'MEMBER')", True),
        ("pg_has_role('analyst', 'usage')", True),
        ("pg_has_role('ana', 'MEMBER')", True),
        ("pg_has_role(current_user, 'USAGE')", True),
        ("pg_has_role('admin', 'MEMBER')", False),
        ("pg_has_role('pg_monitor', 'MEMBER')", False),
        ("pg_has_role('analyst', 'MEMBER WITH ADMIN OPTION')", False),
        ("pg_has_role('ana', 'analyst', 'MEMBER')", True),
        ("pg_has_role('ana', 'admin', 'MEMBER')", False),
        ("pg_has_role('analyst', 'ana', 'MEMBER')", False),
        ("pg_has_role('admin', 'admin', 'MEMBER')", True),
        ("pg_has_role(NULL, 'MEMBER')", None),
    ],
)
def test_a_role_is_the_callers_or_it_is_not(ask: Ask, call: str, wanted: object):
    assert ask(f"SELECT {call}") == [(wanted,)]


def test_each_role_is_asked_for_by_its_name_or_number(ask: Ask):
    for shown in ("oid", "rolname"):
        sql = f"SELECT rolname FROM pg_roles WHERE pg_has_role({shown}, 'USAGE') ORDER BY 1"
        assert ask(sql) == [("ana",), ("analyst",)]


def test_a_role_that_there_is_not(ask: Ask):
    with pytest.raises(UndefinedObject, match='role "nobody" does not exist'):
        ask("SELECT pg_has_role('nobody', 'MEMBER')")
