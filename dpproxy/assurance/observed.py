"""Everything that a client observes except noise: it must be equal for two twins.

That is row descriptions, row counts, keys, NULLs, command tags, every field of errors and notices, parameter status,
transaction status, costs and remaining budgets.
"""

from collections.abc import Sequence

from msgspec import Struct

from dpproxy.assurance.wire import Message, Wire

NOISY_TYPES = {20, 701, 1700}
"""OIDs of int8, float8 and numeric, the types of most aggregates: their values are masked."""

OF_A_DRAW = " the prior "
"""Part of the notice that a draw contradicts a prior: whether it is sent depends on noise, so it is not compared."""

OF_VALUES = ("half-width", "Groups of a released ")
"""Parts of the notice about the accuracy of an answer: it is made of the plan and the noisy values that are shown."""


class Ask(Struct, frozen=True):
    """One statement of a script, and which parts of its answer may differ between twins.

    ``exact``: none. ``drawn``: every value, of whatever type, but not whether it is NULL. ``filtered``: which rows
    there are, because it depends on noisy values (HAVING, LIMIT over them); rows are not compared then. ``by``: the
    parameters of the statement, which is then sent by the extended protocol.
    """

    sql: str
    exact: bool = False
    drawn: bool = False
    filtered: bool = False
    by: Sequence[str | None] | None = None


Seen = tuple[object, ...]


def seen(message: Message, ask: Ask, noisy: set[int]) -> Seen | None:
    """The part of a message that is compared, None if there is none; ``noisy`` are the columns to mask."""
    match message.kind:
        case "D" if ask.filtered:
            return None
        case "D":
            values = message.values()
            kept = [
                "noise" if n in noisy and v is not None and not ask.exact else v for n, v in enumerate(values)
            ]
            return ("row", *kept)
        case "d" if not ask.exact:  # COPY data: only NULLs are compared, all other values are masked
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
    text = fields.get("M", "")
    is_of_values = fields.get("C") == "00000" and any(part in text for part in OF_VALUES)
    return is_of_values or (fields.get("C") == "01000" and OF_A_DRAW in text)


def observe(connection: Wire, ask: Ask) -> list[Seen]:
    """Send one statement; return the comparable part of every message that it is answered with."""
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
    """The SQLSTATEs of the errors, in order."""
    return [field for letter, field in _fields(found, "E") if letter == "C"]


def texts(found: Sequence[Seen]) -> str:
    """The messages, details and hints of all errors and notices, one a line."""
    return "\n".join(field for kind in "EN" for letter, field in _fields(found, kind) if letter in "MDH")


def rows(found: Sequence[Seen]) -> list[Seen]:
    """The rows, with their noisy values masked."""
    return [one[1:] for one in found if one[0] == "row"]


def _fields(found: Sequence[Seen], kind: str) -> list[tuple[str, str]]:
    return [pair for one in found if one[0] == kind and isinstance(one[1], tuple) for pair in one[1]]


def greeting(connection: Wire) -> list[Message]:
    """The messages of a login without BackendKeyData, which is random."""
    return [m for m in connection.greeting if m.kind != "K"]
