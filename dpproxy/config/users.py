"""The users file: who may log in, with which roles, and the SCRAM secret of each password.

```toml
[users."alice"]
roles = ["analyst"]
scram = "SCRAM-SHA-256$15000:...$...:..."
since = 2026-11-25T09:00:00.000000Z
```
"""

import json
import logging
import re
import secrets
import stat
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.system import disk
from dpproxy.values.errors import InvalidParameter, StartupError
from dpproxy.wire.scram import MECHANISM, ScramSecret, make_secret

HEADER = "# Written by `dpproxy user add` and CREATE USER; read again at each login. No secret reveals its password.\n"
LEAST_PASSWORD = 12
"""Characters of a password, where it is seen: what a client sends as a SCRAM secret is not."""
LONGEST_NAME = 63
"""Bytes, as PostgreSQL's identifiers."""

_ROLE = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_log = logging.getLogger(__name__)


class User(Struct, frozen=True):
    """One entry of the file."""

    roles: frozenset[str]
    secret: ScramSecret
    since: datetime | None = None
    """When the name was given to this person, who sees nothing that was asked under it before; None where unknown."""

    @classmethod
    def new(cls, roles: frozenset[str], secret: ScramSecret) -> "User":
        """A person who was not there before, whatever the name."""
        return cls(roles, secret, datetime.now(UTC))

    def with_secret(self, secret: ScramSecret) -> "User":
        """The same person with another password."""
        return replace(self, secret=secret, since=self.since or datetime.now(UTC))


class UsersFile:
    """The users file, read again at each login.

    While it is missing or invalid nobody can log in, and the operator's log says why.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        """The file whose users are known."""
        self._told: tuple[int, int, int] | None = None
        """The file of which the log says why it cannot be read."""
        self._now: Mapping[str, User] | None = None

    def is_revoked(self, name: str, roles: frozenset[str], since: datetime | None) -> bool:
        """Whether a user was removed from the file, or has lost one of these roles; False while it cannot be read.

        Another person of the same name does not count.

        The file is read where it has changed, and again while it cannot be read. To be called by one thread only.
        """
        with suppress(OSError):
            found = self._path.stat()
            if (seen := (found.st_mtime_ns, found.st_size, found.st_ino)) != self._seen:
                self._now = self._read_now(seen)
                self._seen = None if self._now is None else seen
        if self._now is None:
            return False
        user = self._now.get(name)
        return user is None or not roles <= user.roles or since not in (None, user.since)

    def _read_now(self, seen: tuple[int, int, int]) -> Mapping[str, User] | None:
        try:
            return read_users(self._path)
        except StartupError as error:
            if seen != self._told:
                _log.error("open sessions stay as they are: %s", error)
            self._told = seen
            return None

    def lookup(self, name: str) -> ScramSecret | None:
        """The secret to check a password against, or None for an unknown user."""
        return user.secret if (user := self._users().get(name)) else None

    def roles(self, name: str) -> frozenset[str]:
        """The user's roles; empty for an unknown user."""
        return user.roles if (user := self._users().get(name)) else frozenset()

    def since(self, name: str) -> datetime | None:
        """When the name was given to the user; None where that is not known."""
        return user.since if (user := self._users().get(name)) else None

    def _users(self) -> Mapping[str, User]:
        try:
            return read_users(self._path)
        except StartupError as error:
            _log.error("nobody can log in: %s", error)
            return MappingProxyType({})


def check_private(path: Path, tell: Callable[[str], None]) -> None:
    """Warn of a file or directory that its group or others may access.

    Raises:
        StartupError: everybody may write to it.
    """
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & stat.S_IWOTH:
        raise StartupError(f"{path}: everybody may change it (mode {mode:04o}): chmod go-rwx {path}")
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        tell(f"warning: others may come to {path} (mode {mode:04o}): chmod go-rwx {path}")


