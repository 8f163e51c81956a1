"""Two proxies of the tests whose data differ in one person, the same script to both, what their clients are told."""

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from dpproxy.assurance.observed import Ask, Seen, greeting, observe, refusals, rows, seen, texts
from tests.assurance.raw import Raw
from tests.proxies import Proxy

__all__ = ["Ask", "Seen", "Twin", "refusals", "rows", "seen", "texts"]
LEFT, RIGHT = "without", "with"


class Twin:
    """A connection to each of the two proxies, as the same user."""

    def __init__(self, left: Proxy, right: Proxy, user: str = "ann", **settings: str) -> None:
        with ExitStack() as stack:
            self.sides = {
                LEFT: stack.enter_context(Raw(left, user, **settings)),
                RIGHT: stack.enter_context(Raw(right, user, **settings)),
            }
            self._open = stack.pop_all()
        assert greeting(self.sides[LEFT]) == greeting(self.sides[RIGHT])

    def same(self, *script: str | Ask) -> list[Seen]:
        """Run a script on both sides; what was seen, which must be the same. SHOW after each shows the charge."""
        found: dict[str, list[Seen]] = {}
        for side, connection in self.sides.items():
            found[side] = []
            for step in script:
                ask = step if isinstance(step, Ask) else Ask(step)
                found[side] += observe(connection, ask)
        for left, right in zip(found[LEFT], found[RIGHT], strict=False):
            assert left == right, f"{LEFT} her: {left}, {RIGHT} her: {right}"
        assert len(found[LEFT]) == len(found[RIGHT])
        return found[LEFT]

    def charged(self, *script: str | Ask) -> list[Seen]:
        """The same, with the cost of each statement and what is left after it."""
        costs = (Ask("SHOW dp.last_cost", exact=True), Ask("SHOW dp.budget_remaining", exact=True))
        steps: list[str | Ask] = []
        for step in script:
            steps += [step, *costs]
        return self.same(*steps)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()
