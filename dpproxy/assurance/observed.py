"""What a client is told, with the noise left out: everything else has to be the same for two twins.

Row descriptions, row counts, keys, NULLs, command tags, every field of errors and notices, parameter status,
transaction status, costs and what is left of budgets.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dpproxy.assurance.wire import Message, Wire

NOISY_TYPES = {20, 701, 1700}
"""int8, float8 and numeric: what most aggregates answer."""

OF_A_DRAW = " the prior "
"""Of the words of a notice that a draw contradicts a prior: it follows from the noise, and is there at random."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One statement of a script, and what of its answer may differ.

    ``exact``: nothing may. ``drawn``: every value may, of whatever type, but not whether it is NULL. ``filtered``:
    which rows there are follows from noisy values (HAVING, LIMIT over them), so rows are not compared. ``by``: the
    values of a parametrised statement, sent by the extended protocol.
    """

    sql: str
    exact: bool = False
    drawn: bool = False
    filtered: bool = False
    by: Sequence[str | None] | None = None


Seen = tuple[object, ...]


def seen(message: Message, ask: Ask, noisy: set[int]) -> Seen | None:
    """What is compared of a message; None for what is not."""
    match message.kind:
        case "D" if ask.filtered:
            return None
        case "D":
            values = message.values()
            kept = [
                "noise" if n in noisy and v is not None and not ask.exact else v for n, v in enumerate(values)
            ]
            return ("row", *kept)
        case "d" if not ask.exact:  # of COPY: what is NULL shows, nothing else
            return (
                "copied",
                *(None if value == rb"\N" else "noise" for value in message.body.rstrip(b"\n").split(b"\t")),
            )
        case "C" if ask.filtered:
            return ("tag", message.body.split(b" ")[0])
        case "T":
            return ("columns", *message.columns())
        case "N" if not ask.exact and _is_of_a_draw(message):
            return None
        case "E" | "N":
            return (message.kind, tuple(sorted(message.fields().items())))
        case _:
            return (message.kind, message.body)


def _is_of_a_draw(message: Message) -> bool:
    fields = message.fields()
    return fields.get("C") == "01000" and OF_A_DRAW in fields.get("M", "")


def observe(connection: Wire, ask: Ask) -> list[Seen]:
    """Send one statement; all that is seen of it, with its cost and what is left afterwards."""
    answer = connection.query(ask.sql) if ask.by is None else connection.extended(ask.sql, ask.by)
    found: list[Seen] = [("asked", ask.sql)]
    noisy: set[int] = set()
    for message in answer:
        if message.kind == "T":
            kinds = [kind for _, kind, _ in message.columns()]
            noisy = {n for n, kind in enumerate(kinds) if ask.drawn or kind in NOISY_TYPES}
        one = seen(message, ask, noisy)
        if one is not None:
            found.append(one)
    return found


def refusals(found: Sequence[Seen]) -> list[str]:
    """SQLSTATEs of the errors, in order."""
    return [field for letter, field in _fields(found, "E") if letter == "C"]


def texts(found: Sequence[Seen]) -> str:
    """All words of errors and notices."""
    return "\n".join(field for kind in "EN" for letter, field in _fields(found, kind) if letter in "MDH")


def rows(found: Sequence[Seen]) -> list[Seen]:
    """The rows, noise masked."""
    return [one[1:] for one in found if one[0] == "row"]


def _fields(found: Sequence[Seen], kind: str) -> list[tuple[str, str]]:
    return [pair for one in found if one[0] == kind and isinstance(one[1], tuple) for pair in one[1]]


def greeting(connection: Wire) -> list[Message]:
    """The messages of a login: all but the key for cancelling, which is random."""
    return [m for m in connection.greeting if m.kind != "K"]
