"""Several processes behind one address.

This one listens, gives each client to the process with the fewest, and passes on what they tell each other. It reads
nothing that a client sends, and holds no data, ledger or policy.
"""

import asyncio
import errno
import os
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct, field

from dpproxy.server.listener import BACKLOG, listen, signals
from dpproxy.server.options import Options
from dpproxy.server.place import VARIABLE, Channel, Message, Place, pair
from dpproxy.values.errors import StartupError

AGAIN: Final = 1.0
"""Seconds until a process that has ended is started again, or a client taken for whom there was no room."""
LONGEST: Final = 30.0
"""Seconds until one that ends again and again is."""
PROBE: Final = 5.0
"""Seconds between two questions to each process."""
HUNG: Final = 12
"""Questions left open in a row after which a process is killed; from two on it gets no client while others do."""
START: Final = 1800.0
"""Seconds after which a process that does not serve yet is killed: a long ledger takes minutes to verify."""
ENDING: Final = 20.0
"""Seconds that a process gets to end once its statements are interrupted; then it is killed."""
_FULL: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class _Part(Struct, eq=False):
    """One process that serves, while it runs."""

    process: asyncio.subprocess.Process
    channel: Channel
    serves: bool = False
    leaves: bool = False
    """Whether it is stopping: it gets clients only where every other one is, too."""
    clients: int = 0
    unanswered: int = 0
    """Questions since it said something."""

    @property
    def is_silent(self) -> bool:
        """Whether it serves, and leaves a question open."""
        return self.serves and self.unanswered > 0 and not self.channel.ended.is_set()


