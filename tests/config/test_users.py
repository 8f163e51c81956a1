import logging
import threading
from pathlib import Path

import pytest

from dpproxy.config import users as module
from dpproxy.config.users import UsersFile, add_user, check_private, mock_key, read_users
from dpproxy.values.errors import StartupError
from dpproxy.wire.scram import ScramSecret


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "users.toml"


def test_a_user_that_was_added_is_found(path: Path):
    assert not add_user(path, "alice", ["analyst", "audit"], "it is long enough")
    assert not add_user(path, 'Bob "\\ Ünïcode', ["admin"], "it is long enough")
    users = UsersFile(path)
    assert isinstance(users.lookup("alice"), ScramSecret)
    assert users.roles("alice") == {"analyst", "audit"}
    assert users.roles('Bob "\\ Ünïcode') == {"admin"}
    assert users.lookup("Alice") is None
    assert users.roles("Alice") == frozenset()


def test_the_file_is_the_owners_and_holds_no_password(path: Path):
    add_user(path, "alice", ["analyst"], "correct horse")
    assert path.stat().st_mode & 0o777 == 0o600
    assert "correct horse" not in path.read_text()
    assert [f.name for f in path.parent.iterdir()] == ["users.toml"]


def test_adding_again_replaces_roles_and_password(path: Path):
    add_user(path, "alice", ["analyst"], "one of them all")
    add_user(path, "bob", ["analyst"], "one of them all")
    before = read_users(path)
    assert add_user(path, "alice", ["admin"], "two of them all")
    after = read_users(path)
    assert after["bob"] == before["bob"]
    assert after["alice"].roles == {"admin"}
    assert after["alice"].secret.stored_key != before["alice"].secret.stored_key


def test_a_change_counts_at_the_next_lookup(path: Path):
    add_user(path, "alice", ["analyst"], "it is long enough")
    users = UsersFile(path)
    add_user(path, "bob", ["analyst"], "it is long enough")
    assert users.lookup("bob") is not None


@pytest.mark.parametrize(
    "text",
    [
        "garbled",
        "a = 1",
        "users = 3",
        "[users]\nalice = 3",
        '[users.alice]\nroles = ["analyst"]',
        '[users.alice]\nroles = ["analyst"]\nscram = "SCRAM-SHA-256$4096:c2FsdA==$a:b"\nsince = 2026-01-01',
        '[users.alice]\nroles = "analyst"\nscram = "SCRAM-SHA-256$4096:c2FsdA==$a:b"',
        '[users.alice]\nroles = ["analyst"]\nscram = "SCRAM-SHA-256$4096:c2FsdA==$TOPSECRET:b"',
    ],
)
def test_while_the_file_is_garbled_nobody_logs_in(path: Path, text: str, caplog: pytest.LogCaptureFixture):
    path.write_text(text)
    with caplog.at_level(logging.ERROR):
        assert UsersFile(path).lookup("alice") is None
        assert UsersFile(path).roles("alice") == frozenset()
    assert caplog.messages[0].startswith(f"nobody can log in: {path}: ")
    assert "TOPSECRET" not in caplog.text
    with pytest.raises(StartupError):
        add_user(path, "bob", ["analyst"], "it is long enough")
    assert path.read_text() == text


def test_while_the_file_is_missing_nobody_logs_in(path: Path, caplog: pytest.LogCaptureFixture):
    assert UsersFile(path).lookup("alice") is None
    assert "No such file" in caplog.text


@pytest.mark.parametrize(
    ("name", "roles", "password", "problem"),
    [
        ("", ["analyst"], "pw", "user name"),
        ("a\nb", ["analyst"], "pw", "user name"),
        ("ü" * 32, ["analyst"], "pw", "user name"),
        ("alice", [], "pw", "at least one role"),
        ("alice", ["Analyst"], "pw", "role 'Analyst'"),
        ("alice", ["analyst; --"], "pw", "role 'analyst; --'"),
        ("alice", ["analyst"], "", "12 characters at least"),
        ("alice", ["analyst"], "seven77", "12 characters at least"),
    ],
)
def test_what_cannot_be_is_refused(path: Path, name: str, roles: list[str], password: str, problem: str):
    with pytest.raises(StartupError, match=problem):
        add_user(path, name, roles, password)
    assert not path.exists()


