"""Sessions at a shell as a page shows them: each command is run, what it prints is compared with what is shown.

A command starts with ``$ `` and goes on in lines that start with ``> ``. ``psql`` with prompts below it is a session,
which goes on in a block that begins with a prompt. Servers run on while the page is read. What a page leaves out of a
server's address by dots is filled in where the address is used later on.
"""

import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.docs.alike import unlike
from tests.docs.blocks import Block
from tests.proxies import PASSWORD

_PROMPT = re.compile(r"\w+[=-][>#] ?(.*)").fullmatch
_SERVERS = ("make serve", "dpproxy serve")
PORT = "6432"
"""The port that pages name; a free one takes its place."""
_OF_SERVERS = {"DPPROXY_WEB_LISTEN": "127.0.0.1:0"}
"""Pages are read side by side: the demo's own port of its page may be free when it looks and taken when it listens."""
ELSEWHERE = "/backup"
"""Where pages put backups; a folder beside the others takes its place."""


@dataclass(frozen=True, slots=True)
class Step:
    """A command, or a statement of a session, and what is shown below it."""

    said: str
    shown: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Shell:
    """A folder, what runs in it, and what servers said."""

    folder: Path
    port: int
    known: dict[str, str] = field(default_factory=dict)
    servers: list[subprocess.Popen[str]] = field(default_factory=list)
    psql: subprocess.Popen[str] | None = None
    """The session that is open."""

    def run(self, block: Block) -> list[str]:
        """What goes wrong in a block."""
        if _PROMPT(block.text.partition("\n")[0]):
            told = self._ask(self.here(block.text).splitlines())
            return [f"{block}: {told}"] if told else []
        wrong = []
        for step in steps(self.here(block.text), "$ ", "> "):
            told = self._step(Step(self.here(step.said), step.shown))
            if told:
                wrong.append(f"{block}: $ {step.said}\n    {told}")
        return wrong

    def write(self, block: Block) -> None:
        """Make the block a file."""
        path = self.folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.here(block.text), encoding="utf-8")

    def close(self) -> list[str]:
        """End the session, and the servers; those that do not end well."""
        self._leave()
        wrong = []
        for server in self.servers:
            os.killpg(server.pid, signal.SIGTERM)
            server.communicate(timeout=30)
            if server.returncode not in (0, -signal.SIGTERM):
                wrong.append(
                    f"a server ended with {server.returncode}: {self._log.read_text(encoding='utf-8')}"
                )
        return wrong

    def here(self, text: str) -> str:
        """What a page says, with the port and the addresses that it is really about."""
        text = text.replace(PORT, str(self.port)).replace(ELSEWHERE, f"{self.folder}{ELSEWHERE}")
        for shown, said in self.known.items():
            text = text.replace(shown, said)
        return text

    def _step(self, step: Step) -> str:
        if step.said.startswith(_SERVERS):
            return self._serve(step)
        if any(_PROMPT(line) for line in step.shown):
            return self._session(step)
        if any(line.startswith("Password for") for line in step.shown):
            return unlike(step.shown, self._typed(step.said))
        done = subprocess.run(
            ["bash", "-c", step.said],
            check=False,
            cwd=self.folder, env=self._environment(), text=True, timeout=120,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return unlike(step.shown, done.stdout.splitlines())

    def _environment(self) -> dict[str, str]:
        own = {
            "PGPASSWORD": PASSWORD,
            "PSQLRC": os.devnull,
            "PAGER": "cat",
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            "COLUMNS": "100",
            "DPPROXY_SERVER_LISTEN": f"127.0.0.1:{self.port}",  # of configurations that a command writes
        }
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("DPPROXY_", "PG"))}
        return {**kept, **own, "PATH": path}

    def _serve(self, step: Step) -> str:
        """Start a server and read as many lines as are shown; how far it is, and why it fails, goes to a file."""
        words = ["dpproxy", "demo", "--serve", "--port", str(self.port)]
        with self._log.open("w", encoding="utf-8") as log:
            server = subprocess.Popen(
                words if step.said == "make serve" else shlex.split(step.said),
                cwd=self.folder, env=self._environment() | _OF_SERVERS, text=True, start_new_session=True,
                stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip
        self.servers.append(server)
        assert server.stdout is not None
        printed = [server.stdout.readline().rstrip("\n") for _ in step.shown]
        for shown, said in zip(step.shown, printed, strict=True):
            if "://" in shown:  # without the scheme: drivers have names of their own for it
                self.known[shown.partition("://")[2]] = said.partition("://")[2]
        told = unlike(step.shown, printed)
        return f"{told}\n{self._log.read_text(encoding='utf-8')}" if told else ""

    @property
    def _log(self) -> Path:
        return self.folder / "server.log"

    def _session(self, step: Step) -> str:
        """One psql, a statement at a time: what it prints until it has said that it is done."""
        self._leave()
        self.psql = subprocess.Popen(
            ["bash", "-c", f"exec {step.said}"],
            cwd=self.folder, env=self._environment(), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        return self._ask(step.shown)

    def _ask(self, lines: list[str]) -> str:
        """Go on with the session that is open."""
        assert self.psql is not None, "no session is open"
        said = steps("\n".join(lines), *_prompts(lines))
        return "\n    ".join(f"{line.said}\n    {told}" for line in said if (told := _say(self.psql, line)))

    def _leave(self) -> None:
        if self.psql is not None:
            self.psql.communicate(timeout=30)
            self.psql = None

    def _typed(self, command: str) -> list[str]:
        """What a command prints to a terminal that is asked for a password."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execvpe("bash", ["bash", "-c", command], self._environment())
        heard = ""
        while True:
            try:
                heard += os.read(terminal, 4096).decode()
            except OSError:  # what Linux says at the end
                break
            if heard.endswith(": "):
                os.write(terminal, f"{PASSWORD}\n".encode())
                heard += "\n"
        os.waitpid(child, 0)
        os.close(terminal)
        return heard.replace("\r", "").splitlines()


def steps(text: str, first: str, more: str) -> list[Step]:
    """Cut what is shown at the prompts."""
    found: list[Step] = []
    for line in text.splitlines():
        if line.startswith(first):
            found.append(Step(line.removeprefix(first)))
        elif line.startswith(more) and not found[-1].shown:
            found[-1] = Step(f"{found[-1].said}\n{line.removeprefix(more)}")
        else:
            found[-1].shown.append(line)
    return found


def _prompts(lines: list[str]) -> tuple[str, str]:
    prompt = next(line for line in lines if _PROMPT(line))
    database, _, rest = prompt.partition("=")
    return f"{database}={rest[0]} ", f"{database}-{rest[0]} "


def _say(psql: subprocess.Popen[str], step: Step) -> str:
    assert psql.stdin is not None
    assert psql.stdout is not None
    if psql.poll() is not None:
        return f"psql has ended: {psql.stdout.read()}"
    psql.stdin.write(f"{step.said}\n\\echo -- done --\n")
    psql.stdin.flush()
    printed: list[str] = []
    for line in psql.stdout:
        if line == "-- done --\n":
            return unlike(step.shown, printed)
        printed.append(line.rstrip("\n"))
    return f"psql has ended: {printed}"


@contextmanager
def shell(folder: Path, port: int) -> Iterator[Shell]:
    """A new one; servers end with it."""
    made = Shell(folder, port)
    (folder / ELSEWHERE[1:]).mkdir(exist_ok=True)
    try:
        yield made
    finally:
        wrong = made.close()
        assert not wrong, "\n".join(wrong)
