"""``float4`` and ``float8`` in text and binary.

Text is the shortest that reads back as the same number. PostgreSQL shows an exponent below 1e-04 and from as
many digits on as the type is sure to hold: 15 for float8, 6 for float4. Errors are ``ValueError`` and
``OverflowError``.
"""

import math
import re
import struct
from fractions import Fraction
from typing import Final, SupportsFloat

_TEXT: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_SPECIAL: Final = re.compile(r"nan|[+-]?inf(?:inity)?", re.ASCII | re.IGNORECASE)
_ZERO: Final = re.compile(r"[+-]?[0.]+(?:[eE].*)?", re.ASCII)
_MAX_TEXT: Final = 4096
_FLOAT8: Final = struct.Struct("!d")
_FLOAT4: Final = struct.Struct("!f")
_SURE4, _SURE8 = 6, 15
_BITS4, _LEAST4 = 24, -149
_BITS8, _LEAST8 = 53, -1074


def _single(value: float) -> float:
    """The nearest float4."""
    return float(_FLOAT4.unpack(_FLOAT4.pack(value))[0])


def read8_text(data: bytes) -> float:
    """Read a literal; too large and too small ones are out of range."""
    text = data.decode("ascii").strip()
    if _SPECIAL.fullmatch(text):
        return float(text)
    if len(text) > _MAX_TEXT or not _TEXT.fullmatch(text):
        raise ValueError
    value = float(text)
    if math.isinf(value) or (value == 0 and not _ZERO.fullmatch(text)):
        raise OverflowError
    return value


def read4_text(data: bytes) -> float:
    """Read a literal as the nearest float4."""
    value = read8_text(data)
    single = _single(value)
    if single == 0 and value != 0:
        raise OverflowError
    return single


def read8_binary(data: bytes) -> float:
    """IEEE 754, 8 bytes."""
    return float(_FLOAT8.unpack(data)[0])


def read4_binary(data: bytes) -> float:
    """IEEE 754, 4 bytes."""
    return float(_FLOAT4.unpack(data)[0])


def write8_binary(value: SupportsFloat) -> bytes:
    """IEEE 754, 8 bytes."""
    return _FLOAT8.pack(float(value))


def write4_binary(value: SupportsFloat) -> bytes:
    """IEEE 754, 4 bytes."""
    return _FLOAT4.pack(float(value))


def write8_text(value: SupportsFloat) -> bytes:
    """Write as PostgreSQL does with extra_float_digits above 0."""
    number = float(value)
    text = repr(number)
    if number == 0 or 1e-4 <= abs(number) < 10**_SURE8:
        return text.removesuffix(".0").encode()
    if math.isfinite(number) and not _reads_back(text, number, _BITS8, _LEAST8):
        texts = (f"{number:.{digits}e}" for digits in range(1, 17))
        text = next(
            text for text in texts if float(text) == number and _reads_back(text, number, _BITS8, _LEAST8)
        )
    return _laid_out(number, text, _SURE8)


def write4_text(value: SupportsFloat) -> bytes:
    """Write the nearest float4 as PostgreSQL does with extra_float_digits above 0."""
    number = _single(float(value))
    if number == 0 or not math.isfinite(number):
        return _laid_out(number, repr(number), _SURE4)
    texts = (f"{number:.{digits}e}" for digits in range(9))
    return _laid_out(
        number, next(text for text in texts if _reads_back(text, number, _BITS4, _LEAST4)), _SURE4
    )


def _reads_back(text: str, number: float, bits: int, least: int) -> bool:
    """Whether ``text`` is nearer to ``number`` than to any other of the type.

    PostgreSQL does not take a text half way between two numbers, though it would be read as the even one.

    Args:
        text: a decimal.
        number: what it should stand for, neither 0 nor infinite.
        bits: precision of the type.
        least: exponent of 2 of its smallest number.
    """
    mantissa, exponent = math.frexp(abs(number))
    step = Fraction(2) ** max(exponent - bits, least)
    away = abs(Fraction(text)) - Fraction(abs(number))
    if away < 0 and mantissa == 0.5 and exponent - bits > least:
        step /= 2  # below a power of two the numbers are twice as dense
    return abs(away) < step / 2


def _laid_out(number: float, text: str, sure: int) -> bytes:
    """``text``, any notation of ``number``, in PostgreSQL's."""
    if not math.isfinite(number):
        return {"nan": b"NaN", "inf": b"Infinity", "-inf": b"-Infinity"}[repr(number)]
    mantissa, _, exponent_text = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).strip("0") or "0"
    leading = len(whole + fraction) - len((whole + fraction).lstrip("0"))
    exponent = int(exponent_text or 0) + len(whole) - 1 - leading if number else 0
    if exponent < -4 or exponent >= sure:
        shown = digits[0] + ("." + digits[1:] if digits[1:] else "") + f"e{exponent:+03d}"
    elif exponent < 0:
        shown = "0." + "0" * (-exponent - 1) + digits
    else:
        digits = digits.ljust(exponent + 1, "0")
        shown = digits[: exponent + 1] + ("." + digits[exponent + 1 :] if digits[exponent + 1 :] else "")
    return (("-" if math.copysign(1, number) < 0 else "") + shown).encode()
