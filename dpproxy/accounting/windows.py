"""What an account has paid in the window it is in now.

The window of a debit is a number: how often the account was let begin anew, times 2**32, and the day of the ledger's
clock where the account refills (1 January 1970 is day 1; 0 where it never refills). Neither goes down: resets only
count up, and the clock is the ledger's high-water mark, which an entry moves and nothing moves back. What counts
against a limit is the sum over the days of the period that holds today, so another REFRESH gives back nothing that
was spent in its own period. A ceiling never refills and is never let begin anew.

A ceiling's account names a block, where the people a release is about are told apart by one: ``generation:value``.
Within a generation, each person is in one block or none, so everybody pays what their own block paid, besides what
everybody paid; a release about everybody is checked for the dearest block. Generations are not known to divide
people alike: of each but the current one, the dearest block counts for everybody. Its window is 1 for what adds up as
rho alone, which no sum of epsilon bounds, so a plain ceiling that holds some lets nothing more through.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from dpproxy.accounting.book import Connection
from dpproxy.accounting.model import Account, Cost, Debit, Kind
from dpproxy.policy.interval import Interval

DAY = 86_400_000_000
"""Microseconds of a day."""
_EPOCH = 2**32
_OWN = "kind = ? AND name = ? AND member = ?"


@dataclass(frozen=True, slots=True)
class Standing:
    """A debit whose account has the window of now, what counts against its limits, and when it refills.

    Attributes:
        since: the least window that counts.
        refills: microseconds since 1970, None for never.
    """

    debit: Debit
    spent: Cost
    since: int = 0
    refills: int | None = None
    concentrated: bool = False
    """Part of it adds up as rho alone."""


def standing(connection: Connection, debit: Debit, now: int, *, concentrated: bool = False) -> Standing:
    """How an account stands at ``now``, microseconds of the ledger's clock.

    ``concentrated`` where what it is debited for adds up as rho alone.
    """
    account = debit.account
    match account.kind:
        case Kind.CEILING:
            spent, has_rho_alone = _ceiling(connection, account)
            placed = replace(debit, account=replace(account, window=int(concentrated)))
            return Standing(placed, spent, concentrated=has_rho_alone)
        case Kind.BUDGET | Kind.USER | Kind.SESSION:
            epoch = _epoch(connection, account) * _EPOCH
            since, today, refills = _dates(debit.refresh, now)
            placed = replace(debit, account=replace(account, window=epoch + today))
            spent = _sum(connection, account, epoch + since)
            return Standing(placed, spent, epoch + since, refills)
        case _:
            assert_never(account.kind)


def anew(connection: Connection, account: Account) -> Account:
    """The account of a budget or of a user, in a window after all that it has had; users of a budget follow theirs."""
    window = max(_latest(connection, account), _latest(connection, _budget_of(account)))
    if account.kind is Kind.BUDGET:
        row = connection.execute(
            'SELECT max("window") FROM account WHERE kind = ? AND name = ?', (Kind.USER.value, account.name)
        ).fetchone()
        window = max(window, row[0] or 0)
    return replace(account, window=(window // _EPOCH + 1) * _EPOCH)


def _dates(refresh: Interval | None, now: int) -> tuple[int, int, int | None]:
    """The first day that counts and today, numbered from 1, and when the period ends; zeros for never."""
    if refresh is None:
        return 0, 0, None
    today = now // DAY
    first, after = refresh.period(today)
    return max(first, 0) + 1, today + 1, after * DAY


def _budget_of(account: Account) -> Account:
    """The budget that an account of its users or sessions belongs to."""
    return Account.budget(account.member if account.kind is Kind.SESSION else account.name)


def _epoch(connection: Connection, account: Account) -> int:
    """How often an account was let begin anew, alone or with its budget."""
    own = 0 if account.kind is Kind.SESSION else _latest(connection, account)
    return max(own, _latest(connection, _budget_of(account))) // _EPOCH


def _latest(connection: Connection, account: Account) -> int:
    row = connection.execute(
        f"SELECT max(\"window\") FROM account WHERE {_OWN} AND block = ''",  # noqa: S608 - our own text
        (account.kind.value, account.name, account.member),
    ).fetchone()
    return int(row[0] or 0)


def _sum(connection: Connection, account: Account, since: int) -> Cost:
    rows = connection.execute(
        f"SELECT nano, delta, rho FROM account WHERE {_OWN} AND block = '' AND \"window\" >= ?",  # noqa: S608 - ours
        (account.kind.value, account.name, account.member, since),
    )
    return sum((_cost(row) for row in rows), Cost())


def _ceiling(connection: Connection, account: Account) -> tuple[Cost, bool]:
    """What one unit may have paid, everybody's releases and those of the blocks that can be its own.

    And whether some of it adds up as rho alone.
    """
    rows = connection.execute(
        f'SELECT block, "window", nano, delta, rho FROM account WHERE {_OWN}',  # noqa: S608 - our own text
        (account.kind.value, account.name, account.member),
    )
    blocks: dict[str, Cost] = {}
    has_rho_alone = False
    for block, window, *rest in rows:
        has_rho_alone |= bool(window)
        blocks[block] = blocks.get(block, Cost()) + _cost(rest)
    spent, own = blocks.pop("", Cost()), generation(account.block)
    dearest: dict[str, Cost] = {}
    for block, cost in blocks.items():
        of = generation(block)
        if of != own or block == account.block:
            dearest[of] = dearest.get(of, Cost()) | cost
    return sum(dearest.values(), spent), has_rho_alone


def generation(block: str) -> str:
    """What a block was told apart by; "" for everybody."""
    return block.partition(":")[0]


def _cost(row: Iterable[object]) -> Cost:
    nano, delta, rho = row
    return Cost(int(str(nano)), Fraction(str(delta)), Fraction(str(rho)))


def users(connection: Connection) -> list[Account]:
    """The users who have an account of a budget, by budget and name."""
    rows = connection.execute(
        "SELECT DISTINCT name, member FROM account WHERE kind = ? ORDER BY name, member", (Kind.USER.value,)
    )
    return [Account.user(str(name), str(member)) for name, member in rows]
