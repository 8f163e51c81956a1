"""How the values of configuration keys are read, each from TOML or from the text of an environment variable.

Errors: ``Wrong`` where one does not fit.
"""

import re
from collections.abc import Callable

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
LONGEST = 3600.0
"""No duration is longer than this many seconds."""


class Wrong(Exception):
    """A value that does not fit; the text says what was expected."""


def whole(low: int, high: int) -> Callable[[object], int]:
    """A whole number from ``low`` to ``high``."""

    def read(value: object) -> int:
        if isinstance(value, str) and value.isascii() and value.isdigit():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise Wrong(f"a whole number from {low} to {high}")
        return value

    return read


def text(pattern: str, expected: str) -> Callable[[object], str]:
    """Text that a regular expression matches; errors say what was ``expected``, and do not quote the text."""

    def read(value: object) -> str:
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            raise Wrong(expected)
        return value

    return read


def one_of(*choices: str) -> Callable[[object], str]:
    """One of these words."""
    return text("|".join(map(re.escape, choices)), " or ".join(f'"{choice}"' for choice in choices))


postgres = text(r"postgres(?:ql)?://[^\0]*", '"postgresql://user@host/database"')
"""The URL of a PostgreSQL database, which may contain a password."""
source = text(r"(?:postgres(?:ql)?|sc)://[^\0]+", '"postgresql://user@host/database" or "sc://host:15002"')
"""The URL of a data source, which may contain a password."""
size = text(r"[1-9]\d{0,5}(?:\.\d)? ?[KMGT]i?B", 'a size such as "4GB"')
"""A size with a unit of bytes, as DuckDB reads it."""


web_url = text(
    r"https?://(?:[A-Za-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?", '"https://host" or "https://host:port"'
)
"""The origin of the page as people open it."""


def path(value: object) -> str:
    """The path of a file or directory."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise Wrong("the path of a file or directory, as text")
    if "://" in value:  # not quoted: there may be a password in it
        raise Wrong("the path of a file or directory; a server has a url")
    return value


def duration(value: object) -> float:
    """Seconds of a duration, an hour at most."""
    found = (
        re.fullmatch(r"(\d{1,9}(?:\.\d{1,3})?)\s*(ms|s|m|min|h)", value) if isinstance(value, str) else None
    )
    seconds = -1.0 if found is None else float(found[1]) * UNITS[found[2]]
    if not 0 <= seconds <= LONGEST:
        raise Wrong('a duration such as "10ms", "1s" or "2m", an hour at most')
    return seconds


def positive_duration(value: object) -> float:
    """Seconds of a duration above zero."""
    if not (seconds := duration(value)):
        raise Wrong('a duration above zero such as "60s"')
    return seconds


def address(value: object) -> tuple[str, int]:
    """Host and port."""
    found = (
        re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]\s]+)):(\d{1,5})", value)
        if isinstance(value, str)
        else None
    )
    if found is None or int(found[3]) > 65535:
        raise Wrong('"host:port" such as "127.0.0.1:6432", or "[::1]:6432"')
    return found[1] or found[2], int(found[3])


def name(value: object) -> str:
    """The name of a schema, at most 63 bytes."""
    if not isinstance(value, str) or not 0 < len(value.encode()) <= 63 or "\0" in value:
        raise Wrong("the name of a schema, as text")
    return value


def truth(value: object) -> bool:
    """True or false."""
    found = {"true": True, "false": False}.get(value) if isinstance(value, str) else value
    if not isinstance(found, bool):
        raise Wrong("true or false")
    return found


def names(value: object) -> tuple[str, ...]:
    """Names of schemas, each once."""
    if isinstance(value, str):  # from the environment
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, list) or not value or len({*map(name, value)}) < len(value):
        raise Wrong('a list of names of schemas such as ["clinic", "lab"], each once')
    return tuple(value)


def patterns(value: object) -> tuple[str, ...]:
    """Paths or patterns of files."""
    if isinstance(value, str):  # from the environment
        value = [part.strip() for part in value.split(",") if part.strip()]
    if not isinstance(value, list) or not all(isinstance(v, str) and v and "\0" not in v for v in value):
        raise Wrong('a list of paths or patterns such as ["policy/*.sql"]')
    return tuple(value)
