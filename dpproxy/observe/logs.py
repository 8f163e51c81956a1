"""Lines of JSON on stderr, one for each statement, for log collectors; off unless configured."""

import importlib.util
import json
import logging
import sys
from typing import Any

from dpproxy.accounting.model import format_epsilon
from dpproxy.observe.audit_entry import AuditEntry
from dpproxy.values.errors import StartupError


class JsonLines:
    """Writes what the audit log also contains: no value of a row is in it."""

    def __init__(self, stream: Any = None) -> None:  # noqa: ANN401 - whatever has write
        if importlib.util.find_spec("structlog") is None:
            raise StartupError('log.format: "json" needs structlog: pip install "dpproxy[log]"')
        import structlog  # noqa: PLC0415 - an extra

        shared: list[Any] = [
            structlog.stdlib.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
        ]
        renderer = structlog.processors.JSONRenderer(serializer=_dumps)
        out = structlog.PrintLogger(sys.stderr if stream is None else stream)
        self._log = structlog.wrap_logger(out, processors=[*shared, renderer])
        self._formatter = structlog.stdlib.ProcessorFormatter(processor=renderer, foreign_pre_chain=shared)

    def install(self) -> None:
        """Format the proxy's own warnings as JSON, too."""
        for handler in logging.getLogger().handlers:
            handler.setFormatter(self._formatter)

    def of(self, database: str) -> "Lines":
        """The lines of one data source."""
        return Lines(self._log.bind(database=database))


class Lines:
    """Watches one data source."""

    def __init__(self, log: Any) -> None:  # noqa: ANN401 - a bound logger
        self._log = log

    def session_opened(self) -> None:
        """A session begins."""

    def session_closed(self) -> None:
        """A session ends."""

    def statement_ended(self, entry: AuditEntry, seconds: float) -> None:
        """A statement ended; ``seconds`` is how long it took."""
        self._log.info(
            "statement",
            user=entry.user,
            roles=entry.roles,
            outcome=entry.outcome.value,
            epsilon=format_epsilon(entry.nano),
            sqlstate=entry.sqlstate or None,
            reason=entry.reason or None,
            statement=entry.statement,
            seconds=round(seconds, 3),
        )


def _dumps(event: object, **_: object) -> str:
    return json.dumps(event, ensure_ascii=False, default=repr)
