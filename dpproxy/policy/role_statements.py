"""ALTER ROLE ... SET: what a role's sessions start with."""

from msgspec import Struct

from dpproxy.sql.cursor import Cursor, Name
from dpproxy.sql.lexer import TokenKind
from dpproxy.sql.quoting import identifier

SELF = frozenset({"current_user", "current_role", "session_user"})


class RoleChange(Struct, frozen=True):
    """ALTER ROLE role [IN DATABASE database] SET setting = value, or RESET.

    ``role`` is None for ALL; ``own`` is True for CURRENT_USER and the like. ``setting`` is None for RESET ALL,
    ``value`` for every RESET. ``is_user`` is True for ALTER USER.
    """

    role: Name | None
    own: bool
    database: Name | None
    setting: Name | None
    value: str | None
    is_user: bool = False


def is_role_statement(sql: str) -> bool:
    """Whether a privacy statement is about a role."""
    cursor = Cursor(sql)
    return cursor.at("alter", "role") or cursor.at("alter", "user")


def read_role_statement(sql: str) -> RoleChange:
    """Parse ALTER ROLE. Raises ``SyntaxRefused``, and ``Unsupported`` for what is not about settings."""
    cursor = Cursor(sql)
    cursor.expect("alter", after="the beginning")
    is_user = cursor.choose({"role": False, "user": True}, "ALTER")
    role, own = _role(cursor)
    database = None
    if cursor.accept("in"):
        cursor.expect("database", after="IN")
        database = cursor.name("database", "IN DATABASE")
    reset = not cursor.accept("set")
    if reset and not cursor.accept("reset"):
        cursor.unsupported(
            "altering anything of a role but its settings",
            hint="Users are created, altered and dropped by statements of their own; roles are granted and revoked.",
        )
    if reset:
        setting = None if cursor.accept("all") else _setting(cursor)
        value = None
    else:
        setting = _setting(cursor)
        value = _value(cursor, of_names=setting.text.lower() == "search_path")
    cursor.end("the setting" if reset else "the value")
    return RoleChange(role, own, database, setting, value, is_user)


def _role(cursor: Cursor) -> tuple[Name | None, bool]:
    token = cursor.token
    if token.kind is TokenKind.WORD and token.text in SELF:
        cursor.take()
        return Name(token.text, token.position), True
    if cursor.accept("all"):
        return None, False
    return cursor.name("role", "ROLE"), False


def _setting(cursor: Cursor) -> Name:
    if cursor.accept("time"):
        cursor.expect("zone", after="TIME")
        return Name("timezone", cursor.before.position)
    found = cursor.name("setting", "SET")
    text = found.text
    while cursor.accept("."):
        text += f".{cursor.name('setting', 'the point').text}"
    return Name(text, found.position)


def _value(cursor: Cursor, *, of_names: bool) -> str | None:
    """The value as it is written, None for DEFAULT; several are joined by commas, names in quotes where need be."""
    if not cursor.accept("to"):
        cursor.accept("=")
    if cursor.accept("default"):
        return None
    items = cursor.comma_list(lambda _: _item(cursor))
    return ", ".join(map(identifier, items) if of_names else items)


def _item(cursor: Cursor) -> str:
    sign = "-" if cursor.accept("-") else ""
    token = cursor.token
    if token.kind not in {TokenKind.WORD, TokenKind.NAME, TokenKind.TEXT, TokenKind.NUMBER}:
        cursor.refuse(["a value"], "=")
    return sign + cursor.take().text
