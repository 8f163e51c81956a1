"""SCRAM-SHA-256 from the server's side (RFC 5802, RFC 7677), under TLS with channel binding where the client can.

libpq sends an empty user name, as the one of the startup packet counts; ``scramp``'s server refuses that, so
the exchange is here and only the preparation of the password is its.
"""

import binascii
import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from secrets import token_bytes
from typing import Final, Self

from msgspec import Struct
from scramp.utils import ScramException, saslprep

from dpproxy.values.errors import InvalidParameter, InvalidPassword, ProtocolViolation
from dpproxy.values.structs import PartlyShown

MECHANISM: Final = "SCRAM-SHA-256"
BOUND: Final = f"{MECHANISM}-PLUS"
DEFAULT_ITERATIONS: Final = 15_000
MIN_ITERATIONS: Final = 4_096
MAX_ITERATIONS: Final = 10_000_000
_SALT_SIZE: Final = 16
_NONCE_SIZE: Final = 18
_KEY_SIZE: Final = 32

_SECRET: Final = re.compile(r"SCRAM-SHA-256\$(\d{1,8}):([^$:]+)\$([^$:]+):([^$:]+)", re.ASCII)
_NONCE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_EXTENSIONS: Final = r"(?:,[A-Za-z]=[^,\0]+)*"
_CLIENT_FIRST: Final = re.compile(
    rf"(?P<gs2>(?:[ny]|p=tls-server-end-point),,)(?P<bare>n=[^,\0]*,r=(?P<nonce>{_NONCE}){_EXTENSIONS})"
)
_CLIENT_FINAL: Final = re.compile(
    rf"(?P<unsigned>c=(?P<gs2>[^,]+),r=(?P<nonce>{_NONCE}){_EXTENSIONS}),p=(?P<proof>[A-Za-z0-9+/=]+)"
)


class ScramSecret(PartlyShown, Struct, frozen=True):
    """The stored form of a password: it verifies a proof, but cannot produce one."""

    HIDDEN = frozenset({"salt", "stored_key", "server_key"})

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read PostgreSQL's form, ``SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>``.

        Raises:
            InvalidParameter: it is not of that form.
        """
        match = _SECRET.fullmatch(text)
        if match is None:
            raise InvalidParameter("not a SCRAM-SHA-256 secret")
        try:
            salt, stored_key, server_key = (_unbase64(match[at]) for at in (2, 3, 4))
        except ValueError:
            raise InvalidParameter("not a SCRAM-SHA-256 secret") from None
        iterations = int(match[1])
        if not salt or {len(stored_key), len(server_key)} != {_KEY_SIZE} or not _is_allowed(iterations):
            raise InvalidParameter("not a SCRAM-SHA-256 secret")
        return cls(salt, iterations, stored_key, server_key)

    def to_text(self) -> str:
        """Write PostgreSQL's form."""
        salt, stored, server = map(_base64, (self.salt, self.stored_key, self.server_key))
        return f"{MECHANISM}${self.iterations}:{salt}${stored}:{server}"


def make_secret(password: str, iterations: int = DEFAULT_ITERATIONS) -> ScramSecret:
    """A secret of the password with a fresh salt.

    Raises:
        InvalidParameter: an empty password, or fewer iterations than RFC 7677 allows.
    """
    if not password:
        raise InvalidParameter("empty password")
    if not _is_allowed(iterations):
        raise InvalidParameter(f"SCRAM iterations outside {MIN_ITERATIONS} to {MAX_ITERATIONS}")
    salt = token_bytes(_SALT_SIZE)
    salted = hashlib.pbkdf2_hmac("sha256", _prepared(password), salt, iterations)
    client_key = _hmac(salted, b"Client Key")
    return ScramSecret(salt, iterations, hashlib.sha256(client_key).digest(), _hmac(salted, b"Server Key"))


def _mock_secret(mock_key: bytes, user: str) -> ScramSecret:
    """A secret that matches no password; constant for a name, so that repeated logins do not show it is unknown."""
    salt, stored, server = (
        _hmac(mock_key, label + user.encode("utf-8", "replace"))
        for label in (b"salt:", b"stored:", b"server:")
    )
    return ScramSecret(salt[:_SALT_SIZE], DEFAULT_ITERATIONS, stored, server)


