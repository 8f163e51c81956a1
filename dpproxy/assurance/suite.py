"""All attacks, and the order they are tried in."""

import tomllib
from collections.abc import Iterator, Sequence
from importlib.resources import files

from msgspec import Struct

from dpproxy.assurance import work
from dpproxy.assurance.model import Attack, Outcome
from dpproxy.assurance.observed import Ask
from dpproxy.assurance.target import Target

_FILE = files("dpproxy.assurance") / "attacks.toml"
ATTACKS: tuple[Attack, ...] = (
    *(
        Attack(**{**one, "outcome": Outcome[one["outcome"].upper()], "statements": tuple(one["statements"])})
        for one in tomllib.loads(_FILE.read_text(encoding="utf-8"))["attack"]
    ),
    *work.ATTACKS,
)
"""Those of the file, and those whose statements are too long to be written out."""


class Trial(Struct, frozen=True):
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
