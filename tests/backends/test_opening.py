import re
from pathlib import Path

import duckdb
import pytest
from msgspec.structs import replace

from dpproxy.backends.opening import open_source
from dpproxy.backends.source import Opened
from dpproxy.config.configuration import Config, Data, load_config
from dpproxy.values.errors import StartupError

TEXT = """
[state]
directory = "."
[data.main]
path = "data.duckdb"
[users]
file = "users.toml"
"""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    (tmp_path / "dpproxy.toml").write_text(TEXT)
    with duckdb.connect(tmp_path / "data.duckdb") as connection:
        connection.execute("CREATE TABLE t(a INTEGER)")
    config = load_config(tmp_path / "dpproxy.toml", {})
    config.state.mkdir()
    return config


def opened(config: Config, secret: bytes) -> Opened:
    source = open_source(config, secret, lambda _line: None)
    source.backend.close()
    return source


def test_a_path_is_served_and_the_name_of_its_state_depends_on_the_secret(config: Config):
    first, second = opened(config, bytes(32)), opened(config, b"1" * 32)
    assert re.fullmatch("prepared-[0-9a-f]{12}-[0-9a-f]{24}", first.state)
    assert first.state != second.state
    assert opened(config, bytes(32)).state == first.state


@pytest.mark.parametrize("url", ["postgresql://ann:secret@127.0.0.1:1/x", "sc://127.0.0.1:1/;token=secret"])
def test_a_server_that_is_not_there_is_named_by_its_source_alone(config: Config, url: str):
    with pytest.raises(StartupError, match=r"data\.main\.url: ") as caught:
        opened(replace(config, sources={"main": Data(url=url)}), bytes(32))
    assert "secret" not in str(caught.value)
