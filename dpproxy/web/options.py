"""The options of the page, as its process is told them."""

import ipaddress
import json
from typing import Final, Self

from msgspec import Struct
from msgspec.structs import asdict

from dpproxy.values.structs import PartlyShown

KEY: Final = "PAGE_KEY"
"""The variable with the key by which the proxy knows the page; arguments are for everybody to see."""
IDLE: Final = 1800.0
"""Seconds after its last request at which a login ends."""


class Options(PartlyShown, Struct, frozen=True):
    """Where the page listens, which names browsers may call it by, and where the proxy is."""

    HIDDEN = frozenset({"key"})

    host: str
    port: int
    wire_host: str
    wire_port: int
    database: str | None = None
    """The only data source; None where there are several, and a login names one."""
    url: str | None = None
    """The address that people open, where it is another than ``host`` and ``port``."""
    tls_certificate: str | None = None
    tls_key: str | None = None
    report: str | None = None
    """The file of the report that is shown to everybody."""
    idle: float = IDLE
    key: str = ""
    """What proves to the proxy that an address is told by the page; without it the page's own address counts."""

    @property
    def scheme(self) -> str:
        """The scheme by which the page itself is served."""
        return "http" if self.tls_certificate is None else "https"

    @property
    def origins(self) -> tuple[str, ...]:
        """The origins that browsers may open the page from, the first to be shown to people."""
        if self.url is not None:
            return (self.url,)
        names = ("127.0.0.1", "localhost", "[::1]") if is_loopback(self.host) else (self.host,)
        listed = f"[{self.host}]" if ":" in self.host else self.host
        return tuple(f"{self.scheme}://{name}:{self.port}" for name in dict.fromkeys((listed, *names)))

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach the page over TLS."""
        return self.origins[0].startswith("https:")

    @property
    def reaches(self) -> str:
        """The host at which the page's process reaches the proxy."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.wire_host, self.wire_host)  # noqa: S104

    def text(self) -> str:
        """All of it but the key, as one argument of a command."""
        return json.dumps({name: value for name, value in asdict(self).items() if name != "key"})

    @classmethod
    def read(cls, text: str, key: str = "") -> Self:
        """The options that ``text`` wrote, with the key."""
        return cls(**json.loads(text), key=key)


def is_loopback(host: str) -> bool:
    """Whether only programs of the same machine reach this address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
