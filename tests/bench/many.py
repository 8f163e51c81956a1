"""A ledger of many charges, made by the ledger itself: with stored answers, adoptions, several users and budgets."""

import argparse
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from dpproxy.accounting.batch import Batch
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import Account, Charge, Debit

AT_ONCE: Final = 2_000
"""Charges in one commit: what is measured is how the ledger is read."""
SESSION: Final = 20
"""Charges of one session."""
ANSWER: Final = bytes(600)


def charge(number: int) -> Charge:
    """The charge of this number: of one of 40 users, from one of 3 budgets."""
    who, budget = f"analyst_{number // SESSION % 40}", f"research_{number % 3}"
    accounts = (
        Account.session(hashlib.sha256(b"%d" % (number // SESSION)).hexdigest()[:22], budget),
        Account.user(budget, who),
        Account.budget(budget),
        Account.ceiling("people"),
    )
    key = hashlib.sha256(b"release %d" % number).digest()
    return Charge(
        who,
        key,
        1,
        1,
        "staircase x1",
        1_000_000 * (1 + number % 7),
        tuple(Debit(account, 10**17) for account in accounts),
        key,
        f"count, avg(age) by sex on people_{number % 50}",
    )


def _fill(first: int, last: int) -> Callable[[Batch], None]:
    def fill(batch: Batch) -> None:
        for number in range(first, last):
            reservation = batch.charge(charge(number))
            entry = reservation.entry
            batch.keep(entry.sequence, entry.release, entry.nano, ANSWER)
            if number % 20 == 19:
                batch.adopt(entry.sequence, charge_of_another(number))

    return fill


def charge_of_another(number: int) -> Charge:
    """The same release, asked for by a user who has not paid for it."""
    asked = charge(number)
    account = Account.user(f"research_{number % 3}", "somebody else")
    return Charge(
        "somebody else",
        asked.statement,
        1,
        1,
        asked.mechanism,
        asked.nano,
        (Debit(account),),
        asked.release,
        asked.label,
    )


def fill(ledger: Ledger, charges: int) -> None:
    """Write so many charges, each with its answer; every twentieth is adopted by somebody else."""
    database = ledger.writer._database
    for first in range(0, charges, AT_ONCE):
        database.commit(_fill(first, min(first + AT_ONCE, charges)))
        database.checkpoint()


def main() -> None:
    """Make one in a directory."""
    parser = argparse.ArgumentParser()
    parser.add_argument("state", type=Path)
    parser.add_argument("charges", type=int)
    arguments = parser.parse_args()
    with Ledger.open(arguments.state) as ledger:
        fill(ledger, arguments.charges)


if __name__ == "__main__":
    main()
