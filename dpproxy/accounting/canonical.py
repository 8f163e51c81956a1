"""A canonical encoding of values as bytes, for hashing: tagged, length-prefixed fields."""

import hashlib
from collections.abc import Callable
from fractions import Fraction

Field = None | bool | int | str | bytes | Fraction | tuple["Field", ...]
"""The types that can be hashed. No floats: two that print the same can differ."""


def encode(*fields: Field) -> bytes:
    """The fields in order, each as tag, length in decimal, colon, body.

    Prefixed lengths and tags make the encoding injective: different fields never give the same bytes.

    Errors: TypeError for any other type, ValueError for text that is not Unicode.

    Example:
        >>> encode("ab", "c") == encode("a", "bc")
        False
    """
    return b"".join(pieces(*fields))


def pieces(*fields: Field) -> list[bytes]:
    """What ``encode`` joins: long bytes are not copied."""
    return [piece for field in fields for piece in _encode_one(field)]


def digest(*fields: Field) -> bytes:
    """SHA-256 of the encoded fields, 32 bytes: hashes of statements, keys of releases."""
    return hashlib.sha256(encode(*fields)).digest()


def _encode_one(field: Field) -> tuple[bytes, bytes]:
    found = _ENCODERS.get(type(field))
    if found is None:
        raise TypeError(f"a {type(field).__name__} has no canonical encoding")
    tag, body_of = found
    body = body_of(field)
    return b"%b%d:" % (tag, len(body)), body


# By exact type, so that True is not written as 1.
_ENCODERS: dict[type, tuple[bytes, Callable[..., bytes]]] = {
    type(None): (b"n", lambda _: b""),
    bool: (b"t", lambda flag: b"1" if flag else b"0"),
    int: (b"i", lambda number: b"%d" % number),
    str: (b"s", str.encode),
    bytes: (b"b", bytes),
    Fraction: (b"q", lambda ratio: b"%d/%d" % (ratio.numerator, ratio.denominator)),
    tuple: (b"l", lambda items: encode(*items)),
}
