"""What cannot be served: one clear line that names whose file it is, exit status 2, nothing lost."""

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from dpproxy.accounting.ledger import Ledger
from dpproxy.cli.main import main
from tests.crash.test_kill import DDL, POLICY, question
from tests.proxies import ROOT, command, end, environment, spawned, write_home


def stopped(file: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line, without the program's name; in this process."""
    assert main(["serve", "--config", str(file)]) == 2
    out, told = capsys.readouterr()
    assert out == ""
    assert told.startswith("dpproxy: ")
    assert told.count("\n") == 1
    return str(told).removeprefix("dpproxy: ").rstrip("\n")


def refused(file: Path) -> str:
    """The same, in a process of its own."""
    done = subprocess.run(
        command(file), cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("dpproxy: ")
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("dpproxy: ").rstrip("\n")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write_home(tmp_path, DDL, POLICY)
    return tmp_path


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose ledger has three entries."""
    folder = tmp_path_factory.mktemp("used")
    with (
        spawned(write_home(folder, DDL, POLICY)) as proxy,
        psycopg.connect(proxy.dsn(), autocommit=True) as client,
    ):
        for number in (1, 2, 3):
            client.execute(question(number))
    return folder


@pytest.fixture
def copy(used: Path, tmp_path: Path) -> Path:
    shutil.copytree(used, tmp_path / "copy")
    return tmp_path / "copy"


def write(name: str, text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text(text)


def edit(name: str, old: str, new: str) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return change


def remove(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def cut(name: str) -> Callable[[Path], object]:
    return lambda folder: os.truncate(folder / name, 9000)


FILES = (
    ("no configuration", remove("dpproxy.toml"), "{}/dpproxy.toml: no such configuration file"),
    ("an unknown key", edit("dpproxy.toml", "listen", "lissten"),
     "{}/dpproxy.toml:2:1: server.lissten: unknown key; did you mean server.listen?"),
    ("no TOML", write("dpproxy.toml", "[server"), "{}/dpproxy.toml:1:1: not TOML: "),
    ("no data", remove("data.duckdb"), "{0}/dpproxy.toml: data.main.path: expected a file, {0}/data.duckdb does not"),
    ("other data", write("data.duckdb", "x" * 5000), "{}/data.duckdb: expected a DuckDB or SQLite file"),
    ("damaged data", cut("data.duckdb"), "data source {}/data.duckdb cannot be opened: damaged, or of another"),
    ("no users", remove("users.toml"), "{0}/dpproxy.toml: users.file: expected a file, {0}/users.toml does not"),
    ("garbled users", write("users.toml", "nonsense ["), "{}/users.toml: expected a users file: "),
    ("no policy", remove("policy.sql"), "{}/dpproxy.toml: policy.files: expected files, nothing matches 'policy.sql'"),
    ("a typo in the policy", edit("policy.sql", "DOMAIN", "DOMAN"), '{}/policy.sql:4:42: expected DOMAIN, '),
    ("a policy for another column", edit("policy.sql", "COLUMN x", "COLUMN y"),
     '{}/policy.sql:4:28: column "y" of table "t" does not exist'),
    ("a policy for another table", edit("policy.sql", "TABLE t", "TABLE u"),
     '{}/policy.sql:2:13: table "u" does not exist'),
    ("a state that is a file", write("state", ""),
     "{0}/dpproxy.toml: state.directory: expected a directory, {0}/state is"),
)  # fmt: skip


@pytest.mark.timeout(30)
@pytest.mark.parametrize(("what", "break_it", "line"), FILES, ids=[what for what, _, _ in FILES])
def test_a_file_that_is_wrong(
    home: Path, what: str, break_it: Callable[[Path], object], line: str, capsys: pytest.CaptureFixture[str]
):
    del what
    break_it(home)
    assert stopped(home / "dpproxy.toml", capsys).startswith(line.format(home))


def garble(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(b"garbage " * 1000)


def alter(statement: str) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        connection = sqlite3.connect(folder / "state/main/ledger.sqlite", isolation_level=None)
        for name in ("entry_no_update", "entry_no_delete", "debit_no_update", "debit_no_delete"):
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        connection.close()

    return change


LEDGER = "ledger {}/state/main/ledger.sqlite "
STATE = (
    (
        "a garbled ledger",
        garble("state/main/ledger.sqlite"),
        LEDGER + "cannot be used (file is not a database)",
    ),
    ("an empty ledger", write("state/main/ledger.sqlite", ""), LEDGER + "does not verify ("),
    ("a deleted ledger", remove("state/main/ledger.sqlite"), LEDGER + "is missing beside "),
    ("a deleted key", remove("state/main/ledger.key"), LEDGER + "has lost its key "),
    (
        "an entry made cheaper",
        alter("UPDATE entry SET nano = 1 WHERE sequence = 2"),
        LEDGER + "does not verify",
    ),
    ("an account set back", alter("UPDATE account SET nano = 0"), LEDGER + "does not verify"),
    ("the last entry deleted", alter("DELETE FROM entry WHERE sequence = 3"), LEDGER + "does not verify"),
    (
        "a garbled policy catalogue",
        garble("state/main/policy.sqlite"),
        "policy catalogue {}/state/main/policy.sqlite: damaged",
    ),
    (
        "a garbled truncation key",
        write("state/main/truncation.key", "x"),
        "truncation key {}/state/main/truncation.key: damaged",
    ),
    (
        "a garbled login key",
        write("state/login.key", "x"),
        "{}/state/login.key: expected 64 hexadecimal digits",
    ),
)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(("what", "break_it", "line"), STATE, ids=[what for what, _, _ in STATE])
def test_a_state_that_is_damaged_is_not_served(
    copy: Path, what: str, break_it: Callable[[Path], object], line: str, capsys: pytest.CaptureFixture[str]
):
    del what
    break_it(copy)
    before = (
        (copy / "state/main/ledger.key").read_bytes() if (copy / "state/main/ledger.key").exists() else b""
    )
    assert stopped(copy / "dpproxy.toml", capsys).startswith(line.format(copy))
    assert before == ((copy / "state/main/ledger.key").read_bytes() if before else b"")


def test_a_port_in_use(home: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        edit("dpproxy.toml", ":0", f":{port}")(home)
        assert refused(home / "dpproxy.toml") == f"cannot listen on 127.0.0.1:{port}: Address already in use"


def test_data_that_another_process_writes(home: Path):
    hold = f"import duckdb\nc = duckdb.connect({str(home / 'data.duckdb')!r})\nprint(1, flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        line = f"data source {home}/data.duckdb cannot be opened: in use by another process"
        assert refused(home / "dpproxy.toml") == line


def test_a_wrong_password_and_an_unknown_user_are_one_message(copy: Path):
    with spawned(copy / "dpproxy.toml") as proxy:
        told = []
        for user, password in (("ann", "wrong"), ("nobody", "wrong"), ("nobody", "correct horse")):
            with pytest.raises(psycopg.OperationalError) as caught:
                psycopg.connect(proxy.dsn(user).replace("'correct horse'", f"'{password}'"))
            told.append(str(caught.value).replace(user, "USER").splitlines()[-1])
        assert len(set(told)) == 1
        assert 'password authentication failed for user "USER"' in told[0]


# --- disks --------------------------------------------------------------------------------------------


Mount = Callable[[str], None]


@contextmanager
def mounting(folder: Path) -> Iterator[Mount]:
    """A small disk in a folder; called with options it is mounted, or mounted anew."""
    folder.mkdir()
    mounted: list[str] = []

    def mount(options: str) -> None:
        first = ["-t", "tmpfs", "-o", f"mode=700,{options}", "tmpfs", str(folder)]
        again = ["-o", f"remount,{options}", str(folder)]
        done = subprocess.run(["mount", *(again if mounted else first)], capture_output=True, check=False)
        if done.returncode:
            pytest.skip("a disk cannot be mounted here")
        mounted.append(options)

    yield mount
    if mounted:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def disk(home: Path) -> Iterator[Mount]:
    """Under the state directory."""
    with mounting(home / "state") as mount:
        yield mount


@pytest.fixture
def second(home: Path) -> Iterator[Mount]:
    """Under the high-water mark, which is configured."""
    edit("dpproxy.toml", "[state]\n", '[state]\nhigh_water = "second/mark"\n')(home)
    with mounting(home / "second") as mount:
        yield mount


def test_a_second_disk_without_room_for_the_mark(
    home: Path, second: Mount, capsys: pytest.CaptureFixture[str]
):
    second("size=4k")
    (home / "second/ballast").write_bytes(bytes(4096))
    line = f"high-water mark {home}/second/mark cannot be used (No space left on device): refusing to serve"
    assert stopped(home / "dpproxy.toml", capsys) == line


def test_a_second_disk_that_turns_read_only_answers_nothing_and_heals(home: Path, second: Mount):
    second("size=64k")
    with spawned(home / "dpproxy.toml") as proxy, psycopg.connect(proxy.dsn(), autocommit=True) as client:
        first = client.execute(question(1)).fetchone()
        second("ro")
        for number in (2, 3, 4):
            with pytest.raises(psycopg.Error) as caught:
                client.execute(question(number))
            assert caught.value.sqlstate == "58030"
        assert client.execute(question(1)).fetchone() == first  # what was paid for stays
        assert client.execute("SELECT count(*) FROM dp.ledger").fetchone() == (2,)  # the first was charged
        line = f"high-water mark {home}/second/mark cannot be used (Read-only file system): refusing to serve"
        assert refused(home / "dpproxy.toml") == line
        second("rw")
        assert client.execute(question(5)).fetchone() is not None
        client.close()
        status, log = end(proxy)
    assert status == 0
    assert "(Read-only file system" in log
    with Ledger.open(home / "state" / "main", high_water=home / "second/mark") as ledger:
        assert ledger.verify() == 3


def test_a_disk_that_is_full_at_the_start(home: Path, disk: Mount):
    disk("size=64k")
    assert "the disk is full" in refused(home / "dpproxy.toml")


def test_a_disk_that_fills_up_and_is_emptied(home: Path, disk: Mount):
    disk("size=1m")
    ballast = home / "state/ballast"
    with spawned(home / "dpproxy.toml") as proxy, psycopg.connect(proxy.dsn(), autocommit=True) as client:
        first = client.execute(question(1)).fetchone()
        spent = client.execute("SELECT spent FROM dp.budgets").fetchone()
        with pytest.raises(OSError, match="No space"):
            ballast.write_bytes(bytes(2 * 2**20))
        told = []
        for number in range(100, 400):
            try:
                client.execute(question(number))
                told.append("")
            except psycopg.Error as error:
                told.append(str(error.sqlstate))
        assert told[-1] == "58030"
        assert set(told) <= {"", "58030"}
        assert client.execute(question(1)).fetchone() == first  # what was paid for stays
        ballast.unlink()
        assert client.execute(question(1000)).fetchone() is not None
        now = client.execute("SELECT spent FROM dp.budgets").fetchone()
        assert spent is not None
        assert now is not None
        assert now[0] - spent[0] >= spent[0] * (told.count("") + 1)
        client.close()
        status, log = end(proxy)
    assert status == 0
    start = "dpproxy: the privacy ledger "
    said = [line.removeprefix(start) for line in log.splitlines() if line.startswith(start)]
    times, rest = divmod(len(said), 2)  # a log that is given back may make room for a few charges more
    assert times >= 1
    assert rest == 0
    assert said == times * [
        "cannot be written (database or disk is full): new questions are refused until it can",
        "can be written again",
    ]
    with Ledger.open(home / "state" / "main") as ledger:
        assert ledger.verify() > 0


def test_a_disk_that_is_read_only(home: Path, disk: Mount):
    disk("size=4m")
    with spawned(home / "dpproxy.toml") as proxy, psycopg.connect(proxy.dsn(), autocommit=True) as client:
        client.execute(question(1))
    disk("ro")
    line = f"state directory {home}/state cannot be used: Read-only file system"
    assert refused(home / "dpproxy.toml") == line
