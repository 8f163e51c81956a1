"""Values to and from the wire, text (0) and binary (1), by type.

| type | Python |
|---|---|
| int2, int4, int8, oid | int |
| float4, float8 | float |
| numeric | Decimal (an int is written too) |
| bool | bool |
| text, varchar, name, unknown | str |
| date, timestamp, timestamptz | date, datetime without zone, datetime in UTC |
| bytea | bytes |
| arrays of these, as parameters | list |

NULL is None everywhere.
"""

import operator
import re
import struct
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from dpproxy.errors import InvalidText, NumberOutOfRange, Unsupported
from dpproxy.pgtypes import (
    ARRAYS,
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    NAME,
    NUMERIC,
    OID,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    VARCHAR,
    SqlType,
)
from dpproxy.wire import arrays, datetimes, floats, numeric

Encoder = Callable[[Any], bytes]
_Decoder = Callable[[bytes], object]

_FULL_NAMES: Final[Mapping[int, str]] = MappingProxyType({
    INT2.oid: "smallint",
    INT4.oid: "integer",
    INT8.oid: "bigint",
    FLOAT4.oid: "real",
    FLOAT8.oid: "double precision",
    BOOL.oid: "boolean",
    VARCHAR.oid: "character varying",
    TIMESTAMP.oid: "timestamp without time zone",
    TIMESTAMPTZ.oid: "timestamp with time zone",
})  # fmt: skip
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_MAX_DIGITS: Final = 4000
_ESCAPE: Final = re.compile(rb"\\([0-3][0-7][0-7]|\\)?")
_TRUE: Final = frozenset({"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"})
_FALSE: Final = frozenset({"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"})


# --- integers: ``size`` bytes, big end first -----------------------------------------------------------


def _in_range(value: int, size: int, *, signed: bool) -> int:
    value.to_bytes(size, "big", signed=signed)  # raises OverflowError
    return value


def _read_integer_text(data: bytes, *, size: int, signed: bool) -> int:
    text = data.decode("ascii").strip()
    if not _INTEGER.fullmatch(text):
        raise ValueError
    if len(text) > _MAX_DIGITS:
        raise OverflowError
    return _in_range(int(text), size, signed=signed)


def _read_integer_binary(data: bytes, *, size: int, signed: bool) -> int:
    if len(data) != size:
        raise ValueError
    return int.from_bytes(data, "big", signed=signed)


def _write_integer_text(value: int, *, size: int, signed: bool) -> bytes:
    return b"%d" % _in_range(operator.index(value), size, signed=signed)


def _write_integer_binary(value: int, *, size: int, signed: bool) -> bytes:
    return operator.index(value).to_bytes(size, "big", signed=signed)


# --- bool, text, bytea ---------------------------------------------------------------------------------


def _read_bool_text(data: bytes) -> bool:
    text = data.decode("ascii").strip().lower()
    if text not in _TRUE | _FALSE:
        raise ValueError
    return text in _TRUE


def _read_bool_binary(data: bytes) -> bool:
    if data not in {b"\0", b"\1"}:
        raise ValueError
    return data == b"\1"


def _write_bool_text(value: object) -> bytes:
    return b"t" if value else b"f"


def _write_bool_binary(value: object) -> bytes:
    return b"\1" if value else b"\0"


def _read_string(data: bytes) -> str:
    if b"\0" in data:
        raise ValueError
    return data.decode("utf-8")


def _write_string(value: str) -> bytes:
    return value.encode("utf-8", "replace")


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if code is None:
        raise ValueError
    return code if code == b"\\" else bytes([int(code, 8)])


def _read_bytea_text(data: bytes) -> bytes:
    if data.startswith(b"\\x"):
        return bytes.fromhex(data[2:].decode("ascii"))
    return _ESCAPE.sub(_unescape, data)


def _write_bytea_text(value: bytes) -> bytes:
    return b"\\x" + value.hex().encode()


# --- the tables: two decoders and two encoders for each type, text and binary --------------------------


_INTEGERS: Final = ((INT2, 2, True), (INT4, 4, True), (INT8, 8, True), (OID, 4, False))
_STRINGS: Final = (TEXT, VARCHAR, NAME, UNKNOWN)

