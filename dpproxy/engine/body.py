"""What the engine finds of a statement before it is run."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlglot import exp

from dpproxy.algebra.plan import Settings
from dpproxy.config.settings import PRESENT, moments
from dpproxy.planner.explain import ONE, Explain


@dataclass(frozen=True, slots=True)
class Body:
    """What ``prepare`` found; ``kind`` names the method that runs it."""

    kind: str
    tree: exp.Expr | None = None
    types: tuple[int, ...] = ()
    explain: Explain = ONE
    present: bool = False
    """Its plan depends on when it is asked."""

    def timed(self, settings: Settings) -> Settings:
        """The settings with the present, which a plan that depends on it is never without: it would stay."""
        if not self.present or PRESENT in settings:
            return settings
        now = datetime.now(UTC)
        return {**settings, PRESENT: moments(now, now)}
