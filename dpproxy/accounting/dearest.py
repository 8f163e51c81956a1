"""Which statements used up a limit: the user's own most expensive ones, and other users' as one total."""

from collections.abc import Sequence
from fractions import Fraction

from msgspec import Struct

from dpproxy.accounting import book
from dpproxy.accounting.model import NANO, format_epsilon
from dpproxy.accounting.windows import Standing

SHOWN = 3
LOOKED_AT = 10_000
"""The most entries searched, counted from the last: a refusal takes no longer in a long ledger."""


class Expense(Struct, frozen=True):
    """Statements of one user with the same label: their number and total cost, in nano-epsilon and as rho."""

    who: str
    label: str
    count: int
    nano: int
    squares: Fraction

    def cost(self, *, concentrated: bool) -> str:
        """The total cost as text for a message."""
        if concentrated:
            return f"rho {float(self.squares / (2 * NANO * NANO)):.4g}"
        return f"{format_epsilon(self.nano)} epsilon"


def spent_by(connection: book.StoreConnection, standing: Standing, sequence: int) -> list[Expense]:
    """The statements that count against an account, most expensive first, of the last entries up to ``sequence``."""
    account = standing.debit.account
    rows = connection.execute(
        "SELECT e.who, e.label, count(*), sum(d.nano), sum(d.nano * 1.0 * d.nano) FROM entry e "
        "JOIN debit d ON d.origin = e.origin AND d.sequence = e.sequence "
        'WHERE e.sequence > ? AND d.kind = ? AND d.name = ? AND d.member = ? AND d."window" >= ? AND d.nano > 0 '
        "GROUP BY e.who, e.label",
        (sequence - LOOKED_AT, account.kind.value, account.name, account.member, standing.since),
    )
    found = [
        Expense(str(who), str(label), int(count), int(nano), Fraction(str(squares)))
        for who, label, count, nano, squares in rows
    ]
    return sorted(found, key=lambda one: (-one.squares, one.who, one.label))


def sentence(standing: Standing, spent: Sequence[Expense], who: str, *, is_admin: bool) -> str:
    """The sentence for a refusal's detail; only an administrator sees other users by name."""
    concentrated = standing.debit.rho_limit is not None
    own = [one for one in spent if is_admin or one.who == who]
    others = [one for one in spent if not is_admin and one.who != who]
    parts = []
    if own:
        named = ", ".join(_named(one, concentrated=concentrated, is_admin=is_admin) for one in own[:SHOWN])
        whose = "The dearest statements" if is_admin else "Your dearest statements"
        parts.append(f"{whose}: {named}.")
        if own[SHOWN:]:
            rest = _together(own[SHOWN:]).cost(concentrated=concentrated)
            parts.append(f"{'Others' if is_admin else 'Others of yours'}: {rest}.")
    if others:
        parts.append(f"What others spent: {_together(others).cost(concentrated=concentrated)}.")
    return "".join(f" {part}" for part in parts)


def _named(one: Expense, *, concentrated: bool, is_admin: bool) -> str:
    times = f" in {one.count} releases" if one.count > 1 else ""
    return f"{f'{one.who}: ' if is_admin else ''}{one.label}, {one.cost(concentrated=concentrated)}{times}"


def _together(spent: Sequence[Expense]) -> Expense:
    nano = sum(one.nano for one in spent)
    return Expense(
        "", "", sum(one.count for one in spent), nano, sum((one.squares for one in spent), Fraction(0))
    )
