"""Values to and from the wire, text (0) and binary (1), by type.

| type | Python |
|---|---|
| int2, int4, int8, oid, xid | int |
| float4, float8 | float |
| numeric | Decimal (an int is written too) |
| bool | bool |
| text, varchar, bpchar, name, "char", unknown, json, jsonb | str |
| date, timestamp, timestamptz | date, datetime without zone, datetime in UTC |
| time, timetz | time, and ``times.END_OF_DAY``; time with a zone |
| interval | ``intervals.Interval`` |
| uuid | UUID (its text is written too) |
| bytea | bytes |
| regclass and its like | ``pgtypes.Named``; str, the name or the number, where it is read |
| inet | str |
| arrays and vectors of these | list, of lists for further dimensions |

NULL is None everywhere.
"""

import json
import operator
import re
import struct
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from dpproxy.values import pgtypes as t
from dpproxy.values.errors import DateOutOfRange, InvalidMoment, InvalidText, NumberOutOfRange, Unsupported
from dpproxy.values.pgtypes import SqlType
from dpproxy.wire import arrays, datetimes, documents, floats, intervals, numeric, objects, times

NO_CHARACTER: Final = "\N{REPLACEMENT CHARACTER}"
"""In place of NUL, which PostgreSQL's texts cannot hold."""
Encoder = Callable[[Any], bytes]
_Decoder = Callable[[bytes], object]

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_MAX_DIGITS: Final = 4000
_UUID: Final = re.compile(r"(\{)?[0-9a-fA-F]{4}(?:-?[0-9a-fA-F]{4}){7}(?(1)\})", re.ASCII)
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
    return b"t" if _flag(value) else b"f"


def _write_bool_binary(value: object) -> bytes:
    return b"\1" if _flag(value) else b"\0"


def _flag(value: object) -> bool:
    """A bool of Python or NumPy; nothing else counts as true or false. Errors: ``TypeError``."""
    if value is True or value is False:
        return value
    if type(value).__name__ != "bool":
        raise TypeError("no truth value")
    return bool(value)


def _read_string(data: bytes) -> str:
    if b"\0" in data:
        raise ValueError
    return data.decode("utf-8")


def _write_string(value: str) -> bytes:
    if "\0" in value:  # which no client reads beyond
        value = value.replace("\0", NO_CHARACTER)
    return value.encode("utf-8", "replace")


def _write_char_binary(value: str) -> bytes:
    return value.encode("utf-8")[:1] or b"\0"


def _read_char_binary(data: bytes) -> str:
    if len(data) != 1:
        raise ValueError
    return data.decode("latin-1").strip("\0")


def _read_json(data: bytes) -> str:
    text = _read_string(data)
    _check_json(text)
    return text


