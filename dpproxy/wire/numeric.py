"""``numeric`` in text and binary, exact over ``Decimal``.

Binary is a header of four 16-bit numbers (count of digits, weight of the first one, sign, digits after the
point to show), then the digits to base 10,000. Errors are ``ValueError`` and ``OverflowError``.
"""

import re
import struct
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final

_MAX_WHOLE: Final = 131_072
_MAX_SCALE: Final = 16_383
_TEXT: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,9})?", re.ASCII)
_SPECIAL: Final = {
    "nan": Decimal("NaN"),
    "inf": Decimal("Infinity"),
    "infinity": Decimal("Infinity"),
    "+inf": Decimal("Infinity"),
    "+infinity": Decimal("Infinity"),
    "-inf": Decimal("-Infinity"),
    "-infinity": Decimal("-Infinity"),
}
_HEADER: Final = struct.Struct("!HhHH")
_POSITIVE, _NEGATIVE, _NAN, _INFINITY, _MINUS_INFINITY = 0x0000, 0x4000, 0xC000, 0xD000, 0xF000
_MARKS: Final = {_NAN: "NaN", _INFINITY: "Infinity", _MINUS_INFINITY: "-Infinity"}
_EXACT: Final = Context(prec=_MAX_WHOLE + _MAX_SCALE)


def _checked(value: Decimal) -> Decimal:
    """Finite and within PostgreSQL's limits of digits."""
    exponent = value.as_tuple().exponent
    if value.adjusted() >= _MAX_WHOLE or not isinstance(exponent, int) or -exponent > _MAX_SCALE:
        raise OverflowError
    return value


def _mark(value: Decimal) -> int:
    if value.is_nan():
        return _NAN
    return _INFINITY if value > 0 else _MINUS_INFINITY


def _exact(value: Decimal | int, scale: int | None) -> Decimal:
    """The value with ``scale`` digits after the point if one is given."""
    number = Decimal(value)
    if not number.is_finite():
        return number
    number = _checked(number)
    if scale is not None:
        number = number.quantize(Decimal((0, (1,), -scale)), ROUND_HALF_UP, _EXACT)
    return number or number.copy_abs()  # there is no negative zero


def read_text(data: bytes) -> Decimal:
    """Read a literal."""
    text = data.decode("ascii").strip()
    if text.lower() in _SPECIAL:
        return _SPECIAL[text.lower()]
    if not _TEXT.fullmatch(text):
        raise ValueError
    return Decimal(format(_exact(Decimal(text), None), "f"))


def write_text(value: Decimal | int, scale: int | None = None) -> bytes:
    """Every digit, without an exponent."""
    number = _exact(value, scale)
    return (format(number, "f") if number.is_finite() else _MARKS[_mark(number)]).encode()


def read_binary(data: bytes) -> Decimal:
    """Read the binary form; digits after the shown ones are cut, as PostgreSQL does."""
    if len(data) < _HEADER.size:
        raise ValueError
    count, weight, sign, scale = _HEADER.unpack_from(data)
    if len(data) != _HEADER.size + 2 * count:
        raise ValueError
    if sign in _MARKS:
        return Decimal(_MARKS[sign])
    digits = struct.unpack_from(f"!{count}H", data, _HEADER.size)
    if sign not in {_POSITIVE, _NEGATIVE} or scale > _MAX_SCALE or any(digit > 9999 for digit in digits):
        raise ValueError
    point = 4 * (weight + 1)
    text = "".join(f"{digit:04d}" for digit in digits)
    text = text.ljust(point, "0") if point >= 0 else "0" * -point + text
    whole, fraction = text[: max(point, 0)], text[max(point, 0) :].ljust(scale, "0")[:scale]
    value = _checked(Decimal(f"{whole or '0'}.{fraction}"))
    return value.copy_negate() if sign == _NEGATIVE and value else value


def write_binary(value: Decimal | int, scale: int | None = None) -> bytes:
    """The binary form, without leading and trailing zero digits."""
    number = _exact(value, scale)
    if not number.is_finite():
        return _HEADER.pack(0, 0, _mark(number), 0)
    whole, _, fraction = format(number.copy_abs(), "f").partition(".")
    shown = len(fraction)
    whole = "0" * (-len(whole) % 4) + whole
    text = whole + fraction + "0" * (-shown % 4)
    digits = [int(text[at : at + 4]) for at in range(0, len(text), 4)]
    weight = len(whole) // 4 - 1
    leading = next((at for at, digit in enumerate(digits) if digit), len(digits))
    digits, weight = digits[leading:], weight - leading
    while digits and not digits[-1]:
        digits.pop()
    sign = _NEGATIVE if number.is_signed() else _POSITIVE
    return _HEADER.pack(len(digits), weight if digits else 0, sign, shown) + struct.pack(
        f"!{len(digits)}H", *digits
    )
