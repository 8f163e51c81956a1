"""What processes behind one address know of each other."""

import asyncio
import errno
import os
import resource
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from dpproxy.cli.serve import _part
from dpproxy.config.configuration import load_config
from dpproxy.server import place as module
from dpproxy.server import processes
from dpproxy.server.options import Options
from dpproxy.server.place import VARIABLE, Channel, Message, Place, pair
from dpproxy.server.processes import Processes, _Part
from dpproxy.server.service import Service
from dpproxy.session.session import Session
from dpproxy.system.attempts import FIRST
from dpproxy.values.errors import StartupError, TooManyConnections
from dpproxy.wire.messages import CancelRequest, Startup
from tests.cli.test_serve import write
from tests.fake_engine import ALICE, FakeEngine, FakeUsers

BOSS = replace(ALICE, user="boss", roles=frozenset({"admin"}))


class Known:
    """A client that is logged in."""

    def __init__(self, process: int) -> None:
        self.session = Session(FakeEngine(), FakeUsers(), process=process)
        self.session.caller = replace(ALICE, process=process)
        self.address, self.silent_since, self.has_spoken, self.told = "", 0.0, True, ""

    def cancel(self) -> None:
        self.told += "cancel "

    def end(self) -> None:
        self.told += "end "

    def drain(self) -> None: ...

    def stop(self) -> None: ...

    def abandon(self) -> None: ...


@pytest.fixture
def two() -> tuple[Service, Service]:
    """Two processes that tell each other everything at once."""
    made = [
        Service(
            Options(max_connections=2),
            FakeEngine(),
            FakeUsers(),
            ThreadPoolExecutor(1),
            None,
            place=Place(n, 2),
        )
        for n in range(2)
    ]
    made[0].place.tell, made[1].place.tell = made[1].hear, made[0].hear
    return made[0], made[1]


def client(service: Service, process: int) -> Known:
    service.admit(replace(ALICE, process=process))
    found = service.clients[process] = Known(process)
    return found


def test_each_process_has_numbers_of_its_own():
    numbers = {
        n: [Place(n, 3).session(before) for before in (0, n + 3, 0x7FFFFFFE + n - 1)] for n in range(3)
    }
    assert numbers == {0: [3, 6, 3], 1: [4, 7, 4], 2: [5, 8, 5]}
    assert all(Place(n, 3).has(one) for n, own in numbers.items() for one in own)
    assert [Place().session(before) for before in (0, 1, 0x7FFFFFFF)] == [1, 2, 1]


def test_a_cancel_finds_its_session_wherever_it_arrives(two: tuple[Service, Service]):
    found = client(two[1], 3)
    for service in two:
        service.cancel(CancelRequest(3, bytes(32)))
    assert found.told == ""
    for service in two:
        service.cancel(CancelRequest(3, found.session.secret))
    assert found.told == "cancel cancel "


def test_sessions_of_other_processes_are_signalled_by_their_user_and_administrators(
    two: tuple[Service, Service],
):
    found = client(two[1], 3)
    assert not two[0].signal(replace(ALICE, user="bob"), 3, ends=True)
    assert not two[0].signal(BOSS, 5, ends=True)
    assert two[0].signal(ALICE, 3, ends=False)
    assert two[0].signal(BOSS, 3, ends=True)
    two[1].hear({"kind": "signal", "session": 3, "user": "bob", "is_admin": False, "ends": True})
    assert found.told == "cancel end "


def test_all_processes_together_have_the_places_of_one(two: tuple[Service, Service]):
    client(two[0], 2)
    client(two[1], 3)
    for service in two:
        with pytest.raises(TooManyConnections):
            service.admit(replace(ALICE, process=4))
    two[1].leave(3)
    two[1].leave(3)
    two[0].admit(replace(ALICE, process=4))
    assert two[1].place.others == {2: "alice", 4: "alice"}
    two[1].hear({"kind": "lost", "number": 0})
    assert not two[1].place.others
    two[0].hear({"kind": "joined"})
    assert two[1].place.others == {2: "alice", 4: "alice"}


def test_a_wrong_password_at_one_slows_the_next_at_the_other(two: tuple[Service, Service]):
    session = Session(FakeEngine(), FakeUsers())
    session._startup = Startup({"user": "alice"})
    assert two[1].begin_attempt(session, "10.0.0.1", is_of_page=True) == 0
    assert FIRST / 2 < two[0].begin_attempt(session, "10.0.0.1", is_of_page=False) <= FIRST
    two[1].end_attempt(session, "10.0.0.1")
    assert two[0].begin_attempt(session, "10.0.0.1", is_of_page=False) == 0


