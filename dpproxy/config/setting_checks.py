"""The checks of settings: each maps the text that a client sends to the text that is stored and shown."""

import re
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Final

from msgspec import Struct

from dpproxy.wire.zones import zone_name
from udfs.prior_notation import parse as parse_prior
from udfs.privacy import InvalidMechanism

Check = Callable[[str], str]
"""From the client's text to the stored text. Raises ValueError, whose text says what is allowed."""

LEAST_EPSILON: Final = Fraction(1, 1000)
MOST_EPSILON: Final = Fraction(10**6)
_DECIMAL = re.compile(r"(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,2})?", re.ASCII)


@lru_cache(maxsize=256)
def decimal(text: str) -> Fraction:
    """The exact value of a decimal literal without a sign.

    Errors: ValueError.

    >>> decimal("0.05")
    Fraction(1, 20)
    """
    if not _DECIMAL.fullmatch(text.strip()):
        raise ValueError("a decimal number such as 0.1")
    return Fraction(text.strip())


def _within(allowed: str, is_allowed: Callable[[Fraction], bool]) -> Check:
    """Decimal numbers for which ``is_allowed`` holds; ``allowed`` says which they are."""

    def check(text: str) -> str:
        if not _DECIMAL.fullmatch(text.strip()) or not is_allowed(decimal(text)):
            raise ValueError(allowed)
        return text.strip()

    return check


epsilon = _within(
    f"a decimal number from 0.001 to {MOST_EPSILON}", lambda loss: LEAST_EPSILON <= loss <= MOST_EPSILON
)
probability = _within("a decimal number between 0 and 1, such as 0.95", lambda number: 0 < number < 1)
delta = _within("a decimal number from 0 to below 1, such as 1e-8", lambda number: 0 <= number < 1)


_TARGET = re.compile(
    r"(?P<amount>[\d.e+-]+)\s*(?P<share>%)?(?:\s+for\s+groups\s+of\s+(?:at\s+least\s+)?(?P<rows>\d{1,15}))?"
)


class Target(Struct, frozen=True):
    """A half-width that no column shall exceed: in its unit or, where ``is_share``, of its value.

    It is for groups of at least so many ``rows``; for all where that is None.

    >>> Target.read("5 % for groups of at least 500")
    Target(amount=Fraction(1, 20), is_share=True, rows=500)
    """

    amount: Fraction
    is_share: bool = False
    rows: int | None = None

    @staticmethod
    def read(text: str) -> "Target":
        """Errors: ValueError."""
        found = _TARGET.fullmatch(text.strip().lower())
        if found is None or not _DECIMAL.fullmatch(found["amount"]) or found["rows"] == "0":
            raise ValueError("a number such as 50, '5 %', '5 % for groups of at least 500', or 'off'")
        amount = decimal(found["amount"])
        rows = None if found["rows"] is None else max(1, int(found["rows"]))
        return Target(amount / 100 if found["share"] else amount, found["share"] is not None, rows)

    def words(self, half_width: float) -> str:
        """A half-width as it is compared with the target."""
        return f"{100 * half_width:.6g} %" if self.is_share else f"{half_width:.6g}"


def target(text: str) -> str:
    """A half-width above 0; 0 and off are none."""
    if text.strip().lower() in ("", "off", "0"):
        return ""
    return text.strip() if Target.read(text).amount else ""


def one_of(*allowed: str) -> Check:
    """One of some words, in any case."""

    def check(text: str) -> str:
        if text.strip().lower() not in allowed:
            raise ValueError(" or ".join(f"'{word}'" for word in allowed))
        return text.strip().lower()

    return check


class NotAvailable(ValueError):
    """A value that is none of the allowed words; its text lists them in PostgreSQL's form."""


def available(*words: str) -> Check:
    """One of the words of a setting of PostgreSQL, in any case."""

    def check(text: str) -> str:
        if text.lower() not in words:
            raise NotAvailable(f"Available values: {', '.join(words)}.")
        return text.lower()

    return check


_SWITCH = {"on": "on", "true": "on", "yes": "on", "off": "off", "false": "off", "no": "off"}


