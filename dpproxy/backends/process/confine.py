"""What the process that holds the data gives up before it opens them: network, other programs, core files.

It does not outlive its parent either. Linux only, and only what the kernel grants an ordinary user; elsewhere the
engine's own locks stand alone.
"""

import ctypes
import os
import platform
import re
import resource
import signal
import struct
import sys
from contextlib import suppress
from pathlib import Path

_PDEATHSIG, _DUMPABLE, _SECCOMP, _NO_NEW_PRIVILEGES = 1, 4, 22, 38
_FILTER = 2
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | 1
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_X32 = 0x40000000
_DENIED: dict[str, tuple[int, tuple[int, ...]]] = {
    "x86_64": (0xC000003E, (41, 42, 49, 50, 59, 322, 101, 310, 311, 425)),
    "aarch64": (0xC00000B7, (198, 203, 200, 201, 221, 281, 117, 270, 271, 425)),
}
"""By machine: how the kernel names it, and the numbers of socket, connect, bind, listen, execve, execveat, ptrace,
process_vm_readv, process_vm_writev and io_uring_setup."""
UNITS = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
BESIDE = 2 << 30
"""Bytes the process may take beside half as much again as the engine's own limit: its program, results on their way."""


def confine(parent: int, memory: str | None) -> None:
    """Of this process, which ``parent`` started, from now on; before it has a second thread."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # for the parent, which ends this process when it is done with it
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.umask(
        0o077
    )  # rows that do not fit into memory are written beside the data, whose file may be less open
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory is not None and not memory.endswith("%"):
        most = bytes_of(memory) * 3 // 2 + BESIDE
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    if sys.platform != "linux":
        return
    with suppress(OSError):  # where memory runs out, this process is ended and not the one with the ledger
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    _control(_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    _control(_DUMPABLE, 0)
    _control(_NO_NEW_PRIVILEGES, 1)
    _deny()


def bytes_of(size: str) -> int:
    """A size as the configuration has it.

    >>> bytes_of("1.5GB"), bytes_of("2 MiB")
    (1500000000, 2097152)
    """
    number, unit = re.fullmatch(r"([\d.]+) ?([KMGT]i?)B", size).groups()  # type: ignore[union-attr]
    whole, _, tenth = number.partition(".")
    return int(whole + (tenth or "0")) * UNITS[unit] // 10


def program(machine: str) -> bytes:
    """The filter of system calls as the kernel reads it; empty for a machine whose numbers are not listed."""
    if machine not in _DENIED:
        return b""
    architecture, denied = _DENIED[machine]
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    tests = [(_AT_LEAST, _X32), *((_EQUAL, number) for number in denied)]
    steps += [(test, len(tests) - at, 0, number) for at, (test, number) in enumerate(tests)]
    steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _deny() -> None:
    filters = program(platform.machine())
    if filters:
        held = ctypes.create_string_buffer(filters, len(filters))
        head = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(filters) // 8, ctypes.addressof(held)))
        _control(_SECCOMP, _FILTER, ctypes.addressof(head))


def _control(option: int, *arguments: int) -> None:
    """prctl(2); what the kernel does not know stays as it is."""
    given = [ctypes.c_ulong(argument) for argument in arguments]
    ctypes.CDLL(None).prctl(ctypes.c_int(option), *given, *[ctypes.c_ulong(0)] * (4 - len(given)))
