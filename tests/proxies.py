"""Real proxies over small data: the files of one, one in this process, one in a process of its own."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.backends.release import ANSWERS, ReleaseStage
from dpproxy.cli.serve import options
from dpproxy.config.configuration import load_config
from dpproxy.config.users import UsersFile, add_user
from dpproxy.engine.databases import open_databases
from dpproxy.engine.engine import Engine
from dpproxy.server.listener import Server
from dpproxy.values.recent import Recent
from tests.backends.inline import Inline
from tests.empty import database

ROOT = Path(__file__).parents[1]
PASSWORD = "correct horse"
USERS = {
    "ann": ["analyst"],
    "bob": ["analyst"],
    "eve": ["stranger"],
    "root": ["admin"],
    "boss": ["admin", "analyst"],
}
CONFIG = """\
[server]
listen = "127.0.0.1:{port}"
padding = "{padding}"
processes = {processes}
{more}
[state]
directory = "state"
[data.main]
path = "data.duckdb"
[policy]
files = ["policy.sql"]
[users]
file = "users.toml"
"""
_USERS: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Proxy:
    """One that runs: where, and what is behind it."""

    port: int
    folder: Path
    engine: Engine | None = None
    process: subprocess.Popen[str] | None = None
    page_key: str = ""
    """What a page in front of it proves itself with."""

    def dsn(self, user: str = "ann", **more: object) -> str:
        """How libpq reaches it as a user."""
        parts = {
            "host": "127.0.0.1", "port": self.port, "user": user, "password": f"'{PASSWORD}'", "dbname": "main", **more,
        }  # fmt: skip
        return " ".join(f"{key}={value}" for key, value in parts.items())

    def environment(self, user: str = "ann") -> dict[str, str]:
        """The same for programs that read PG variables."""
        own = {"PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": user, "PGPASSWORD": PASSWORD}
        return {**os.environ, **own, "PGDATABASE": "main", "PGCONNECT_TIMEOUT": "10", "LC_ALL": "C.UTF-8"}


def write_home(
    folder: Path,
    ddl: Sequence[str],
    policy: str,
    *,
    padding: str = "0ms",
    more: str = "",
    port: int = 0,
    processes: int = 1,
    users: Mapping[str, Sequence[str]] = USERS,
) -> Path:
    """Data, policy, users and configuration in a folder; the configuration's path."""
    folder.mkdir(parents=True, exist_ok=True)
    with database(folder / "data.duckdb") as connection:
        for statement in ddl:
            connection.execute(statement)
    (folder / "policy.sql").write_text(policy, encoding="utf-8")
    _write_users(folder / "users.toml", users)
    file = folder / "dpproxy.toml"
    file.write_text(
        CONFIG.format(port=port, padding=padding, more=more, processes=processes), encoding="utf-8"
    )
    return file


def _write_users(path: Path, users: Mapping[str, Sequence[str]]) -> None:
    """Secrets take time to make: those of one set of users are made once in a test run."""
    key = repr(sorted(users.items()))
    if key not in _USERS:
        for user, roles in users.items():
            add_user(path, user, roles, PASSWORD)
        _USERS[key] = path.read_text(encoding="utf-8")
    path.write_text(_USERS[key], encoding="utf-8")
    path.chmod(0o600)


@contextmanager
def started(file: Path) -> Iterator[Engine]:
    """The engine alone."""
    with Engine.start(load_config(file), lambda _line: None) as engine:
        yield engine


@contextmanager
def serving(file: Path) -> Iterator[Proxy]:
    """A proxy in threads of this process."""
    config = load_config(file)
    own = options(config)
    with (
        open_databases(config, lambda _line: None) as databases,
        Server(own, databases, UsersFile(config.users)).running() as port,
    ):
        yield Proxy(port, file.parent, databases.engine(config.databases[0]), page_key=own.page_key)


class InProcess(Inline):
    """A file's data in this process, in place of ``Remote``, whose process takes longer to start than most tests."""

    def __init__(
        self,
        path: Path,
        *,
        threads: int | None,
        memory: str | None,
        prepared: Path | None,
        limit: float,
        schemas: Sequence[str] = (),
    ) -> None:
        assert not schemas  # a file with several is served by ``Remote`` alone
        del limit  # it is kept in ``tests/backends``, and so are interrupts
        super().__init__(DuckDB(path, threads=threads, memory=memory, prepared=prepared))


class _Kept(ReleaseStage):
    """One that the next engine of this process has, since its functions take longer to make known than most tests."""

    def close(self) -> None:
        self._drawing.shutdown()
        self._pool.close()
        _STAGES.append(self)


_STAGES: list[ReleaseStage] = []


def release_stage() -> ReleaseStage:
    """One without draws and answers."""
    if not _STAGES:
        return _Kept()
    found = _STAGES.pop()
    found._pool._empty()
    found._drawing, found._answered = ThreadPoolExecutor(1, "drawing"), Recent(ANSWERS)
    return found


def spawn(file: Path) -> Proxy:
    """``dpproxy serve`` in a process of its own, ready; the caller ends it."""
    process = subprocess.Popen(
        command(file), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r":(\d+) \(policy", line)
    if found is None:
        process.kill()
        _, told = process.communicate(timeout=30)
        raise AssertionError(f"did not start: {line}{told}")
    return Proxy(int(found[1]), file.parent, process=process)


def command(file: Path) -> list[str]:
    """The command line of a server."""
    return [sys.executable, "-m", "dpproxy", "serve", "--config", str(file)]


def environment() -> dict[str, str]:
    """Of a server: nothing in it configures one."""
    return {name: value for name, value in os.environ.items() if not name.startswith("DPPROXY_")}


def end(proxy: Proxy, number: int = signal.SIGTERM, patience: float = 30.0) -> tuple[int, str]:
    """Signal a spawned proxy and wait: its exit status, and what it wrote to stderr."""
    assert proxy.process is not None
    proxy.process.send_signal(number)
    _, told = proxy.process.communicate(timeout=patience)
    return proxy.process.returncode, told


@contextmanager
def spawned(file: Path) -> Iterator[Proxy]:
    """A proxy in a process of its own, ended by SIGTERM."""
    proxy = spawn(file)
    try:
        yield proxy
    finally:
        if proxy.process is not None and proxy.process.poll() is None:
            end(proxy)
