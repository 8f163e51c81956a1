"""The page of users and their roles, and the one on which people change their own password.

A password leaves the page's process as a SCRAM-SHA-256 secret only, made by the driver.
"""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dpproxy.sql.quoting import identifier
from dpproxy.web.administrator import records, refusing
from dpproxy.web.logins import Login
from dpproxy.web.site import Form, Site, html, refused_page
from dpproxy.web.wire import Refused

SHORTEST: Final = 12
"""Characters of a password at least."""
_SHORT = Refused("22023", f"a password has {SHORTEST} characters at least", hint="Take several words.")
_DIFFERENT = Refused("22023", "the two passwords differ", hint="Nothing was changed: write the same twice.")


async def users_page(_request: Request, login: Login) -> Response:
    """Who may log in, with which roles, and what these may read."""
    listed = await records(login, "SHOW PRIVACY USERS")
    users = [(one["user"] or "", (one["roles"] or "").split(", ")) for one in listed]
    grants = await records(login, "SHOW PRIVACY GRANTS")
    reads: dict[str, set[str]] = {"admin": set()}
    for one in grants:
        reads.setdefault(one["role"] or "", set()).add(one["table"] or "")
    roles = {role: sorted(tables) for role, tables in sorted(reads.items())}
    return html("users.html", login, users=users, roles=roles, shortest=SHORTEST)


async def change_user(_request: Request, login: Login, form: Form) -> Response:
    """Add or remove a user, a role of a user, or set another password."""
    made = _statement(login, form)
    if isinstance(made, Refused):
        return refused_page(login, made)
    answer = await login.ask(made[0])
    if isinstance(answer, Refused):
        return refused_page(login, answer)
    return html("done.html", login, here="Users", statement=made[1], notices=answer.notices, back="/users")


def _statement(login: Login, form: Form) -> tuple[str, str] | Refused:
    """The statement that a form asks for, and the same without a password, to be shown."""
    user, role = identifier(form.get("user", "")), identifier(form.get("role", "").strip())
    match form.get("what"):
        case "create":
            roles = ", ".join(identifier(one.strip()) for one in form.get("role", "").split(","))
            return _with_password(login, form, f"CREATE USER {user} IN ROLE {roles}")
        case "password":
            return _with_password(login, form, f"ALTER USER {user}")
        case "drop":
            return (f"DROP USER {user}",) * 2
        case "grant":
            return (f"GRANT {role} TO {user}",) * 2
        case _:
            return (f"REVOKE {role} FROM {user}",) * 2


def _with_password(login: Login, form: Form, statement: str) -> tuple[str, str] | Refused:
    password = form.get("password", "")
    if len(password) < SHORTEST:
        return _SHORT
    if password != form.get("again", password):
        return _DIFFERENT
    secret = login.wire.secret(form.get("user", login.user), password)
    return f"{statement} PASSWORD '{secret}'", f"{statement} PASSWORD '…'"


async def password_page(_request: Request, login: Login) -> Response:
    """A place for one's own new password."""
    return html("password.html", login, shortest=SHORTEST, refused=None)


async def change_password(_request: Request, login: Login, form: Form) -> Response:
    """Set the user's own password."""
    made = _with_password(login, {**form, "user": login.user}, "ALTER USER CURRENT_USER")
    answer = made if isinstance(made, Refused) else await login.ask(made[0])
    if isinstance(answer, Refused):
        return html("password.html", login, 422, shortest=SHORTEST, refused=answer)
    return html("done.html", login, statement="Your password is another one now.", notices=(), back="/")


def routes(site: Site) -> list[Route]:
    """The addresses of these pages."""
    return [
        site.page("/users", refusing(users_page)),
        site.action("/users", change_user),
        site.page("/password", password_page),
        site.action("/password", change_password),
    ]
