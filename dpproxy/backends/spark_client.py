"""The client of Spark Connect: a package of an extra, loaded where it is needed, and kept from writing to a log."""

import importlib
import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dpproxy.errors import StartupError

LONGEST_ASKED = 120.0
"""Seconds that a server may take to open a session, or to say what it thinks of a statement."""
RETRIES = {"max_retries": 3, "initial_backoff": 100, "max_backoff": 1000, "jitter": 0}
"""Of one message: a server that is gone is given up within two seconds."""
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def end(spark: Any) -> None:  # noqa: ANN401 - of an optional package
    """Give a session back; what runs in it fails."""
    if spark is not None:
        with suppress(Exception):
            spark.client.close()


def module(name: str) -> Any:  # noqa: ANN401 - of an optional package
    """A module of the client. Raises ``ImportError``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it is older than the packages it stands on
        return importlib.import_module(name)


def quiet(name: str) -> None:
    """Keep the client from writing the server's errors to a log: they quote rows.

    Raises ``StartupError`` where the client is not installed.
    """
    try:
        logger = module("pyspark.logger").PySparkLogger
    except ImportError:
        raise StartupError(f"data.{name}.url: Spark needs a package: pip install 'dpproxy[spark]'") from None
    warnings.filterwarnings("ignore", module=r"pyspark\.")
    for each in _LOGGERS:
        logger.getLogger(each).disabled = True
    logging.getLogger("pyspark").disabled = True


@contextmanager
def at_most(spark: Any) -> Iterator[None]:  # noqa: ANN401 - of an optional package
    """What the server is asked fails after a while: a message has no limit of its own."""
    watch = threading.Timer(LONGEST_ASKED, end, (spark,))
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()
