"""Names and texts in PostgreSQL's SQL; letters are changed by DuckDB's table of them, whatever the server's locale."""

from dpproxy.backends.servers.dialect import Unanswered
from dpproxy.backends.servers.standard import changed_letters
from dpproxy.sql.quoting import literal

LONGEST_FOLDED = 10_000
"""Bytes of a text up to which letters beyond ASCII are changed as well."""


def constant(text: str) -> str:
    """A text constant, with ``standard_conforming_strings``."""
    if "\0" in text:
        raise Unanswered("a text with a zero character")
    return literal(text)


def folded(sql: str, name: str) -> str:
    """LOWER or UPPER: letter by letter, as DuckDB does it; texts of one byte a letter in the short way.

    So are long ones: each letter is looked for among all that change, and one row must not take seconds.
    """
    before, after = changed_letters(name, 128)
    plain = f'{name}({sql} COLLATE "C")'
    return (
        f"(CASE WHEN octet_length({sql}) > {LONGEST_FOLDED} OR octet_length({sql}) = length({sql}) THEN {plain} "
        f"ELSE translate({plain}, '{before}', '{after}') END)"
    )
