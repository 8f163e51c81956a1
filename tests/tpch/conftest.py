"""TPC-H at scale 0.01, and a proxy's engine over it with the example's policy at next to no noise."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dpproxy.engine.engine import Engine
from examples.tpch.generate import generate
from tests.proxies import started
from tests.tpch.questions import write_proxy, write_proxy_by_line


@pytest.fixture(scope="session")
def tpch_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tpch") / "data.duckdb"
    generate(path, 0.01)
    return path


@pytest.fixture(scope="session")
def tpch_engine(tpch_data: Path) -> Iterator[Engine]:
    with started(write_proxy(tpch_data.parent)) as engine:
        yield engine


@pytest.fixture(scope="session")
def tpch_by_line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The same with a line as the privacy unit."""
    folder = tmp_path_factory.mktemp("by_line")
    generate(folder / "data.duckdb", 0.01)
    with started(write_proxy_by_line(folder)) as engine:
        yield engine


@pytest.fixture(scope="session")
def tpch_bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """The same data in a file of its own: the proxy has the other one open."""
    path = tmp_path_factory.mktemp("bare") / "data.duckdb"
    generate(path, 0.01)
    with duckdb.connect(str(path), read_only=True) as connection:
        yield connection
