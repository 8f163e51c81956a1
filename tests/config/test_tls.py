"""Certificates and keys that do not fit, each told in one line."""

import shutil
import subprocess
from pathlib import Path

import pytest

from dpproxy.cli.main import main
from dpproxy.config.tls import server_context
from dpproxy.config.users import add_user
from dpproxy.values.errors import StartupError
from tests.server.test_listener import certificate

pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed"),
]


def pair(folder: Path) -> tuple[Path, Path]:
    folder.mkdir()
    return certificate(folder)


def test_what_fits_is_taken(tmp_path: Path):
    assert server_context(*certificate(tmp_path)).cert_store_stats()["x509"] == 0


def test_the_key_of_another_is_told(tmp_path: Path):
    (crt, _), (_, key) = pair(tmp_path / "a"), pair(tmp_path / "b")
    with pytest.raises(StartupError, match=r"a/server\.crt: server\.tls_key is the key of another$"):
        server_context(crt, key)


def test_a_passphrase_is_not_asked_for(tmp_path: Path):
    crt, key = certificate(tmp_path)
    locked = tmp_path / "locked.key"
    lock = f"openssl pkey -in {key} -aes-128-cbc -passout pass:word -out {locked}"
    subprocess.run(lock.split(), check=True, capture_output=True, timeout=20)
    with pytest.raises(StartupError, match="without a passphrase"):
        server_context(crt, locked)


@pytest.mark.parametrize("command", [["check"], ["serve", "--config"]])
def test_it_is_told_before_anything_starts(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (crt, _), (_, key) = pair(tmp_path / "a"), pair(tmp_path / "b")
    (tmp_path / "data").mkdir()
    add_user(tmp_path / "users.toml", "ann", ["analyst"], "a long secret")
    file = tmp_path / "dpproxy.toml"
    file.write_text(
        f'[server]\ntls_certificate = "{crt}"\ntls_key = "{key}"\n[state]\ndirectory = "state"\n'
        '[data.main]\npath = "data"\n[users]\nfile = "users.toml"\n'
    )
    assert main([*command, str(file)]) == 2
    assert capsys.readouterr().err.endswith(f"{crt}: server.tls_key is the key of another\n")
    assert not (tmp_path / "state").exists()
