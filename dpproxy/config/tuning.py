"""Checks of PostgreSQL's settings of planner and memory, which clients send and which have no effect.

A check of numbers is made of their bounds as texts. The bounds of a size are in units of as many kB as ``page`` says.
"""

import re
from functools import partial
from typing import Final

from dpproxy.config import setting_checks as checks
from dpproxy.config.setting_checks import Check

_NUMBER: Final = re.compile(
    r"\s*([+-]?(?:0[xX][0-9a-fA-F]{1,16}|(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?))\s*([a-zA-Z]*)\s*",
    re.ASCII,
)
_UNITS: Final = {"TB": 1 << 30, "GB": 1 << 20, "MB": 1 << 10, "kB": 1, "B": 1 / 1024}
"""In kB."""


def _parse(text: str) -> tuple[float, str]:
    """A number and its unit. Errors: ValueError."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError
    number = found[1]
    is_hexadecimal = "x" in number.lower()
    return float(int(number, 16)) if is_hexadecimal else float(number), found[2]


def _octal(text: str) -> str:
    """A whole number with a leading 0 is octal, as C reads it."""
    return str(int(text, 8)) if re.fullmatch(r"\s*0[0-7]+\s*", text, re.ASCII) else text


def _real(low: float, high: float, text: str) -> str:
    allowed = ValueError(f"a number from {low:g} to {high:g}")
    try:
        value, unit = _parse(text)
    except ValueError:
        raise allowed from None
    if unit or not low <= value <= high:
        raise allowed
    return f"{value:g}"


def _integer(low: int, high: int, text: str) -> str:
    allowed = ValueError(f"an integer from {low} to {high}")
    try:
        value, unit = _parse(_octal(text))
        whole = round(value)
    except (ValueError, OverflowError):
        raise allowed from None
    if unit or not low <= whole <= high:
        raise allowed
    return str(whole)


def _size(low: int, high: int, page: int, text: str) -> str:
    allowed = ValueError(
        f"a size from {_size_text(low, page)} to {high * page}kB; units are B, kB, MB, GB and TB"
    )
    try:
        value, unit = _parse(_octal(text))
        pages = round(_in_pages(value, unit, page))
    except (ValueError, KeyError, OverflowError):
        raise allowed from None
    if not low <= pages <= high:
        raise allowed
    return _size_text(pages, page)


def _in_pages(value: float, unit: str, page: int) -> float:
    """A size in pages, rounded to the next smaller unit first (guc.c: convert_to_base_unit). Errors: ``KeyError``."""
    if not unit:
        return value
    names = list(_UNITS)
    smaller = names[names.index(unit) + 1 :] if unit in _UNITS else []
    found = value * _UNITS[unit] / page
    if smaller:
        step = _UNITS[smaller[0]] / page
        found = round(found / step) * step
    return found


def _size_text(pages: int, page: int) -> str:
    """A size in the largest unit that it is a whole number of."""
    size = pages * page
    if not size:
        return "0"
    unit = next(name for name, factor in _UNITS.items() if size % factor == 0)
    return f"{size // int(_UNITS[unit])}{unit}"


def real(low: str, high: str) -> Check:
    """A number of a range, both ends included."""
    return partial(_real, float(low), float(high))


def whole(low: str, high: str) -> Check:
    """A whole number of a range."""
    return partial(_integer, int(low), int(high))


def size(low: str, high: str, page: str) -> Check:
    """A size of a range, shown in the largest unit that it is a whole number of."""
    return partial(_size, int(low), int(high), int(page))


_WORDS: Final = {"true": "on", "yes": "on", "1": "on", "false": "off", "no": "off", "0": "off"}


def exclusion(text: str) -> str:
    """The values of constraint_exclusion."""
    return checks.available("partition", "on", "off")(_WORDS.get(text.lower(), text))
