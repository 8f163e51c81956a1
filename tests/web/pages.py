"""A proxy with its page, and a browser without a screen: cookies, forms and their tokens, no script."""

import asyncio
import http.client
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

from dpproxy.web.options import Options
from dpproxy.web.server import server
from tests.proxies import PASSWORD, Proxy, serving, write_home

DDL = (
    """CREATE TABLE visits AS SELECT CAST(i % 80 AS INTEGER) AS age, ['a', 'b', 'c'][1 + i % 3] AS ward,
      CAST(i % 50 AS INTEGER) AS cost FROM range(2000) AS r(i)""",
    "CREATE TABLE wards AS SELECT unnest(['a', 'b', 'c']) AS ward, unnest([1, 2, 3]) AS floor",
    "CREATE TABLE secrets AS SELECT 1 AS a, 2 AS b",
    'CREATE TABLE "<script>alert(1)</script>" AS SELECT \'<b>x</b>\' AS "<i>y</i>"',
)
POLICY = """
ALTER TABLE visits SET PRIVACY KEY ROW;
ALTER TABLE visits SET PRIVACY CEILING EPSILON 20;
ALTER TABLE visits ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 90;
ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 100;
ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('a', 'b', 'c');
ALTER TABLE wards SET PRIVACY PUBLIC;
ALTER TABLE "<script>alert(1)</script>" SET PRIVACY PUBLIC;
CREATE PRIVACY BUDGET research LIMIT EPSILON 1 DEFAULT EPSILON 0.1 MAX EPSILON 1;
GRANT SELECT ON visits, wards, "<script>alert(1)</script>" TO analyst WITH PRIVACY BUDGET research;
"""
SCHEMA = ("CREATE SCHEMA hr", "CREATE TABLE hr.posts AS SELECT 1 AS a")
OF_SCHEMA = """
ALTER TABLE hr.posts SET PRIVACY PUBLIC;
GRANT SELECT ON hr.posts TO analyst;
"""
BY_WARD = "SELECT ward, count(*) AS people FROM visits GROUP BY ward"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the page sent."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def words(self) -> str:
        """Its text as people read it."""
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", self.text)).split())


@dataclass(slots=True)
class Browser:
    """One browser: it keeps cookies, follows redirections and fills tokens in."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict)
    token: str = ""
    at: str = "/"

    def send(
        self, method: str, path: str, body: str | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """One request, without following where it leads."""
        host = f"127.0.0.1:{self.port}"
        own = {"Host": host, "Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}
        if method == "POST":
            own |= {"Origin": f"http://{host}", "Content-Type": "application/x-www-form-urlencoded"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            sent = {**own, **(headers or {})}
            connection.request(method, path, body, {name: value for name, value in sent.items() if value})
            response = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        for cookie in response.headers.get_all("set-cookie") or ():
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value.strip('"')
        if found := re.search(r'name="token" value="([^"]+)"', text):
            self.token = found[1]
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, text)

    def open(self, path: str) -> Answer:
        """A page, behind its redirections."""
        answer = self.send("GET", path)
        while answer.status in (303, 307):
            path = answer.headers["location"]
            answer = self.send("GET", path)
        self.at = path
        return answer

    def submit(self, path: str, **fields: str) -> Answer:
        """A form of the page."""
        answer = self.send("POST", path, urlencode({"token": self.token, **fields}))
        return self.open(answer.headers["location"]) if answer.status == 303 else answer

    def log_in(self, user: str, password: str = PASSWORD) -> Answer:
        """Log in; the page behind it."""
        self.open("/login")
        return self.submit("/login", user=user, password=password)

    def ask(self, statement: str, **more: str) -> Answer:
        """Run a statement."""
        return self.submit("/ask", statement=statement, **more)


@dataclass(frozen=True, slots=True)
class Site:
    """A proxy and the port of its page."""

    proxy: Proxy
    port: int

    def browser(self, user: str = "") -> Browser:
        """A browser, where a user is named with their login."""
        found = Browser(self.port)
        if user:
            assert found.log_in(user).status == 200
            assert found.at == "/"
        return found


@contextmanager
def page(proxy: Proxy, **more: object) -> Iterator[int]:
    """The page of a proxy, in a thread; its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        given = {"database": "main", "key": proxy.page_key, **more}
        options = Options("127.0.0.1", port, "127.0.0.1", proxy.port, **given)  # type: ignore[arg-type]
        served = server(options)
        thread = threading.Thread(target=lambda: asyncio.run(served.serve(sockets=[listener])))
        thread.start()
        try:
            while not served.started:
                time.sleep(0.01)
            yield port
        finally:
            served.should_exit = True
            thread.join()


@contextmanager
def site(folder: Path, policy: str = POLICY, **more: object) -> Iterator[Site]:
    """A proxy over visits to wards and a table of another schema, with its page."""
    config = write_home(folder, (*DDL, *SCHEMA), policy + OF_SCHEMA)
    source = 'path = "data.duckdb"'
    config.write_text(config.read_text().replace(source, f'{source}\nschemas = ["hr"]'))
    with serving(config) as proxy, page(proxy, **more) as port:
        yield Site(proxy, port)
