"""The client of Spark Connect: a package of an extra, loaded where it is needed, and kept from writing to a log."""

import importlib
import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dpproxy.values.errors import StartupError

LONGEST_ASKED = 120.0
"""Seconds that a server may take to open a session, or to say that it is there."""
LONGEST_CHECK = 60.0
"""Seconds that it may take to analyse a statement: nothing stops it, but nobody has to wait."""
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


def is_analysed(spark: Any, plan: Any) -> bool:  # noqa: ANN401 - of an optional package
    """Have a statement analysed and not run; False where that takes too long.

    The session serves others meanwhile and afterwards. Raises what the client raises.
    """
    status = importlib.import_module("grpc").StatusCode
    client = spark.client
    request = client._analyze_plan_request_with_metadata()  # noqa: SLF001 - the client's own has no limit
    request.schema.plan.CopyFrom(plan.to_proto(client))
    try:
        for attempt in client._retrying():  # noqa: SLF001
            with attempt:
                client._stub.AnalyzePlan(  # noqa: SLF001
                    request,
                    metadata=client._builder.metadata(),  # noqa: SLF001
                    timeout=LONGEST_CHECK,
                )
    except Exception as error:
        if getattr(error, "code", lambda: None)() is status.DEADLINE_EXCEEDED:
            return False
        raise
    return True
