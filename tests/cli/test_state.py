"""The command lines; what they do is tested in test_backups.py."""

import socket
import threading
from pathlib import Path

import pytest

from dpproxy.cli.main import main
from dpproxy.server.listener import Options, Server
from tests.fake_engine import FakeEngine, FakeUsers

Captured = pytest.CaptureFixture[str]


def configured(folder: Path, listen: str) -> str:
    file = folder / "dpproxy.toml"
    file.write_text(
        f'[server]\nlisten = "{listen}"\n[state]\ndirectory = "state"\n[data.main]\npath = "d"\n[users]\nfile = "u"\n'
    )
    return str(file)


def test_a_proxy_that_answers_is_healthy(tmp_path: Path, capsys: Captured):
    with Server(Options(port=0), FakeEngine(), FakeUsers()).running() as port:
        assert main(["health", "--config", configured(tmp_path, f"0.0.0.0:{port}")]) == 0
    assert capsys.readouterr().out == f"dpproxy: 127.0.0.1:{port} answers\n"
    assert main(["health", "--config", configured(tmp_path, f"127.0.0.1:{port}")]) == 1
    assert "Connection refused" in capsys.readouterr().err


def test_what_answers_otherwise_is_no_proxy(tmp_path: Path, capsys: Captured):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(8)
                connection.sendall(b"HTTP/1.1 400")

        thread = threading.Thread(target=answer)
        thread.start()
        port = server.getsockname()[1]
        assert main(["health", "--config", configured(tmp_path, f"127.0.0.1:{port}")]) == 1
        thread.join()
    assert capsys.readouterr().err == f"dpproxy: 127.0.0.1:{port}: that is no proxy\n"


@pytest.mark.parametrize("command", ["backup", "restore"])
def test_without_a_state_there_is_nothing_to_copy(tmp_path: Path, capsys: Captured, command: str):
    file = configured(tmp_path, "127.0.0.1:0")
    assert main([command, str(tmp_path / "copy"), "--config", file]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["dpproxy.toml"]
