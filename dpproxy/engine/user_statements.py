"""CREATE USER and its like, over the wire: they change the users file, which all data sources share."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from dpproxy.algebra.plan import Answer, Caller, Notice
from dpproxy.algebra.request import OfUsers, Prepared
from dpproxy.config.users import User, editing, read_users, roles_of, secret_of
from dpproxy.policy.user_statements import (
    CreateUser,
    DropUser,
    MoveRoles,
    SetPassword,
    ShowUsers,
    UserChange,
    UserStatement,
    read_user_statement,
)
from dpproxy.sql.cursor import Name
from dpproxy.values.errors import (
    CatalogueUnavailable,
    InvalidParameter,
    NotGranted,
    StartupError,
    UndefinedObject,
)
from dpproxy.values.pgtypes import typed_columns
from dpproxy.wire.scram import ScramSecret

COLUMNS = typed_columns("user roles")
"""What SHOW PRIVACY USERS lists."""
_LISTED = "SHOW PRIVACY USERS; lists those there are."


def prepare(sql: str, caller: Caller) -> Prepared:
    """Parse a statement about users. Raises ``SyntaxRefused``, ``NotGranted``."""
    statement = read_user_statement(sql)
    check(statement, caller)
    return Prepared(sql, (), COLUMNS if isinstance(statement, ShowUsers) else None, OfUsers(statement))


def check(statement: UserStatement, caller: Caller) -> None:
    """Raise ``NotGranted`` for everything but the own password, where the caller is no administrator."""
    is_own = isinstance(statement, SetPassword) and (
        statement.name is None or statement.name.text == caller.user
    )
    if not (is_own or caller.is_admin):
        raise NotGranted(
            "users and their roles are for administrators",
            hint="You may change your own password.",
            position=0,
        )


def run(statement: UserStatement, caller: Caller, file: Path) -> Answer:
    """List or change users, durably. Raises a ``Refusal``, after which nothing was changed."""
    if isinstance(statement, ShowUsers):
        try:
            users = read_users(file)
        except StartupError as error:
            raise CatalogueUnavailable("the users file cannot be read") from error
        rows: list[tuple[object, ...]] = [
            (name, ", ".join(sorted(one.roles))) for name, one in sorted(users.items())
        ]
        return Answer("SHOW", COLUMNS, rows)
    with _users(file) as users:
        return _change(statement, caller, users)


def _change(statement: UserChange, caller: Caller, users: dict[str, User]) -> Answer:
    match statement:
        case CreateUser(name, roles, password):
            if name.text in users:
                raise InvalidParameter(
                    f'user "{name.text}" already exists',
                    hint="A user that is there is altered: another password, other roles.",
                    position=name.position,
                )
            wanted = _valid(name, name.text, [role.text for role in roles])
            users[name.text] = User.new(wanted, _secret(name, name.text, password))
            return Answer("CREATE ROLE", notices=_again(name.text))
        case SetPassword(name, password):
            text = caller.user if name is None else name.text
            before = _existing(name or Name(text), users)
            users[text] = before.with_secret(_secret(name, text, password))
            return Answer("ALTER ROLE")
        case DropUser(name):
            _existing(name, users)
            _check_other(name, caller, "dropped")
            del users[name.text]
            return Answer("DROP ROLE")
        case MoveRoles(roles, names, grants):
            for name in names:
                _move(name, {role.text for role in roles}, caller, users, grants=grants)
            return Answer("GRANT ROLE" if grants else "REVOKE ROLE")


def _move(name: Name, roles: set[str], caller: Caller, users: dict[str, User], *, grants: bool) -> None:
    before = _existing(name, users)
    if not grants and "admin" in roles:
        _check_other(name, caller, 'deprived of the role "admin"')
    after = before.roles | roles if grants else before.roles - roles
    users[name.text] = replace(before, roles=_valid(name, name.text, after))


def _again(name: str) -> tuple[Notice, ...]:
    """The accounts of a user are found by the name, and outlive the user."""
    told = f'what an earlier user "{name}" has spent of budgets with a USER LIMIT stays spent'
    return (Notice(told, hint="A new person needs a new name."),)


@contextmanager
def _users(file: Path) -> Iterator[dict[str, User]]:
    try:
        with editing(file) as users:
            yield users
    except StartupError as error:
        raise CatalogueUnavailable(
            "the users file cannot be read or written", hint="The server's log says more."
        ) from error


def _existing(name: Name, users: dict[str, User]) -> User:
    if name.text not in users:
        raise UndefinedObject(f'user "{name.text}" does not exist', hint=_LISTED, position=name.position)
    return users[name.text]


def _check_other(name: Name, caller: Caller, done: str) -> None:
    """Nobody locks themselves out."""
    if name.text == caller.user:
        raise NotGranted(
            f"the current user cannot be {done}", hint="Another administrator can.", position=name.position
        )


def _valid(name: Name, user: str, roles: Iterable[str]) -> frozenset[str]:
    try:
        return roles_of(user, roles)
    except StartupError as error:
        raise InvalidParameter(str(error), position=name.position) from None


def _secret(name: Name | None, user: str, password: str) -> ScramSecret:
    try:
        return secret_of(user, password)
    except StartupError as error:
        raise InvalidParameter(str(error), position=None if name is None else name.position) from None
