"""An attack: what it tries, the statements it sends, and what may come of it."""

from dataclasses import dataclass
from enum import Enum


class Outcome(Enum):
    """What is promised; both twins are told the same in any case, but for the noise."""

    REFUSED = "refused"
    PROMISED = "answered within the promise, or refused"
    FREE = "tells only what the policy says, at no price"


@dataclass(frozen=True, slots=True)
class Attack:
    """Statements are templates over the names of a ``Target``; one that names what a policy does not have is left out.

    ``filtered``: which rows there are follows from released values. ``drawn``: every value is a draw. ``timed``: the
    seconds to the answer are compared too, over twins whose answers leave at deadlines.
    """

    name: str
    tries: str
    outcome: Outcome
    statements: tuple[str, ...]
    filtered: bool = False
    drawn: bool = False
    timed: bool = False
