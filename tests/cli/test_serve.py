"""``dpproxy serve`` up to where the server takes over."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from dpproxy.cli.main import main
from dpproxy.cli.serve import options
from dpproxy.config.configuration import load_config
from dpproxy.config.users import add_user

CONFIG = """\
[server]
listen = "{listen}"
max_connections = 7
[state]
directory = "state"
[data.main]
path = "empty"
[users]
file = "users.toml"
"""


def write(folder: Path, listen: str) -> Path:
    (folder / "empty").mkdir()
    add_user(folder / "users.toml", "ann", ["analyst"], "correct horse")
    file = folder / "dpproxy.toml"
    file.write_text(CONFIG.format(listen=listen))
    return file


def test_the_server_is_told_what_is_configured(tmp_path: Path):
    told = options(load_config(write(tmp_path, "[::1]:6432"), {}))
    assert (told.host, told.port, told.max_connections) == ("::1", 6432, 7)
    again = options(load_config(tmp_path / "dpproxy.toml", {}))
    assert again.page_key != told.page_key
    assert replace(again, page_key=told.page_key) == told


@pytest.mark.parametrize(("listen", "is_warned"), [("0.0.0.0:0", True), ("127.0.0.1:0", False)])
def test_a_network_without_tls_is_warned_of(
    listen: str, *, is_warned: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = write(tmp_path, listen)
    (tmp_path / "empty" / "t.parquet").write_text("no such thing")
    assert main(["serve", "--config", str(file)]) == 2
    assert ("without TLS" in capsys.readouterr().err) == is_warned


@pytest.mark.parametrize("metrics", [6431, 65535])
def test_each_process_needs_a_port_for_its_metrics(
    metrics: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = write(tmp_path, "127.0.0.1:6432")
    more = f"processes = 2\n[metrics]\nport = {metrics}\n[state]"
    file.write_text(file.read_text().replace("[state]", more))
    assert main(["serve", "--config", str(file)]) == 2
    assert f"ports {metrics} to {metrics + 1}" in capsys.readouterr().err
