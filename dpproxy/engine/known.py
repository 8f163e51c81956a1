"""Answers that cost nothing, held until something is charged: asked again, the ledger is read for its head alone."""

from typing import Final

from dpproxy.accounting.ledger import Ledger
from dpproxy.algebra.plan import Answer
from dpproxy.algebra.request import Request
from dpproxy.values.recent import Recent

ANSWERS: Final = 2048
"""Answers held in memory, each for the caller who has paid for it."""


class KnownAnswers:
    """By who asks what under which settings and policy, and by the ledger's head: balances are part of an answer."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._answers = Recent[Answer](ANSWERS)
        self._asked = Recent[bool](ANSWERS)

    def key(self, request: Request, state: object, *, only_at_hand: bool = False) -> object:
        """A key that nothing else has, now; None where the statement was never answered. Raises LedgerUnavailable.

        With ``only_at_hand`` also None where the ledger would have to be waited for.
        """
        if self._asked.get(request.text) is None:
            return None
        asked = request.text, request.prepared.types, tuple(request.settings.items())
        moment = self._ledger.moment(only_at_hand=only_at_hand)
        return None if moment is None else (request.caller, asked, state, moment)

    def note(self, request: Request) -> None:
        """The statement was answered: only from then on a stored release can exist."""
        self._asked.put(request.text, value=True)

    def get(self, key: object) -> Answer | None:
        """The answer under a key."""
        return self._answers.get(key)

    def put(self, key: object, answer: Answer) -> None:
        """Hold an answer under a key that was made before it was looked up."""
        if key is not None and not answer.nano:
            self._answers.put(key, answer)
