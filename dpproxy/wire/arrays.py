r"""Arrays, text (``{1,NULL,"a b",{..}}``) and binary (PostgreSQL, src/backend/utils/adt/arrayfuncs.c).

An array is a list; one of several dimensions is a list of lists of one length. The catalogue's vectors have one
dimension, are counted from 0, and are written ``1 2``.
"""

import re
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Final

Read = Callable[[bytes], object]
Write = Callable[[object], bytes]

MOST_DIMENSIONS: Final = 6
_QUOTED: Final = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)
_BARE: Final = re.compile(r'[^",{}\\]*(?:\\.[^",{}\\]*)*', re.DOTALL)
_BOUNDS: Final = re.compile(r"\s*(?:\[\s*[+-]?\d+\s*(?::\s*[+-]?\d+\s*)?\]\s*)+=", re.ASCII)
_SPACES: Final = " \t\n\r\v\f"
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_SPECIAL: Final = re.compile(r'[{}",\\ \t\n\r\v\f]')
_HEAD: Final = struct.Struct("!III")
_DIMENSION: Final = struct.Struct("!ii")


def read_text(data: bytes, read: Read) -> list[object]:
    """The values; ``read`` is for one of them. Bounds before them, ``[2:3]={...}``, are ignored.

    Errors: ``ValueError``, and what ``read`` raises.
    """
    text = data.decode("utf-8")
    bounds = _BOUNDS.match(text)
    values, end = _braces(text, _spaces(text, bounds.end() if bounds else 0), read, 1)
    if _spaces(text, end) < len(text):
        raise ValueError
    shape(values)
    return values


def _braces(text: str, at: int, read: Read, depth: int) -> tuple[list[object], int]:
    """What stands between braces, and where it ends."""
    if text[at : at + 1] != "{" or depth > MOST_DIMENSIONS:
        raise ValueError
    values: list[object] = []
    at = _spaces(text, at + 1)
    if text[at : at + 1] == "}":
        return values, at + 1
    while True:
        if text[at : at + 1] == "{":
            inner, at = _braces(text, at, read, depth + 1)
            values.append(inner)
        else:
            value, at = _item(text, at, read)
            values.append(value)
        at = _spaces(text, at)
        if text[at : at + 1] == "}":
            return values, at + 1
        if text[at : at + 1] != ",":
            raise ValueError
        at = _spaces(text, at + 1)


def _spaces(text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in _SPACES:
        at += 1
    return at


def _item(text: str, at: int, read: Read) -> tuple[object, int]:
    """One value, and where it ends."""
    if found := _QUOTED.match(text, at):
        return read(_ESCAPED.sub(r"\1", found[1]).encode()), found.end()
    found = _BARE.match(text, at)
    bare = found[0].rstrip(_SPACES) if found else ""
    if not bare:
        raise ValueError
    if (len(bare) - len(bare.rstrip("\\"))) % 2:  # what was stripped is escaped
        bare = found[0] if found else bare
    value = None if bare.upper() == "NULL" else read(_ESCAPED.sub(r"\1", bare).encode())
    return value, at + len(found[0] if found else bare)


def shape(values: Sequence[object]) -> tuple[int, ...]:
    """The lengths of the dimensions; empty for the empty array.

    Errors: ``ValueError`` where lists are mixed with values, or with lists of other lengths.
    """
    if not values:
        return ()
    inner = [value for value in values if isinstance(value, list | tuple)]
    if not inner:
        return (len(values),)
    shapes = {shape(value) for value in inner}
    if len(inner) < len(values) or len(shapes) > 1 or shapes == {()}:
        raise ValueError
    return (len(values), *shapes.pop())


def flat(values: Sequence[object]) -> Iterator[object]:
    """The values of all dimensions, the last one running fastest."""
    for value in values:
        if isinstance(value, list | tuple):
            yield from flat(value)
        else:
            yield value


def read_binary(data: bytes, read: Read) -> list[object]:
    """The values. The element type in the data is ignored: the parameter's own type counts.

    Errors: ``ValueError``, ``struct.error``, and what ``read`` raises.
    """
    dimensions, _, _ = _HEAD.unpack_from(data)
    if dimensions > MOST_DIMENSIONS:
        raise ValueError
    lengths = [_DIMENSION.unpack_from(data, 12 + 8 * at)[0] for at in range(dimensions)]
    if any(length < 0 for length in lengths):
        raise ValueError
    values: list[object] = []
    at = 12 + 8 * dimensions
    while at < len(data):
        (size,) = struct.unpack_from("!i", data, at)
        at += 4
        if size > len(data) - at or size < -1:
            raise ValueError
        values.append(None if size == -1 else read(data[at : at + size]))
        at += max(size, 0)
    return _folded(values, lengths)


def _folded(values: list[object], lengths: Sequence[int]) -> list[object]:
    count = 1 if lengths else 0
    for length in lengths:
        count *= length
    if count != len(values):
        raise ValueError
    for length in reversed(lengths[1:] if values else ()):
        values = [values[at : at + length] for at in range(0, len(values), length)]
    return values


def write_text(values: Sequence[object], write: Write) -> bytes:
    """As PostgreSQL writes it: quotes where a value needs them.

    Errors: ``ValueError`` for lists of unequal lengths, and what ``write`` raises.
    """
    shape(values)
    return _to_text(values, write).encode()


def _to_text(values: Sequence[object], write: Write) -> str:
    return "{" + ",".join(_one(value, write) for value in values) + "}"


def _one(value: object, write: Write) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list | tuple):
        return _to_text(value, write)
    text = write(value).decode("utf-8")
    if text and text.upper() != "NULL" and not _SPECIAL.search(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write_binary(values: Sequence[object], write: Write, element: int, first: int = 1) -> bytes:
    """Dimensions, whether there is a NULL, the OID of the elements, and each with its length before it.

    ``first`` is what the places are counted from. Errors: as ``write_text``.
    """
    lengths, items = shape(values), list(flat(values))
    head = _HEAD.pack(len(lengths), any(item is None for item in items), element)
    bounds = b"".join(_DIMENSION.pack(length, first) for length in lengths)
    return head + bounds + b"".join(_sized(item, write) for item in items)


def _sized(item: object, write: Write) -> bytes:
    if item is None:
        return b"\xff\xff\xff\xff"
    data = write(item)
    return struct.pack("!i", len(data)) + data


def read_vector(data: bytes, read: Read) -> list[object]:
    """``1 2``. Errors: what ``read`` raises."""
    return [read(item) for item in data.split()]


def write_vector(values: Sequence[object], write: Write) -> bytes:
    """``1 2``."""
    return b" ".join(write(value) for value in values)
