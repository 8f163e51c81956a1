"""All that may be told of what went wrong in an engine. Its own words can quote a row: they end here.

Whatever is raised inside a backend, of whatever class, becomes an entry of this table by its class alone.
"""

import duckdb
from msgspec import Struct

from dpproxy.values.errors import (
    Cancelled,
    DivisionByZero,
    Internal,
    NumberOutOfRange,
    Refusal,
    SeveralRows,
    TooComplex,
)


class WorkerLost(Internal):
    """The process of the exact stage ended, or was ended, while a statement ran in it."""


class FactsChanged(Internal):
    """A public table is no longer what the statement was planned with."""


class Altered(Internal):
    """The data source is not what the schema and the plans are of."""


class TableGone(Internal):
    """A table that the statement reads is not there."""


class ViewUnavailable(Internal):
    """The rows of a protected view cannot be loaded from its file."""


class Failure(Struct, frozen=True):
    """A refusal before it is raised."""

    kind: type[Refusal]
    message: str
    hint: str | None = None


_RANGE = "a number over released values is out of range"
_SEVERAL = "more than one row returned by a subquery used as an expression"
_ALTERED = "the data source is not as it was when the proxy was started"
_TO_OPERATORS = "The log of the server says what has changed; a restart reads the data source anew."
FAILURES: dict[str, Failure] = {
    "cancelled": Failure(Cancelled, "canceling statement due to user request"),
    "too long": Failure(
        Cancelled,
        "canceling statement due to statement timeout",
        "The limit is the server's; ask for fewer groups, joins or order statistics.",
    ),
    "public too long": Failure(
        Cancelled,
        "canceling statement due to statement timeout",
        "The limit is the server's; ask for fewer rows or joins.",
    ),
    "exact": Failure(Internal, "the statement could not be computed; it stays charged"),
    "lost": Failure(WorkerLost, "the statement could not be computed: its process ended; it stays charged"),
    "changed": Failure(
        FactsChanged,
        "a public table has changed while the statement was planned; it stays charged",
        "Send it again: it is planned anew.",
    ),
    "gone": Failure(TableGone, "a table of the data source is no longer there; the statement stays charged"),
    "altered": Failure(Altered, _ALTERED, _TO_OPERATORS),
    "altered, charged": Failure(Altered, f"{_ALTERED}; the statement stays charged", _TO_OPERATORS),
    "renewed": Failure(
        FactsChanged,
        "the data was loaded anew while the statement was planned; it stays charged",
        "Send it again: it is planned anew.",
    ),
    "stopping": Failure(Internal, "the server is shutting down; the statement stays charged"),
    "unavailable": Failure(Internal, "the data is not available at the moment"),
    "public lost": Failure(
        WorkerLost, "the statement could not be computed: its process ended; send it again"
    ),
    "public": Failure(NumberOutOfRange, "a number is out of range, or a function is not defined there"),
    "public several": Failure(SeveralRows, _SEVERAL),
    "public memory": Failure(TooComplex, "the statement takes too much memory"),
    "public size": Failure(
        TooComplex,
        "a public table is too large to be read beside released values",
        "Read less of it: a subquery in FROM with fewer columns, and with WHERE.",
    ),
    "view": Failure(ViewUnavailable, "a protected view is not available at the moment"),
    "draw": Failure(Internal, "the release could not be drawn; it stays charged"),
    "answer": Failure(Internal, "the answer could not be computed from the released values"),
    "answer too long": Failure(Cancelled, "canceling statement: cancelled, or too long over released values"),
    "answer several": Failure(SeveralRows, _SEVERAL, "Take one value, with max or with LIMIT 1."),
    "answer range": Failure(NumberOutOfRange, _RANGE),
    "answer memory": Failure(TooComplex, "the statement over released values takes too much memory"),
    "answer undefined": Failure(DivisionByZero, "a function over released values is not defined there"),
}
_ANSWER: dict[type[duckdb.Error], str] = {
    duckdb.InterruptException: "answer too long",
    duckdb.OutOfRangeException: "answer range",
    duckdb.ConversionException: "answer range",
    duckdb.OutOfMemoryException: "answer memory",
    duckdb.InvalidInputException: "answer undefined",
}


def failure(code: str) -> Refusal:
    """The refusal of one entry."""
    entry = FAILURES[code]
    return entry.kind(entry.message, hint=entry.hint)


def code_of(error: Exception) -> str:
    """The entry of a refusal made here, to be sent to another process; anything else could be any error."""
    for code, entry in FAILURES.items():
        if isinstance(error, Refusal) and (type(error), error.message) == (entry.kind, entry.message):
            return code
    return "exact"


def exact_failure(error: Exception) -> str:
    """The entry for what a statement over protected rows raised: rows must not choose between entries."""
    return "cancelled" if isinstance(error, duckdb.InterruptException) else "exact"


def public_failure(error: Exception) -> str:
    """The entry for what a statement over public tables raised."""
    if isinstance(error, duckdb.InterruptException) or _is_streamed(error, "INTERRUPT"):
        return "cancelled"
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError) or _is_streamed(error, "Out of Memory"):
        return "public memory"
    return "public several" if _is_several(error) else "public"


def answer_failure(error: Exception) -> str:
    """The entry for what a statement over released values raised."""
    if _is_several(error):
        return "answer several"
    return next((code for kind, code in _ANSWER.items() if isinstance(error, kind)), "answer")


def is_broken(error: Exception) -> bool:
    """True where the engine refuses every further statement after it."""
    broken = isinstance(error, duckdb.FatalException | duckdb.InternalException)
    return broken or _is_streamed(error, "FATAL", "INTERNAL")


def _is_streamed(error: Exception, *kinds: str) -> bool:
    """Whether an Arrow stream, which has no classes for the engine's errors, ended in one of these."""
    return isinstance(error, OSError) and str(error).startswith(kinds)


def _is_several(error: Exception) -> bool:
    return isinstance(error, duckdb.Error | OSError) and "More than one row returned by a subquery" in str(
        error
    )
