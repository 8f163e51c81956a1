"""A PostgreSQL server of the tests' own: in a temporary folder, reached by a socket there, gone afterwards."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

_names = count(1)


def binaries() -> Path | None:
    """Where the server's programs are."""
    found = [
        *Path("/usr/lib/postgresql").glob("*/bin"),
        *map(Path, os.environ.get("PATH", "").split(os.pathsep)),
    ]
    return next(
        (folder for folder in found if (folder / "initdb").exists() and (folder / "pg_ctl").exists()), None
    )


@dataclass(frozen=True, slots=True)
class Server:
    """A cluster in a folder; it may be stopped and started again."""

    folder: Path
    programs: Path

    def url(self, database: str = "postgres") -> str:
        """For ``psycopg.connect``, or the configuration."""
        return f"postgresql://postgres@/{database}?host={quote(str(self.folder), safe='')}"

    @property
    def process(self) -> int:
        """Of the server; it starts one for each connection."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def database(self, template: str = "template0", name: str = "ledger") -> str:
        """A new database, the copy of another; its name, numbered."""
        name = f"{name}{next(_names)}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy".encode())
        return name

    def tidy(self) -> None:
        """Drop the databases called ``ledger``: hundreds of them would fill the memory."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            found = connection.execute(
                "SELECT datname FROM pg_database WHERE datname LIKE 'ledger%'"
            ).fetchall()
            for (name,) in found:
                connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

    def run(self, *command: str) -> None:
        """One of its programs, as the user it runs as: it refuses to run as root."""
        words = [str(self.programs / command[0]), *command[1:]]
        prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        done = subprocess.run([*prefix, *words], cwd="/", capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        """Ready when this returns."""
        options = f"-c listen_addresses= -c unix_socket_directories={self.folder} -c max_connections=200"
        log = str(self.folder / "log")
        self.run("pg_ctl", "start", "-w", "-D", str(self.folder / "data"), "-l", log, "-o", options)

    def stop(self, how: str = "fast") -> None:
        """``immediate`` is as a crash."""
        self.run("pg_ctl", "stop", "-w", "-D", str(self.folder / "data"), "-m", how)


@contextmanager
def running(place: Path | None = None) -> Iterator[Server]:
    """A new cluster; skips where PostgreSQL is not installed."""
    programs = binaries()
    if programs is None:
        assert not os.environ.get("CI"), "PostgreSQL's server is to be installed: apt-get install postgresql"
        pytest.skip("PostgreSQL's server is not installed")
    folder = Path(tempfile.mkdtemp(prefix="pg", dir=place))
    server = Server(folder, programs)
    try:
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        server.run(
            "initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale"
        )
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