def test_a_place_is_given_once():
    ours, theirs = pair()
    long = "#" * (1 << 20)
    with ours:
        file = Place(1, 2, theirs, "key", long).written()
        told = {VARIABLE: str(os.dup(file.fileno()))}
        file.close()
        place = Place.given(told)
        assert (place.number, place.count, place.page_key, place.config) == (1, 2, "key", long)
        assert place.end is not None
        assert place.end.fileno() == theirs.detach()
        assert Place.given(told) == Place()
        place.end.close()


def test_messages_and_clients_arrive_in_order_however_slow_the_reader():
    async def run() -> list[tuple[Message, bool]]:
        heard: list[tuple[Message, bool]] = []
        done = asyncio.Event()
        ours, theirs = pair()
        client, peer = socket.socketpair()

        def receive(message: Message, came: socket.socket | None) -> None:
            heard.append((message, came is not None))
            if came is not None:
                came.sendall(b"here")
                came.close()
                done.set()

        sender = Channel(ours, lambda _message, _client: None)
        for n in range(1000):
            sender.send({"n": n, "filler": "x" * 2000})
        sender.send({"n": 1000}, client)
        reader = Channel(theirs, receive)
        await done.wait()
        assert client.fileno() == -1
        with peer:
            assert peer.recv(9) == b"here"
        reader.close()
        await sender.ended.wait()
        late, other = pair()
        with other:
            sender.send({}, late)
            assert late.fileno() == -1
        return heard

    heard = asyncio.run(run())
    assert [(message["n"], came) for message, came in heard] == [(n, n == 1000) for n in range(1001)]


def test_what_the_system_has_no_room_for_is_sent_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    errors = [errno.ETOOMANYREFS, errno.ENOBUFS]
    send = socket.send_fds

    def sometimes(end: socket.socket, data: list[bytes], handles: list[int]) -> int:
        if errors:
            raise OSError(errors.pop(), "no room")
        return send(end, data, handles)

    monkeypatch.setattr(socket, "send_fds", sometimes)
    monkeypatch.setattr(module, "_PAUSE", 0.01)

    async def run() -> list[Message]:
        heard: list[Message] = []
        ours, theirs = pair()
        sender, done = Channel(ours, lambda _message, _client: None), asyncio.Event()

        def receive(message: Message, _client: socket.socket | None) -> None:
            heard.append(message)
            if len(heard) == 2:
                done.set()

        reader = Channel(theirs, receive)
        for message in ({"n": 1}, {"kind": "long", "text": "x" * (1 << 18)}, {"n": 2}):
            sender.send(message)
        await done.wait()
        assert not sender.ended.is_set()
        reader.close()
        await sender.ended.wait()
        return heard

    assert asyncio.run(run()) == [{"n": 1}, {"n": 2}]
    assert caplog.messages == ["a message to another process is not sent: 'long' takes 262172 bytes"]
    assert not errors


def test_a_client_for_whom_a_process_has_no_number_left_is_told_as_gone(two: tuple[Service, Service]):
    async def run() -> list[tuple[Message, bool]]:
        heard: list[tuple[Message, bool]] = []
        ours, theirs = pair()
        sender, done = Channel(ours, lambda _message, _client: None), asyncio.Event()

        def receive(message: Message, came: socket.socket | None) -> None:
            heard.append((message, came is not None))
            done.set()

        reader = Channel(theirs, receive)
        client, peer = socket.socketpair()
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        try:
            sender.send({"kind": "client"}, client)
            resource.setrlimit(resource.RLIMIT_NOFILE, (3, limit[1]))
            await done.wait()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
        with peer:
            assert peer.recv(1) == b""
        reader.close()
        await sender.ended.wait()
        return heard

    assert asyncio.run(run()) == [({"kind": "client"}, False)]
    told = list[Message]()
    two[0].place.tell = told.append
    two[0].hear({"kind": "client"})
    two[0].hear({"kind": "probe"})
    assert told == [{"kind": "left"}, {"kind": "alive"}]


def test_while_no_number_is_left_clients_wait_and_the_loop_does_not_spin():
    tried = list[None]()

    class Full(socket.socket):
        def accept(self) -> tuple[socket.socket, object]:
            tried.append(None)
            raise OSError(errno.EMFILE, "too many open files")

    async def run() -> None:
        ours, theirs = pair()
        with Full() as full, socket.socket() as caller, theirs:
            full.bind(("127.0.0.1", 0))
            full.listen()
            several = Processes(Options(port=0), 1, (), list[str]().append, "")
            part = _Part(None, Channel(ours, lambda _message, _client: None), serves=True)  # type: ignore[arg-type]
            several._parts[0] = part
            several._listeners.append(full)
            several._wait_for_clients()
            caller.connect(full.getsockname())
            for _ in range(1000):
                await asyncio.sleep(0)
            assert not asyncio.get_running_loop().remove_reader(full)
            part.channel.close()

    asyncio.run(run())
    assert len(tried) == 1


