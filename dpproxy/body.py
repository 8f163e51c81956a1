"""What the engine finds of a statement before it is run."""

from dataclasses import dataclass

from sqlglot import exp

from dpproxy.planner.explain import ONE, Explain


@dataclass(frozen=True, slots=True)
class Body:
    """What ``prepare`` found; ``kind`` names the method that runs it."""

    kind: str
    tree: exp.Expr | None = None
    types: tuple[int, ...] = ()
    explain: Explain = ONE
