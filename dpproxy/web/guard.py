"""What every request passes before a page sees it: hosts, origins, limits of time and size."""

import asyncio
from typing import Final
from urllib.parse import parse_qsl

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dpproxy.web.options import Options

LONGEST_BODY: Final = 100_000
"""Bytes of a form."""
PATIENCE: Final = 15.0
"""Seconds in which a body has to arrive, and each part of an answer has to be taken."""
POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """Refuses requests for other hosts and from other sites, and puts ``HEADERS`` on every answer."""

    def __init__(self, app: ASGIApp, options: Options) -> None:
        self._app = app
        self._origins = frozenset(options.origins)
        self._hosts = frozenset(origin.partition("://")[2] for origin in options.origins)
        self._is_secure = options.is_secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update({k: v for k, v in HEADERS.items() if k not in headers})
                headers.setdefault("cache-control", "no-store")
                if self._is_secure:
                    headers["strict-transport-security"] = "max-age=31536000"
            async with asyncio.timeout(PATIENCE):
                await send(message)

        refusal = self._refusal(scope["method"], Headers(scope=scope))
        app = self._app if refusal is None else PlainTextResponse(refusal, 403)
        await app(scope, receive, sent)

    def _refusal(self, method: str, headers: Headers) -> str | None:
        """Why a request is refused: a host that is not ours, or a form that another site has sent."""
        if headers.get("host") not in self._hosts:
            return "This page has another address. [web] url in the configuration says which."
        if method not in ("GET", "HEAD") and headers.get("origin") not in self._origins:
            return "This request was made by another site."
        return None


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form. Raises ``HTTPException`` where there is none, or it is too long or too slow."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
        raise HTTPException(415)
    body = bytearray()
    try:
        async with asyncio.timeout(PATIENCE):
            async for part in request.stream():
                body += part
                if len(body) > LONGEST_BODY:
                    raise HTTPException(413)
    except TimeoutError:
        raise HTTPException(408) from None
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=20))
    except ValueError:
        raise HTTPException(400) from None