def _check_json(text: str) -> None:
    """Raises ``ValueError``."""
    try:
        json.loads(text, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError from error


def _no_constant(name: str) -> object:
    raise ValueError(name)


def _read_jsonb(data: bytes) -> str:
    return documents.normalise(_read_string(data))


def _read_jsonb_binary(data: bytes) -> str:
    if data[:1] != b"\1":
        raise ValueError
    return _read_jsonb(data[1:])


def _write_jsonb_binary(value: str) -> bytes:
    return b"\1" + _write_string(value)


def _read_uuid_text(data: bytes) -> UUID:
    text = data.decode("ascii").strip()
    if not _UUID.fullmatch(text):
        raise ValueError
    return UUID(text.strip("{}").replace("-", ""))


def _write_uuid_text(value: object) -> bytes:
    return str(_uuid(value)).encode()


def _write_uuid_binary(value: object) -> bytes:
    return _uuid(value).bytes


def _uuid(value: object) -> UUID:
    return value if isinstance(value, UUID) else UUID(str(value))


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    if code is None:
        raise ValueError
    return code if code == b"\\" else bytes([int(code, 8)])


def _read_bytea_text(data: bytes) -> bytes:
    if data.startswith(b"\\x"):
        return bytes.fromhex(data[2:].decode("ascii"))
    return _ESCAPE.sub(_unescape, data)


def _write_bytea_text(value: bytes, style: str = "hex") -> bytes:
    """In the form of bytea_output."""
    if style == "escape":
        return _ODD_BYTE.sub(_escaped, value)
    return b"\\x" + value.hex().encode()


_ODD_BYTE: Final = re.compile(rb"[^ -~]|\\", re.DOTALL)


def _escaped(match: re.Match[bytes]) -> bytes:
    byte = match[0]
    return b"\\\\" if byte == b"\\" else b"\\%03o" % byte[0]


def _write_bytea_binary(value: bytes) -> bytes:
    return bytes(memoryview(value))  # of a number, bytes() would make so many zeros


# --- the table: two decoders and two encoders for each type, text and binary ---------------------------


_INTEGERS: Final = (
    (t.INT2, 2, True),
    (t.INT4, 4, True),
    (t.INT8, 8, True),
    (t.OID, 4, False),
    (t.XID, 4, False),
)
_STRINGS: Final = (t.TEXT, t.VARCHAR, t.BPCHAR, t.NAME, t.UNKNOWN)

_INTEGER_CODEC: Final = (_read_integer_text, _read_integer_binary, _write_integer_text, _write_integer_binary)
_CODECS: Final[Mapping[int, tuple[Callable[..., Any], ...]]] = MappingProxyType({
    **{
        kind.oid: tuple(partial(change, size=size, signed=signed) for change in _INTEGER_CODEC)
        for kind, size, signed in _INTEGERS
    },
    **{kind.oid: (_read_string, _read_string, _write_string, _write_string) for kind in _STRINGS},
    t.BOOL.oid: (_read_bool_text, _read_bool_binary, _write_bool_text, _write_bool_binary),
    t.BYTEA.oid: (_read_bytea_text, bytes, _write_bytea_text, _write_bytea_binary),
    t.FLOAT4.oid: (floats.read4_text, floats.read4_binary, floats.write4_text, floats.write4_binary),
    t.FLOAT8.oid: (floats.read8_text, floats.read8_binary, floats.write8_text, floats.write8_binary),
    t.NUMERIC.oid: (numeric.read_text, numeric.read_binary, numeric.write_text, numeric.write_binary),
    t.DATE.oid: (
        datetimes.read_date_text, datetimes.read_date_binary, datetimes.write_date_text, datetimes.write_date_binary,
    ),
    t.TIMESTAMP.oid: (
        datetimes.read_timestamp_text, datetimes.read_timestamp_binary,
        datetimes.write_timestamp_text, datetimes.write_timestamp_binary,
    ),
    t.TIMESTAMPTZ.oid: (
        datetimes.read_timestamptz_text, datetimes.read_timestamptz_binary,
        datetimes.write_timestamptz_text, datetimes.write_timestamptz_binary,
    ),
    t.CHAR.oid: (_read_string, _read_char_binary, _write_string, _write_char_binary),
    t.JSON.oid: (_read_json, _read_json, _write_string, _write_string),
    t.JSONB.oid: (_read_jsonb, _read_jsonb_binary, _write_string, _write_jsonb_binary),
    t.TIME.oid: (times.read_text, times.read_binary, times.write_text, times.write_binary),
    t.TIMETZ.oid: (times.read_tz_text, times.read_tz_binary, times.write_tz_text, times.write_tz_binary),
    t.INTERVAL.oid: (intervals.read_text, intervals.read_binary, intervals.write_text, intervals.write_binary),
    t.UUID.oid: (_read_uuid_text, lambda data: UUID(bytes=data), _write_uuid_text, _write_uuid_binary),
    t.INET.oid: (objects.read_inet_text, objects.read_inet_binary, _write_string, objects.write_inet_binary),
    t.RECORD.oid: (objects.no_record, objects.no_record, _write_string, objects.no_binary_record),
    **{
        kind.oid: (_read_string, objects.read_object_binary, objects.write_object_text, objects.write_object_binary)
        for kind in t.OBJECTS
    },
})  # fmt: skip
"""Of each type, how text and binary are read, and how they are written."""
_FORMATS: Final = ("text", "binary")


def decode(type: SqlType, data: bytes, format: int) -> object:  # noqa: A002 - the protocol's own words
    """A parameter's value.

    Raises:
        InvalidText: it does not read as the type; the value is not quoted.
        NumberOutOfRange: it reads, but the type, or Python's for a date, cannot hold it.
    """
    element = t.element_of(type)
    read = _decoder(element or type, format)
    try:
        if element is None:
            return read(data)
        if type.oid in t.VECTORS and not format:
            return arrays.read_vector(data, read)
        return (arrays.read_text, arrays.read_binary)[format](data, read)
    except datetimes.NoSuchMoment:
        raise DateOutOfRange("date/time field value out of range") from None
    except (ValueError, struct.error):
        invalid = InvalidMoment if (element or type).oid in t.MOMENTS and not format else InvalidText
        raise invalid(f"invalid {_FORMATS[format]} input for type {type.shown}") from None
    except OverflowError:
        raise out_of_range(type) from None


def _decoder(type: SqlType, format: int) -> _Decoder:  # noqa: A002
    if type.oid not in _CODECS:
        raise Unsupported(f"parameter of type {type.shown}")
    read = _CODECS[type.oid][format]
    return partial(read, zone=type.style) if type.oid == t.TIMESTAMPTZ.oid and not format else read


def out_of_range(type: SqlType) -> NumberOutOfRange:  # noqa: A002
    """The refusal of a value that the type cannot hold."""
    return NumberOutOfRange(f"value out of range for type {type.shown}")


def encoder(type: SqlType, format: int) -> Encoder:  # noqa: A002
    """The function that writes values of ``type`` but not None; ``OverflowError`` when out of range."""
    element = t.element_of(type)
    if element is None:
        return _encoder(type, format)
    write = _encoder(element, format)
    if format:
        return partial(arrays.write_binary, write=write, element=element.oid, first=int(type.oid in t.ARRAYS))
    return partial(arrays.write_vector if type.oid in t.VECTORS else arrays.write_text, write=write)


def _encoder(type: SqlType, format: int) -> Encoder:  # noqa: A002
    if type.oid not in _CODECS:
        raise Unsupported(f"result of type {type.shown}")
    write = _CODECS[type.oid][2 + format]
    if type.oid == t.NUMERIC.oid and type.scale is not None:
        return partial(write, scale=type.scale)
    if type.oid == t.TIMESTAMPTZ.oid and not format:
        return partial(write, zone=type.style)
    if type.oid in (t.INTERVAL.oid, t.BYTEA.oid) and not format:
        return partial(write, style=type.style)
    return write


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