def switch(text: str) -> str:
    """On or off, in PostgreSQL's words or unambiguous beginnings of them."""
    word = text.strip().lower()
    found = {kept for full, kept in _SWITCH.items() if word and full.startswith(word)}
    if word in ("0", "1"):
        return "on" if word == "1" else "off"
    if len(found) != 1:
        raise ValueError("'on' or 'off'")
    return found.pop()


def only(value: str) -> Check:
    """A switch with one allowed value, on or off."""

    def check(text: str) -> str:
        if switch(text) != value:
            raise ValueError(f"'{value}'")
        return value

    return check


def integer(low: int, high: int) -> Check:
    """A whole number of a range, both ends included."""

    def check(text: str) -> str:
        if not re.fullmatch(r"[+-]?\d{1,10}", text.strip(), re.ASCII) or not low <= int(text) <= high:
            raise ValueError(f"an integer from {low} to {high}")
        return str(int(text))

    return check


def matching(pattern: str, allowed: str) -> Check:
    """What a pattern matches; ``allowed`` says it in words."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text.strip(), re.ASCII):
            raise ValueError(allowed)
        return text.strip()

    return check


def prior(text: str) -> str:
    """A prior in the notation of ``udfs.prior_notation``."""
    try:
        parse_prior(text)
    except InvalidMechanism:
        raise ValueError("a prior such as 'normal(44, 6)'") from None
    return text.strip()


def text(text: str) -> str:
    """Printable ASCII at most, as PostgreSQL keeps application_name."""
    return "".join(c if " " <= c <= "~" else "?" for c in text)[:63]


def encoding(text: str) -> str:
    """UTF-8 under its names, also in quotes of its own, as asyncpg sends it."""
    word = text.strip().strip("'").upper().replace("-", "").replace("_", "")
    if word in {"UTF8", "UNICODE"}:
        return "UTF8"
    if word == "SQLASCII":  # what libpq asks for in the C locale: no conversion
        return "SQL_ASCII"
    raise ValueError("'UTF8'")


def date_style(text: str) -> str:
    """ISO dates, in any order of the input's parts."""
    order = "MDY"
    orders = {"MDY": "MDY", "US": "MDY", "DMY": "DMY", "EUROPEAN": "DMY", "YMD": "YMD"}
    for word in text.upper().replace(" ", "").split(","):
        if word != "ISO" and word not in orders:
            raise ValueError("'ISO', alone or with MDY, DMY or YMD")
        order = orders.get(word, order)
    return f"ISO, {order}"


def budget(text: str) -> str:
    """The name of a budget."""
    if not 0 < len(text.strip()) <= 63:
        raise ValueError("the name of a budget")
    return text.strip()


_UNITS = {"d": 86_400_000_000, "h": 3_600_000_000, "min": 60_000_000, "s": 1_000_000, "ms": 1_000, "us": 1}
_DURATION = re.compile(rf"(\d{{1,10}})\s*({'|'.join(_UNITS)})?", re.ASCII)


def duration(text: str) -> str:
    """A duration in milliseconds, or with a unit; stored in the largest unit that it is a whole number of.

    >>> duration("30000"), duration("90 s"), duration("0")
    ('30s', '90s', '0')
    """
    found = _DURATION.fullmatch(text.strip())
    milliseconds = 2**31 if found is None else round(int(found[1]) * _UNITS[found[2] or "ms"] / 1000)
    if milliseconds >= 2**31:
        raise ValueError("a duration such as '5s', or 0")
    if not milliseconds:
        return "0"
    unit = next(unit for unit, size in _UNITS.items() if milliseconds * 1000 % size == 0)
    return f"{milliseconds * 1000 // _UNITS[unit]}{unit}"


def seconds(duration: str) -> float:
    """The seconds of a stored duration; without a unit it is in milliseconds.

    >>> seconds("500"), seconds("2 min"), seconds("0")
    (0.5, 120.0, 0.0)
    """
    number = duration.rstrip("abcdefghijklmnopqrstuvwxyz ")
    return int(number) * _UNITS[duration[len(number) :].strip() or "ms"] / 1_000_000


def time_zone(text: str) -> str:
    """The name of a time zone, or hours east of Greenwich: a number or an interval."""
    if not text.strip():
        raise ValueError("the name of a time zone")
    return zone_name(text)


ANY = matching(r"[^\0]{0,1000}", "at most 1000 characters")
ISOLATION = available("serializable", "repeatable read", "read committed", "read uncommitted")
