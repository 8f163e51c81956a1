"""The table of methods: a new one is one file and one line here."""

from typing import Final

from dpproxy.anonymize.model import Method

_ALL: tuple[Method, ...] = ()

METHODS: Final[dict[str, Method]] = {method.name: method for method in _ALL}
"""By the name that ``WITH (method = ...)`` takes."""
