"""Servers of the tests' own that speak Spark Connect: a Spark cluster on loopback, and Sail; gone afterwards.

The cluster is a standalone master, two workers with one executor each, and the Connect server that is their driver.
They run from an environment of their own, ``make .venv-spark/ready``; what connects to them is the proxy's.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.ports import free_port

ROOT = Path(__file__).parents[1]
MAIN = sys.modules["__main__"]
if not hasattr(
    MAIN, "__file__"
):  # a worker of pytest-xdist has none, which Spark's client takes for a run of doctests
    MAIN.__file__ = __file__
ENVIRONMENT = ROOT / ".venv-spark"
READY = 120.0
"""Seconds that a server may take to start on a busy machine."""
JAVA = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss2m"
MEMORY = "512m"
OPTIONS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": MEMORY,
    "spark.driver.extraJavaOptions": JAVA,
    "spark.executor.memory": MEMORY,
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": JAVA,
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


def _home() -> Path:
    """Where Spark's programs are; skips where they are not installed."""
    found = next(ENVIRONMENT.glob("lib/python*/site-packages/pyspark"), None)
    if found is None or shutil.which("java") is None:
        assert not os.environ.get("CI"), "Spark is to be installed: Java, and make .venv-spark/ready"
        pytest.skip("Spark is not installed: Java, and make .venv-spark/ready")
    return found


class Cluster:
    """Processes by name: ``master``, ``worker1``, ``worker2``, ``connect``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = _home()
        self.port, self.master = free_port(), free_port()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, *names: str) -> None:
        """Ready when this returns; all of them where none is named."""
        for name in names or ("master", "worker1", "worker2", "connect"):
            self._spawn(name)
        self._await("master", self.master)
        self._await("connect", self.port)

    def kill(self, name: str) -> None:
        """As a crash."""
        process = self.processes.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def end(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()

    def _spawn(self, name: str) -> None:
        deploy = "org.apache.spark.deploy"
        url = f"spark://127.0.0.1:{self.master}"
        daemon = [str(self.home / "bin" / "spark-class")]
        if name == "master":
            command = [*daemon, f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(self.master)]
            command += ["--webui-port", "0"]
        elif name.startswith("worker"):
            command = [
                *daemon,
                f"{deploy}.worker.Worker",
                "--host",
                "127.0.0.1",
                "--webui-port",
                "0",
                "-c",
                "1",
            ]
            command += ["-m", "1g", "-d", str(self.folder / name), url]
        else:
            options = {**OPTIONS, "spark.connect.grpc.binding.port": str(self.port)}
            listed = [word for key, value in options.items() for word in ("--conf", f"{key}={value}")]
            command = [str(self.home / "bin" / "spark-submit"), "--master", url, *listed]
            command += [
                "--class",
                "org.apache.spark.sql.connect.service.SparkConnectServer",
                "spark-internal",
            ]
        own = {
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.folder),
        }
        if name != "connect":  # it would be the driver's memory too
            own |= {
                "SPARK_DAEMON_MEMORY": "128m",
                "SPARK_DAEMON_JAVA_OPTS": f"{JAVA} -Dspark.worker.timeout=5",
            }
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command,
                cwd=self.folder,
                env={**os.environ, **own},
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    def _await(self, name: str, port: int) -> None:
        await_port(self.processes[name], port, self.folder / f"{name}.log")


def await_port(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    """Until somebody listens. Raises ``AssertionError`` with the end of the log."""
    until = time.monotonic() + READY
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(log.read_text(encoding="utf-8", errors="replace")[-3000:])


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A new cluster in a temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix="spark-"))
    made = Cluster(folder)
    try:
        made.start()
        yield made
    finally:
        made.end()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def sail() -> Iterator[int]:
    """The port of a new server of Sail."""
    _home()
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="sail-") as folder:
        log = Path(folder) / "log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [
                    str(ENVIRONMENT / "bin" / "sail"),
                    "spark",
                    "server",
                    "--ip",
                    "127.0.0.1",
                    "--port",
                    str(port),
                ],
                cwd=folder,
                stdout=file,
                stderr=file,
                stdin=subprocess.DEVNULL,
            )
        try:
            await_port(process, port, log)
            yield port
        finally:
            process.terminate()
            process.wait(20)


@pytest.fixture(scope="session")
def spark_cluster() -> Iterator[Cluster]:
    """One for all tests that kill nothing."""
    with cluster() as made:
        yield made


@pytest.fixture(scope="session")
def sail_port() -> Iterator[int]:
    """One for all tests."""
    with sail() as port:
        yield port


@pytest.fixture(scope="session", params=["sail", "spark"])
def connect_port(request: pytest.FixtureRequest) -> int:
    """Of each server that speaks Spark Connect."""
    if request.param == "sail":
        return int(request.getfixturevalue("sail_port"))
    found: Cluster = request.getfixturevalue("spark_cluster")
    return found.port