def read_users(path: Path) -> dict[str, User]:
    """All users by name.

    Raises:
        StartupError: not readable, not TOML, or an entry of another form; names the entry, never its secret.
    """
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StartupError(f"{path}: expected a users file: {error.strerror}") from None
    except UnicodeDecodeError:
        raise StartupError(f"{path}: expected a users file: it is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise StartupError(f"{path}: expected a users file: {error}") from None
    entries = tree.pop("users", {})
    if tree or not isinstance(entries, dict):
        raise StartupError(f"{path}: expected only [users.NAME] sections")
    return {name: _user(path, name, entry) for name, entry in entries.items()}


def add_user(path: Path, name: str, roles: Iterable[str], password: str) -> bool:
    """Add or replace a user; the file is created if missing. Returns whether the name was there before.

    Raises:
        StartupError: a name, role or password that cannot be, or a file that cannot be read or written.
    """
    entry = User.new(roles_of(name, roles), secret_of(name, password))
    with editing(path, is_new=True) as users:
        replaced = name in users
        users[name] = entry
    return replaced


@contextmanager
def editing(path: Path, *, is_new: bool = False) -> Iterator[dict[str, User]]:
    """The users by name, to be changed: written at the end, while nobody else changes them.

    With ``is_new`` the file may be missing. Raises ``StartupError`` where it cannot be read or written.
    """
    try:
        if is_new:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with disk.lock(path.parent):
            users = read_users(path) if path.exists() or not is_new else {}
            yield users
            _write(path, users)
    except OSError as error:
        raise StartupError(f"{path}: expected a users file that can be written: {error.strerror}") from None


def mock_key(path: Path) -> bytes:
    """The key from which salts for unknown users are derived; created at the first call and stored.

    Raises:
        StartupError: the file cannot be read or written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with disk.lock(path.parent):
            if not path.exists():
                disk.replace(path, f"{secrets.token_hex(32)}\n".encode())
            key = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except OSError as error:
        raise StartupError(
            f"{path}: expected a file that can be read and written: {error.strerror}"
        ) from None
    except ValueError:
        key = b""
    if len(key) != 32:
        raise StartupError(f"{path}: expected 64 hexadecimal digits")
    return key


def _user(path: Path, name: str, entry: Any) -> User:  # noqa: ANN401 - whatever TOML holds
    if not isinstance(entry, dict) or entry.keys() - {"since"} != {"roles", "scram"}:
        raise StartupError(f"{path}: users.{name}: expected the keys roles, scram and since, and no other")
    roles, text, since = entry["roles"], entry["scram"], entry.get("since")
    if since is not None and not (isinstance(since, datetime) and since.tzinfo):
        raise StartupError(f"{path}: users.{name}.since: expected a time with its zone: 2026-11-25T09:00:00Z")
    if not isinstance(roles, list) or not all(
        isinstance(role, str) and _ROLE.fullmatch(role) for role in roles
    ):
        raise StartupError(f'{path}: users.{name}.roles: expected a list of role names such as ["analyst"]')
    try:
        return User(frozenset(roles), ScramSecret.from_text(text if isinstance(text, str) else ""), since)
    except InvalidParameter:
        raise StartupError(f"{path}: users.{name}.scram: expected a SCRAM-SHA-256 secret") from None


def roles_of(name: str, roles: Iterable[str]) -> frozenset[str]:
    """The roles of a user. Raises ``StartupError`` for a name or a role that cannot be, and where there is none."""
    if not name or not name.isprintable() or len(name.encode("utf-8", "replace")) > LONGEST_NAME:
        raise StartupError(f"user name: expected 1 to {LONGEST_NAME} bytes of printable text")
    wanted = frozenset(roles)
    if not wanted:
        raise StartupError(f"user {name}: expected at least one role")
    for role in wanted:
        if not _ROLE.fullmatch(role):
            raise StartupError(f"role {role!r}: expected lower-case letters, digits and _, 63 at most")
    return wanted


def secret_of(name: str, password: str) -> ScramSecret:
    """The secret of a password, or the one that a client has made of it already. Raises ``StartupError``."""
    is_secret = password.startswith(f"{MECHANISM}$")
    if not is_secret and len(password) < LEAST_PASSWORD:
        raise StartupError(f"user {name}: expected a password of {LEAST_PASSWORD} characters at least")
    try:
        return ScramSecret.from_text(password) if is_secret else make_secret(password)
    except InvalidParameter as error:
        raise StartupError(f"user {name}: {error.message}") from None


def _write(path: Path, users: Mapping[str, User]) -> None:
    entries = [
        f"\n[users.{_quoted(name)}]\n"
        f"roles = [{', '.join(map(_quoted, sorted(user.roles)))}]\n"
        f"scram = {_quoted(user.secret.to_text())}\n"
        + ("" if user.since is None else f"since = {user.since.isoformat()}\n")
        for name, user in users.items()
    ]
    disk.replace(path, (HEADER + "".join(entries)).encode())


def _quoted(text: str) -> str:
    """A TOML basic string; for printable text its escapes are JSON's."""
    return json.dumps(text, ensure_ascii=False)
