from collections.abc import Callable

import pytest
from msgspec.structs import replace

from dpproxy.pgcatalog import Catalogue, CatalogueView
from dpproxy.pgcatalog.tables.roles import role_oids
from dpproxy.sql import grammar
from dpproxy.values.errors import UndefinedObject
from tests.pgcatalog.conftest import Ask


def test_roles_and_the_caller_who_alone_may_log_in(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT rolname, rolcanlogin, rolsuper FROM pg_roles ORDER BY 1") == [
        ("admin", False, False),
        ("ana", True, False),
        ("analyst", False, False),
    ]


def test_oids_differ_and_the_owner_has_ten(view: CatalogueView):
    found = role_oids(view)
    assert found["admin"] == 10
    assert len(set(found.values())) == 3


def test_the_caller(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT usename, usesuper FROM pg_user") == [("ana", False)]


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


def test_settings_of_roles(catalogue: Catalogue, view: CatalogueView):
    told = (
        ("", "", ("jit=on",)),
        ("ana", "", ("work_mem=1GB", "jit=off")),
        ("ana", "main", ("dp.epsilon=0.1",)),
    )
    seen = replace(view, role_defaults=told)

    def ask(sql: str) -> list[tuple[object, ...]]:
        return list(catalogue.run(seen, grammar.parse(sql)[0], (), {}).rows)

    listed = (
        "SELECT rolname, datname, array_to_string(setconfig, ', ') FROM pg_db_role_setting s LEFT JOIN pg_database d "
        "ON d.oid = setdatabase LEFT JOIN pg_roles r ON r.oid = setrole ORDER BY 1, 2"
    )
    assert ask(listed) == [
        ("ana", "main", "dp.epsilon=0.1"), ("ana", None, "work_mem=1GB, jit=off"), (None, None, "jit=on"),
    ]  # fmt: skip
    assert ask("SELECT rolconfig FROM pg_roles WHERE rolname = 'ana'") == [(["work_mem=1GB", "jit=off"],)]
    assert ask("SELECT useconfig FROM pg_user") == [(["work_mem=1GB", "jit=off"],)]
