"""Names and texts in the SQL of Spark Connect; letters are changed by DuckDB's table of them."""

import re
import string
from collections.abc import Sequence
from functools import cache

from dpproxy.backends.servers.dialect import Unanswered
from dpproxy.backends.servers.standard import changed_letters

ENGINE = "Spark"
_PARAMETER = re.compile(r"\$(\d+)")
_PLAIN = frozenset(string.ascii_letters + string.digits + " _-.,:;/%()")
"""What stands in a text constant as it is: nothing that a parser reads as an escape, a variable or a parameter."""


def quoted(name: str) -> str:
    """A name. Raises ``Unsupported`` for one that the server could read otherwise."""
    if not name or any(ord(letter) < 32 or letter in "$\\" for letter in name):
        raise Unanswered("a name with $, a backslash or a control character")
    return "`" + name.replace("`", "``") + "`"


def literal(text: str) -> str:
    """A text constant."""
    return "'" + "".join(letter if letter in _PLAIN else _escaped(letter) for letter in text) + "'"


def _escaped(letter: str) -> str:
    number = ord(letter)
    if number == 0 or 0xD800 <= number < 0xE000:
        raise Unanswered("a text with a character that is none")
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def filled(sql: str, values: Sequence[object]) -> str:
    """The statement with its values in place, as texts: the sign of a parameter stands nowhere else in ours."""

    def value(found: re.Match[str]) -> str:
        held = values[int(found[1]) - 1]
        return "NULL" if held is None else literal(str(held))

    return _PARAMETER.sub(value, sql)


def folded(sql: str, name: str) -> str:
    """LOWER or UPPER: letter by letter, as DuckDB does it."""
    before, after = _letters(name)
    return f"translate({sql}, {before}, {after})"


@cache
def _letters(name: str) -> tuple[str, str]:
    before, after = changed_letters(name, 1)
    return literal(before), literal(after)
