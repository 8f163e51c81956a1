"""The site: addresses, what each needs of a login, and how pages are made."""

import asyncio
import hashlib
import hmac
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from msgspec import Struct
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from dpproxy.web.guard import Guard, form_of
from dpproxy.web.logins import Login, Logins
from dpproxy.web.options import Options
from dpproxy.web.wire import Refused, SessionEnded

SWEEP: Final = 15.0
"""Seconds between two looks for logins that are not used any more."""
_HERE: Final = Path(__file__).parent
_KINDS: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
MENU: Final = (
    ("/budgets", "Budgets"),
    ("/spending", "Spending"),
    ("/policy", "Policy"),
    ("/users", "Users"),
    ("/views", "Views"),
    ("/audit", "Audit"),
    ("/report", "Report"),
    ("/health", "Health"),
)
"""What administrators see beside the pages of analysts."""
STATIC: Final = {
    file.name: (file.read_bytes(), _KINDS[file.suffix]) for file in sorted((_HERE / "static").iterdir())
}
"""The files that pages load, by name, with their types."""
_STATE: Final = hashlib.sha256(b"".join(body for body, _ in STATIC.values())).hexdigest()[:12]
TEMPLATES: Final = Environment(
    loader=FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def marked(statement: str, position: int) -> tuple[str, str, str]:
    """What stands before a place in a statement, the word there, and what follows it.

    >>> marked("SELECT relationship FROM adult", 7)
    ('SELECT ', 'relationship', ' FROM adult')
    """
    found = _WORD.match(statement, position)
    end = position + 1 if found is None else found.end()
    return statement[:position], statement[position:end] or "⏎", statement[end:]


_WORD: Final = re.compile(r"\w+")
TEMPLATES.globals |= {"state": _STATE, "marked": marked, "administration": MENU}

Form = dict[str, str]
Page = Callable[[Request, Login], Awaitable[Response]]
Action = Callable[[Request, Login, Form], Awaitable[Response]]


def html(template: str, login: Login | None, status: int = 200, **values: object) -> HTMLResponse:
    """A page made of a template."""
    return HTMLResponse(TEMPLATES.get_template(template).render(login=login, **values), status)


def gone(address: str) -> Response:
    """To another page, after a form was sent."""
    return RedirectResponse(address, 303)


def refused_page(login: Login, refused: Refused) -> Response:
    """A page that the proxy refuses to this user."""
    return html("refused.html", login, 403, refused=refused, title="Refused", statement=None)


class Site(Struct, frozen=True):
    """The logins of a site and who they belong to."""

    options: Options
    logins: Logins

    @property
    def cookie(self) -> str:
        """The cookie's name: browsers send it to this host alone, and over TLS alone where there is TLS."""
        return "__Host-dpproxy" if self.options.is_secure else f"dpproxy-{self.options.port}"

    def login_of(self, request: Request) -> Login | None:
        """The login whose cookie came with a request."""
        return self.logins.find(request.cookies.get(self.cookie, ""))

    def page(self, path: str, page: Page) -> Route:
        """An address for whoever is logged in."""

        async def answer(request: Request) -> Response:
            login = self.login_of(request)
            if login is None:
                return gone("/login")
            return await self._answered(login, page(request, login))

        return Route(path, answer, methods=["GET"], name=path)

    def action(self, path: str, action: Action) -> Route:
        """An address for forms that the site itself has made."""

        async def answer(request: Request) -> Response:
            login = self.login_of(request)
            if login is None:
                return gone("/login")
            form = await form_of(request)
            if not hmac.compare_digest(form.get("token", "").encode(), login.token.encode()):
                raise HTTPException(403, "This form is of another session: go back and load the page anew.")
            return await self._answered(login, action(request, login, form))

        return Route(path, answer, methods=["POST"], name=f"POST {path}")

    async def _answered(self, login: Login, answer: Awaitable[Response]) -> Response:
        try:
            return await answer
        except SessionEnded:
            await self.logins.end(login)
            return gone("/login?ended")

    async def log_in_page(self, request: Request) -> Response:
        """Ask for user and password."""
        if self.login_of(request) is not None:
            return gone("/")
        ended = "ended" in request.query_params
        return self._door(ended=ended)

    def _door(
        self, status: int = 200, *, refused: Refused | None = None, user: str = "", ended: bool = False
    ) -> Response:
        several, is_public = self.options.database is None, self.options.report is not None
        said = {"refused": refused, "user": user, "ended": ended}
        return html("login.html", None, status, several=several, is_public=is_public, **said)

    async def log_in(self, request: Request) -> Response:
        """Begin a login: with a new secret, whatever the browser sent."""
        form = await form_of(request)
        address = request.client.host if request.client is not None else ""
        user = form.get("user", "")
        database = self.options.database or form.get("database", "")
        if (before := self.login_of(request)) is not None:
            await self.logins.end(before)
        login = await self.logins.begin(user, form.get("password", ""), database, address)
        if isinstance(login, Refused):
            return self._door(401, refused=login, user=user)
        response = gone("/")
        response.set_cookie(
            self.cookie, login.name, path="/", secure=self.options.is_secure, httponly=True, samesite="strict"
        )
        return response

    async def log_out(self, _request: Request, login: Login, _form: Form) -> Response:
        """End the login and its connection."""
        await self.logins.end(login)
        response = gone("/login")
        response.delete_cookie(
            self.cookie, path="/", secure=self.options.is_secure, httponly=True, samesite="strict"
        )
        return response


async def static(request: Request) -> Response:
    """A file that pages load; its address changes with its content."""
    found = STATIC.get(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    body, kind = found
    return Response(body, media_type=kind, headers={"cache-control": "public, max-age=31536000, immutable"})


async def failed(_request: Request, error: Exception) -> Response:
    """A page for a request that is not answered; what went wrong inside is said in the log alone."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    words = (
        error.detail if isinstance(error, HTTPException) else "This page could not be made; the log says why."
    )
    return html("failed.html", None, status, code=status, words=words)


def application(options: Options, routes: Callable[[Site], list[Route]]) -> Starlette:
    """The site as an ASGI application."""
    site = Site(options, Logins(options))

    def lifespan(_app: Starlette) -> AbstractAsyncContextManager[None]:
        return _swept(site.logins)

    own = [
        Route("/login", site.log_in_page, methods=["GET"], name="login"),
        Route("/login", site.log_in, methods=["POST"], name="POST login"),
        site.action("/logout", site.log_out),
        Route("/static/{name}", static, methods=["GET"], name="static"),
    ]
    return Starlette(
        routes=[*own, *routes(site)],
        middleware=[Middleware(Guard, options=options)],
        exception_handlers={HTTPException: failed, 500: failed},
        lifespan=lifespan,
    )


@asynccontextmanager
async def _swept(logins: Logins) -> AsyncIterator[None]:
    async def sweep() -> None:
        while True:
            await asyncio.sleep(SWEEP)
            await logins.sweep()

    async with asyncio.TaskGroup() as tasks:
        sweeping = tasks.create_task(sweep())
        try:
            yield
        finally:
            sweeping.cancel()
            await logins.close()
