"""Users and roles on the page: what administrators do, and that nobody else does."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dpproxy.config.users import LEAST_PASSWORD, read_users
from dpproxy.web.users import SHORTEST
from tests.proxies import PASSWORD
from tests.web.pages import Site, site

NEW = "staple battery horse"


def test_the_page_asks_for_as_long_a_password_as_the_proxy():
    assert SHORTEST == LEAST_PASSWORD


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as found:
        yield found


def test_a_user_is_added_changed_and_removed(own: Site):
    root = own.browser("root")
    assert "What roles may read" in root.open("/users").words
    made = root.submit("/users", what="create", user="cat", role="analyst, guest", password=NEW, again=NEW)
    assert "CREATE USER cat IN ROLE analyst, guest PASSWORD '…'" in made.words
    assert "SCRAM" not in made.text
    cat = own.browser()
    assert cat.log_in("cat", NEW).status == 200
    root.submit("/users", what="grant", user="cat", role="admin")
    root.submit("/users", what="revoke", user="cat", role="guest")
    assert read_users(own.proxy.folder / "users.toml")["cat"].roles == {"analyst", "admin"}
    root.submit("/users", what="password", user="cat", password=PASSWORD)
    assert "Log in" in own.browser().log_in("cat", NEW).words
    assert own.browser().log_in("cat").status == 200
    root.submit("/users", what="drop", user="cat")
    assert "cat" not in root.open("/users").words.split()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"password": "short", "again": "short"}, "12 characters at least"),
        ({"password": NEW, "again": NEW + "x"}, "the two passwords differ"),
        ({"password": NEW, "again": NEW, "user": "ann"}, "already exists"),
        ({"password": NEW, "again": NEW, "role": "No Role"}, "lower-case"),
    ],
)
def test_a_user_that_cannot_be(own: Site, fields: dict[str, str], words: str):
    root = own.browser("root")
    root.open("/users")
    refused = root.submit("/users", **{"what": "create", "user": "cat", "role": "analyst", **fields})
    assert refused.status == 403
    assert words in refused.words
    assert "cat" not in read_users(own.proxy.folder / "users.toml")


def test_an_analyst_sees_and_changes_nobody(own: Site):
    ann = own.browser("ann")
    before = read_users(own.proxy.folder / "users.toml")
    assert ann.send("GET", "/users").status == 403
    ann.open("/")
    for what in ("create", "password", "drop", "grant", "revoke"):
        refused = ann.submit("/users", what=what, user="bob", role="admin", password=NEW)
        assert (refused.status, "for administrators" in refused.words) == (403, True)
    assert read_users(own.proxy.folder / "users.toml") == before


def test_everybody_changes_their_own_password(own: Site):
    ann = own.browser("ann")
    assert 'action="/password"' in ann.open("/password").text
    assert ann.submit("/password", password="short", again="short").status == 422
    assert ann.submit("/password", password=NEW, again="another than that").status == 422
    ann.submit("/password", password=NEW, again=NEW, user="root")
    assert own.browser().log_in("ann", NEW).status == 200
    assert own.browser().log_in("root").status == 200


def test_names_are_never_statements_nor_markup(own: Site):
    root = own.browser("root")
    root.open("/users")
    name = '"x"; DROP USER ann; --<script>\''
    root.submit("/users", what="create", user=name, role="analyst", password=NEW, again=NEW)
    users = read_users(own.proxy.folder / "users.toml")
    assert {"ann", name} <= set(users)
    assert "<script>" not in root.open("/users").text
    root.submit("/users", what="drop", user=name)
    assert set(read_users(own.proxy.folder / "users.toml")) == set(users) - {name}