READY = """
import asyncio, os, time
from dpproxy.server.place import Channel, Place
async def run():
    Channel(Place.given(os.environ).end, print).send({"kind": "ready", "told": "served"})
    time.sleep(3600)
asyncio.run(run())
"""


def test_a_process_that_hangs_is_killed_and_started_again(monkeypatch: pytest.MonkeyPatch):
    for name, value in (("PROBE", 0.02), ("HUNG", 3), ("AGAIN", 0.0)):
        monkeypatch.setattr(processes, name, value)
    told = list[str]()

    def tell(line: str) -> None:
        told.append(line)
        if "started again" in line:
            os.kill(os.getpid(), signal.SIGTERM)

    served = list[str]()
    Processes(Options(port=0), 1, (sys.executable, "-c", READY), tell, "").run(
        lambda words, _port: served.append(words)
    )
    assert served == ["served"]
    assert told == [
        "process 1 of 1 hangs and is killed",
        "process 1 of 1 ended with status -9; it is started again",
    ]


DEAF = f"""
import signal
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
{READY}
"""


@pytest.mark.parametrize(("signals", "ending"), [(1, 0.2), (2, 3600.0)])
def test_a_process_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch, signals: int, ending: float):
    monkeypatch.setattr(processes, "ENDING", ending)
    told = list[str]()

    def listening(_words: str, _port: int) -> None:
        loop = asyncio.get_running_loop()
        for n in range(signals):
            loop.call_later(0.1 * n, os.kill, os.getpid(), signal.SIGTERM)

    Processes(Options(port=0, drain=0.1), 1, (sys.executable, "-c", DEAF), told.append, "").run(listening)
    assert told == ["process 1 of 1 does not end and is killed"]


def test_a_third_signal_kills_what_has_not_said_that_it_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(processes, "ENDING", 3600.0)
    told = list[str]()
    deaf = "import signal, sys; signal.signal(signal.SIGTERM, signal.SIG_IGN); open(sys.argv[1], 'x'); signal.pause()"

    async def run() -> None:
        several = Processes(
            Options(port=0), 1, (sys.executable, "-c", deaf, str(tmp_path / "deaf")), told.append, ""
        )
        serving = asyncio.create_task(several._serve(lambda _words, _port: None))
        while not (tmp_path / "deaf").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        for _ in range(2):
            several._stop()
        await asyncio.sleep(0.1)
        assert not told
        several._stop()
        await serving

    asyncio.run(run())
    assert told[0] == "process 1 of 1 does not end and is killed"


def test_a_process_that_does_not_start_in_time_is_killed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(processes, "START", 0.2)
    told = list[str]()
    with pytest.raises(StartupError, match="the first process did not start"):
        Processes(
            Options(port=0), 1, (sys.executable, "-c", "import time; time.sleep(3600)"), told.append, ""
        ).run(lambda _words, _port: None)
    assert told == [
        "process 1 of 1 has not started within 0 seconds and is killed",
        "process 1 of 1 ended with status -9",
    ]


NOT_TOLD = """
import os
from dpproxy.server.place import Place
held = open("/proc/self/environ").read()
place = Place.given(os.environ)
assert place.config not in held and "secret" not in held
os._exit(7)
"""


def test_the_configuration_of_a_process_may_be_long_and_is_not_in_its_environment():
    told = list[str]()
    with pytest.raises(StartupError):
        Processes(Options(port=0), 1, (sys.executable, "-c", NOT_TOLD), told.append, "secret" * 50_000).run(
            lambda _words, _port: None
        )
    assert told == ["process 1 of 1 ended with status 7"]


def test_each_process_has_its_share_of_memory_and_its_own_port(tmp_path: Path):
    file = write(tmp_path, "127.0.0.1:0")
    config = load_config(file, {"DPPROXY_LIMITS_MEMORY": "4GB", "DPPROXY_METRICS_PORT": "9187"})
    second = _part(config, Place(1, 2))
    assert (second.memory, second.metrics_port, second.page) == ("2000000KB", 9188, None)
    assert _part(replace(config, memory=None, metrics_port=None), Place(1, 4)).memory == "20%"
    assert os.environ.get(VARIABLE) is None


def test_where_none_can_be_started_the_service_says_so():
    told = list[str]()
    with pytest.raises(StartupError, match="the first process did not start"):
        Processes(Options(port=0), 2, ("/there/is/no/such/program",), told.append, "").run(
            lambda _told, _port: None
        )
    assert told == ["process 1 of 2 could not be started: No such file or directory"]
