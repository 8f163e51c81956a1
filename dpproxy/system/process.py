"""A server in a child process, for commands that need one; it ends with the command.

``python -m dpproxy.system.process PARENT MODULE ARGUMENT...`` becomes that module by exec, and is terminated when
the process PARENT, which started it, ends in any way: a death signal survives exec. That works on Linux only; elsewhere
the parent has to stop the server, which survives a kill -9 of the parent.
"""

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from dpproxy.values.errors import StartupError

Process = subprocess.Popen[str]

_ROOT = Path(__file__).resolve().parents[2]
_PDEATHSIG = 1


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM as an interrupt, where this is the main thread: servers are stopped and temporary files removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def serve_command(config: Path) -> tuple[str, ...]:
    """``dpproxy serve`` with a configuration, which ends when this process does."""
    own = "-m", "dpproxy.system.process", str(os.getpid())
    return (sys.executable, *own, "dpproxy", "serve", "--config", str(config))


@contextmanager
def serving(config: Path) -> Iterator[tuple[Process, str]]:
    """Run ``dpproxy serve`` with a configuration and no environment variables of ours; yields its process and address.

    Errors: StartupError where it does not start.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DPPROXY_")}
    process = subprocess.Popen(  # noqa: S603 - this program itself
        serve_command(config),
        cwd=_ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # an interrupt is for the command, which then stops the server
    )
    try:
        line = "" if process.stdout is None else process.stdout.readline()
        found = re.search(r"serving main on (\S+)", line)
        if found is None:
            raise StartupError("the server did not start; its own line above says why")
        yield process, found[1]
    finally:
        process.terminate()
        process.wait(timeout=30)
        if process.stdout is not None:
            process.stdout.close()


def _become(parent: int, module: list[str]) -> None:
    """Be ``python -m MODULE ARGUMENT...`` for as long as the process that started this one lives."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(ctypes.c_int(_PDEATHSIG), ctypes.c_ulong(signal.SIGTERM))
    if os.getppid() != parent:  # it ended before the signal was asked for
        sys.exit(1)
    os.execv(sys.executable, [sys.executable, "-m", *module])  # noqa: S606 - this program itself


if __name__ == "__main__":
    _become(int(sys.argv[1]), sys.argv[2:])
