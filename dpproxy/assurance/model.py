"""An attack: its aim, the statements it sends, and the outcome that is promised."""

from enum import Enum

from msgspec import Struct


class Outcome(Enum):
    """The promised outcome of an attack; whichever it is, the twins' answers must be equal except for noise."""

    REFUSED = "refused"
    PROMISED = "answered within the promise, or refused"
    FREE = "tells only what the policy says, at no price"


class Attack(Struct, frozen=True):
    """Statements are templates over the names of a ``Target``; one with a name that a policy lacks is left out.

    ``tries`` is the aim, for the report. ``filtered``: which rows an answer has depends on released values. ``drawn``:
    every value is a draw. ``timed``: the times to the answers are compared too, over twins that pad them.
    """

    name: str
    tries: str
    outcome: Outcome
    statements: tuple[str, ...]
    filtered: bool = False
    drawn: bool = False
    timed: bool = False
