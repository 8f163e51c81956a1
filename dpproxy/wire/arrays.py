"""Arrays of one dimension, text (``{1,NULL,"a b"}``) and binary (PostgreSQL, src/backend/utils/adt/arrayfuncs.c)."""

import re
import struct
from collections.abc import Callable
from typing import Final

_ITEM: Final = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^",{}\\]+?))\s*(,|$)', re.DOTALL)


def read_text(data: bytes, read: Callable[[bytes], object]) -> list[object]:
    """The values; ``read`` is for one of them.

    Errors: ``ValueError``, and what ``read`` raises.
    """
    text = data.decode("utf-8").strip()
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError
    inner, at = text[1:-1], 0
    values: list[object] = []
    while at < len(inner) or (values and inner.endswith(",")):
        found = _ITEM.match(inner, at)
        if found is None or (found[3] == "" and found.end() != len(inner)):
            raise ValueError
        values.append(_item(found, read))
        at = found.end()
        if found[3] == "":
            break
    return values


def _item(found: re.Match[str], read: Callable[[bytes], object]) -> object:
    if found[1] is not None:
        return read(re.sub(r"\\(.)", r"\1", found[1], flags=re.DOTALL).encode())
    return None if found[2].upper() == "NULL" else read(found[2].encode())


def read_binary(data: bytes, read: Callable[[bytes], object]) -> list[object]:
    """The values; the type of the elements that is written is not looked at, the parameter's own counts.

    Errors: ``ValueError``, ``struct.error``, and what ``read`` raises.
    """
    dimensions, _, _ = struct.unpack_from("!III", data)
    if dimensions == 0:
        return []
    count, _ = struct.unpack_from("!iI", data, 12)
    if dimensions != 1 or count < 0:
        raise ValueError
    values: list[object] = []
    at = 20
    for _ in range(count):
        (size,) = struct.unpack_from("!i", data, at)
        at += 4
        if size > len(data) - at or size < -1:
            raise ValueError
        values.append(None if size == -1 else read(data[at : at + size]))
        at += max(size, 0)
    if at != len(data):
        raise ValueError
    return values