class Processes(Struct):
    """Serves by ``count`` processes that ``command`` starts, until a signal stops it."""

    options: Options
    count: int
    command: Sequence[str]
    tell: Callable[[str], None]
    config: str
    """The text of the configuration: a process that is started again does not read another."""
    _parts: dict[int, _Part] = field(default_factory=dict)
    _begun: dict[int, asyncio.Future[str | None]] = field(default_factory=dict)
    """What each says once it serves; None where it has ended before."""
    _listeners: list[socket.socket] = field(default_factory=list)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _signals: int = 0

    def run(self, on_listening: Callable[[str, int], None]) -> None:
        """Serve until SIGTERM or SIGINT; ``on_listening`` is called with what the first process says, and the port.

        Raises:
            StartupError: the address cannot be listened on, or the first process does not start.
        """
        asyncio.run(self._serve(on_listening))

    async def _serve(self, on_listening: Callable[[str, int], None]) -> None:
        loop = asyncio.get_running_loop()
        listener = await listen(self.options, serves=False)
        self._begun = {number: loop.create_future() for number in range(self.count)}
        with signals(loop, self._stop):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._keep(0))
                told = await self._begun[0]  # it makes what is not there yet: keys, the ledger
                if told is not None:
                    for number in range(1, self.count):
                        tasks.create_task(self._keep(number))
                    await asyncio.wait(self._begun.values())
                    self._listen(listener)
                    tasks.create_task(self._probe())
                    on_listening(told, listener.sockets[0].getsockname()[1])
        listener.close()
        for one in self._listeners:
            one.close()
        if told is None and not self._stopping.is_set():
            raise StartupError("the first process did not start; a line above says why")

    def _stop(self) -> None:
        """Pass the signal on: at the first one running statements end, at the second they are interrupted.

        What does not end in time is killed: at the second signal what has not answered since the first, at the third
        everything.
        """
        self._signals += 1
        self._stopping.set()
        wait = (self.options.drain if self._signals == 1 else 0.0) + ENDING
        asyncio.get_running_loop().call_later(wait, self._end)
        for number, part in list(self._parts.items()):
            if self._signals > 2 or (self._signals == 2 and part.is_silent):
                self._kill(number, part, "does not end")
                continue
            with suppress(ProcessLookupError):
                part.process.send_signal(signal.SIGTERM)
            if part.serves:
                part.unanswered += 1
                self._to(number, {"kind": "probe"})

    def _end(self) -> None:
        for number, part in list(self._parts.items()):
            self._kill(number, part, "does not end")

    def _kill(self, number: int, part: _Part, why: str) -> None:
        self.tell(f"process {number + 1} of {self.count} {why} and is killed")
        with suppress(ProcessLookupError):
            part.process.kill()

    def _late(self, number: int, part: _Part) -> None:
        if not part.serves:
            self._kill(number, part, f"has not started within {START:.0f} seconds")

    # --- processes

    async def _keep(self, number: int) -> None:
        """Run one process, and start it again when it ends."""
        pause, begun = AGAIN, self._begun[number]
        while not self._stopping.is_set():
            try:
                served, end = await self._run(number)
            except OSError as error:  # no memory, process or file is left: the others serve on
                served, end = False, f"could not be started: {error.strerror}"
            said = f"process {number + 1} of {self.count} {end}"
            if not begun.done():
                begun.set_result(None)
                if number == 0:
                    self.tell(said)
                    return
            if not self._stopping.is_set():
                pause = AGAIN if served else min(2 * pause, LONGEST)
                self.tell(f"{said}; it is started again")
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), pause)

    async def _run(self, number: int) -> tuple[bool, str]:
        """One process until it ends: whether it served, and how it ended. Raises ``OSError`` where none can start."""
        part = self._parts[number] = await self._start(number)
        if self._stopping.is_set():  # meanwhile
            with suppress(ProcessLookupError):
                part.process.send_signal(signal.SIGTERM)
        late = asyncio.get_running_loop().call_later(START, self._late, number, part)
        status = await part.process.wait()
        late.cancel()
        del self._parts[number]
        part.channel.close()
        self._pass(number, {"kind": "lost", "number": number})
        return part.serves, f"ended with status {status}"

    async def _start(self, number: int) -> _Part:
        ours, theirs = pair()
        with theirs:
            place = Place(number, self.count, theirs, self.options.page_key, self.config)
            try:
                with place.written() as file:
                    process = await asyncio.create_subprocess_exec(
                        *self.command,
                        pass_fds=(theirs.fileno(), file.fileno()),
                        start_new_session=True,  # an interrupt at the terminal is for this process, which passes it on
                        env={**os.environ, VARIABLE: str(file.fileno())},
                    )
            except OSError:
                ours.close()
                raise
        part = _Part(process, Channel(ours, lambda message, _client: self._heard(number, part, message)))
        return part

    def _heard(self, number: int, part: _Part, message: Message) -> None:
        part.unanswered = 0
        match message:
            case {"kind": "alive"}:
                pass
            case {"kind": "ready", "told": str(told)}:
                part.serves = True
                if not self._begun[number].done():
                    self._begun[number].set_result(told)
                self._pass(number, {"kind": "joined"})
                self._wait_for_clients()
            case {"kind": "leaving"}:
                part.leaves = True
            case {"kind": "left"}:
                part.clients -= 1
            case {"kind": "cancel" | "signal", "session": int(session)}:
                self._to(session % self.count, message)
            case _:
                self._pass(number, message)

    async def _probe(self) -> None:
        """Ask each process again and again whether its loop turns, and kill one that hangs: it is started again.

        Questions are counted, not seconds: where all were stopped for a while, none has missed any.
        """
        while not self._stopping.is_set():
            for number, part in list(self._parts.items()):
                if part.unanswered == HUNG:
                    self._kill(number, part, "hangs")
                if part.serves:
                    part.unanswered += 1
                    self._to(number, {"kind": "probe"})
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), PROBE)

    def _pass(self, number: int, message: Message) -> None:
        """To all but one."""
        for other in list(self._parts):
            if other != number:
                self._to(other, message)

    def _to(self, number: int, message: Message) -> None:
        if (part := self._parts.get(number)) is not None:
            part.channel.send(message)

    # --- clients

    def _listen(self, listener: asyncio.Server) -> None:
        for one in listener.sockets:
            own = socket.socket(fileno=os.dup(one.fileno()))
            own.settimeout(0)
            try:
                own.listen(BACKLOG)
            except OSError as error:
                raise StartupError(f"cannot listen: {error.strerror}") from error
            self._listeners.append(own)
        self._wait_for_clients()

    def _wait_for_clients(self) -> None:
        for one in self._listeners:
            asyncio.get_running_loop().add_reader(one, self._take, one)

    def _take(self, listener: socket.socket) -> None:
        """Give the clients that wait to processes; while there is none they go on waiting."""
        loop = asyncio.get_running_loop()
        try:
            while serving := [
                one for one in self._parts.values() if one.serves and not one.channel.ended.is_set()
            ]:
                client, _ = listener.accept()
                part = min(serving, key=lambda one: (one.unanswered > 1, one.leaves, one.clients))
                part.clients += 1
                part.channel.send({"kind": "client"}, client)
        except OSError as error:  # no other waits, or it has gone
            if error.errno not in _FULL:
                return
            loop.call_later(AGAIN, self._wait_for_clients)
        loop.remove_reader(listener)
