"""How long a run takes: which tests are left to the whole run, and how many examples are generated."""

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

if TYPE_CHECKING:
    from tests.postgres import Server

# The machine may be busy, and the time of one example proves nothing.
settings.register_profile(
    "short",
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    print_blob=True,
    derandomize=True,  # what fails was broken by the change at hand; ``long`` looks for what nobody has found
)
settings.register_profile("whole", settings.get_profile("short"), max_examples=100)
settings.register_profile("long", settings.get_profile("short"), max_examples=300, derandomize=False)
settings.load_profile("short")
# It mixes in the constants of all modules that are loaded by then: another order of tests, or a changed line anywhere,
# would draw other examples.
providers.is_local_module_file = lambda _: False

MEMORY = Path("/dev/shm")
ROOM = 4 * 10**9
"""Bytes of memory that the files of a run may take: ledgers and servers wait for the disk at each commit otherwise."""
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)
ROOT = Path(__file__).parent
WHOLE = (
    "assurance/",
    "backends/suite/",
    "bench/",
    "cli/test_demo.py",
    "clients/test_",
    "crash/",
    "docs/test_blocks.py",
    "docs/test_site.py",
    "examples/",
    "install/",
    "pgcatalog/test_against_postgres.py",
    "pgcatalog/test_expressions.py",
    "planner/test_with_and_without_from.py",
    "state/test_backups.py",
    "tpch/",
    "web/test_browser.py",
)
"""Where tests begin that take long: ``make test`` leaves them to ``make test-all``."""
SPARK = "backends/spark/"
WITHOUT_SOCKETS = tuple(
    f"assurance/test_{name}.py" for name in ("exhaustion", "people", "relations", "suite", "target", "work")
)
"""Attacks that are part of the short run."""
ALONE = ("assurance/test_clock.py", "assurance/test_time.py", "system/test_processor.py", "udfs/test_time.py")
"""What measures time or watches processors."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what takes long, and keep together what shares servers or source: a file, or several."""
    for item in items:
        place = item.path.relative_to(ROOT).as_posix() if item.path.is_relative_to(ROOT) else ""
        if place.startswith(SPARK):
            item.add_marker("spark")
        is_spark = item.get_closest_marker("spark") is not None
        group = "spark" if is_spark else "sources" if "/" not in place else str(item.path)
        if is_spark or (place.startswith(WHOLE) and place not in WITHOUT_SOCKETS):
            item.add_marker("whole")
        if place.startswith(ALONE):
            item.add_marker("alone")
        if item.get_closest_marker(
            "statistical"
        ):  # rates of 1e-6 add up over hundreds of cases: squared they do not
            item.add_marker(pytest.mark.flaky(reruns=1))
        item.add_marker(pytest.mark.xdist_group(group))


gc.disable()  # nothing that collection makes is garbage, and to look for it takes as long again


def pytest_collection_finish() -> None:
    gc.freeze()  # what is looked for from here on is what tests leave
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--accept", action="store_true", help="rewrite the plans and exact answers of tests/golden"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--accept") and os.environ.get("CI"):
        raise pytest.UsageError("--accept is for people: golden files are reviewed as code")


@pytest.fixture(scope="session")
def postgres() -> Iterator["Server"]:
    """One PostgreSQL for all tests of a process: a fixture that modules import is one for each of them."""
    from tests.postgres import running  # noqa: PLC0415

    with running() as server:
        yield server


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """For modules that start an engine for most of their tests, and none of whose tests is about its process."""
    from tests.proxies import InProcess, release_stage  # noqa: PLC0415 - which loads all of the proxy

    monkeypatch.setattr("dpproxy.backends.opening.Remote", InProcess)
    monkeypatch.setattr("dpproxy.engine.answers.ReleaseStage", release_stage)
