"""The tour: a real server over the example data, asked through a real driver as an analyst and an administrator.

Every statement is printed with its answer, what it cost and what is left. A step that does not behave ends the tour
with a status other than 0.
"""

import re
import secrets
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import psycopg
from msgspec import Struct, field

from dpproxy.cli.page import is_installed
from dpproxy.config.users import add_user
from dpproxy.system.process import Process, serving
from dpproxy.terminal.arguments import Arguments
from dpproxy.terminal.console import tell
from dpproxy.terminal.display import caret, render, spoken
from dpproxy.values.errors import StartupError

ROOT = Path(__file__).resolve().parents[2]
_PACKED = Path(__file__).parents[1] / "examples"
EXAMPLES = _PACKED if _PACKED.is_dir() else ROOT / "examples"
"""The example data; inside the package where it was installed from a wheel."""
ANALYST, ADMINISTRATOR = "analyst", "administrator"
ROLES = {ANALYST: "analyst", ADMINISTRATOR: "admin"}
"""Users and the role each has."""
CONFIG = """\
[server]
listen = "127.0.0.1:{port}"
[state]
directory = "state"
[data.main]
path = '{examples}/data'
[policy]
files = ['{examples}/policy/*.sql']
[users]
file = "users.toml"
"""
PAGE = 8080
"""The port of the page, where it is free."""
_PAGE = """\
[web]
listen = "127.0.0.1:{port}"
"""


class TourFailed(Exception):
    """A step of the tour did not behave as expected; the message says which and how."""


class Running(Struct, frozen=True):
    """A running server: its process and a URL for each user."""

    process: Process
    urls: dict[str, str]


@contextmanager
def running(folder: Path, port: int, *, has_page: bool = False) -> Iterator[Running]:
    """A server over the example data, its state and users in ``folder``; it is stopped at the end.

    A page is shown where its packages are installed.
    """
    if not (EXAMPLES / "data").is_dir():
        raise StartupError(f"{EXAMPLES}: expected the example data; install dpproxy anew")
    file = folder / "dpproxy.toml"
    page = _PAGE.format(port=_free(PAGE)) if has_page and is_installed() else ""
    file.write_text(CONFIG.format(port=port, examples=EXAMPLES) + page, encoding="utf-8")
    passwords = {user: secrets.token_urlsafe(12) for user in ROLES}
    for user, role in ROLES.items():
        add_user(folder / "users.toml", user, [role], passwords[user])
    with serving(file) as (process, address):
        yield Running(
            process, {user: f"postgresql://{user}:{word}@{address}/main" for user, word in passwords.items()}
        )


def _free(port: int) -> int:
    """The port where nobody listens on it, 0 for any other where somebody does."""
    with socket.socket() as trying:
        return 0 if trying.connect_ex(("127.0.0.1", port)) == 0 else port


def serve(port: int, out: TextIO = sys.stdout) -> int:
    """Keep a server running and print one URL per role, until interrupted."""
    try:
        with (
            tempfile.TemporaryDirectory(prefix="dpproxy-demo-") as folder,
            running(Path(folder), port, has_page=True) as server,
        ):
            for url in server.urls.values():
                print(url, file=out, flush=True)
            return server.process.wait()
    except KeyboardInterrupt:
        return 0


