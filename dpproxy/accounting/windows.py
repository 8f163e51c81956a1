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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from dpproxy.accounting.book import Connection
from dpproxy.accounting.model import Account, Cost, Debit, Kind
from dpproxy.policy.interval import Interval

DAY = 86_400_000_000
"""Microseconds of a day."""
_EPOCH = 2**32
MOST = 100
"""Accounts in one statement: a database takes no more than some hundred parts of one."""
_OWN = "kind = ? AND name = ? AND member = ?"
_LAST, _ROW = 'kind, name, member, max("window")', 'kind, name, member, block, "window", nano, delta, rho'
_LATEST = f"SELECT {_LAST} FROM account WHERE {_OWN} AND block = '' GROUP BY 1, 2, 3"  # noqa: S608 - our own text
_PAID = f'SELECT {_ROW} FROM account WHERE {_OWN} AND "window" >= ?'  # noqa: S608 - our own text
Own = tuple[str, str, str]
"""Kind, name and member of an account, in all its blocks and windows."""
_Row = tuple[str, int, int, str, str]
"""Block, window, nano, delta and rho."""


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


def standings(
    connection: Connection, debits: Sequence[Debit], now: int, *, concentrated: bool = False
) -> list[Standing]:
    """How accounts stand at ``now``, microseconds of the ledger's clock: two questions to the database in all.

    ``concentrated`` where what they are debited for adds up as rho alone.
    """
    latest = _all_latest(connection, [d.account for d in debits])
    places = [_placed(debit, latest, now, concentrated) for debit in debits]
    rows = _rows(connection, {_own(p.debit.account): p.since for p in places})
    return [_standing(place, rows.get(_own(place.debit.account), [])) for place in places]


def _placed(debit: Debit, latest: Mapping[Own, int], now: int, concentrated: bool) -> Standing:  # noqa: FBT001
    """In the window of now, and nothing spent yet."""
    account = debit.account
    match account.kind:
        case Kind.CEILING:
            return Standing(replace(debit, account=replace(account, window=int(concentrated))), Cost())
        case Kind.BUDGET | Kind.USER | Kind.SESSION:
            own = 0 if account.kind is Kind.SESSION else latest.get(_own(account), 0)
            epoch = max(own, latest.get(_own(_budget_of(account)), 0)) // _EPOCH * _EPOCH
            since, today, refills = _dates(debit.refresh, now)
            placed = replace(debit, account=replace(account, window=epoch + today))
            return Standing(placed, Cost(), epoch + since, refills)
        case _:
            assert_never(account.kind)


def _standing(place: Standing, rows: Sequence[_Row]) -> Standing:
    account = place.debit.account
    if account.kind is Kind.CEILING:
        spent, has_rho_alone = _ceiling(rows, account)
        return replace(place, spent=spent, concentrated=has_rho_alone)
    return replace(place, spent=sum((_cost(row[2:]) for row in rows), Cost()))


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


def _latest(connection: Connection, account: Account) -> int:
    return _all_latest(connection, [account]).get(_own(account), 0)


def _own(account: Account) -> Own:
    return account.kind.value, account.name, account.member


def _all_latest(connection: Connection, accounts: Iterable[Account]) -> dict[Own, int]:
    """The last window of each, and of the budgets they belong to; ceilings have none."""
    asked = {
        _own(each)
        for account in accounts
        if account.kind is not Kind.CEILING
        for each in (account, _budget_of(account))
    }
    found: dict[Own, int] = {}
    for some in _batched(sorted(asked)):
        rows = connection.execute(
            " UNION ALL ".join([_LATEST] * len(some)), [value for own in some for value in own]
        )
        found.update({(kind, name, member): int(window) for kind, name, member, window in rows})
    return found


def _rows(connection: Connection, since: Mapping[Own, int]) -> dict[Own, list[_Row]]:
    """What each account has paid, by block and window, from a window on."""
    found: dict[Own, list[_Row]] = {}
    for some in _batched(sorted(since)):
        rows = connection.execute(
            " UNION ALL ".join([_PAID] * len(some)), [value for own in some for value in (*own, since[own])]
        )
        for kind, name, member, *row in rows:
            found.setdefault((kind, name, member), []).append(tuple(row))
    return found


def _batched(given: Sequence[Own]) -> Iterator[Sequence[Own]]:
    """Portions of which a statement may have one part each."""
    return (given[at : at + MOST] for at in range(0, len(given), MOST))


def _ceiling(rows: Sequence[_Row], account: Account) -> tuple[Cost, bool]:
    """What one unit may have paid, everybody's releases and those of the blocks that can be its own.

    And whether some of it adds up as rho alone.
    """
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