def test_two_at_once_both_stay(path: Path):
    names = [f"user{n}" for n in range(6)]
    threads = [
        threading.Thread(target=add_user, args=(path, name, ["analyst"], "it is long enough"))
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read_users(path)) == names


def test_the_mock_key_is_made_once_and_kept(tmp_path: Path):
    path = tmp_path / "state" / "login.key"
    key = mock_key(path)
    assert len(key) == 32
    assert mock_key(path) == key
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("12")
    with pytest.raises(StartupError, match="64 hexadecimal digits"):
        mock_key(path)


def test_who_is_gone_or_lost_a_role_is_told(path: Path, caplog: pytest.LogCaptureFixture):
    users = UsersFile(path)
    had = frozenset({"analyst", "reader"})
    add_user(path, "ann", had, "one of them all")
    add_user(path, "bob", ["analyst"], "two of them all")
    assert not users.is_revoked("ann", had, None)
    add_user(path, "ann", [*had, "more"], "one of them all")
    assert not users.is_revoked("ann", had, None)
    add_user(path, "ann", ["reader"], "one of them all")
    assert users.is_revoked("ann", had, None)
    assert not users.is_revoked("ann", frozenset({"reader"}), None)
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.partition('[users."bob"]')[0], encoding="utf-8")
    assert users.is_revoked("bob", frozenset({"analyst"}), None)
    path.write_text(
        "[users", encoding="utf-8"
    )  # half written by an editor: nobody comes in, and nobody is sent out
    assert not users.is_revoked("ann", frozenset({"reader"}), None)
    assert "open sessions stay as they are" in caplog.text
    path.write_text(whole, encoding="utf-8")
    assert users.is_revoked("ann", had, None)


def test_a_file_that_cannot_be_read_for_a_moment_is_read_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    add_user(path, "ann", ["analyst"], "one of them all")
    users = UsersFile(path)
    had = frozenset({"analyst", "reader"})
    with monkeypatch.context() as patch:
        patch.setattr(
            module, "read_users", lambda _: (_ for _ in ()).throw(StartupError("too many open files"))
        )
        assert not any(users.is_revoked("ann", had, None) for _ in range(3))
    assert users.is_revoked("ann", had, None)
    assert caplog.text.count("too many open files") == 1


@pytest.mark.parametrize(
    ("mode", "told"),
    [(0o600, 0), (0o400, 0), (0o644, 1), (0o640, 1), (0o660, 1), (0o700, 0), (0o755, 1)],
)
def test_what_others_may_read_is_warned_of(path: Path, mode: int, told: int):
    add_user(path, "ann", ["analyst"], "one of them all")
    path.chmod(mode)
    lines: list[str] = []
    check_private(path, lines.append)
    assert len(lines) == told
    assert all(f"chmod go-rwx {path}" in line for line in lines)


def test_what_everybody_may_write_is_refused(path: Path):
    add_user(path, "ann", ["analyst"], "one of them all")
    path.chmod(0o666)
    with pytest.raises(StartupError, match="everybody may change it"):
        check_private(path, lambda _: None)


def test_another_person_of_a_name_is_told_from_the_one_before(path: Path):
    users, roles = UsersFile(path), frozenset({"analyst"})
    add_user(path, "ann", roles, "one of them all")
    since = users.since("ann")
    assert since is not None
    assert not users.is_revoked("ann", roles, since)
    add_user(path, "ann", roles, "one of them all")
    assert users.is_revoked("ann", roles, since)
    later = users.since("ann")
    assert later is not None
    assert later > since
    assert users.since("bob") is None
