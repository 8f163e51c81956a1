"""The server that commands begin with."""

from tests.postgres import postgres

__all__ = ["postgres"]
