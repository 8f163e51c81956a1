"""What a release of sums is of, in public words, and how it is kept beside the answer.

A descriptor says from which rows, by which keys and with what noise: enough to see what else follows from the release.
"""

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dpproxy.accounting.canonical import digest
from dpproxy.accounting.schema import FAMILY
from dpproxy.accounting.sharing import Pool
from dpproxy.algebra.plan import Part, Rest
from dpproxy.planner.reuse.normal_form import NormalStage, stage
from dpproxy.planner.reuse.terms import Term, encoded
from udfs.mechanisms import MECHANISMS, Additive

FORM = 3
"""Of the terms: releases that were described in another form are found by nobody."""
KIN = 18
"""Those and the bytes that tell what can follow: see ``kin``."""
_KEYED, _NONE = b"\x00" * (KIN - FAMILY), b"\xff" * (KIN - FAMILY)


class Descriptor(Struct, frozen=True):
    """A release of sums: the rows without their conditions, these, the keys and the sums in the order of the columns.

    ``rests`` says of each key which rows have none of its declared values, None where it is declared together with
    others.
    """

    rows: bytes
    conditions: tuple[Term, ...]
    keys: tuple[Term, ...]
    rests: tuple[Rest | None, ...]
    measures: tuple[Term, ...]
    mechanism: Additive


def family(part: Part, values: Sequence[object], pool: Pool) -> bytes:
    """Equal for questions about the same rows, whatever their conditions, keys and aggregates."""
    return rows_digest(stage(part.query), values, pool)


def rows_digest(found: NormalStage, values: Sequence[object], pool: Pool) -> bytes:
    """Equal for the same rows of the same data, in the same pool."""
    return digest("rows", FORM, encoded(found.rows), repr(tuple(values)), pool)


def kin(rows: bytes, asked: Descriptor | None) -> bytes:
    """How the key of a release begins: from one without keys only questions under the same conditions follow."""
    if asked is None:
        return rows[:FAMILY] + _NONE
    return rows[:FAMILY] + (_KEYED if asked.keys else _conditions(asked))


def origins(asked: Descriptor) -> tuple[bytes, ...]:
    """How the keys begin of all releases that a question could follow from."""
    rows = asked.rows[:FAMILY]
    return (rows + _KEYED,) if asked.keys else (rows + _KEYED, rows + _conditions(asked))


def _conditions(of: Descriptor) -> bytes:
    found = digest("conditions", FORM, *sorted({encoded(c) for c in of.conditions}))[: KIN - FAMILY]
    return found if found not in (_KEYED, _NONE) else b"\x01" * (KIN - FAMILY)


def described(part: Part, values: Sequence[object], pool: Pool) -> Descriptor | None:
    """The descriptor of a part; None where nothing follows from its release but itself."""
    if part.mechanism is None or part.discovered or part.vacuous:
        return None
    found = stage(part.query)
    rests = tuple(r for k in part.keys for r in (k.rests or (None,) * len(k.types)))
    return Descriptor(
        family(part, values, pool),
        found.conditions,
        found.keys,
        rests,
        found.measures,
        part.mechanism,
    )


def counting(descriptor: Descriptor) -> Descriptor | None:
    """The same question about numbers of rows alone; None where none is among the sums."""
    found = next((m for m in descriptor.measures if _is_number(m)), None)
    return None if found is None else replace(descriptor, measures=(found,))


def _is_number(measure: Term) -> bool:
    match measure:
        case ("cast", _, _, ("call", "count", False, *_)):
            return True
        case _:
            return False


def key_words(part: Part) -> tuple[str, ...]:
    """What tells the question of a part from others about the same rows; sums and keys in any order."""
    found = stage(part.query)
    if part.mechanism is None or part.discovered:
        keys = [(tuple(t.name for t in k.types), k.rows) for k in part.keys]
        return "as it is", encoded(_listed(found)), repr(keys), part.box
    widths = sorted(encoded(pair) for pair in zip(found.measures, part.mechanism.widths, strict=True))
    return (
        "sums",
        encoded(found.conditions),
        repr(_sets(part, found.keys)),
        repr(widths),
        type(part.mechanism).__name__,
    )


def _listed(found: NormalStage) -> tuple[object, ...]:
    return found.conditions, found.keys, found.measures


def _sets(part: Part, keys: Sequence[Term]) -> list[str]:
    """The sets of keys, each with its columns and rows in an order of our own."""
    left, found = list(keys), []
    for each in part.keys:
        names, left = [encoded(k) for k in left[: len(each.types)]], left[len(each.types) :]
        order = sorted(range(len(names)), key=lambda i: names[i])
        columns = [(names[i], each.types[i].name) for i in order]
        rows = sorted(repr(tuple(row[i] for i in order)) for row in each.rows)
        found.append(repr((columns, rows)))
    return sorted(found)


def written(descriptor: Descriptor) -> bytes:
    """The descriptor as text."""
    mechanism = descriptor.mechanism
    numbers = {name: getattr(mechanism, name) for name in mechanism.__struct_fields__}
    fields = {
        "form": FORM,
        "rows": descriptor.rows.hex(),
        "conditions": descriptor.conditions,
        "keys": descriptor.keys,
        "rests": descriptor.rests,
        "measures": descriptor.measures,
        "mechanism": type(mechanism).__name__.lower(),
        "numbers": numbers,
    }
    return json.dumps(fields).encode()


def read(text: bytes) -> Descriptor | None:
    """What ``written`` gave; None in another form."""
    fields = json.loads(text)
    if fields["form"] != FORM:
        return None
    numbers = {name: _term(value) for name, value in fields["numbers"].items()}
    conditions, keys, rests, measures = (
        _term(fields[name]) for name in ("conditions", "keys", "rests", "measures")
    )
    mechanism = MECHANISMS[fields["mechanism"]](**numbers)
    return Descriptor(bytes.fromhex(fields["rows"]), conditions, keys, rests, measures, mechanism)


def _term(value: Any) -> Any:  # noqa: ANN401 - lists are tuples again
    return tuple(_term(v) for v in value) if isinstance(value, list) else value
