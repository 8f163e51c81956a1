"""The TLS context of a server."""

import ssl
from pathlib import Path

from dpproxy.values.errors import StartupError


def server_context(certificate: Path, key: Path | None) -> ssl.SSLContext:
    """The context for a certificate with its chain and its key, both PEM files. Raises ``StartupError``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, password=_passphrase)
    except OSError as error:
        raise StartupError(f"cannot use TLS certificate {certificate}: {_reason(error)}") from None
    return context


def _passphrase() -> str:
    """Called for an encrypted key; raises ``StartupError``, since a server cannot ask for its passphrase."""
    raise StartupError("server.tls_key: expected a key without a passphrase")


def _reason(error: OSError) -> str:
    if not isinstance(error, ssl.SSLError):
        return error.strerror or "it cannot be read"
    if error.reason in ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH"):
        return "server.tls_key is the key of another"
    return "expected a certificate, and in server.tls_key its key"
