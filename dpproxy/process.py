"""A server in a process of its own, for commands that need one to talk to."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpproxy.errors import StartupError

Process = subprocess.Popen[str]

_ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def serving(config: Path) -> Iterator[tuple[Process, str]]:
    """``dpproxy serve`` with a configuration, configured by nothing else, stopped in the end; host and port it is on.

    Errors: StartupError where it does not start.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DPPROXY_")}
    process = subprocess.Popen(  # noqa: S603 - this program itself
        [sys.executable, "-m", "dpproxy", "serve", "--config", str(config)],
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