class Voice(Struct):
    """One user of the tour: runs statements, prints their output, remembers the notices of the last one."""

    connection: psycopg.Connection[tuple[object, ...]]
    user: str
    out: TextIO
    notices: list[str] = field(default_factory=list)

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        """Run one statement and print its output."""
        self._prompt(sql)
        try:
            cursor = self.connection.execute(sql)
        except psycopg.Error as error:
            self._print(show_refusal(sql, error))
            raise TourFailed(f"refused with {error.sqlstate}: {sql}") from None
        rows = cursor.fetchall() if cursor.description else []
        if cursor.description:
            self._print(render([column.name for column in cursor.description], rows))
        else:
            self._print(cursor.statusmessage or "")
        self._tell()
        return rows

    def expect_refusal(self, sql: str, sqlstate: str) -> str:
        """Run a statement that must be refused; returns the refusal's hint."""
        self._prompt(sql)
        try:
            self.connection.execute(sql)
        except psycopg.Error as error:
            self._print(show_refusal(sql, error))
            self._tell()
            _expect(error.sqlstate == sqlstate, f"expected {sqlstate}, got {error.sqlstate}: {sql}")
            return error.diag.message_hint or ""
        raise TourFailed(f"expected {sqlstate}, got an answer: {sql}")

    def value(self, sql: str) -> str:
        """The single value of a statement's result, without printing it."""
        row = self.connection.execute(sql).fetchone()
        self.notices.clear()
        _expect(row is not None, f"no row: {sql}")
        return str(row[0]) if row else ""

    def _prompt(self, sql: str) -> None:
        self.notices.clear()
        self._print(f"{self.user}=> {sql};")

    def _tell(self) -> None:
        self._print("".join(f"{notice}\n" for notice in self.notices))

    def _print(self, text: str) -> None:
        print(text, file=self.out, flush=True)


@contextmanager
def speaking(url: str, user: str, out: TextIO) -> Iterator[Voice]:
    """A user connected with autocommit, whose notices are printed after the answer."""
    with psycopg.connect(url, autocommit=True) as connection:
        voice = Voice(connection, user, out)
        connection.add_notice_handler(lambda notice: voice.notices.append(show_notice(notice)))
        yield voice


def show_notice(notice: psycopg.errors.Diagnostic) -> str:
    """A notice with its detail and hint."""
    return spoken(
        f"{notice.severity}:  {notice.message_primary}",
        detail=notice.message_detail,
        hint=notice.message_hint,
    )


def show_refusal(sql: str, error: psycopg.Error) -> str:
    """A refusal as psql shows it."""
    found = error.diag
    place = caret(sql, int(found.statement_position) - 1) if found.statement_position else []
    first = f"ERROR:  {error.sqlstate}: {found.message_primary or error}"
    return spoken(first, *place, detail=found.message_detail, hint=found.message_hint)


def rewrite_in(hint: str) -> str:
    """The statement that a hint holds.

    >>> rewrite_in("write SELECT count(*) FROM t; it passes")
    'SELECT count(*) FROM t'
    """
    found = re.search(r"\b(?:SELECT|WITH)\b[^;]*", hint)
    _expect(found is not None, f"the hint holds no statement: {hint}")
    return found[0].strip() if found else ""


