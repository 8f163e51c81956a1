"""What is told of accounts beside an answer: as they stood when it was charged, not when its work had ended."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, islice

from dpproxy.accounting.ledger import Ledger
from dpproxy.accounting.model import Cost, Debit, Reservation
from dpproxy.accounting.windows import Standing
from dpproxy.algebra.plan import Answer, Caller, Notice, Plan, Settings
from dpproxy.config import settings as session_settings
from dpproxy.engine import payment, relations
from dpproxy.engine.sessions import Remembered


class Look:
    """Looks at the accounts of one statement once it is charged, before its rows are read.

    Others who pay from the same budget meanwhile would show in it when the work ended, to the moment. ``limited`` are
    the accounts that dp.budget_remaining tells of, by budget.
    """

    def __init__(
        self, plan: Plan, caller: Caller, ledger: Ledger, limited: Callable[[], Mapping[str, Sequence[Debit]]]
    ) -> None:
        self._plan = plan
        self._caller = caller
        self._ledger = ledger
        self._limited = limited
        self._taken: tuple[Sequence[Standing], str] | None = None

    def take(self, reservation: Reservation | None = None) -> None:
        """Look now, or at how accounts stood after what was just reserved."""
        paying, limited = payment.accounts(self._plan, self._caller), self._limited()
        each = *paying, *chain.from_iterable(limited.values())
        stood = self._ledger.standings if reservation is None else partial(self._ledger.stood, reservation)
        found = iter(stood(*each))
        standings = list(islice(found, len(paying)))
        left = {budget: list(islice(found, len(debits))) for budget, debits in limited.items()}
        self._taken = standings, relations.remaining(left)

    def answer(
        self,
        rows: Sequence[tuple[object, ...]],
        cost: Cost,
        session: Remembered,
        settings: Settings,
        more: Sequence[Notice] = (),
    ) -> Answer:
        """The answer of these rows, which cost so much; the session remembers it.

        ``more`` is said of what was released.
        """
        session.last_cost = cost.nano
        session.last_paid = cost if cost.nano else session.last_paid
        notice, left = self.told(cost)
        of_present = self._of_present(cost, settings)
        beside = (*self._plan.notices, *of_present, *more)
        told = (notice, *beside) if session_settings.notices(settings) else ()
        columns = tuple(o.column for o in self._plan.outputs)
        return Answer(f"SELECT {len(rows)}", columns, rows, told, left=left, nano=cost.nano)

    def _of_present(self, cost: Cost, settings: Settings) -> tuple[Notice, ...]:
        """Of a statement whose constants are others whenever it is asked: none of its answers is found again."""
        texts = [part.exact for part in self._plan.parts]
        fleeting = session_settings.fleeting(settings)
        if not cost.nano or not any(piece in text for piece in fleeting for text in texts):
            return ()
        told = "the present is part of this question to the second: it is another one each time, and charged each time"
        return (
            Notice(told, hint="Ask of whole days, which are free again: ts >= date_trunc('day', now())."),
        )

    def told(self, cost: Cost) -> tuple[Notice, str]:
        """The notice, and dp.budget_remaining; as they are now where nothing was charged."""
        if self._taken is None:
            self.take()
        if self._taken is None:
            raise AssertionError("it was looked at")
        standings, left = self._taken
        return payment.notice(cost, self._plan, standings), left
