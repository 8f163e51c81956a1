"""Several proxies on one state directory, and commands beside them."""

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path

import psycopg
import pytest

from dpproxy.accounting.ledger import Ledger
from tests.postgres import Server
from tests.proxies import ROOT, Proxy, environment, spawned, write_home

TABLES = ("raced", "asked", "together", "revoked")
DDL = tuple(
    f"CREATE TABLE {name} AS SELECT CAST(i % 7 AS INTEGER) AS p, CAST(i AS INTEGER) AS x FROM range(1000) AS r(i)"
    for name in TABLES
)
POLICY = "".join(
    f"""
ALTER TABLE {name} SET PRIVACY KEY (p) MAX ROWS 3;
ALTER TABLE {name} SET PRIVACY CEILING EPSILON 10;
ALTER TABLE {name} ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 100000;
CREATE PRIVACY BUDGET {name} LIMIT EPSILON 1 DEFAULT EPSILON 0.1;
GRANT SELECT ON {name} TO analyst WITH PRIVACY BUDGET {name};
"""
    for name in TABLES
)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration with a mark."""
    file = write_home(tmp_path_factory.mktemp("shared"), DDL, POLICY)
    more = 'high_water = "mark"\n'
    if request.param == "postgres":
        server: Server = request.getfixturevalue("postgres")
        more += f'ledger = "{server.url(server.database(name="kept"))}"\n'
    file.write_text(file.read_text().replace("[state]\n", f"[state]\n{more}"))
    return file


@pytest.fixture(scope="module")
def two(file: Path) -> Iterator[tuple[Proxy, Proxy]]:
    with spawned(file) as one, spawned(file) as other:
        yield one, other


def ask(proxy: Proxy, sql: str, user: str = "ann") -> list[tuple[object, ...]]:
    with psycopg.connect(proxy.dsn(user), autocommit=True) as connection:
        return connection.execute(sql).fetchall()


def command(file: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "dpproxy", *words, "--config", str(file)],
        cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


SPENT = "SELECT spent FROM dp.budgets WHERE budget = 'asked'"


def test_connections_to_both_race_for_ten_queries(two: tuple[Proxy, Proxy], file: Path):
    with ExitStack() as stack, ThreadPoolExecutor(32) as pool:
        open_ = [stack.enter_context(psycopg.connect(two[n % 2].dsn(), autocommit=True)) for n in range(32)]

        def one(number: int) -> str:
            try:
                open_[number].execute(f"SELECT count(*) FROM raced WHERE x < {number}")
            except psycopg.Error as error:
                return str(error.sqlstate)
            return ""

        told = Counter(pool.map(one, range(32)))
    assert told == {"": 10, "PD001": 22}
    for proxy in two:
        assert ask(proxy, "SELECT spent, remaining FROM dp.budgets WHERE budget = 'raced'") == [
            (Decimal(1), Decimal(0))
        ]
    assert "entries, all verified; nothing was rolled back" in command(file, "ledger", "verify")


def test_an_answer_of_one_is_free_at_the_other(two: tuple[Proxy, Proxy]):
    first = ask(two[0], "SELECT sum(x) FROM asked")
    ask(two[0], "SELECT count(*) FROM asked")  # its charge takes the answer before it along
    before = ask(two[1], SPENT)
    assert ask(two[1], "SELECT sum(x) FROM asked") == first
    assert ask(two[1], SPENT) == before


@pytest.mark.parametrize(
    ("asked", "draws"), [("sum(x)", 1), ("min(x), max(x)", 2)], ids=["one release", "two releases"]
)
def test_a_new_question_at_both_at_once_is_drawn_once(two: tuple[Proxy, Proxy], asked: str, draws: int):
    """Whoever did not draw it waits for what is stored."""
    sql = f"SELECT {asked} FROM together"
    charges = "SELECT count(*) FROM dp.ledger WHERE budget = 'together'"
    [(before,)] = ask(two[0], charges)
    barrier = threading.Barrier(8)

    def one(number: int) -> object:
        with psycopg.connect(two[number % 2].dsn(), autocommit=True) as connection:
            barrier.wait()
            return connection.execute(sql.encode()).fetchone()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(one, range(8)))) == 1
    assert ask(two[0], charges) == [(before + draws,)]


def test_a_policy_changed_at_one_is_in_force_at_the_other(two: tuple[Proxy, Proxy], file: Path):
    ask(two[1], "SELECT count(*) FROM revoked")
    with psycopg.connect(two[0].dsn("root"), autocommit=True) as boss:
        boss.execute("REVOKE SELECT ON revoked FROM analyst")
    with pytest.raises(psycopg.Error) as caught:
        ask(two[1], "SELECT count(*) FROM revoked")
    assert caught.value.sqlstate in {"42P01", "42501"}
    assert "ON revoked TO" not in command(file, "policy", "dump")


def test_commands_work_beside_a_proxy(two: tuple[Proxy, Proxy], file: Path, tmp_path: Path):
    ask(two[0], "SELECT count(*) FROM asked WHERE x > 1")
    assert "asked" in command(file, "budget", "show")
    assert "epsilon" in command(file, "explain", "SELECT count(*) FROM asked")
    assert "policy version" in command(file, "policy", "apply")
    assert command(file, "ledger", "export").count("\n") > 3
    if "postgresql" not in file.read_text():
        assert "all verified" in command(file, "ledger", "backup", str(tmp_path / "copy"))
    for proxy in two:
        assert ask(proxy, "SELECT sum(x) FROM asked WHERE x < 10")


def test_two_hosts_share_a_ledger(postgres: Server, tmp_path: Path):
    """Each has a state directory of its own; the second one was given the key."""
    url = postgres.url(postgres.database())
    files = []
    for name in ("one", "two"):
        file = write_home(tmp_path / name, DDL, POLICY)
        file.write_text(
            file.read_text().replace("[state]\n", f'[state]\nledger = "{url}"\nhigh_water = "mark"\n')
        )
        files.append(file)
    with spawned(files[0]) as one:
        other_state = tmp_path / "two" / "state" / "main"
        done = subprocess.run(
            [sys.executable, "-m", "dpproxy", "serve", "--config", str(files[1])],
            cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert "has lost its key" in done.stderr
        for key in ("ledger.key", "truncation.key"):
            (other_state / key).write_bytes((tmp_path / "one" / "state" / "main" / key).read_bytes())
        ask(one, "SELECT count(*) FROM raced WHERE x < 1")
        command(files[1], "ledger", "mark")
        with spawned(files[1]) as other:
            for number in range(2, 11):
                ask((one, other)[number % 2], f"SELECT count(*) FROM raced WHERE x < {number}")
            for proxy in (one, other):
                with pytest.raises(psycopg.Error) as caught:
                    ask(proxy, "SELECT count(*) FROM raced WHERE x < 99")
                assert caught.value.sqlstate == "PD001"
    with Ledger.open(
        tmp_path / "one" / "state" / "main", url=url, high_water=tmp_path / "one" / "mark"
    ) as ledger:
        assert ledger.verify() == 10
