from collections.abc import Callable

from dpproxy.pgcatalog import CatalogueView
from dpproxy.pgcatalog.pg_roles import role_oids


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
