"""Names and texts as SQL writes them."""

import re

RESERVED = frozenset({
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "both", "case",
    "cast", "check", "collate", "column", "constraint", "create", "current_catalog", "current_date",
    "current_role", "current_time", "current_timestamp", "current_user", "default", "deferrable",
    "desc", "distinct", "do", "else", "end", "except", "false", "fetch", "for", "foreign", "from",
    "grant", "group", "having", "in", "initially", "intersect", "into", "lateral", "leading", "limit",
    "localtime", "localtimestamp", "not", "null", "offset", "on", "only", "or", "order", "placing",
    "primary", "references", "returning", "select", "session_user", "set", "some", "symmetric",
    "system_user", "table", "then", "to", "trailing", "true", "union", "unique", "user", "using",
    "variadic", "when", "where", "window", "with",
})  # fmt: skip
"""Words that PostgreSQL reserves (manual, appendix C), and SET: no names unless quoted."""
_MISREAD = frozenset({
    "between", "by", "count", "cross", "exists", "full", "ilike", "inner", "is", "isnull", "join", "left", "like",
    "natural", "notnull", "outer", "overlaps", "right", "similar", "values",
})  # fmt: skip
"""Words that are names in some places and not in others."""
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


def quoted(name: str) -> str:
    """A name in quotes, whatever it is."""
    return '"' + name.replace('"', '""') + '"'


def identifier(name: str) -> str:
    """A name for people to read and write, in quotes only where it has to be.

    >>> identifier("visits"), identifier("Visits"), identifier("order")
    ('visits', '"Visits"', '"order"')
    """
    is_plain = _PLAIN.fullmatch(name) and name not in RESERVED and name not in _MISREAD
    return name if is_plain else quoted(name)


def table_text(name: str) -> str:
    """A table's name in the same way, behind the schema that may be part of it.

    >>> table_text("visits"), table_text("clinic.Visits"), table_text("2020.")
    ('visits', 'clinic."Visits"', '"2020."')
    """
    schema, _, table = name.partition(".")
    return f"{identifier(schema)}.{identifier(table)}" if schema and table else identifier(name)


def literal(text: str) -> str:
    """A text constant, as it is read with ``standard_conforming_strings``."""
    return "'" + text.replace("'", "''") + "'"
