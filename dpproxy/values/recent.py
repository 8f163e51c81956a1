"""A cache of the most recently used entries."""

import threading
from collections import OrderedDict
from typing import Generic, TypeVar

V = TypeVar("V")


class Recent(Generic[V]):
    """Values by key; the least recently used goes first. Thread-safe.

    >>> kept = Recent[str](1)
    >>> kept.put("a", "first")
    >>> kept.put("b", "second")
    >>> kept.get("a"), kept.get("b")
    (None, 'second')
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[object, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: object) -> V | None:
        """The value, None where it is not in the cache."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: object, value: V) -> None:
        """Add a value."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._most:
                self._values.popitem(last=False)
