"""The page's process, beside the server: it gets the socket for browsers, and is started again if it ends."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Final

from msgspec.structs import replace

from dpproxy.config.configuration import Config
from dpproxy.values.errors import StartupError
from dpproxy.web.options import KEY, Options

AGAIN: Final = 5.0
"""Seconds until a page whose process has ended is started again."""
STOPPING: Final = 10.0
_NOT_TOLD: Final = ("DPPROXY_", "PG")
"""Variables that the page does not get: they may hold passwords, and libpq would obey them."""
_NEEDED: Final = ("starlette", "jinja2", "uvicorn")


@contextmanager
def page(config: Config, key: str, tell: Callable[[str], None]) -> Iterator[Callable[[int], None]]:
    """Open the page's address. Yields what starts the page once the proxy listens on a port; it is stopped at the end.

    Errors: StartupError where a package is missing, or the address cannot be listened on.
    """
    if config.page is None:
        yield lambda _port: None
        return
    require(config)
    with _listener(*config.page) as listener:
        pages = Pages(_options(config, listener.getsockname()[1]), key, listener, tell)
        try:
            yield pages.show
        finally:
            pages.stop()


def require(config: Config) -> None:
    """Raise ``StartupError`` where a page is configured, and its packages are missing."""
    if config.page is not None and not is_installed():
        raise StartupError('web.listen: expected the packages of the page; pip install "dpproxy[web]"')


def is_installed() -> bool:
    """Whether the packages of the page are there."""
    return all(find_spec(name) is not None for name in _NEEDED)


def _listener(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        raise StartupError(
            f"web.listen: cannot listen on {host}:{port}: {os.strerror(error.errno or 0)}"
        ) from None


def _options(config: Config, port: int) -> Options:
    host = "127.0.0.1" if config.page is None else config.page[0]
    return Options(
        host=host,
        port=port,
        wire_host=config.host,
        wire_port=config.port,
        database=config.databases[0] if len(config.databases) == 1 else None,
        url=config.page_url,
        report=None if config.page_report is None else str(config.page_report),
        tls_certificate=None if config.tls_certificate is None else str(config.tls_certificate),
        tls_key=None if config.tls_key is None else str(config.tls_key),
    )


class Pages:
    """The process of the page, watched by a thread."""

    def __init__(
        self, options: Options, key: str, listener: socket.socket, tell: Callable[[str], None]
    ) -> None:
        self._options = options
        self._key = key
        self._listener = listener
        self._tell = tell
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None

    def show(self, port: int) -> None:
        """Start the page of a proxy that listens on a port."""
        self._options = replace(self._options, wire_port=port)
        self._tell(f"the page is on {self._options.origins[0]}")
        # The kernel ends the process with the thread that has started it, which therefore watches it as well.
        self._thread = threading.Thread(target=self._watch, name="page", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stopping.is_set():
            with self._start() as self._process:
                status = self._process.wait()
            if not self._stopping.wait(0):
                self._tell(
                    f"the page has ended with status {status}; it is started again in {AGAIN:g} seconds"
                )
                self._stopping.wait(AGAIN)

    def _start(self) -> subprocess.Popen[bytes]:
        descriptor = self._listener.fileno()
        command = [
            "dpproxy.system.process",
            str(os.getpid()),
            "dpproxy.web",
            self._options.text(),
            str(descriptor),
        ]
        told = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_TOLD)}
        return subprocess.Popen(  # noqa: S603 - this program itself
            [sys.executable, "-m", *command],
            pass_fds=[descriptor],
            start_new_session=True,
            env=told | {KEY: self._key},
        )

    def stop(self) -> None:
        """Stop the page, and wait until its process has ended."""
        self._stopping.set()
        if self._thread is None:
            return
        while self._thread.is_alive():
            if self._process is not None:
                self._process.terminate()
            self._thread.join(STOPPING)