_DECODERS: Final[Mapping[int, tuple[_Decoder, _Decoder]]] = MappingProxyType({
    **{
        kind.oid: (
            partial(_read_integer_text, size=size, signed=signed),
            partial(_read_integer_binary, size=size, signed=signed),
        )
        for kind, size, signed in _INTEGERS
    },
    **{kind.oid: (_read_string, _read_string) for kind in _STRINGS},
    BOOL.oid: (_read_bool_text, _read_bool_binary),
    BYTEA.oid: (_read_bytea_text, bytes),
    FLOAT4.oid: (floats.read4_text, floats.read4_binary),
    FLOAT8.oid: (floats.read8_text, floats.read8_binary),
    NUMERIC.oid: (numeric.read_text, numeric.read_binary),
    DATE.oid: (datetimes.read_date_text, datetimes.read_date_binary),
    TIMESTAMP.oid: (datetimes.read_timestamp_text, datetimes.read_timestamp_binary),
    TIMESTAMPTZ.oid: (datetimes.read_timestamptz_text, datetimes.read_timestamptz_binary),
})  # fmt: skip
_ENCODERS: Final[Mapping[int, tuple[Encoder, Encoder]]] = MappingProxyType({
    **{
        kind.oid: (
            partial(_write_integer_text, size=size, signed=signed),
            partial(_write_integer_binary, size=size, signed=signed),
        )
        for kind, size, signed in _INTEGERS
    },
    **{kind.oid: (_write_string, _write_string) for kind in _STRINGS},
    BOOL.oid: (_write_bool_text, _write_bool_binary),
    BYTEA.oid: (_write_bytea_text, bytes),
    FLOAT4.oid: (floats.write4_text, floats.write4_binary),
    FLOAT8.oid: (floats.write8_text, floats.write8_binary),
    NUMERIC.oid: (numeric.write_text, numeric.write_binary),
    DATE.oid: (datetimes.write_date_text, datetimes.write_date_binary),
    TIMESTAMP.oid: (datetimes.write_timestamp_text, datetimes.write_timestamp_binary),
    TIMESTAMPTZ.oid: (datetimes.write_timestamptz_text, datetimes.write_timestamptz_binary),
})  # fmt: skip
_FORMATS: Final = ("text", "binary")


def decode(type: SqlType, data: bytes, format: int) -> object:  # noqa: A002 - the protocol's own words
    """A parameter's value.

    Raises:
        InvalidText: it does not read as the type; the value is not quoted.
        NumberOutOfRange: it reads, but the type, or Python's for a date, cannot hold it.
    """
    element = ARRAYS.get(type.oid, type)
    if element.oid not in _DECODERS:
        raise Unsupported(f"parameter of type {type.name}")
    read = _DECODERS[element.oid][format]
    try:
        if element is type:
            return read(data)
        return (arrays.read_text, arrays.read_binary)[format](data, read)
    except (ValueError, struct.error):
        name = _FULL_NAMES.get(type.oid, type.name)
        raise InvalidText(f"invalid {_FORMATS[format]} input for type {name}") from None
    except OverflowError:
        raise out_of_range(type) from None


def out_of_range(type: SqlType) -> NumberOutOfRange:  # noqa: A002
    """The refusal of a value that the type cannot hold."""
    return NumberOutOfRange(f"value out of range for type {_FULL_NAMES.get(type.oid, type.name)}")


def encoder(type: SqlType, format: int) -> Encoder:  # noqa: A002
    """The function that writes values of ``type`` but not None; ``OverflowError`` when out of range."""
    if type.oid not in _ENCODERS:
        raise Unsupported(f"result of type {type.name}")
    if type.is_same(NUMERIC) and type.scale is not None:
        return partial((numeric.write_text, numeric.write_binary)[format], scale=type.scale)
    return _ENCODERS[type.oid][format]


def encode_value(type: SqlType, value: object, format: int) -> bytes | None:  # noqa: A002
    """One value's bytes; None for NULL.

    Raises:
        NumberOutOfRange: the type cannot hold it.
    """
    if value is None:
        return None
    try:
        return encoder(type, format)(value)
    except OverflowError:
        raise out_of_range(type) from None
