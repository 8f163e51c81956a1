"""Numbers of objects and addresses: what PostgreSQL shows by name, and inet."""

import ipaddress
import struct
from typing import Final

from dpproxy.values.errors import Unsupported
from dpproxy.values.pgtypes import ObjectName

_FAMILIES: Final = {4: 2, 6: 3}
"""PGSQL_AF_INET and PGSQL_AF_INET6 of utils/inet.h, by the version of the address."""


def write_object_text(value: str) -> bytes:
    """Its name."""
    return value.encode("utf-8", "replace")


def write_object_binary(value: ObjectName) -> bytes:
    """Its number."""
    return struct.pack("!I", value.oid)


def read_object_binary(data: bytes) -> str:
    """The digits of its number. Errors: ``struct.error``."""
    return str(struct.unpack("!I", data)[0])


def no_record(_data: bytes) -> object:
    """Errors: ``Unsupported``."""
    raise Unsupported("parameter of type record")


def no_binary_record(_value: str) -> bytes:
    """Its fields have no types here. Errors: ``Unsupported``."""
    raise Unsupported("a row as a value has no binary form here", hint="Select its fields.")


def read_inet_text(data: bytes) -> str:
    """As PostgreSQL writes it. Errors: ``ValueError``."""
    address = ipaddress.ip_interface(data.decode("ascii").strip())
    shown, size = _address_text(address.ip), address.network.prefixlen
    return shown if size == address.max_prefixlen else f"{shown}/{size}"


def _address_text(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    """Addresses of version 4 within those of version 6 with points."""
    high, low = int(address) >> 32, int(address) & 0xFFFFFFFF
    if address.version == 6 and (high == 0xFFFF or (high == 0 and low >> 16)):
        return f"::{'ffff:' if high else ''}{ipaddress.IPv4Address(low)}"
    return str(address)


def read_inet_binary(data: bytes) -> str:
    """Errors: ``ValueError``."""
    family, bits, _, size = data[:4]
    if len(data) != 4 + size or family != {4: 2, 16: 3}.get(size):
        raise ValueError
    return read_inet_text(f"{ipaddress.ip_address(data[4:])}/{bits}".encode())


def write_inet_binary(value: str) -> bytes:
    """Family, bits of the network, 0 for no cidr, and the address."""
    address = ipaddress.ip_interface(value)
    packed = address.ip.packed
    head = _FAMILIES[address.version], address.network.prefixlen, 0, len(packed)
    return struct.pack("!4B", *head) + packed
