"""What an account has paid in its current window.

The window of a debit is a number: the number of the account's resets, times 2**32, and the day of the ledger's
clock where the account refills (1 January 1970 is day 1; 0 where it never refills). Neither decreases: resets only
count up, and the clock is the ledger's high-water mark, which entries only move forward. What counts against a limit is
the sum over the days of the current period, so another REFRESH gives back nothing that was spent in its own period. A
ceiling never refills and is never reset.

Where a table's units are divided into blocks, an account of its ceiling names one: ``generation:value``. Within a
generation each unit is in one block or none, so it has paid what its own block paid, and what all units paid. A release
about all units is checked against the block that has paid most. Two generations may divide units differently: of every
earlier generation, the block that has paid most counts for all units. A ceiling's window is 1 for losses that are
bounded as rho alone; no sum of epsilon bounds them, so a plain ceiling with some of them allows nothing more.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.accounting.book import StoreConnection
from dpproxy.accounting.model import Account, AccountKind, Cost, Debit, Own
from dpproxy.accounting.totals import Rows, Total, Totals
from dpproxy.policy.interval import CalendarInterval

DAY = 86_400_000_000
"""Microseconds of a day."""
_EPOCH = 2**32
_NOTHING = Cost()
_BUDGET = AccountKind.BUDGET.column
_Place = tuple[Own, Debit, int, int | None]
"""Account, debit with the current window, first window that counts, and refill time (microseconds, None: never)."""


class Standing(Struct, frozen=True):
    """The balance of an account: its debit in the current window, and what counts against its limits.

    Attributes:
        since: the first window that counts.
        refills: when it refills, in microseconds since 1970; None for never.
    """

    debit: Debit
    spent: Cost
    since: int = 0
    refills: int | None = None
    concentrated: bool = False
    """Whether some of the debits are bounded as rho alone."""


def standings(
    totals: Totals, debits: Sequence[Debit], now: int, *, concentrated: bool = False
) -> list[Standing]:
    """The balances of accounts at ``now``, microseconds of the ledger's clock; at most two database queries.

    ``concentrated``: the release to be debited is bounded as rho alone.
    """
    totals.need(owns(debits))
    places = [_placed(debit, totals.found, now, concentrated) for debit in debits]
    since: dict[Own, int] = {}
    for own, _, first, _ in places:
        since[own] = min(first, since.get(own, first))
    totals.have(since)
    return [_standing(place, totals.found[place[0]].rows) for place in places]


def owns(debits: Sequence[Debit]) -> list[Own]:
    """The accounts whose totals these balances depend on: their own, and the budgets they belong to."""
    found: list[Own] = []
    for debit in debits:
        account = debit.account
        found.append(account.own)
        if account.kind is not AccountKind.CEILING:
            found.append(_budget_of(account))
    return found


def _placed(debit: Debit, totals: Mapping[Own, Total], now: int, concentrated: bool) -> _Place:  # noqa: FBT001
    """The debit with its account in the window at ``now``."""
    account = debit.account
    own = account.own
    match account.kind:
        case AccountKind.CEILING:
            return own, _in_window(debit, int(concentrated)), 0, None
        case AccountKind.BUDGET | AccountKind.USER | AccountKind.SESSION:
            latest = totals[_budget_of(account)].latest
            if account.kind is not AccountKind.SESSION:
                latest = max(latest, totals[own].latest)
            epoch = latest // _EPOCH * _EPOCH
            if debit.refresh is None:
                return own, _in_window(debit, epoch), epoch, None
            today = now // DAY
            first, after = _period(debit.refresh, today)
            return own, _in_window(debit, epoch + today + 1), epoch + first, after


def _in_window(debit: Debit, window: int) -> Debit:
    account = debit.account
    if account.window == window:
        return debit
    placed = Account(account.kind, account.name, account.member, account.block, window)
    return Debit(placed, debit.limit, debit.delta_limit, debit.rho_limit, debit.refresh)


def _standing(place: _Place, rows: Rows) -> Standing:
    _, debit, since, refills = place
    if debit.account.kind is AccountKind.CEILING:
        spent, has_rho_alone = _ceiling(rows, debit.account)
        return Standing(debit, spent, concentrated=has_rho_alone)
    counted = [cost for (_, window), cost in rows.items() if window >= since]
    return Standing(debit, counted[0] if len(counted) == 1 else sum(counted, _NOTHING), since, refills)


def anew(connection: StoreConnection, account: Account) -> Account:
    """The account of a budget or of a user after a reset, in a new window; users follow the resets of their budget."""
    totals = Totals(connection)
    totals.need(owns([Debit(account)]))
    window = max(total.latest for total in totals.found.values())
    if account.kind is AccountKind.BUDGET:
        row = connection.execute(
            'SELECT max("window") FROM account WHERE kind = ? AND name = ?',
            (AccountKind.USER.value, account.name),
        ).fetchone()
        window = max(window, row[0] or 0)
    return replace(account, window=(window // _EPOCH + 1) * _EPOCH)


@lru_cache(maxsize=64)
def _period(refresh: CalendarInterval, today: int) -> tuple[int, int]:
    """The first day that counts, numbered from 1, and when the period ends."""
    first, after = refresh.period(today)
    return max(first, 0) + 1, after * DAY


def _budget_of(account: Account) -> Own:
    """The budget that an account of its users or sessions belongs to, or that it is."""
    return _BUDGET, account.member if account.kind is AccountKind.SESSION else account.name, ""


def _ceiling(rows: Rows, account: Account) -> tuple[Cost, bool]:
    """The most that one unit can have paid: releases about all units, and those about blocks that can be its own.

    Also returns whether some of it is bounded as rho alone.
    """
    blocks: dict[str, Cost] = {}
    has_rho_alone = False
    for (block, window), cost in rows.items():
        has_rho_alone |= bool(window)
        blocks[block] = blocks[block] + cost if block in blocks else cost
    spent = blocks.pop("", _NOTHING)
    if not blocks:
        return spent, has_rho_alone
    own = generation(account.block)
    dearest: dict[str, Cost] = {}
    for block, cost in blocks.items():
        of = generation(block)
        if of != own or block == account.block:
            dearest[of] = dearest.get(of, _NOTHING) | cost
    return sum(dearest.values(), spent), has_rho_alone


def generation(block: str) -> str:
    """The generation in the name of a block; "" for all units."""
    return block.partition(":")[0]


def users(connection: StoreConnection) -> list[Account]:
    """The users who have an account of a budget, by budget and name."""
    rows = connection.execute(
        "SELECT DISTINCT name, member FROM account WHERE kind = ? ORDER BY name, member",
        (AccountKind.USER.value,),
    )
    return [Account.user(str(name), str(member)) for name, member in rows]
