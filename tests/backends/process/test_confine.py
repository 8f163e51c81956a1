"""What the process of the data has given up; asked of a real one."""

import json
import platform
import subprocess
import sys

import pytest

from dpproxy.backends.process.confine import BESIDE, bytes_of, program

PROBE = """
import json, os, resource, socket, sys
from dpproxy.backends.process.confine import confine
confine(int(sys.argv[1]), "1GB")
def errno(call):
    try:
        call()
    except OSError as error:
        return error.errno
    return 0
print(json.dumps({
    "core": resource.getrlimit(resource.RLIMIT_CORE),
    "data": resource.getrlimit(resource.RLIMIT_DATA),
    "socket": errno(socket.socket),
    "exec": errno(lambda: os.execv("/bin/true", ["true"])),
    "pair": errno(lambda: [end.close() for end in socket.socketpair()]),
    "read": errno(lambda: open("/proc/self/environ", "rb").read()),
    "mask": os.umask(0),
    "oom": open("/proc/self/oom_score_adj").read().strip(),
}))
"""


def probe(parent: str = "os.getppid()") -> subprocess.CompletedProcess[str]:
    script = PROBE.replace("int(sys.argv[1])", parent)
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.skipif(sys.platform != "linux", reason="of Linux")
def test_no_network_no_program_no_core_file_and_nothing_for_others_to_read():
    found = json.loads(probe().stdout)
    assert (found["core"], found["data"]) == ([0, 0], [1_500_000_000 + BESIDE] * 2)
    assert found["oom"] == "1000"
    assert found["mask"] == 0o077
    if program(platform.machine()):
        assert (found["socket"], found["exec"], found["pair"]) == (1, 1, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="of Linux")
def test_one_whose_parent_has_gone_does_not_begin():
    found = probe("1234567")
    assert (found.returncode, found.stdout) == (1, "")


def test_sizes_are_read_as_the_configuration_writes_them():
    assert [bytes_of(size) for size in ("4GB", "512 MiB", "1.5TB")] == [4 * 10**9, 2**29, 15 * 10**11]


def test_an_unknown_machine_has_no_filter():
    assert program("sparc") == b""
    for machine in ("x86_64", "aarch64"):
        steps = [program(machine)[at : at + 8] for at in range(0, len(program(machine)), 8)]
        for at, step in enumerate(steps):  # every jump lands inside
            code = int.from_bytes(step[:2], sys.byteorder)
            if code & 7 == 5:
                assert at + 1 + max(step[2], step[3]) < len(steps)
