"""Lines of dp.ledger, a page of entries at a time."""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct, field

from dpproxy.accounting.book import StoreConnection
from dpproxy.accounting.ledger import Ledger

FIRST, LARGEST = 100, 8_000
"""Entries of the first page, and of the last ones: each page has four times as many as the one before."""
_NAME: Final = (
    "(SELECT d.name FROM debit d WHERE d.origin = e.origin AND d.sequence = e.sequence AND d.kind = '{}' "
    "ORDER BY d.position DESC LIMIT 1)"
)
_LINE: Final = (
    "SELECT e.sequence, e.at, e.who, e.kind, e.label, e.nano, e.delta, e.rho, e.mechanism, "  # noqa: S608 - our own text
    f"coalesce({_NAME.format('budget')}, {_NAME.format('user')}), {_NAME.format('ceiling')}, "
    "e.policy_version, e.data_version, e.note FROM entry e "
)
_COUNT: Final = "SELECT count(*) FROM entry WHERE sequence <= ? AND who = ? AND at >= ?"

Line = tuple[Any, ...]
"""Number, time, user, kind, label, nano-epsilon, delta, rho, mechanism, budget, ceiling, versions, note."""


class EntryFilter(Struct, frozen=True):
    """Which entries: those of ``who``, or of all; at least those under all conditions, each ``COLUMN OPERATOR ?``."""

    who: str | None = None
    conditions: tuple[tuple[str, object], ...] = field(default=())
    is_descending: bool = False
    since: int = 0
    """Microseconds since 1970: entries of ``who`` from before are of somebody else, and neither shown nor counted."""


def pages(ledger: Ledger, listed: EntryFilter) -> Iterator[list[Line]]:
    """The entries there are now, in order. The entries of one user are numbered from 1. Raises LedgerUnavailable."""
    last = ledger.read(_last)
    number = 0 if listed.who is None else (_own(ledger, listed, last) + 1 if listed.is_descending else 0)
    step, after, most = -1 if listed.is_descending else 1, last + 1 if listed.is_descending else 0, FIRST
    while page := _page(ledger, listed, after, last, most):
        after = page[-1][0]
        if listed.who is not None:
            page = [(number + step * place, *line[1:]) for place, line in enumerate(page, 1)]
            number = page[-1][0]
        yield page
        most = min(LARGEST, 4 * most)


def _page(ledger: Ledger, listed: EntryFilter, after: int, last: int, most: int) -> list[Line]:
    conditions = [*listed.conditions, ("sequence < ?" if listed.is_descending else "sequence > ?", after)]
    conditions.append(("sequence <= ?", last))
    if listed.who is not None:
        conditions += [("who = ?", listed.who), ("at >= ?", listed.since)]
    where = " AND ".join(f"e.{text}" for text, _ in conditions)
    order = "DESC" if listed.is_descending else "ASC"
    sql = f"{_LINE} WHERE {where} ORDER BY e.sequence {order} LIMIT ?"
    values = (*(value for _, value in conditions), most)
    return ledger.read(lambda connection: [tuple(line) for line in connection.execute(sql, values)])


def _last(connection: StoreConnection) -> int:
    return int(connection.execute("SELECT sequence FROM head").fetchone()[0])


def _own(ledger: Ledger, listed: EntryFilter, last: int) -> int:
    values = last, listed.who, listed.since
    return ledger.read(lambda connection: int(connection.execute(_COUNT, values).fetchone()[0]))
