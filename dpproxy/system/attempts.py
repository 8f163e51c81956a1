"""Failed logins by the address they come from, and the delay of the next one; also of those at the page."""

import ipaddress
from collections import OrderedDict
from typing import Final

from msgspec import Struct, field

MOST_ADDRESSES: Final = 10_000
"""The most addresses whose failed logins are counted."""
HALF_LIFE: Final = 30.0
"""Seconds after which a failed login counts half."""
FIRST: Final = 0.25
LONGEST: Final = 5.0
"""Seconds by which a login is delayed after one failure from its address, and after many."""


class Attempts(Struct):
    """Failed logins by address: the more there were recently, the longer the next login from there takes.

    Correct passwords are delayed, too, so that the delay reveals nothing. Failures are counted by user as well: many
    addresses that try one user's password slow each other, and that user by ``LONGEST`` at most, so that nobody is
    locked out.
    """

    _failed: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    """By address: the number of failures, decayed with time, and when it was computed."""

    def add_failure(self, address: str, now: float) -> None:
        """Count a failed login."""
        key = _network(address)
        self._failed[key] = (self._count(key, now) + 1, now)
        self._failed.move_to_end(key)
        if len(self._failed) > MOST_ADDRESSES:
            self._failed.popitem(last=False)

    def forgive(self, address: str, now: float) -> None:
        """Take back a failure that was counted before a login was tried, and that was none."""
        key = _network(address)
        self._failed[key] = (max(0.0, self._count(key, now) - 1), now)

    def delay(self, address: str, now: float) -> float:
        """The seconds by which the next login is delayed."""
        count = self._count(_network(address), now)
        return 0.0 if count < 0.5 else min(LONGEST, FIRST * 2.0 ** min(count - 1, 10))

    def _count(self, key: str, now: float) -> float:
        count, at = self._failed.get(key, (0.0, now))
        return float(count * 0.5 ** ((now - at) / HALF_LIFE))


def _network(address: str) -> str:
    """The key by which failures are counted: the address, or its /64 network for IPv6."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else address