class ScramServer:
    """One authentication: ``first``, then ``final``.

    An unknown user gets an invented secret and fails where a wrong password fails, after the same work. The
    invention uses ``DEFAULT_ITERATIONS``: a secret of another count shows that its user exists.

    Args:
        lookup: the secret of a user, or None.
        user: of the startup packet; the name in the SCRAM messages is ignored, as PostgreSQL does.
        mock_key: kept across restarts, or an unknown user's salt would change.
        binding: what to bind to (tls-server-end-point); None where there is no TLS.
    """

    __slots__ = (
        "_bare", "_binding", "_bound", "_gs2", "_known", "_nonce", "_secret", "_server_first", "_user",
    )  # fmt: skip

    def __init__(
        self,
        lookup: Callable[[str], ScramSecret | None],
        user: str,
        mock_key: bytes,
        binding: bytes | None = None,
    ) -> None:
        found, mock = lookup(user), _mock_secret(mock_key, user)
        self._user = user
        self._binding = binding
        self._bound = b""
        self._known = found is not None
        self._secret = found or mock
        self._gs2 = self._bare = self._nonce = self._server_first = ""

    @property
    def mechanisms(self) -> tuple[str, ...]:
        """The mechanisms that are offered."""
        return (MECHANISM,) if self._binding is None else (BOUND, MECHANISM)

    def first(self, mechanism: str, data: bytes) -> bytes:
        """The challenge to the client's first message.

        Raises:
            ProtocolViolation: another mechanism, malformed, or a client that supports channel binding and believes that
            the server does not.
        """
        if mechanism not in self.mechanisms:
            raise ProtocolViolation(f"SASL mechanism is not {' or '.join(self.mechanisms)}")
        match = _CLIENT_FIRST.fullmatch(_text(data))
        if match is None or self._nonce:
            raise ProtocolViolation("malformed SCRAM message")
        self._check_flag(match["gs2"][0], mechanism)
        self._gs2, self._bare = match["gs2"], match["bare"]
        self._nonce = match["nonce"] + _base64(token_bytes(_NONCE_SIZE))
        self._server_first = f"r={self._nonce},s={_base64(self._secret.salt)},i={self._secret.iterations}"
        return self._server_first.encode()

    def _check_flag(self, flag: str, mechanism: str) -> None:
        if (flag == "p") is not (mechanism == BOUND):
            raise ProtocolViolation("malformed SCRAM message")
        # It would bind, and did not see that we can: somebody between us left it out (RFC 5802, section 6).
        if flag == "y" and self._binding is not None:
            raise ProtocolViolation("the offer of channel binding did not arrive")
        if flag == "p":
            self._bound = self._binding or b""

    def final(self, data: bytes) -> bytes:
        """The server's own proof, once the client's is right.

        Raises:
            InvalidPassword: wrong password or unknown user.
            ProtocolViolation: malformed, or not an answer to this challenge.
        """
        match = _CLIENT_FINAL.fullmatch(_text(data))
        if match is None or not self._nonce:
            raise ProtocolViolation("malformed SCRAM message")
        if match["gs2"] != _base64(self._gs2.encode() + self._bound) or match["nonce"] != self._nonce:
            raise ProtocolViolation("SCRAM message does not belong to this exchange")
        signed = f"{self._bare},{self._server_first},{match['unsigned']}".encode()
        server_signature = _hmac(self._secret.server_key, signed)
        if not (_is_proof(self._secret.stored_key, signed, match["proof"]) and self._known):
            raise InvalidPassword(f'password authentication failed for user "{self._user}"')
        return f"v={_base64(server_signature)}".encode()


def _is_proof(stored_key: bytes, signed: bytes, proof_text: str) -> bool:
    try:
        proof = _unbase64(proof_text)
    except ValueError:
        raise ProtocolViolation("malformed SCRAM message") from None
    if len(proof) != _KEY_SIZE:
        raise ProtocolViolation("malformed SCRAM message")
    client_key = bytes(a ^ b for a, b in zip(proof, _hmac(stored_key, signed), strict=True))
    return hmac.compare_digest(hashlib.sha256(client_key).digest(), stored_key)


def _is_allowed(iterations: int) -> bool:
    return MIN_ITERATIONS <= iterations <= MAX_ITERATIONS


def _prepared(password: str) -> bytes:
    """SASLprep, or the password as it is where that prohibits it: libpq does the same."""
    try:
        prepared = str(saslprep(password))
    except ScramException:
        prepared = ""
    return (prepared or password).encode()


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ProtocolViolation("malformed SCRAM message") from None


def _hmac(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def _unbase64(text: str) -> bytes:
    """Read base64; ``ValueError`` if it is not."""
    try:
        return b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError from error
