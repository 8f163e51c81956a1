"""The text of a configuration file, and the places of errors in it."""

import re
from pathlib import Path

from dpproxy.values.errors import StartupError


class ConfigError(StartupError):
    """A configuration that cannot be used; prints as ``file:line:column: key: what was expected``.

    Attributes:
        problem: the line without its place.
        line: from 1, or None where the place is an environment variable or a whole file.
        column: from 1, where ``line`` is given.
    """

    def __init__(self, file: Path, problem: str, place: tuple[int, int] | None = None) -> None:
        where = "" if place is None else f"{place[0]}:{place[1]}:"
        super().__init__(f"{file}:{where} {problem}")
        self.problem = problem
        self.line: int | None = None if place is None else place[0]
        self.column: int | None = None if place is None else place[1]


def read_text(file: Path) -> str:
    """The text of a configuration. Raises ``ConfigError``."""
    try:
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(file, "no such configuration file") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(file, f"expected a readable configuration file: {reason}") from None


def not_toml(file: Path, text: str, message: str) -> ConfigError:
    """The error for a text that is not TOML, at the place that the parser's message names."""
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", message, re.DOTALL)
    if found is None:
        return ConfigError(file, f"not TOML: {message}")
    last = text.count("\n") + 1
    place = (int(found[2]), int(found[3])) if found[2] else (last, 1)
    return ConfigError(file, f"not TOML: {found[1]}", place)


def place_of(text: str, dotted: str) -> tuple[int, int] | None:
    """Line and column of a key or a section's header, from 1; None where it is written some other way."""
    section, _, name = dotted.rpartition(".")
    current = ""
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if header := re.match(r"\[\s*([^\]]+?)\s*\]", stripped):
            current = header[1].replace('"', "").replace(" ", "")
            if current == dotted or current.startswith(dotted + "."):
                return number, line.index("[") + 1
        elif current == section and re.match(rf'"?{re.escape(name)}"?\s*[=.]', stripped):
            return number, len(line) - len(line.lstrip()) + 1
    return None
