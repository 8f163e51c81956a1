"""What is told of accounts beside an answer: as they stood when it was charged, not when its work had ended."""

from collections.abc import Callable, Sequence

from dpproxy import payment
from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import Cost
from dpproxy.accounting.windows import Standing
from dpproxy.plan import Caller, Notice, Plan


class Look:
    """Looks at the accounts of one statement once it is charged, before its rows are read.

    Others who pay from the same budget meanwhile would show in it when the work ended, to the moment.
    """

    def __init__(self, plan: Plan, caller: Caller, ledger: Ledger, left: Callable[[], str]) -> None:
        self._plan = plan
        self._caller = caller
        self._ledger = ledger
        self._left = left
        self._taken: tuple[Sequence[Standing], str] | None = None

    def take(self) -> None:
        """Look now."""
        standings = payment.standings_of(self._plan, self._caller, self._ledger)
        self._taken = standings, self._left()

    def told(self, cost: Cost) -> tuple[Notice, str]:
        """The notice, and dp.budget_remaining; as they are now where nothing was charged."""
        if self._taken is None:
            self.take()
        if self._taken is None:
            raise AssertionError("it was looked at")
        standings, left = self._taken
        return payment.notice(cost, self._plan, standings), left
