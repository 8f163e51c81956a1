"""The client that shows every byte, logged in to a proxy of the tests."""

from dpproxy.assurance.wire import Message, Wire
from tests.proxies import PASSWORD, Proxy

__all__ = ["Message", "Raw"]


class Raw(Wire):
    """A connection as a user of the tests."""

    def __init__(self, proxy: Proxy, user: str = "ann", **settings: str) -> None:
        super().__init__(("127.0.0.1", proxy.port), user, PASSWORD, **settings)
