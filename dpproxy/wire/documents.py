"""``jsonb`` as PostgreSQL writes it: keys by length and bytes, the last of equal ones, numbers as numerics."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from dpproxy.wire.numeric import read_text, write_text

MOST_DIGITS: Final = 100
"""The most digits of a document's numbers: per character, and a thousand besides; 1e131071 is a short text."""


class _Number(str):
    """A number as PostgreSQL writes it."""

    __slots__ = ()


class _Numbers:
    """Reads the numbers of one document."""

    def __init__(self, size: int) -> None:
        self._left = 1000 + MOST_DIGITS * size

    def __call__(self, text: str) -> _Number:
        found = write_text(read_text(text.encode()))
        self._left -= len(found)
        if self._left < 0:
            raise OverflowError
        return _Number(found.decode())


def normalise(text: str) -> str:
    """The document in PostgreSQL's form.

    Example:
        >>> normalise('{"b":1e3, "a":[1.0,null]}')
        '{"a": [1.0, null], "b": 1000}'

    Errors: ``ValueError`` for what is no JSON, ``OverflowError`` for a number that no numeric holds, and for more than
    `MOST_DIGITS`.
    """
    number = _Numbers(len(text))
    try:
        read = json.loads(text, parse_int=number, parse_float=number, parse_constant=_no_constant)
        return _to_text(read)
    except RecursionError as error:
        raise ValueError from error


def _no_constant(name: str) -> object:
    raise ValueError(name)


def _to_text(value: object) -> str:
    match value:
        case _Number():
            return str(value)
        case str():
            if "\0" in value or any("\ud800" <= sign <= "\udfff" for sign in value):
                raise ValueError("a text that PostgreSQL does not hold")
            return json.dumps(value, ensure_ascii=False)
        case Mapping():
            keys = sorted(value, key=lambda key: (len(key.encode()), key.encode()))
            return "{" + ", ".join(f"{_to_text(key)}: {_to_text(value[key])}" for key in keys) + "}"
        case Sequence():
            return "[" + ", ".join(map(_to_text, value)) + "]"
        case _:
            return json.dumps(value)
