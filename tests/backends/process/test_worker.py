"""The process of the data, in this one: its methods, its errors, and what it does not do."""

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.backends.process import worker as module
from dpproxy.backends.process.frames import Channel, unpacked
from dpproxy.backends.process.worker import CLOSE, INTERRUPT, LANE, ORDER, Worker, main, opened
from dpproxy.values.pgtypes import TEXT, Schema

ENDLESS = "SELECT CAST(count(*) AS HUGEINT) AS m0 FROM range(10000000000) AS r(i), t"
GROUPS = "SELECT k AS k0, CAST(count(*) AS HUGEINT) AS m0 FROM t GROUP BY 1 ORDER BY 1"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT CAST(i % 3 AS VARCHAR) AS k FROM range(9) AS r(i)")
    return path


@pytest.fixture
def worker(file: Path) -> Iterator[Worker]:
    found = Worker(DuckDB(file, threads=1))
    yield found
    found.close()


@pytest.fixture
def lane(worker: Worker) -> Iterator[Channel]:
    ours, theirs = socket.socketpair()
    serving = threading.Thread(target=worker.serve, args=(Channel(theirs),))
    serving.start()
    yield Channel(ours)
    ours.close()
    serving.join()
    theirs.close()


def ask(lane: Channel, *request: object) -> tuple[object, object]:
    lane.send(list(request))
    header, body = lane.receive()
    return header, unpacked(body).to_pylist() if len(body) else None


def test_statements_are_answered_one_after_the_other(lane: Channel):
    assert ask(lane, 1, "run_public", ["SELECT k FROM t ORDER BY 1 LIMIT 2"]) == (
        ["done", [["0"], ["0"]]],
        None,
    )
    header, rows = ask(lane, 2, "run", [GROUPS, [], [TEXT], False])
    assert header == ["done", None]
    assert [(row["k0"], int(row["m0"])) for row in rows] == [("0", 3), ("1", 3), ("2", 3)]  # type: ignore[attr-defined]
    assert ask(lane, 3, "run_open", ["SELECT 1 AS c0"]) == (["done", None], [{"c0": 1}])
    assert ask(lane, 4, "prepared_names", []) == (["done", []], None)
    lane.send([5, "schema", [[]]])
    [done, schema] = lane.receive()[0]
    assert (done, isinstance(schema, Schema)) == ("done", True)


def test_groups_are_selected_by_their_counts_alone(lane: Channel):
    lane.send([1, "run", [GROUPS, [], None, True]])
    header, body = lane.receive()
    assert (header, unpacked(body).column_names, len(unpacked(body))) == (["rows", None], ["k0"], 0)
    header, body = lane.receive()
    assert header == ["groups", None]
    assert unpacked(body).column_names == ["units"]
    lane.send("keep", bytes([1, 0, 1]))
    header, body = lane.receive()
    assert (header, unpacked(body)["k0"].to_pylist()) == (["rows", None], ["0", "2"])
    assert lane.receive()[0] == ["done", None]
    lane.send([2, "run", [GROUPS, [], None, True]])
    lane.receive()
    lane.receive()
    lane.send("stop")
    assert lane.receive()[0] == ["failed", "cancelled"]


@pytest.mark.parametrize(
    ("method", "arguments", "code"),
    [
        ("run", ["SELECT CAST('secret' || k AS INTEGER) AS m0 FROM t", [], [], False], "exact"),
        ("run_public", ["SELECT CAST('secret' || k AS INTEGER) FROM t"], "public"),
        ("run_public", ["SELECT (SELECT k FROM t)"], "public several"),
        ("run", ["SELECT $1 AS m0", [["1", ["list"]]], [], False, "more"], "exact"),
        ("__init__", [], "exact"),
        ("eval", ["1"], "exact"),
    ],
)
def test_what_goes_wrong_leaves_as_an_entry_of_the_table(
    lane: Channel, method: str, arguments: list[object], code: str
):
    assert ask(lane, 1, method, arguments) == (["failed", code], None)


def test_an_interrupt_is_not_lost_before_during_or_after(worker: Worker, lane: Channel):
    worker.interrupt(1)
    assert ask(lane, 1, "run", [ENDLESS, [], [], False])[0] == ["failed", "cancelled"]
    threading.Timer(0.1, worker.interrupt, (2,)).start()
    for number, method in ((2, "run"), (3, "run_public")):
        threading.Timer(0.1, worker.interrupt, (number,)).start()
        rest = [[], [], False] if method == "run" else []
        assert ask(lane, number, method, [ENDLESS, *rest])[0] == ["failed", "cancelled"]
    worker.interrupt(3)
    assert ask(lane, 4, "run_public", ["SELECT 1"])[0] == ["done", [[1]]]


def test_a_file_that_cannot_be_opened_is_told(tmp_path: Path):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        Channel(ours).send([str(tmp_path / "none.duckdb"), None, None, None, None])
        assert opened(Channel(theirs)) is None
        [outcome, cause] = Channel(ours).receive()[0]
    assert (outcome, str(cause).startswith("data source")) == ("failed", True)


def test_orders_on_the_control_socket(file: Path):
    control, theirs = socket.socketpair()
    ours, first = socket.socketpair()
    more, second = socket.socketpair()
    serving = threading.Thread(target=main, args=(theirs, first))
    with control, ours, more, theirs, first:
        serving.start()
        Channel(ours).send([str(file), 1, None, None, None])
        assert Channel(ours).receive()[0] == ["done", None]
        with second:
            socket.send_fds(control, [ORDER.pack(LANE, 0)], [second.fileno()])
        lane = Channel(more)
        lane.send([7, "run", [ENDLESS, [], [], False]])
        control.send(ORDER.pack(INTERRUPT, 7))
        assert lane.receive()[0] == ["failed", "cancelled"]
        control.send(ORDER.pack(CLOSE, 0))
        serving.join(10)
        assert not serving.is_alive()
    time.sleep(0.05)  # the threads of the lanes see their ends closed


def test_it_starts_without_a_parser():
    program = "import sys, dpproxy.backends.process.worker; print('sqlglot' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "False\n"


def test_it_draws_nothing():
    """Noise and its source stay in the parent: the module names neither."""
    source = Path(module.__file__).read_text(encoding="utf-8")
    assert "urandom" not in source
    assert "pool" not in source
