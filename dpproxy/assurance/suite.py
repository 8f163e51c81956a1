"""All attacks, and the order they are tried in."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dpproxy.assurance import (
    catalogue,
    keys,
    missing_sides,
    multiplicity,
    names,
    priors,
    row_errors,
    singling_out,
    sources,
    work,
)
from dpproxy.assurance.model import Attack, Outcome
from dpproxy.assurance.observed import Ask
from dpproxy.assurance.target import Target

ATTACKS: tuple[Attack, ...] = (
    *multiplicity.ATTACKS,
    *missing_sides.ATTACKS,
    *singling_out.ATTACKS,
    *row_errors.ATTACKS,
    *work.ATTACKS,
    *keys.ATTACKS,
    *names.ATTACKS,
    *priors.ATTACKS,
    *sources.ATTACKS,
    *catalogue.ATTACKS,
)


@dataclass(frozen=True, slots=True)
class Trial:
    """One statement of an attack over one table."""

    attack: Attack
    target: Target
    sql: str

    @property
    def ask(self) -> Ask:
        """The statement for ``observed``, with the parts of its answer that may differ."""
        is_free = self.attack.outcome is Outcome.FREE
        return Ask(self.sql, exact=is_free, drawn=self.attack.drawn, filtered=self.attack.filtered)


def trials(targets: Sequence[Target]) -> Iterator[Trial]:
    """Every statement of every attack over every target; statements with the same text only once."""
    seen: set[str] = set()
    for attack in ATTACKS:
        for target in targets:
            for sql in target.statements(attack):
                if sql not in seen:
                    seen.add(sql)
                    yield Trial(attack, target, sql)
