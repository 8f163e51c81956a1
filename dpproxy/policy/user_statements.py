"""CREATE USER and its like: who may log in, and with which roles. They are the same for all data sources."""

from msgspec import Struct

from dpproxy.policy.forms import form_hint
from dpproxy.policy.role_statements import SELF
from dpproxy.sql.cursor import Cursor, Name
from dpproxy.sql.lexer import TokenKind
from dpproxy.values.errors import SyntaxRefused
from dpproxy.values.structs import PartlyShown

_PRIVILEGES = frozenset({
    "all", "connect", "create", "delete", "exact", "execute", "insert", "references", "select", "temporary", "trigger",
    "truncate", "update", "usage",
})  # fmt: skip
"""What GRANT and REVOKE may be followed by that is no role."""


class CreateUser(PartlyShown, Struct, frozen=True):
    """CREATE USER name [IN ROLE role, ...] [PASSWORD 'password']."""

    HIDDEN = frozenset({"password"})

    name: Name
    roles: tuple[Name, ...]
    password: str


class SetPassword(PartlyShown, Struct, frozen=True):
    """ALTER USER name PASSWORD 'password'; ``name`` is None for CURRENT_USER and the like."""

    HIDDEN = frozenset({"password"})

    name: Name | None
    password: str


class DropUser(Struct, frozen=True):
    """DROP USER name."""

    name: Name


class MoveRoles(Struct, frozen=True):
    """GRANT role, ... TO user, ... or REVOKE role, ... FROM user, ..."""

    roles: tuple[Name, ...]
    users: tuple[Name, ...]
    grants: bool


class ShowUsers(Struct, frozen=True):
    """SHOW PRIVACY USERS."""


UserChange = CreateUser | SetPassword | DropUser | MoveRoles
UserStatement = UserChange | ShowUsers


def is_user_statement(sql: str) -> bool:
    """Whether a privacy statement is about users, by its words; an error of its text is found when it is read."""
    cursor = Cursor(sql)
    if cursor.at("create", "user") or cursor.at("drop", "user") or cursor.at("show", "privacy", "users"):
        return True
    if names_password(sql):
        for _ in range(3):
            cursor.take()
        return not (cursor.at("set") or cursor.at("reset") or cursor.at("in"))
    return (cursor.accept("grant") or cursor.accept("revoke")) and _begins_roles(cursor)


def names_password(sql: str) -> bool:
    """Whether a statement may hold a password: it begins like one that sets it, and has the word."""
    cursor = Cursor(sql)
    begins = any(cursor.at(verb, what) for verb in ("create", "alter") for what in ("user", "role"))
    return begins and "password" in sql.lower()


def read_user_statement(sql: str) -> UserStatement:
    """Parse a statement about users. Raises ``SyntaxRefused``."""
    try:
        return _read(Cursor(sql))
    except SyntaxRefused as refusal:
        refusal.hint = refusal.hint or form_hint(sql)
        raise


def _read(cursor: Cursor) -> UserStatement:
    verb = cursor.take().text
    if verb == "create":
        cursor.expect("user", after="CREATE")
        found: UserStatement = _create(cursor)
    elif verb == "alter":
        cursor.take()
        found = _alter(cursor)
    elif verb == "drop":
        cursor.expect("user", after="DROP")
        found = DropUser(cursor.name("user", "USER"))
    elif verb == "show":
        cursor.expect("privacy", "users")
        found = ShowUsers()
    else:
        found = _move(cursor, grants=verb == "grant")
    cursor.end(cursor.before.description)
    return found


def _begins_roles(cursor: Cursor) -> bool:
    first = cursor.take()
    is_name = first.kind is TokenKind.NAME or (first.kind is TokenKind.WORD and first.text not in _PRIVILEGES)
    return is_name and (cursor.at(",") or cursor.at("to") or cursor.at("from"))


def _create(cursor: Cursor) -> CreateUser:
    name = cursor.name("user", "USER")
    cursor.accept("with")
    if not cursor.accept("in"):
        password = _password(cursor, "the user's name")
        cursor.expect("in", after="the password")
        return CreateUser(name, _in_role(cursor), password)
    roles = _in_role(cursor)
    return CreateUser(name, roles, _password(cursor, "the role's name"))


def _in_role(cursor: Cursor) -> tuple[Name, ...]:
    cursor.expect("role", after="IN")
    return _names(cursor, "role", "ROLE")


def _alter(cursor: Cursor) -> SetPassword:
    if cursor.token.kind is TokenKind.WORD and cursor.token.text in SELF:
        cursor.take()
        name = None
    else:
        name = cursor.name("user", "USER")
    cursor.accept("with")
    return SetPassword(name, _password(cursor, "the user's name"))


def _password(cursor: Cursor, after: str) -> str:
    cursor.accept("encrypted")
    cursor.expect("password", after=after)
    if cursor.token.kind is not TokenKind.TEXT:
        cursor.refuse(["the password in quotes"], "PASSWORD")
    return cursor.take().text


def _move(cursor: Cursor, *, grants: bool) -> MoveRoles:
    roles = _names(cursor, "role", "GRANT" if grants else "REVOKE")
    link = "to" if grants else "from"
    cursor.expect(link, after="the role's name")
    return MoveRoles(roles, _names(cursor, "user", link.upper()), grants)


def _names(cursor: Cursor, what: str, after: str) -> tuple[Name, ...]:
    return cursor.comma_list(lambda word: cursor.name(what, word), after)
