import hashlib
import ssl
import subprocess
from pathlib import Path

import pytest

from dpproxy.wire.binding import server_end_point


@pytest.mark.parametrize(
    ("kind", "signed", "name"),
    [
        (("rsa:2048",), "-sha256", "sha256"),
        (("rsa:2048",), "-sha1", "sha256"),
        (("rsa:2048",), "-sha512", "sha512"),
        (("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"), "-sha384", "sha384"),
        (("ed25519",), None, None),
    ],
)
def test_the_hash_is_that_of_the_signature(
    tmp_path: Path, kind: tuple[str, ...], signed: str | None, name: str | None
):
    file = tmp_path / "server.crt"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", *kind, "-nodes", "-days", "2", "-subj", "/CN=localhost",
         *([signed] if signed else []), "-keyout", str(tmp_path / "key"), "-out", str(file)],
        check=True, capture_output=True,
    )  # fmt: skip
    der = ssl.PEM_cert_to_DER_cert(file.read_text())
    expected = hashlib.new(name, der).digest() if name else None
    assert server_end_point("a comment\n" + file.read_text()) == expected


def test_what_is_no_certificate():
    with pytest.raises(ValueError, match="substring"):
        server_end_point("nothing")
    with pytest.raises(ValueError, match="no certificate"):
        server_end_point("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
