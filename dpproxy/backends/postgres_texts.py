"""Names and texts in PostgreSQL's SQL; letters are changed by DuckDB's table of them, whatever the server's locale."""

from functools import cache

import duckdb

from dpproxy.backends.dialect import unanswered

LONGEST_FOLDED = 10_000
"""Bytes of a text up to which letters beyond ASCII are changed as well."""


def quoted(name: str) -> str:
    """A name."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text constant, with ``standard_conforming_strings``."""
    if "\0" in text:
        raise unanswered("a text with a zero character", "PostgreSQL")
    return "'" + text.replace("'", "''") + "'"


def folded(sql: str, name: str) -> str:
    """LOWER or UPPER: letter by letter, as DuckDB does it; texts of one byte a letter in the short way.

    So are long ones: each letter is looked for among all that change, and one row must not take seconds.
    """
    before, after = _letters(name)
    plain = f'{name}({sql} COLLATE "C")'
    return (
        f"(CASE WHEN octet_length({sql}) > {LONGEST_FOLDED} OR octet_length({sql}) = length({sql}) THEN {plain} "
        f"ELSE translate({plain}, '{before}', '{after}') END)"
    )


@cache
def _letters(name: str) -> tuple[str, str]:
    """The letters beyond ASCII that change, and what they become: each is one again."""
    letters = "".join(chr(i) for i in range(128, 0x110000) if not 0xD800 <= i < 0xE000)
    with duckdb.connect() as connection:
        [(changed,)] = connection.execute(f"SELECT {name}(?)", [letters]).fetchall()
    pairs = [(a, b) for a, b in zip(letters, changed, strict=True) if a != b]
    return "".join(a for a, _ in pairs), "".join(b for _, b in pairs)