def _expect(held: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not held:
        raise TourFailed(otherwise)


# --- the tour ---------------------------------------------------------------------------------------

BY_SEX = "SELECT sex, count(*), sum(hours_per_week), avg(age) FROM adult GROUP BY sex"
INTERVALS = """\
SELECT sex, count(*) AS n, dp.ci_low(count(*)), dp.ci_high(count(*)), dp.noise_sd(count(*))
  FROM adult WHERE income = '>50K' GROUP BY sex"""
LONGEST_HOURS = """\
SELECT education, count(*) AS people, avg(hours_per_week) AS hours FROM adult WHERE age >= 40
  GROUP BY education HAVING count(*) > 300 ORDER BY hours DESC LIMIT 5"""
REWORDED = """\
SELECT sex AS who, avg(age) AS age, count(*) AS n, sum(hours_per_week) AS hours
  FROM adult GROUP BY sex ORDER BY n DESC"""

LEDGER = "SELECT sequence, who, kind, what, epsilon, budget, ceiling FROM dp.ledger ORDER BY sequence"


def tour(urls: dict[str, str], out: TextIO) -> None:
    """All steps, in order.

    Raises:
        TourFailed: at the first that does not behave.
    """
    with (
        speaking(urls[ANALYST], ANALYST, out) as analyst,
        speaking(urls[ADMINISTRATOR], ADMINISTRATOR, out) as administrator,
    ):
        for heading, step in STEPS:
            print(f"\n--- {heading} ---\n", file=out, flush=True)
            step(analyst, administrator)


def _price(analyst: Voice, _: Voice) -> None:
    before = analyst.value("SHOW dp.budget_remaining")
    _expect(len(analyst.ask(f"EXPLAIN (PRIVACY) {BY_SEX}")) > 3, "EXPLAIN (PRIVACY) said nothing")
    _expect(analyst.value("SHOW dp.budget_remaining") == before, "EXPLAIN (PRIVACY) cost something")


def _groups(analyst: Voice, _: Voice) -> None:
    rows = analyst.ask(BY_SEX)
    _expect({row[0] for row in rows} == {"Female", "Male"}, "not the declared keys")
    analyst.ask("SHOW dp.last_cost")
    analyst.ask("SHOW dp.budget_remaining")


def _after_release(analyst: Voice, _: Voice) -> None:
    analyst.ask("SET dp.epsilon = 0.5")
    _expect(len(analyst.ask(LONGEST_HOURS)) == 5, "not five rows")
    analyst.ask("RESET dp.epsilon")


def _intervals(analyst: Voice, _: Voice) -> None:
    for _sex, n, low, high, _sd in analyst.ask(INTERVALS):
        ordered = isinstance(n, int) and float(str(low)) <= n <= float(str(high))
        _expect(ordered, "an answer outside its own interval")


def _refusal(analyst: Voice, _: Voice) -> None:
    hint = analyst.expect_refusal("SELECT relationship, age FROM adult", "42501")
    analyst.ask(rewrite_in(hint))


def _replay(analyst: Voice, _: Voice) -> None:
    before = analyst.value("SHOW dp.budget_remaining")
    analyst.ask(REWORDED)
    analyst.ask("SHOW dp.last_cost")
    _expect(analyst.value("SHOW dp.budget_remaining") == before, "a replayed answer cost something")


def _spent(analyst: Voice, _: Voice) -> None:
    analyst.ask("SELECT count(*), avg(agi) FROM census")
    analyst.ask("SELECT avg(fedtax) FROM census WHERE agi > 50000")
    analyst.expect_refusal("SELECT avg(statetax) FROM census WHERE agi > 50000", "PD001")


def _administrator(analyst: Voice, administrator: Voice) -> None:
    administrator.ask("SHOW PRIVACY BUDGETS")
    analyst.expect_refusal("SELECT avg(intval) FROM census", "42703")
    administrator.ask("ALTER TABLE census ALTER COLUMN intval SET PRIVACY DOMAIN BETWEEN 0 AND 50000")
    administrator.ask("CREATE PRIVACY BUDGET interest LIMIT EPSILON 2 MAX EPSILON 1 DEFAULT EPSILON 0.5")
    administrator.ask("GRANT SELECT ON census TO analyst WITH PRIVACY BUDGET interest")
    analyst.ask("SET dp.budget = 'interest'")
    analyst.ask("SELECT avg(intval) FROM census")


def _ledger(_: Voice, administrator: Voice) -> None:
    _expect(len(administrator.ask(LEDGER)) >= 6, "entries are missing from the ledger")


STEPS: tuple[tuple[str, Callable[[Voice, Voice], None]], ...] = (
    ("The price, before anything is spent", _price),
    ("Counts, sums and averages by group, for that price", _groups),
    ("HAVING, ORDER BY and LIMIT work on released values, free of charge", _after_release),
    ("How far off an answer may be", _intervals),
    ("A refusal that teaches, and what it suggests", _refusal),
    ("The same question in other words: the same answer, free", _replay),
    ("A budget that runs out", _spent),
    ("The administrator declares a column and grants another budget", _administrator),
    ("Everything that was spent, in the ledger", _ledger),
)


def command(arguments: Arguments) -> int:
    """The tour, or its server alone."""
    if arguments.serve:
        return serve(arguments.port)
    if arguments.port:
        raise StartupError("--port: expected with --serve; the tour takes a free one")
    return demo()


def demo(out: TextIO = sys.stdout) -> int:
    """Run the tour against a server of its own; 0 if every step behaved and the server stopped cleanly."""
    with tempfile.TemporaryDirectory(prefix="dpproxy-demo-") as folder:
        try:
            with running(Path(folder), 0) as server:
                tour(server.urls, out)
        except (TourFailed, psycopg.Error) as error:
            tell(f"the tour failed: {error}")
            return 1
        status = server.process.returncode
    print(f"--- The server has stopped with status {status} ---", file=out)
    return 0 if status == 0 else 1
