"""What SCRAM binds to of TLS: tls-server-end-point, the hash of the server's certificate (RFC 5929, section 4)."""

import hashlib
import ssl
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_SHA256, _SHA384, _SHA512 = "sha256", "sha384", "sha512"
_HASHES: Final[Mapping[str, str]] = MappingProxyType({
    "2a864886f70d010104": _SHA256,  # MD5 with RSA: an older hash gives way to SHA-256
    "2a864886f70d010105": _SHA256,  # SHA-1 with RSA
    "2a864886f70d01010b": _SHA256,
    "2a864886f70d01010c": _SHA384,
    "2a864886f70d01010d": _SHA512,
    "2a8648ce3d0401": _SHA256,  # SHA-1 with ECDSA
    "2a8648ce3d040302": _SHA256,
    "2a8648ce3d040303": _SHA384,
    "2a8648ce3d040304": _SHA512,
})  # fmt: skip
"""By the object identifier of the signature, as it is written: RSA (RFC 4055) and ECDSA (RFC 5758)."""
_OPEN: Final = "-----BEGIN CERTIFICATE-----"
_SHUT: Final = "-----END CERTIFICATE-----"


def server_end_point(pem: str) -> bytes | None:
    """The hash of the first certificate of a file; None where its signature names no hash, and nothing can be bound.

    Errors: ``ValueError`` for what is no certificate.
    """
    start, end = pem.index(_OPEN), pem.index(_SHUT)
    der = ssl.PEM_cert_to_DER_cert(pem[start : end + len(_SHUT)])
    name = _HASHES.get(_signature(der).hex())
    return None if name is None else hashlib.new(name, der).digest()


def _signature(der: bytes) -> bytes:
    """The object identifier of the signature: of a certificate's three parts, the second begins with it."""
    certificate, _ = _element(der)
    _, rest = _element(certificate)
    algorithm, _ = _element(rest)
    identifier, _ = _element(algorithm)
    return identifier


def _element(der: bytes) -> tuple[bytes, bytes]:
    """The content of the first element of DER (X.690), and what follows the element."""
    if len(der) < 2:
        raise ValueError("no certificate")
    size, start = der[1], 2
    if size & 0x80:
        start += size & 0x7F
        size = int.from_bytes(der[2:start], "big")
    if len(der) < start + size:
        raise ValueError("no certificate")
    return der[start : start + size], der[start + size :]
