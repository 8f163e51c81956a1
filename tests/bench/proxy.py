"""The real server, in a process of its own, over the benchmark's file."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpproxy.config.users import add_user
from tests.bench.data import policy

PASSWORD = "only for the benchmark"
CONFIG = """\
[server]
listen = "127.0.0.1:0"
padding = "0ms"
[state]
directory = "state"
[data.main]
path = "{data}"
[policy]
files = ["policy.sql"]
[users]
file = "users.toml"
[limits]
threads = {threads}
"""


@contextmanager
def serving(folder: Path, data: Path, threads: int, command: tuple[str, ...] = ()) -> Iterator[str]:
    """A server with a new state in ``folder``; gives the analyst's URL. ``command`` runs in front of it."""
    (folder / "policy.sql").write_text(policy(), encoding="utf-8")
    (folder / "dpproxy.toml").write_text(CONFIG.format(data=data, threads=threads), encoding="utf-8")
    add_user(folder / "users.toml", "ann", ["analyst"], PASSWORD)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DPPROXY_")}
    process = subprocess.Popen(
        [*command, sys.executable, "-m", "dpproxy", "serve", "--config", str(folder / "dpproxy.toml")],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline() if process.stdout else ""
        found = re.search(r"serving main on (\S+)", line)
        if found is None:
            raise RuntimeError("the server did not start; its own line above says why")
        yield f"postgresql://ann:{PASSWORD.replace(' ', '%20')}@{found[1]}/main"
    finally:
        process.terminate()
        process.wait(timeout=30)
        if process.stdout is not None:
            process.stdout.close()
